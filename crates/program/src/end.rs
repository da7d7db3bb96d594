//! One end of a connection.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use rexmit_stack::quic::{DatagramInbox, StreamReader, StreamWriter, no_datagram};
use rexmit_stack::{
    Counters, Delivery, EndSettings, Endpoint, Event, Role, Snapshot, Socket, StackEnd, Transmission,
};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{PROTOCOL_SCTP, Packet, Payload, SeqNumber, Transport};

use crate::ahead::{Ahead, Written};
use crate::error::ProgramError;
use crate::frame::{Answer, Call, Data, Leaving, State, Timer};
use crate::host::Host;
use crate::traffic::{Cause, Traffic};

/// A write is offered in pieces of this many bytes, and of fewer where fewer were taken the last time; a message, at
/// most this many at once.
const PIECE: u64 = 1 << 16;
const LEAST_PIECE: u64 = 1 << 12;
const MESSAGE: u64 = 1 << 22;
/// A read asks for no more.
const MOST_READ: u64 = 1 << 20;
/// Calls of a timer at one instant after which nothing more would come of it.
const TIMERS_AT_ONCE: u32 = 1_000;
/// Writes at one instant of which it takes nothing, though it says each time that it could.
const REFUSALS_AT_ONCE: u32 = 1_000;
/// Different names of states that are kept for good.
const NAMES: usize = 64;

/// One end of a connection of a program's.
#[derive(Debug)]
pub(crate) struct ProgramEnd {
    host: Rc<RefCell<Host>>,
    number: u32,
    settings: EndSettings,
    protocol: Protocol,
    traffic: Traffic,
    out: VecDeque<Transmission>,
    events: VecDeque<Event>,
    readable: u64,
    timer: Timer,
    next: Option<Instant>,
    /// The last instant at which its timer was due, and how often in a row.
    ticked: (Instant, u32),
    /// The last instant at which it took nothing of a write, and how often in a row.
    refused: (Instant, u32),
    state: State,
    secrets: String,
    qlog: Vec<u8>,
    writer: StreamWriter,
    /// How much is offered at once.
    piece: u64,
    buffer: Written,
    ahead: Ahead,
    inbox: Inbox,
    closing: Closing,
}

/// How far the connection of a QUIC is over.
#[derive(Debug, Default)]
struct Closing {
    /// The application writes no more.
    ours: bool,
    /// Nothing comes any more.
    theirs: bool,
    /// The program was told that both directions are over.
    told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Sctp,
    Quic,
}

/// What has been read.
#[derive(Debug)]
struct Inbox {
    /// For TCP: bytes so far; for SCTP: the end of the furthest message.
    furthest: u64,
    misplaced: u64,
    last: Option<u64>,
    /// For QUIC: what the program gave and the application has not taken yet.
    rest: Option<Data>,
    streams: StreamReader,
    datagrams: DatagramInbox,
}

impl ProgramEnd {
    /// Makes an end at this host.
    pub fn open(host: Rc<RefCell<Host>>, number: u32, protocol: &str, settings: &EndSettings) -> Self {
        let mut end = Self {
            host,
            number,
            protocol: match protocol {
                "sctp" => Protocol::Sctp,
                "quic" => Protocol::Quic,
                _ => Protocol::Tcp,
            },
            traffic: Traffic::new(protocol),
            out: VecDeque::new(),
            events: VecDeque::new(),
            readable: 0,
            timer: Timer::None,
            next: None,
            ticked: (Instant::ZERO, 0),
            refused: (Instant::ZERO, 0),
            state: State::default(),
            secrets: String::new(),
            qlog: Vec::new(),
            writer: StreamWriter::new(settings.role, settings.places.clone()),
            piece: PIECE,
            buffer: Written::default(),
            ahead: Ahead::default(),
            inbox: Inbox {
                furthest: 0,
                misplaced: 0,
                last: None,
                rest: None,
                streams: StreamReader::new(settings.role, settings.places.clone()),
                datagrams: DatagramInbox::default(),
            },
            closing: Closing::default(),
            settings: settings.clone(),
        };
        let EndSettings { local, remote, role, streams, datagrams, .. } = *settings;
        let open = Call::Open { local, remote, role, streams, datagrams };
        if end.host.borrow().follows_up() {
            end.ahead = Ahead::new(settings.habits);
        }
        let knows = end.host.borrow().about().datagrams;
        if datagrams && !knows {
            let text = "it does not say that it knows datagrams, which transfers.*.datagrams asks for";
            end.fail(&open, Instant::ZERO, text.into());
        }
        end.call(&open, Instant::ZERO, Cause::Application);
        end
    }

    /// Calls the program, and takes what it answers.
    fn call(&mut self, call: &Call<'_>, now: Instant, cause: Cause) -> Answer {
        let answered = match self.ahead.answer(call) {
            Some(Ok(answer)) => Some(answer),
            Some(Err(wrong)) => {
                self.fail(call, now, wrong);
                None
            }
            None => {
                self.ahead.asks(call);
                self.host.borrow_mut().ask(call, now, self.number)
            }
        };
        let Some(mut answer) = answered else {
            self.next = None;
            return Answer::default();
        };
        self.ahead.keep(std::mem::take(&mut answer.next));
        self.traffic.begin();
        if let Some(state) = answer.state.take() {
            let told = |field: usize| state.values[field];
            self.traffic.tell(told(11), told(12), told(13));
            self.state = state;
        }
        for packet in std::mem::take(&mut answer.packets) {
            if let Err(wrong) = self.leaves(packet, cause) {
                self.fail(call, now, wrong);
                return Answer::default();
            }
        }
        for event in answer.events.drain(..) {
            match (event, self.protocol) {
                (Event::EndOfStream, Protocol::Quic) => self.inbox.streams.finish(),
                _ => self.events.push_back(event),
            }
        }
        self.readable = answer.readable.unwrap_or(self.readable);
        self.secrets.push_str(&answer.secrets);
        self.qlog.append(&mut answer.qlog);
        if let Some(timer) = answer.timer {
            self.timer = timer;
            self.next = match timer {
                Timer::None => None,
                Timer::At(at) => Some(Instant::from_nanos(at).max(now)),
                Timer::Every(every) => Some(now + Duration::from_nanos(every)),
            };
        }
        if self.protocol == Protocol::Quic {
            self.settle_close(now);
        }
        answer
    }

    /// Calls the program for what is not the application's doing, and tells it what the application does as soon as it
    /// is told an event.
    fn call_first(&mut self, first: &Call<'_>, now: Instant, cause: Cause) {
        let most = self.ahead.reads().map_or(0, |max| self.most_read(max));
        let piece = if self.is_of_messages() { MESSAGE } else { self.piece };
        let writes = self.ahead.writes(piece);
        let place = self.writer.written();
        let mut buffer = std::mem::take(&mut self.buffer);
        if let Some((len, _)) = writes {
            buffer = buffer.at(place, len);
        }
        let write = writes.map(|(_, how)| Call::Write { how, place, bytes: &buffer.bytes });
        let followed = Call::Followed { first, most, write: write.as_ref() };
        let call = if most == 0 && write.is_none() { first } else { &followed };
        self.call(call, now, cause);
        self.ahead.told(self.events.contains(&Event::Writable));
        self.buffer = buffer;
    }

    /// The most that the program is asked for by a read of this many bytes: a datagram is asked for whole.
    fn most_read(&self, max: u64) -> u32 {
        if self.settings.datagrams { MOST_READ as u32 } else { max.min(MOST_READ) as u32 }
    }

    /// What was answered to a call is impossible.
    fn fail(&mut self, call: &Call<'_>, now: Instant, wrong: String) {
        self.host.borrow_mut().fail(call, now, &ProgramError::Garbled(wrong));
        self.next = None;
        self.ahead.clear();
    }

    /// The side that has connected tells its program once both directions are over.
    fn settle_close(&mut self, now: Instant) {
        if self.inbox.streams.is_over() && !std::mem::replace(&mut self.closing.theirs, true) {
            self.events.push_back(Event::EndOfStream);
        }
        let over = self.closing.ours && self.closing.theirs && self.settings.role == Role::Active;
        if over && !std::mem::replace(&mut self.closing.told, true) {
            self.call(&Call::Close, now, Cause::Application);
        }
    }

    /// Takes a packet of the program's.
    fn leaves(&mut self, packet: Leaving, cause: Cause) -> Result<(), String> {
        let (len, mtu) = (packet.bytes.len(), self.host.borrow().mtu);
        if len > mtu as usize {
            return Err(format!("it sent a packet of {len} bytes over an MTU of {mtu}"));
        }
        let mut parsed =
            Packet::parse(&packet.bytes).map_err(|error| format!("it sent what is not a packet: {error}"))?;
        if parsed.damaged {
            return Err("it sent a packet with a wrong checksum".into());
        }
        let fits = match (&parsed.transport, self.protocol) {
            (Transport::Tcp(_), Protocol::Tcp) | (Transport::Udp(_), Protocol::Quic) => true,
            (Transport::Other { protocol, .. }, Protocol::Sctp) => *protocol == PROTOCOL_SCTP,
            _ => false,
        };
        let (local, remote) = (self.settings.local, self.settings.remote);
        let ours = parsed.src == local.ip()
            && parsed.dst == remote.ip()
            && parsed.ports() == Some((local.port(), remote.port()));
        if !fits || !ours {
            let ports =
                parsed.ports().map_or_else(String::new, |(from, to)| format!(", ports {from} and {to}"));
            return Err(format!(
                "it sent a packet that is not this end's, {local} to {remote}: from {} to {}{ports}",
                parsed.src, parsed.dst
            ));
        }
        let reason = self.traffic.leaves(&mut parsed, packet.why, cause);
        if let Transport::Udp(datagram) = &mut parsed.transport {
            datagram.sealed = Some(packet.content());
        }
        self.out.push_back(Transmission { packet: Box::new(parsed), reason });
        Ok(())
    }

    /// Gives the application bytes of one stream that lie together.
    fn take(&mut self, now: Instant, max: u64) -> u64 {
        let size = self.inbox.take(max);
        self.settle_close(now);
        if Socket::readable(self) > 0 {
            self.events.push_back(Event::Readable);
        }
        size
    }

    /// The bytes of the next write.
    ///
    /// # Errors
    /// A length that no datagram has.
    fn next_bytes(&mut self, len: u64, how: Delivery) -> Result<Written, String> {
        if how.datagram {
            return self.writer.next_datagram(len, None).map(Written::from);
        }
        Ok(std::mem::take(&mut self.buffer).at(self.writer.written(), len))
    }

    /// Writes up to `len` bytes, as one message where messages are kept apart.
    fn offer(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        let place = self.writer.written();
        let bytes = match self.next_bytes(len, how) {
            Ok(bytes) => bytes,
            Err(wrong) => {
                let call = Call::Write { how, place, bytes: &[] };
                self.fail(&call, now, wrong);
                return 0;
            }
        };
        let call = Call::Write { how, place, bytes: &bytes.bytes };
        let Answer { taken, limit, .. } = self.call(&call, now, Cause::Application);
        let taken = u64::from(taken);
        let wrong = match self.protocol {
            _ if how.datagram && limit.is_some() => limit.map(|limit| no_datagram(len, limit.into())),
            _ if how.datagram && taken != 0 && taken != len => {
                Some(format!("it took {taken} bytes of a datagram of {len}; allowed: all or none"))
            }
            _ if taken > len => Some(format!("it took {taken} bytes of {len}")),
            Protocol::Sctp if taken != 0 && taken != len => {
                Some(format!("it took {taken} bytes of a message of {len}; allowed: all or none"))
            }
            _ if taken == 0 => {
                let (last, count) = self.refused;
                self.refused = if last == now { (now, count + 1) } else { (now, 1) };
                (self.refused.1 > REFUSALS_AT_ONCE)
                    .then(|| format!("it took nothing of {REFUSALS_AT_ONCE} writes at one instant"))
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.fail(&call, now, wrong);
            return 0;
        }
        self.writer.wrote(how.stream, taken);
        self.buffer = bytes;
        taken
    }
}

impl Inbox {
    /// Takes note of what was read: where it belongs, and whether these are the bytes that belong there.
    fn note(&mut self, protocol: Protocol, data: &Data) {
        let place = match (protocol, data.place) {
            // Messages carry the lowest 32 bits of their place: it is the nearest to the furthest so far.
            (Protocol::Sctp, Some(place)) => {
                let away = i64::from((place as u32).wrapping_sub(self.furthest as u32) as i32);
                self.furthest.saturating_add_signed(away)
            }
            (_, Some(place)) => place,
            (_, None) => self.furthest,
        };
        self.misplaced += Payload::wrong_bytes(place, &data.bytes);
        self.furthest = self.furthest.max(place + data.bytes.len() as u64);
        self.last = Some(place);
    }

    /// Takes up to `max` bytes of what was read of a stream, all of which lie together.
    fn take(&mut self, max: u64) -> u64 {
        self.last = None;
        let size = self.datagrams.read(max);
        if size > 0 {
            self.last = self.datagrams.last();
            return size;
        }
        let Some(mut data) = self.rest.take() else { return 0 };
        self.streams.begin();
        let most = self.streams.most(data.stream).min(max).max(1);
        let size = data.bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX));
        let rest = data.bytes.split_off(size);
        self.streams.read(data.stream, &data.bytes);
        self.last = self.streams.last();
        if rest.is_empty() {
            if data.ends {
                self.streams.finish();
            }
        } else {
            self.rest = Some(Data { bytes: rest, ..data });
        }
        size as u64
    }
}

impl Endpoint for ProgramEnd {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.traffic.arrives(&packet);
        self.call_first(&Call::Packet(&packet.emit()), now, Cause::Packet);
    }

    fn handle_timer(&mut self, now: Instant) {
        if self.next.is_none_or(|due| due > now) {
            return;
        }
        let (last, count) = self.ticked;
        self.ticked = if last == now { (now, count + 1) } else { (now, 1) };
        if self.ticked.1 > TIMERS_AT_ONCE {
            let text = format!("its timer was due {TIMERS_AT_ONCE} times at one instant");
            self.fail(&Call::Timer, now, text);
            return;
        }
        // One that has expired is gone, unless it is a tick.
        self.next = match self.timer {
            Timer::Every(every) => Some(now + Duration::from_nanos(every)),
            _ => None,
        };
        self.call_first(&Call::Timer, now, Cause::Timer);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.out.pop_front()
    }

    fn poll_timer(&self) -> Option<Instant> {
        self.next
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        let told = |field: usize| self.state.values[field];
        let time = |field: usize| told(field).map(Duration::from_nanos);
        Snapshot {
            state: match (self.state.name.as_str(), self.settings.role) {
                ("", Role::Passive) => "LISTEN",
                ("", Role::Active) => "CLOSED",
                (name, _) => state_name(name),
            },
            phase: match told(10) {
                Some(0) => "open",
                Some(1) => "disorder",
                Some(2) => "recovery",
                Some(3) => "loss",
                _ => self.traffic.phase(),
            },
            cwnd: told(0).unwrap_or(0),
            ssthresh: told(1),
            in_flight: told(2),
            snd_wnd: told(3).unwrap_or(0),
            send_queue: told(4).unwrap_or(0),
            recv_queue: told(5).or(Some(self.readable)),
            srtt: time(6),
            rttvar: time(7),
            rto: time(8),
            rexmt_due: told(9).map(Instant::from_nanos),
            counters: (*self.counters()).into(),
            ..Snapshot::default()
        }
    }
}

impl Socket for ProgramEnd {
    fn connect(&mut self, now: Instant) {
        self.call(&Call::Connect, now, Cause::Application);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        if self.is_of_messages() || how.datagram {
            let taken = self.offer(now, len.min(MESSAGE), how);
            self.ahead.wrote(len - taken, how);
            return taken;
        }
        let mut taken = 0;
        while taken < len {
            let piece = (len - taken).min(self.piece);
            let took = self.offer(now, piece, how);
            taken += took;
            self.piece = (2 * took).clamp(LEAST_PIECE, PIECE);
            if took < piece {
                break;
            }
        }
        self.ahead.wrote(len - taken, how);
        taken
    }

    fn read_offset(&self) -> Option<u64> {
        if self.protocol == Protocol::Tcp { None } else { self.inbox.last }
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.inbox.last = None;
        let most = self.most_read(max);
        if Socket::readable(self) == 0 || most == 0 {
            return 0;
        }
        if self.inbox.rest.is_some() || self.inbox.datagrams.readable() > 0 {
            return self.take(now, max);
        }
        let call = Call::Read(most);
        let Some(data) = self.call(&call, now, Cause::Application).data else { return 0 };
        let len = data.bytes.len() as u64;
        if len > most.into() {
            let text = format!("it gave {len} bytes where {most} were asked for");
            self.fail(&call, now, text);
            return 0;
        }
        if self.protocol == Protocol::Quic {
            if data.datagram {
                self.inbox.datagrams.arrived(data.bytes);
            } else {
                self.inbox.rest = Some(data);
            }
            return self.take(now, max);
        }
        self.inbox.note(self.protocol, &data);
        len
    }

    fn readable(&self) -> u64 {
        let rest = self.inbox.rest.as_ref().map_or(0, |data| data.bytes.len() as u64);
        self.readable + rest + self.inbox.datagrams.readable()
    }

    fn close(&mut self, now: Instant) {
        self.writer.close();
        self.call(&Call::Close, now, Cause::Application);
        self.closing.ours = true;
        if self.protocol == Protocol::Quic {
            self.settle_close(now);
        }
    }

    fn abort(&mut self, now: Instant) {
        self.call(&Call::Abort, now, Cause::Application);
    }
}

impl StackEnd for ProgramEnd {
    fn counters(&self) -> &Counters {
        self.traffic.counters()
    }

    fn misplaced_bytes(&self) -> u64 {
        self.inbox.misplaced + self.inbox.streams.misplaced() + self.inbox.datagrams.misplaced()
    }

    fn failure(&self) -> Option<String> {
        self.host.borrow().failure().map(str::to_string)
    }

    fn take_secrets(&mut self) -> Option<String> {
        (!self.secrets.is_empty()).then(|| std::mem::take(&mut self.secrets))
    }

    fn take_qlog(&mut self) -> Option<Vec<u8>> {
        (!self.qlog.is_empty()).then(|| std::mem::take(&mut self.qlog))
    }

    fn is_of_messages(&self) -> bool {
        self.protocol == Protocol::Sctp
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.traffic.has_received(from, end)
    }
}

/// A name that lasts as long as the process. Programs name few states; of one that names ever others, only so many are kept.
fn state_name(name: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = known.get(name) {
        return kept;
    }
    if known.len() >= NAMES {
        return "OTHER";
    }
    let kept: &'static str = Box::leak(name.to_string().into_boxed_str());
    known.insert(kept);
    kept
}
