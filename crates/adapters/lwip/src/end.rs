//! One end of a connection.

use std::collections::VecDeque;

use rexmit_stack::{
    Counters, EndSettings, Endpoint, Event, Outbox, Reason, Role, Snapshot, Socket, StackEnd, TcpCarries,
    TcpPackets, Transmission,
};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, SeqNumber};

use crate::config::LwipConfig;
use crate::ffi::Look;
use crate::hooks::{Cause, News};
use crate::host::Host;

/// It counts round-trip times and timeouts in these.
const SLOW_TICK: Duration = Duration::from_millis(500);

/// Its states (`enum tcp_state` of `lwip/tcpbase.h`), named as RFC 9293 section 3.3.2 has it.
const STATES: [&str; 11] = [
    "CLOSED",
    "LISTEN",
    "SYN-SENT",
    "SYN-RECEIVED",
    "ESTABLISHED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "CLOSE-WAIT",
    "CLOSING",
    "LAST-ACK",
    "TIME-WAIT",
];
const TIME_WAIT: u32 = 10;
const PHASES: [&str; 4] = ["open", "disorder", "recovery", "loss"];

/// Errors of `lwip/err.h`.
const RESET: i32 = -14;
const CLOSED: i32 = -15;

/// What the estimator begins with, in its own units: no sample yet.
const NO_SAMPLE: (u32, u32) = (0, 6);

/// One end of a connection of lwIP's.
pub(crate) struct LwipEnd {
    host: Host,
    number: usize,
    settings: EndSettings,
    send_buffer: u64,
    out: Outbox,
    events: VecDeque<Event>,
    seen: TcpPackets,
    told: Told,
    /// The application has closed, and broken it off.
    closes: bool,
    aborts: bool,
    /// Bytes that the application wrote, and read.
    written: u64,
    read: u64,
    misplaced: u64,
    received: u64,
}

/// What the application has been told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    connected: bool,
    closed: bool,
    /// It waits for space in the send buffer.
    waits: bool,
}

impl std::fmt::Debug for LwipEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LwipEnd").field("told", &self.told).finish_non_exhaustive()
    }
}

impl LwipEnd {
    /// An end at this host with these settings.
    pub fn new(host: &Host, config: &LwipConfig, settings: &EndSettings) -> Self {
        Self {
            number: host.add_end(config, settings),
            host: host.clone(),
            settings: settings.clone(),
            send_buffer: config.send_buffer.0,
            out: Outbox::default(),
            events: VecDeque::new(),
            seen: TcpPackets::default(),
            told: Told::default(),
            closes: false,
            aborts: false,
            written: 0,
            read: 0,
            misplaced: 0,
            received: 0,
        }
    }

    /// Its first sequence number.
    #[cfg(test)]
    pub fn first(&self) -> SeqNumber {
        self.seen.first.expect("it has sent a SYN")
    }

    /// Takes what the library has left for it. `fast`: a fast retransmit has begun.
    fn settle(&mut self, now: Instant, mut fast: bool) {
        let Some((left, news, received, misplaced)) = self.host.mail(self.number, |mail| {
            let (left, news) = (std::mem::take(&mut mail.left), std::mem::take(&mut mail.news));
            (left, news, mail.received, mail.misplaced)
        }) else {
            return;
        };
        let look = self.host.look(self.number);
        let mut expires = true;
        for (bytes, cause) in left {
            let Ok(mut packet) = Packet::parse(&bytes) else { continue };
            let carries = self.seen.leaves(&mut packet);
            let reason = self.reason(carries, cause, look.unwrap_or_default(), [&mut fast, &mut expires]);
            self.out.send(packet, reason);
        }
        let more = received > self.received;
        (self.received, self.misplaced) = (received, misplaced);
        for one in news.iter().filter(|one| **one == News::Connected) {
            self.tell(*one, look);
        }
        if more {
            self.events.push_back(Event::Readable);
        }
        for one in news.iter().filter(|one| **one != News::Connected) {
            self.tell(*one, look);
        }
        if look.is_some_and(|look| look.state == TIME_WAIT) {
            self.over(Event::Closed);
        }
        if self.closes && news.contains(&News::Connected) {
            self.host.shut(self.number, now);
            self.settle(now, false);
        }
    }

    /// Why a packet leaves, as packets, timers and the connection's state show it.
    fn reason(
        &mut self,
        carries: TcpCarries,
        cause: Cause,
        look: Look,
        [fast, expires]: [&mut bool; 2],
    ) -> Reason {
        let timer = cause == Cause::Timer;
        match carries {
            TcpCarries::Again | TcpCarries::New if timer && look.probes > 0 => Reason::WindowProbe,
            TcpCarries::Again if timer && std::mem::take(expires) => {
                self.seen.counters.timeouts += 1;
                Reason::Timeout { backoff: look.backoff }
            }
            TcpCarries::Again if std::mem::take(fast) => {
                self.seen.counters.fast_retransmits += 1;
                Reason::Fast { duplicates: look.duplicates as u16, sacked: 0 }
            }
            TcpCarries::Again => Reason::GoBackN,
            TcpCarries::New => Reason::New,
            TcpCarries::Syn { answer, backoff } => {
                self.seen.counters.timeouts += u64::from(timer && backoff > 0);
                match (answer, timer || backoff == 0) {
                    (false, _) => Reason::Syn { backoff },
                    (true, true) => Reason::SynAck { backoff },
                    (true, false) => Reason::SynAckAnswer,
                }
            }
            TcpCarries::Ack => Reason::Ack,
            TcpCarries::Reset => Reason::Reset,
        }
    }

    fn tell(&mut self, news: News, look: Option<Look>) {
        match news {
            News::Connected if !self.told.connected => {
                self.told.connected = true;
                self.events.push_back(Event::Connected);
            }
            News::Acknowledged if self.told.waits && look.is_some_and(|look| look.send_room > 0) => {
                self.told.waits = false;
                self.events.push_back(Event::Writable);
            }
            News::Connected | News::Acknowledged => {}
            News::Ended => self.events.push_back(Event::EndOfStream),
            News::Broken(CLOSED) => self.over(Event::Closed),
            News::Broken(RESET) => self.over(Event::Reset),
            News::Broken(_) if self.aborts => self.over(Event::Closed),
            News::Broken(_) => self.over(Event::TimedOut),
        }
    }

    fn over(&mut self, event: Event) {
        if !std::mem::replace(&mut self.told.closed, true) {
            self.events.push_back(event);
            self.host.mail(self.number, |mail| mail.is_over = true);
        }
    }
}

impl Endpoint for LwipEnd {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.seen.arrives(&packet);
        let [before, after] = self.host.arrives(self.number, now, &packet);
        let mut fast = false;
        if let (Some(before), Some(after)) = (before, after) {
            self.seen.counters.dup_acks += u64::from(after.duplicates > before.duplicates);
            fast = before.recovers == 0 && after.recovers != 0;
        }
        self.settle(now, fast);
    }

    fn handle_timer(&mut self, now: Instant) {
        self.host.expire(now);
        self.settle(now, false);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.out.pop()
    }

    fn poll_timer(&self) -> Option<Instant> {
        self.host.due(self.number)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        let recv_queue = Some(self.received - self.read);
        let counters = self.seen.counters.into();
        let Some(look) = self.host.look(self.number) else {
            let listens = self.settings.role == Role::Passive && !self.told.connected && !self.told.closed;
            let state = if listens { "LISTEN" } else { "CLOSED" };
            return Snapshot { state, phase: PHASES[0], recv_queue, counters, ..Snapshot::default() };
        };
        let ticks = |eighths: u32| SLOW_TICK * u64::from(eighths) / 8;
        let sampled = (look.srtt, look.rttvar) != NO_SAMPLE;
        let sends = !matches!(look.state, 0 | 1 | TIME_WAIT);
        Snapshot {
            state: STATES.get(look.state as usize).copied().unwrap_or_default(),
            phase: PHASES[look.phase as usize],
            cwnd: look.cwnd.into(),
            ssthresh: Some(look.ssthresh.into()),
            in_flight: Some(look.in_flight.into()),
            snd_wnd: look.snd_wnd.into(),
            send_queue: self.send_buffer.saturating_sub(look.send_room.into()),
            recv_queue,
            srtt: sampled.then(|| ticks(look.srtt)),
            rttvar: sampled.then(|| ticks(look.rttvar * 2)),
            rto: sends.then(|| ticks(look.rto * 8)),
            rexmt_due: None,
            counters,
            ..Snapshot::default()
        }
    }
}

impl Socket for LwipEnd {
    fn connect(&mut self, now: Instant) {
        if !self.host.connect(self.number, now, &self.settings) {
            self.over(Event::Reset);
        }
        self.settle(now, false);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        if self.closes || self.told.closed {
            return 0;
        }
        let taken = self.host.write(self.number, now, self.written, len);
        self.written += taken;
        self.told.waits |= taken < len;
        self.settle(now, false);
        taken
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        let got = max.min(self.received - self.read);
        if got > 0 {
            self.read += got;
            self.host.read(self.number, now, got);
            self.settle(now, false);
        }
        got
    }

    fn readable(&self) -> u64 {
        self.received - self.read
    }

    fn close(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.closes, true) && self.told.connected {
            self.host.shut(self.number, now);
            self.settle(now, false);
        }
    }

    fn abort(&mut self, now: Instant) {
        self.aborts = true;
        self.host.abort(self.number, now);
        self.settle(now, false);
        self.over(Event::Closed);
    }
}

impl StackEnd for LwipEnd {
    fn counters(&self) -> &Counters {
        &self.seen.counters
    }

    fn misplaced_bytes(&self) -> u64 {
        self.misplaced
    }

    fn failure(&self) -> Option<String> {
        self.host.failure().map(|why| format!("lwip: {why}"))
    }

    fn swap_outbox(&mut self, _now: Instant, outbox: &mut Outbox) {
        std::mem::swap(&mut self.out, outbox);
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.seen.has_received(from, end)
    }
}
