//! One end of a connection.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use rexmit_stack::quic::{QuicReasons, StreamReader, StreamWriter};
use rexmit_stack::{
    Counters, EndSettings, Endpoint, Event, RandomStream, Role, Snapshot, Socket, StackEnd, Transmission,
};
use rexmit_tls::AtWork;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, Transport};

use crate::connection::{Connection, Failed};
use crate::ffi::{Settings, answer};
use crate::handshake::Party;
use crate::hooks::{self, News, Talk};

mod datagrams;
mod socket;

/// The resolution of the library's timers (RFC 9002 section 6.1.2, kGranularity).
const GRANULARITY: Duration = Duration::from_millis(1);

/// One end of a connection of ngtcp2's.
pub(crate) struct Ngtcp2End {
    connection: Option<Connection>,
    /// What the connection is made from.
    library: Settings,
    party: Party,
    send_window: u64,
    local: SocketAddr,
    remote: SocketAddr,
    role: Role,
    /// The application's writes are datagrams.
    of_datagrams: bool,
    work: Option<AtWork>,
    talk: Option<Box<Talk>>,
    buffer: Vec<u8>,
    out: VecDeque<Transmission>,
    events: VecDeque<Event>,
    writer: StreamWriter,
    reader: StreamReader,
    /// The application has called it since it was last polled.
    called: bool,
    now: Instant,
    next: Option<Instant>,
    told: Told,
    reasons: QuicReasons,
    farewell: Farewell,
    failure: Option<String>,
    /// The name of its host.
    host: Arc<str>,
}

/// What the application has said and been told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    connected: bool,
    closing: bool,
    end: bool,
    closed: bool,
    /// A write was cut short.
    short: bool,
    /// Own streams whose end is not acknowledged.
    unfinished: usize,
}

/// The end of a connection.
#[derive(Clone, Debug, Default)]
struct Farewell {
    /// The handshake is complete.
    handshaken: bool,
    /// The library does no more.
    over: bool,
    /// What was said last, which is said again to whoever has not heard it: after so many more packets (RFC 9000 section
    /// 10.2.1).
    packet: Vec<u8>,
    arrived: u32,
    answers_at: u32,
}

impl std::fmt::Debug for Ngtcp2End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ngtcp2End").field("told", &self.told).finish_non_exhaustive()
    }
}

/// What an end of a host is made from.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// The host's name, for messages.
    pub host: Arc<str>,
    pub library: Settings,
    pub party: Party,
    pub send_window: u64,
}

impl Ngtcp2End {
    /// An end with these settings, whose random numbers come from this stream.
    pub fn new(made: Made, random: RandomStream, settings: &EndSettings) -> Self {
        let Made { host, library, party, send_window } = made;
        Self {
            connection: None,
            work: Some(AtWork::new(random)),
            talk: Some(Box::new(Talk::new(party.clone()))),
            party,
            send_window,
            local: settings.local,
            remote: settings.remote,
            role: settings.role,
            of_datagrams: settings.datagrams,
            buffer: vec![0; library.payload as usize],
            library,
            out: VecDeque::new(),
            events: VecDeque::new(),
            writer: StreamWriter::new(settings.role, settings.places.clone()),
            reader: StreamReader::new(settings.role, settings.places.clone()),
            called: false,
            now: Instant::ZERO,
            next: None,
            told: Told::default(),
            reasons: QuicReasons::default(),
            farewell: Farewell::default(),
            failure: None,
            host,
        }
    }

    /// Does something with the library, whose random numbers and time are this end's.
    fn with<T>(&mut self, now: Instant, act: impl FnOnce(&mut Self) -> T) -> T {
        let (mut work, mut talk) = (self.work.take(), self.talk.take());
        let result = rexmit_tls::with(&mut work, now, || hooks::at_work(&mut talk, || act(self)));
        (self.work, self.talk) = (work, talk);
        result
    }

    /// Makes the connection, of a server from the first packet that it gets.
    fn make(&mut self, now: Instant, packet: Option<&[u8]>) {
        let library = Settings { now: now.as_nanos(), ..self.library };
        self.connection = self.with(now, |end| Connection::new(&library, end.local, end.remote, packet));
    }

    /// Lets it act until it does nothing more; `probes` says that the timer of a probe has expired.
    fn run(&mut self, now: Instant, probes: bool) {
        (self.called, self.now) = (false, now);
        if !self.farewell.over {
            self.let_out(now, probes);
        }
        self.hear(now);
        self.settle_datagrams(now);
        self.end_streams();
        self.settle_close(now);
        let due = self.connection.as_ref().filter(|_| !self.farewell.over).and_then(Connection::due);
        // What would have been due before is due now.
        self.next = due.map(|due| Instant::from_nanos(due).max(now));
    }

    /// Takes what the library has told.
    fn hear(&mut self, now: Instant) {
        let news = self.talk.as_mut().map(|talk| std::mem::take(&mut talk.news)).unwrap_or_default();
        for one in news {
            match one {
                News::Connected => {
                    self.farewell.handshaken = true;
                    self.connected(now);
                }
                News::Rejected => self.begin_again(now),
                News::Readable => {
                    if self.events.back() != Some(&Event::Readable) {
                        self.events.push_back(Event::Readable);
                    }
                }
                News::Room => {
                    if self.room() > 0 && std::mem::take(&mut self.told.short) {
                        self.events.push_back(Event::Writable);
                    }
                }
                News::Finished => self.told.unfinished = self.told.unfinished.saturating_sub(1),
            }
        }
    }

    fn connected(&mut self, now: Instant) {
        if std::mem::replace(&mut self.told.connected, true) {
            return;
        }
        self.events.push_back(Event::Connected);
        if self.told.closing {
            self.finish_streams(now);
        }
    }

    /// Takes what the library answers to a packet or a timer.
    fn judge(&mut self, now: Instant, answer: Result<(), Failed>) {
        let Err(Failed(code)) = answer else { return };
        self.take_failure();
        if self.failure.is_some() {
            return;
        }
        match code {
            answer::CLOSING => self.say_again(),
            answer::DRAINING => {
                self.farewell.over = true;
                let complete = self.talk.as_ref().is_some_and(|talk| talk.arriving.is_complete());
                let by_application = self.connection.as_ref().is_some_and(Connection::peer_closed);
                let was_whole = by_application && (self.told.end || complete);
                self.lost(if was_whole { Event::Closed } else { Event::Reset });
            }
            answer::IDLE_CLOSE | answer::HANDSHAKE_TIMEOUT => {
                self.farewell.over = true;
                self.lost(Event::TimedOut);
            }
            // A server gives up a connection that has not begun, and waits for another.
            answer::DROP_CONNECTION | answer::RETRY => {
                self.connection = None;
                self.talk = Some(Box::new(Talk::new(self.party.clone())));
            }
            _ => {
                self.shut(now, Err(Failed(code)));
                self.lost(Event::Reset);
            }
        }
    }

    fn lost(&mut self, event: Event) {
        if !std::mem::replace(&mut self.told.closed, true) {
            self.events.push_back(event);
        }
    }

    /// An assertion of the library's has failed.
    fn take_failure(&mut self) {
        if let Some(text) = self.connection.as_ref().and_then(Connection::failure) {
            self.failure.get_or_insert_with(|| format!("ngtcp2 gave up: {text}"));
            self.connection = None;
            (self.farewell.over, self.next) = (true, None);
        }
    }

    /// Both directions may be over.
    fn settle_close(&mut self, now: Instant) {
        let told = self.told;
        let streams = self.talk.as_ref().map_or(0, |talk| talk.sending.len());
        if told.closed || !told.closing || !told.end || told.unfinished > 0 || streams == 0 {
            return;
        }
        self.told.closed = true;
        self.events.push_back(Event::Closed);
        if self.role == Role::Active {
            self.shut(now, Ok(0));
        }
    }

    /// What no library can have: keys of a level twice.
    #[cfg(test)]
    pub fn have_keys_twice(&mut self) {
        self.with(Instant::ZERO, |end| {
            let Some(connection) = &end.connection else { return };
            for _ in 0..2 {
                let _ = crate::handshake::give_keys(connection.inner());
            }
        });
    }

    /// Acts on packets and on what the application has called, once that has heard of everything: so its answer goes with the
    /// library's.
    fn settle(&mut self, now: Instant) {
        if self.called && self.events.is_empty() {
            self.run(now, false);
        }
    }
}

impl Endpoint for Ngtcp2End {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.settle(now);
        let Transport::Udp(datagram) = &packet.transport else { return };
        let bytes = datagram.payload.bytes();
        if self.connection.is_none() && self.role == Role::Passive && self.failure.is_none() {
            self.make(now, Some(&bytes));
        }
        let ecn = packet.ip.tos & 3;
        let answer = self.with(now, |end| {
            end.connection.as_mut().map_or(Ok(()), |connection| connection.read(&bytes, ecn, now.as_nanos()))
        });
        self.hear(now);
        self.end_streams();
        self.judge(now, answer);
        (self.called, self.now) = (true, now);
    }

    fn handle_timer(&mut self, now: Instant) {
        self.settle(now);
        if self.next.is_none_or(|due| due > now) {
            return;
        }
        let Some(before) = self.connection.as_ref().map(|connection| connection.look().pto_count) else {
            return;
        };
        let answer = self.with(now, |end| {
            end.connection.as_mut().map_or(Ok(()), |connection| connection.expire(now.as_nanos()))
        });
        self.judge(now, answer);
        let probes = self.connection.as_ref().is_some_and(|connection| connection.look().pto_count > before);
        if let Some(work) = self.work.as_mut().filter(|_| probes) {
            self.reasons.expired(&mut work.packets.counters);
        }
        self.run(now, probes);
        // It forgets a retired connection ID only after the time that it names; elsewhere time goes on by itself.
        if self.next.is_some_and(|due| due <= now) {
            self.next = Some(now + GRANULARITY);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        self.settle(now);
        self.out.pop_front()
    }

    fn poll_timer(&self) -> Option<Instant> {
        if self.called || !self.events.is_empty() { Some(self.now) } else { self.next }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.settle(self.now);
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        let counters = (*self.counters()).into();
        let Some(connection) = &self.connection else {
            let waits = self.role == Role::Passive && !self.farewell.over;
            let state = if waits { "LISTEN" } else { "CLOSED" };
            return Snapshot { state, phase: "open", counters, ..Snapshot::default() };
        };
        let works = !self.farewell.over;
        let state = match (self.farewell.over, self.farewell.handshaken) {
            (true, _) => "CLOSED",
            (_, false) => "HANDSHAKE",
            _ => "ESTABLISHED",
        };
        let packets = self.work.as_ref().map(|work| &work.packets);
        // A datagram that has left is never sent again.
        let done = packets.map_or(0, |packets| packets.acked() + packets.datagrams_sent());
        let look = connection.look();
        let sampled = |nanos| (look.has_rtt != 0).then_some(Duration::from_nanos(nanos));
        let backoff = u32::try_from(look.pto_count).map_or(31, |count| count.min(31));
        Snapshot {
            state,
            phase: self.reasons.phase(),
            cwnd: look.cwnd,
            ssthresh: (look.ssthresh != u64::MAX).then_some(look.ssthresh),
            in_flight: Some(look.in_flight),
            snd_wnd: look.window,
            send_queue: self.writer.written().saturating_sub(done),
            recv_queue: Some(Socket::readable(self)),
            srtt: sampled(look.rtt),
            rttvar: sampled(look.rttvar),
            rto: works.then(|| Duration::from_nanos(look.pto.saturating_mul(1 << backoff))),
            rexmt_due: (works && look.due != u64::MAX).then(|| Instant::from_nanos(look.due)),
            counters,
            ..Snapshot::default()
        }
    }
}

impl StackEnd for Ngtcp2End {
    fn counters(&self) -> &Counters {
        self.work.as_ref().map_or(&Counters::NONE, |work| &work.packets.counters)
    }

    fn misplaced_bytes(&self) -> u64 {
        let datagrams = self.talk.as_ref().map_or(0, |talk| talk.datagrams.inbox.misplaced());
        self.reader.misplaced() + datagrams
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    fn take_secrets(&mut self) -> Option<String> {
        self.work.as_mut()?.take_secrets()
    }

    fn take_qlog(&mut self) -> Option<Vec<u8>> {
        let log = &mut self.talk.as_mut()?.log;
        (!log.is_empty()).then(|| std::mem::take(log))
    }
}
