//! One end of a connection: an interface of its own with one socket.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::IpAddr;

use rexmit_stack::{
    Counters, EndSettings, Endpoint, Event, Reason, Role, Snapshot, Socket, StackEnd, TcpCarries, TcpPackets,
    Transmission,
};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Packet, Payload, SeqNumber};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{self, CongestionControl, State};
use smoltcp::time;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use crate::config::{Congestion, SmoltcpConfig};
use crate::device::Wire;

/// An end that says that it has something to do, and does nothing, gets another chance so much later.
const AGAIN: Duration = Duration::from_millis(1);

/// So many duplicate acknowledgments make it send again.
const DUPLICATES: u16 = 3;

thread_local! {
    /// The time that timestamps are made of; smoltcp asks a function that has no arguments.
    static CLOCK: Cell<Instant> = const { Cell::new(Instant::ZERO) };
}

/// What has made it act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Packet,
    Timer,
    Application,
}

/// One end of a connection of smoltcp's.
pub(crate) struct SmolEnd {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    settings: EndSettings,
    out: VecDeque<Transmission>,
    events: VecDeque<Event>,
    seen: TcpPackets,
    /// The application has called it since it was last polled.
    called: bool,
    now: Instant,
    /// When it wants to be polled again.
    next: Option<Instant>,
    told: Told,
    /// Bytes that the application wrote, and read.
    written: u64,
    read: u64,
    misplaced: u64,
    /// It sends again all since the first byte that was not acknowledged.
    goes_back: bool,
    duplicates: Duplicates,
    /// Expiries in a row.
    backoff: u32,
}

/// What the application has been told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    connected: bool,
    readable: usize,
    end: bool,
    closed: bool,
    /// It waits for space in the send buffer.
    waits: bool,
}

/// Acknowledgments of the same number in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Duplicates {
    last: Option<SeqNumber>,
    count: u16,
}

impl Duplicates {
    /// Takes note of a packet that arrives; whether it is one.
    fn arrives(&mut self, packet: &Packet) -> bool {
        let Some(segment) = packet.tcp().filter(|segment| segment.flags.has(Flags::ACK)) else {
            return false;
        };
        let again = self.last == Some(segment.ack) && segment.seq_len() == 0;
        if again {
            self.count = self.count.saturating_add(1);
        } else if self.last != Some(segment.ack) {
            (self.last, self.count) = (Some(segment.ack), 0);
        }
        again
    }
}

impl std::fmt::Debug for SmolEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmolEnd").field("told", &self.told).finish_non_exhaustive()
    }
}

impl SmolEnd {
    /// An end with these settings.
    pub fn new(config: &SmoltcpConfig, mtu: u32, seed: u64, settings: &EndSettings) -> Self {
        let mut wire = Wire { mtu: mtu as usize, ..Wire::default() };
        let mut with = Config::new(HardwareAddress::Ip);
        with.random_seed = seed;
        let mut interface = Interface::new(with, &mut wire, smol_time(Instant::ZERO));
        let (local, remote) = (settings.local.ip(), settings.remote.ip());
        let bits = if local.is_ipv4() { 32 } else { 128 };
        interface
            .update_ip_addrs(|all| all.push(IpCidr::new(IpAddress::from(local), bits)).unwrap_or_default());
        let routes = interface.routes_mut();
        // The peer lies behind the device, whatever its address.
        match remote {
            IpAddr::V4(peer) => drop(routes.add_default_ipv4_route(peer)),
            IpAddr::V6(peer) => drop(routes.add_default_ipv6_route(peer)),
        }
        let mut socket = tcp::Socket::new(buffer(config.receive_buffer.0), buffer(config.send_buffer.0));
        socket.set_nagle_enabled(config.nagle);
        let delay = time::Duration::from_micros(config.ack_delay.as_nanos() / 1_000);
        socket.set_ack_delay((!config.ack_delay.is_zero()).then_some(delay));
        socket.set_congestion_control(match config.congestion {
            Congestion::None => CongestionControl::None,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Cubic => CongestionControl::Cubic,
        });
        if config.timestamps {
            socket.set_tsval_generator(Some(|| (CLOCK.get().as_nanos() / 1_000_000) as u32));
        }
        if settings.role == Role::Passive {
            // A new socket may listen at any port but 0, which no end has.
            socket.listen(settings.local.port()).unwrap_or_default();
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self {
            interface,
            wire,
            sockets,
            socket,
            settings: settings.clone(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            seen: TcpPackets::default(),
            called: false,
            now: Instant::ZERO,
            next: None,
            told: Told::default(),
            written: 0,
            read: 0,
            misplaced: 0,
            goes_back: false,
            duplicates: Duplicates::default(),
            backoff: 0,
        }
    }

    /// Its first sequence number.
    #[cfg(test)]
    pub fn first(&self) -> SeqNumber {
        self.seen.first.expect("it has sent a SYN")
    }

    fn tcp(&self) -> &tcp::Socket<'static> {
        self.sockets.get(self.socket)
    }

    fn tcp_mut(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Lets it act until it does nothing more.
    fn run(&mut self, now: Instant, cause: Cause) {
        CLOCK.set(now);
        (self.called, self.now) = (false, now);
        let before = self.tcp().state();
        let mut first = true;
        loop {
            self.interface.poll(smol_time(now), &mut self.wire, &mut self.sockets);
            let sent = std::mem::take(&mut self.wire.outbox);
            if sent.is_empty() {
                break;
            }
            for bytes in sent {
                // What it sends beside TCP, such as an ICMP message, is none of the run's.
                let Ok(mut packet) = Packet::parse(&bytes) else { continue };
                let carries = self.seen.leaves(&mut packet);
                let reason = self.reason(carries, cause, &mut first);
                self.out.push_back(Transmission { packet: Box::new(packet), reason });
            }
        }
        self.tell(before);
        let due = self.interface.poll_at(smol_time(now), &self.sockets);
        let due = due.map(|at| Instant::from_nanos(at.total_micros().max(0) as u64 * 1_000));
        self.next = due.map(|due| if due <= now { now + AGAIN } else { due });
    }

    /// Why a packet leaves, as packets and timers show it.
    fn reason(&mut self, carries: TcpCarries, cause: Cause, first: &mut bool) -> Reason {
        match carries {
            TcpCarries::Again if cause == Cause::Timer && std::mem::take(first) => {
                self.seen.counters.timeouts += 1;
                (self.goes_back, self.backoff) = (true, self.backoff + 1);
                Reason::Timeout { backoff: self.backoff }
            }
            TcpCarries::Again if !self.goes_back && self.duplicates.count >= DUPLICATES => {
                self.seen.counters.fast_retransmits += 1;
                self.goes_back = true;
                Reason::Fast { duplicates: self.duplicates.count, sacked: 0 }
            }
            TcpCarries::Again => Reason::GoBackN,
            TcpCarries::New => {
                (self.goes_back, self.backoff) = (false, 0);
                Reason::New
            }
            TcpCarries::Syn { answer: false, backoff } => Reason::Syn { backoff },
            TcpCarries::Syn { answer: true, backoff } => Reason::SynAck { backoff },
            TcpCarries::Ack => Reason::Ack,
            TcpCarries::Reset => Reason::Reset,
        }
    }

    /// Tells the application what is new.
    fn tell(&mut self, before: State) {
        let socket = self.tcp();
        let (state, readable, room) = (socket.state(), socket.recv_queue(), socket.can_send());
        let mut told = self.told;
        let mut news = Vec::new();
        let open = !matches!(state, State::Closed | State::Listen | State::SynSent | State::SynReceived);
        if open && !told.connected {
            told.connected = true;
            news.push(Event::Connected);
        }
        if readable > told.readable {
            news.push(Event::Readable);
        }
        told.readable = readable;
        if told.waits && room {
            told.waits = false;
            news.push(Event::Writable);
        }
        let ended = matches!(state, State::CloseWait | State::LastAck | State::Closing | State::TimeWait);
        if ended && !told.end {
            told.end = true;
            news.push(Event::EndOfStream);
        }
        if !told.closed && state == State::TimeWait {
            told.closed = true;
            news.push(Event::Closed);
        }
        if !told.closed && state == State::Closed && before != State::Closed {
            told.closed = true;
            // Both directions were over, or the peer broke it off.
            news.push(if before == State::LastAck { Event::Closed } else { Event::Reset });
        }
        self.told = told;
        self.events.extend(news);
    }

    /// Acts on what the application has called.
    fn settle(&mut self, now: Instant) {
        if self.called {
            self.run(now, Cause::Application);
        }
    }
}

impl Endpoint for SmolEnd {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.settle(now);
        self.seen.arrives(&packet);
        self.seen.counters.dup_acks += u64::from(self.duplicates.arrives(&packet));
        self.wire.inbox = Some(packet.emit());
        self.run(now, Cause::Packet);
    }

    fn handle_timer(&mut self, now: Instant) {
        self.settle(now);
        if self.next.is_some_and(|next| next <= now) {
            self.run(now, Cause::Timer);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        self.settle(now);
        self.out.pop_front()
    }

    fn poll_timer(&self) -> Option<Instant> {
        if self.called { Some(self.now) } else { self.next }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        let socket = self.tcp();
        Snapshot {
            state: name_of(socket.state()),
            phase: if self.goes_back { "loss" } else { "open" },
            send_queue: socket.send_queue() as u64,
            recv_queue: Some(socket.recv_queue() as u64),
            counters: self.seen.counters.into(),
            ..Snapshot::default()
        }
    }
}

impl Socket for SmolEnd {
    fn connect(&mut self, now: Instant) {
        let EndSettings { local, remote, .. } = self.settings;
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
        // A new socket may connect to any address but the unspecified, which no end has.
        socket.connect(self.interface.context(), remote, local).unwrap_or_default();
        (self.called, self.now) = (true, now);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        let mut at = self.written;
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
        let mut left = len;
        while left > 0 && socket.can_send() {
            let piece = socket.send(|room| {
                let piece = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                Payload::fill(at, &mut room[..piece]);
                (piece, piece)
            });
            let piece = piece.unwrap_or(0) as u64;
            (at, left) = (at + piece, left - piece);
        }
        let taken = at - self.written;
        self.written = at;
        self.told.waits |= taken < len;
        self.called |= taken > 0;
        self.now = now;
        taken
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        let mut at = self.read;
        let (mut left, mut wrong) = (max, 0);
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
        while left > 0 && socket.can_recv() {
            let piece = socket.recv(|data| {
                let piece = data.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                wrong += Payload::wrong_bytes(at, &data[..piece]);
                (piece, piece)
            });
            let piece = piece.unwrap_or(0) as u64;
            (at, left) = (at + piece, left - piece);
        }
        let got = at - self.read;
        (self.read, self.misplaced) = (at, self.misplaced + wrong);
        self.told.readable = self.tcp().recv_queue();
        self.called |= got > 0;
        self.now = now;
        got
    }

    fn readable(&self) -> u64 {
        self.tcp().recv_queue() as u64
    }

    fn close(&mut self, now: Instant) {
        self.tcp_mut().close();
        (self.called, self.now) = (true, now);
    }

    fn abort(&mut self, now: Instant) {
        self.tcp_mut().abort();
        (self.called, self.now) = (true, now);
    }
}

impl StackEnd for SmolEnd {
    fn counters(&self) -> &Counters {
        &self.seen.counters
    }

    fn misplaced_bytes(&self) -> u64 {
        self.misplaced
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.seen.has_received(from, end)
    }
}

fn buffer(len: u64) -> tcp::SocketBuffer<'static> {
    tcp::SocketBuffer::new(vec![0; usize::try_from(len).unwrap_or(usize::MAX)])
}

/// The microsecond that has begun.
fn smol_time(time: Instant) -> time::Instant {
    time::Instant::from_micros((time.as_nanos() / 1_000) as i64)
}

/// As RFC 9293 section 3.3.2 has it.
fn name_of(state: State) -> &'static str {
    match state {
        State::Closed => "CLOSED",
        State::Listen => "LISTEN",
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::CloseWait => "CLOSE-WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST-ACK",
        State::TimeWait => "TIME-WAIT",
    }
}
