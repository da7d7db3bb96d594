//! One end of an association.

use std::collections::BTreeMap;
use std::rc::Rc;

use rexmit_stack::{
    Counters, Delivery, Endpoint, Event, Outbox, SctpArrival, SctpGained, SctpReasons, Snapshot, Socket,
    Transmission,
};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{IpFields, PROTOCOL_SCTP, Packet, Payload, SeqNumber, Transport};

use crate::ffi::{self, Reliability, SendInfo, SendParameters, Statistics, Status};
use crate::hooks::{self, Sent};
use crate::library::Library;
use crate::raw::{self, RawSocket};
use crate::{AssociationConfig, Role, UsrsctpError};

/// One end of an association; see [`Endpoint`] for the order of calls.
///
/// A write is a message. One that is longer than the send buffer can never be taken whole: its beginning, as long as the
/// buffer, is taken as a message, and the rest is another.
#[derive(Debug)]
pub struct Association {
    library: Rc<Library>,
    config: AssociationConfig,
    /// Its number in the library, which is its address there.
    number: usize,
    socket: RawSocket,
    state: State,
    events: u8,
    out: Outbox,
    traffic: SctpReasons,
    /// The library's counters after the last call for this end.
    statistics: Box<Statistics>,
    /// Bytes that the application has written.
    written: u64,
    /// A write waits for room.
    blocked: bool,
    closing: bool,
    peer_done: bool,
    inbox: Inbox,
}

/// Where the association is in its life, as far as the application knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Listening,
    Connecting,
    Open,
    Over,
}

/// What has been read.
#[derive(Debug, Default)]
struct Inbox {
    /// Of messages that were read in part: the place of the next byte, by stream, whether unordered, and identifier.
    partial: BTreeMap<(u16, bool, u32), u64>,
    /// The end of the furthest message read.
    furthest: u64,
    /// Where the last read began.
    last: Option<u64>,
    misplaced: u64,
    buffer: Vec<u8>,
    expected: Vec<u8>,
}

impl Association {
    pub(crate) fn new(library: Rc<Library>, config: AssociationConfig) -> Result<Self, UsrsctpError> {
        config.settings.check()?;
        let number = hooks::add_owner(config.seed);
        library.enter(number, Instant::ZERO, &config.settings)?;
        let socket = RawSocket::new(number, config.local.port())?;
        let headers = if config.local.is_ipv4() { 20 } else { 40 } + 12;
        socket.set(ffi::IPPROTO_SCTP, ffi::SCTP_NODELAY, i32::from(config.settings.nodelay))?;
        socket.set(ffi::IPPROTO_SCTP, ffi::SCTP_RECVRCVINFO, 1_i32)?;
        socket.set_path(
            (config.settings.heartbeat.as_nanos() / 1_000_000) as u32,
            config.mtu.saturating_sub(headers) / 4 * 4,
        )?;
        let state = match config.role {
            Role::Active => State::Idle,
            Role::Passive => {
                socket.listen()?;
                State::Listening
            }
        };
        Ok(Self {
            library,
            config,
            number,
            socket,
            state,
            events: 0,
            out: Outbox::default(),
            traffic: SctpReasons::default(),
            statistics: Box::new([0; 166]),
            written: 0,
            blocked: false,
            closing: false,
            peer_done: false,
            inbox: Inbox::default(),
        })
    }

    /// What has happened so far. Packets are counted; of those with data, one that holds any data of before counts as
    /// sent again.
    pub fn counters(&self) -> &Counters {
        self.traffic.counters()
    }

    /// Bytes that were delivered at another place than the sending application wrote them. Anything but zero is a
    /// fault.
    pub fn misplaced_bytes(&self) -> u64 {
        self.inbox.misplaced
    }

    /// True if the peer's DATA chunk with this TSN has arrived. The library drops what comes while its buffer is full, and
    /// does not tell; such a chunk counts as taken.
    pub fn has_received(&self, tsn: SeqNumber) -> bool {
        self.traffic.has_received(tsn)
    }

    /// Lends the association an outbox for the packets that it sends; swap it back after polling.
    pub fn swap_outbox(&mut self, outbox: &mut Outbox) {
        std::mem::swap(&mut self.out, outbox);
    }

    /// Calls the library for this end, and takes what it sends.
    fn call<R>(&mut self, now: Instant, what: impl FnOnce(RawSocket) -> R) -> R {
        self.library.enter(self.number, now, &self.config.settings).expect("they were accepted before");
        let mut before: Statistics = [0; 166];
        self.library.statistics(&mut before);
        let answer = what(self.socket);
        self.library.statistics(&mut self.statistics);
        let gained = gained(&before, &self.statistics);
        self.traffic.counted(gained);
        let mut sent = Vec::new();
        hooks::take_sent(self.number, &mut sent);
        for packet in sent {
            self.emit(packet, gained);
        }
        answer
    }

    fn emit(&mut self, sent: Sent, gained: SctpGained) {
        let (reason, closing) = self.traffic.leaves(&sent.bytes, gained);
        self.closing |= closing;
        let ident = self.traffic.counters().packets as u16;
        let packet = Box::new(Packet {
            src: self.config.local.ip(),
            dst: self.config.remote.ip(),
            ip: IpFields { tos: sent.tos, ident, ..IpFields::default() },
            transport: Transport::Other {
                protocol: PROTOCOL_SCTP,
                payload: Payload::Bytes(sent.bytes.into()),
            },
            damaged: false,
        });
        self.out.push(Transmission { packet, reason });
    }

    /// Finds out what the application should know after something has happened.
    fn observe(&mut self, arrival: SctpArrival) {
        match self.state {
            State::Listening => {
                if let Some(socket) = self.socket.accept() {
                    self.socket = socket;
                    self.state = State::Open;
                    self.raise(Event::Connected);
                }
            }
            State::Connecting => match self.socket.status() {
                Some(status) if status.state & ffi::ESTABLISHED != 0 => {
                    self.state = State::Open;
                    self.raise(Event::Connected);
                }
                Some(_) => {}
                None => self.lost(arrival.abort),
            },
            State::Idle | State::Open | State::Over => {}
        }
        if self.state != State::Open {
            return;
        }
        if arrival.data && self.socket.is_readable() {
            self.raise(Event::Readable);
        }
        if self.closing {
            self.follow_shutdown(arrival);
        }
        if self.blocked {
            self.blocked = false;
            self.raise(Event::Writable);
        }
    }

    /// A shutdown goes on, or the association may be lost.
    fn follow_shutdown(&mut self, arrival: SctpArrival) {
        match self.socket.status().map(|status| status.state) {
            Some(state) if state & (ffi::SHUTDOWN_RECEIVED | ffi::SHUTDOWN_ACK_SENT) != 0 => {
                self.end_of_stream();
            }
            Some(_) => {}
            None if arrival.abort || !arrival.closing => self.lost(arrival.abort),
            None => {
                self.end_of_stream();
                self.state = State::Over;
                self.raise(Event::Closed);
            }
        }
    }

    fn end_of_stream(&mut self) {
        if !self.peer_done {
            self.peer_done = true;
            self.raise(Event::EndOfStream);
        }
    }

    fn lost(&mut self, aborted: bool) {
        self.state = State::Over;
        self.raise(if aborted { Event::Reset } else { Event::TimedOut });
    }

    fn raise(&mut self, event: Event) {
        let bit = EVENTS.iter().position(|known| *known == event).unwrap_or(0);
        self.events |= 1 << bit;
    }
}

impl Inbox {
    /// Takes note of a part of a message: where it belongs, and whether its bytes are those that belong there.
    fn note(&mut self, part: &raw::Part) {
        let identifier = u32::from_be(part.info.ppid);
        let key = (part.info.stream, part.info.flags & ffi::SCTP_UNORDERED != 0, identifier);
        let place = self.partial.remove(&key).unwrap_or_else(|| {
            // The place is the one nearest to the furthest so far with these lowest 32 bits.
            let away = i64::from(identifier.wrapping_sub(self.furthest as u32) as i32);
            self.furthest.saturating_add_signed(away)
        });
        let end = place + part.len as u64;
        self.expected.clear();
        Payload::Stream { offset: place, len: part.len as u32 }.append_to(&mut self.expected);
        if self.expected != self.buffer[..part.len] {
            let pairs = self.expected.iter().zip(&self.buffer);
            self.misplaced += pairs.filter(|(expected, got)| expected != got).count() as u64;
        }
        if !part.ends {
            self.partial.insert(key, end);
        }
        self.furthest = self.furthest.max(end);
        self.last = Some(place);
    }
}

const EVENTS: [Event; 7] = [
    Event::Connected,
    Event::Readable,
    Event::EndOfStream,
    Event::Writable,
    Event::Closed,
    Event::Reset,
    Event::TimedOut,
];

impl Endpoint for Association {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        let ecn = packet.ip.tos & 3;
        let number = self.number;
        let arrival = match &packet.transport {
            Transport::Other { protocol: PROTOCOL_SCTP, payload } => {
                let bytes = payload.bytes();
                let arrival = self.traffic.arrived(&bytes);
                self.call(now, |_| raw::input(number, &bytes, ecn));
                arrival
            }
            Transport::Sctp(typed) => {
                let bytes = typed.emit();
                let arrival = self.traffic.arrived(&bytes);
                self.call(now, |_| raw::input(number, &bytes, ecn));
                arrival
            }
            _ => return,
        };
        self.closing |= arrival.closing;
        self.observe(arrival);
    }

    fn handle_timer(&mut self, now: Instant) {
        let number = self.number;
        let before = self.traffic.counters().timeouts;
        // One after the other, so that packets are told apart by the timer that sends them.
        while hooks::next_timer(number).is_some_and(|due| due <= now) {
            self.call(now, |_| hooks::expire_one(number));
        }
        // Too many expiries end an association without a word.
        self.closing |= self.traffic.counters().timeouts > before;
        self.observe(SctpArrival { data: true, ..SctpArrival::default() });
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.out.pop()
    }

    /// A socket changes the key of its cookies every hour, for ever; that of an association that is over is asleep.
    fn poll_timer(&self) -> Option<Instant> {
        if self.state == State::Over { None } else { hooks::next_timer(self.number) }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if self.events == 0 {
            return None;
        }
        let bit = self.events.trailing_zeros();
        self.events &= self.events - 1;
        Some(EVENTS[bit as usize])
    }

    /// The library tells neither the slow-start threshold nor the variation of the RTT, nor when its timer is due, nor how
    /// much waits for a read. What is in flight and in the send buffer comes from the packets; messages that were given
    /// up before they were sent stay in the latter.
    fn snapshot(&self) -> Snapshot {
        let counters = (*self.counters()).into();
        let in_flight = Some(self.traffic.in_flight());
        let over = Snapshot { state: "CLOSED", phase: "open", in_flight, counters, ..Snapshot::default() };
        let Some(status) = self.socket.status() else {
            return Snapshot {
                state: if self.state == State::Listening { "LISTEN" } else { "CLOSED" },
                ..over
            };
        };
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Snapshot {
            state: name(&status),
            phase: self.traffic.phase(),
            cwnd: status.primary.cwnd.into(),
            send_queue: self.written.saturating_sub(self.traffic.delivered()),
            snd_wnd: status.rwnd.into(),
            srtt: (status.primary.srtt_ms > 0).then(|| ms(status.primary.srtt_ms)),
            rto: (status.primary.rto_ms > 0).then(|| ms(status.primary.rto_ms)),
            ..over
        }
    }
}

/// What the library's counters gained between two looks at them.
fn gained(before: &Statistics, after: &Statistics) -> SctpGained {
    let rise = |at: usize| after[at].wrapping_sub(before[at]);
    let control =
        [ffi::INIT_TIMEOUTS, ffi::COOKIE_TIMEOUTS, ffi::SHUTDOWN_TIMEOUTS, ffi::SHUTDOWN_ACK_TIMEOUTS];
    SctpGained {
        data_timeouts: rise(ffi::DATA_TIMEOUTS),
        control_timeouts: control.iter().map(|at| rise(*at)).sum(),
        fast: rise(ffi::FAST_RETRANSMITTED),
    }
}

/// The state's name in RFC 9260 section 4.
fn name(status: &Status) -> &'static str {
    match status.state {
        0x02 => "COOKIE-WAIT",
        0x04 => "COOKIE-ECHOED",
        ffi::ESTABLISHED => "ESTABLISHED",
        0x10 => "SHUTDOWN-SENT",
        ffi::SHUTDOWN_RECEIVED => "SHUTDOWN-RECEIVED",
        ffi::SHUTDOWN_ACK_SENT => "SHUTDOWN-ACK-SENT",
        0x80 => "SHUTDOWN-PENDING",
        _ => "CLOSED",
    }
}

impl Socket for Association {
    fn connect(&mut self, now: Instant) {
        if self.state == State::Idle {
            self.state = State::Connecting;
            let (number, port) = (self.number, self.config.remote.port());
            self.call(now, |socket| socket.connect(number, port));
        }
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        if self.state != State::Open || len == 0 {
            return 0;
        }
        let len = len.min(self.config.settings.send_buffer.0);
        let mut message = Vec::with_capacity(len as usize);
        Payload::Stream { offset: self.written, len: len as u32 }.append_to(&mut message);
        let parameters = parameters(&how, self.written as u32);
        if self.call(now, |socket| socket.send(&message, &parameters)) {
            self.written += len;
            return len;
        }
        self.blocked = true;
        0
    }

    fn read_offset(&self) -> Option<u64> {
        self.inbox.last
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        if matches!(self.state, State::Idle | State::Listening) || max == 0 {
            return 0;
        }
        let most = max.min(self.config.settings.receive_buffer.0) as usize;
        let mut buffer = std::mem::take(&mut self.inbox.buffer);
        buffer.resize(most.max(buffer.len()), 0);
        let part = self.call(now, |socket| socket.receive(&mut buffer[..most], false));
        self.inbox.buffer = buffer;
        let Some(part) = part else { return 0 };
        self.inbox.note(&part);
        if self.readable() > 0 {
            self.raise(Event::Readable);
        }
        part.len as u64
    }

    /// One byte if there is anything to read: the library does not tell how much waits.
    fn readable(&self) -> u64 {
        let known = !matches!(self.state, State::Idle | State::Listening);
        let waits = known && self.socket.is_readable() && self.socket.receive(&mut [0], true).is_some();
        u64::from(waits)
    }

    fn close(&mut self, now: Instant) {
        match self.state {
            State::Idle | State::Listening => {
                self.state = State::Over;
                self.raise(Event::Closed);
            }
            State::Connecting | State::Open => {
                self.closing = true;
                self.call(now, RawSocket::shutdown);
            }
            State::Over => {}
        }
    }

    fn abort(&mut self, now: Instant) {
        if matches!(self.state, State::Connecting | State::Open) {
            let info = SendInfo { flags: ffi::SCTP_ABORT, ..SendInfo::default() };
            let parameters = SendParameters { flags: ffi::SEND_INFO, info, ..SendParameters::default() };
            self.call(now, |socket| socket.send(&[], &parameters));
        }
        if self.state != State::Over {
            self.state = State::Over;
            self.raise(Event::Closed);
        }
    }
}

/// How a message is sent, with its place in what the application has written.
fn parameters(how: &Delivery, place: u32) -> SendParameters {
    let order = if how.unordered { ffi::SCTP_UNORDERED } else { 0 };
    let info = SendInfo { stream: how.stream, flags: order, ppid: place.to_be(), ..SendInfo::default() };
    let reliability = match (how.lifetime, how.max_retransmits) {
        (Some(lifetime), _) => {
            let ms = lifetime.as_nanos().div_ceil(1_000_000).min(u32::MAX.into()) as u32;
            Some(Reliability { policy: ffi::PR_LIFETIME, value: ms })
        }
        (None, Some(most)) => Some(Reliability { policy: ffi::PR_RETRANSMITS, value: most }),
        (None, None) => None,
    };
    let flags = ffi::SEND_INFO | if reliability.is_some() { ffi::SEND_RELIABILITY } else { 0 };
    SendParameters { flags, info, reliability: reliability.unwrap_or_default(), key: 0 }
}
