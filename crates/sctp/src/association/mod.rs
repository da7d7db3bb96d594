//! One end of an SCTP association.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rexmit_stack::{
    Clock, Counters, Delivery, Endpoint, Event, Outbox, Reason, Snapshot, Socket, Transmission,
};
use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::{self, Chunk};
use rexmit_wire::{IpFields, Packet, SeqNumber, Transport};

use crate::by_rate::Departures;
use crate::congestion::{Congestion, Rfc9260};
use crate::faults::Faults;
use crate::inbound::Inbound;
use crate::outbound::Outbound;
use crate::path::Path;
use crate::profile::Profile;
use crate::thin::InFlight;

mod abandon;
mod blue;
mod by_rate;
mod handshake;
mod heartbeat;
mod input;
mod missing;
mod output;
mod packing;
mod receiver;
mod sack;
mod shutdown;
mod socket;
mod state;
mod timeout;

pub use rexmit_stack::Role;
pub use state::State;

use handshake::Ends;

/// What an association is made from.
#[derive(Clone, Debug)]
pub struct AssociationConfig {
    /// The system's behaviour.
    pub profile: Arc<Profile>,
    /// This end: its first address, and its port.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Further addresses of this end; INIT and INIT-ACK list them (multi-homing).
    pub more_local: Vec<IpAddr>,
    /// Further addresses of the other end that the opener knows beforehand; normally none, INIT and INIT-ACK tell.
    pub more_remote: Vec<IpAddr>,
    /// MTU of the interfaces in bytes.
    pub mtu: u32,
    /// Phase of the kernel's tick.
    pub phase: Duration,
    /// Which side opens.
    pub role: Role,
    /// The tag that packets to this end are to carry, not 0.
    pub tag: u32,
    /// TSN of the first DATA chunk.
    pub initial_tsn: u32,
    /// The key of cookies and heartbeats.
    pub secret: u64,
}

/// What this side knows of the peer.
#[derive(Clone, Debug, Default)]
struct Peer {
    /// The tag that packets to it are to carry.
    tag: u32,
    /// TSN of its first DATA chunk.
    initial_tsn: u32,
    /// FORWARD-TSN may be sent.
    partial_reliability: bool,
    /// I-DATA is used both ways.
    interleaving: bool,
}

/// Timers of the whole association; [`Instant::FAR_FUTURE`] if one does not run.
#[derive(Clone, Copy, Debug)]
struct Timers {
    /// T1-init, T1-cookie, T2-shutdown: never two of them at once.
    control: Instant,
    /// A delayed SACK.
    sack: Instant,
    /// T5-shutdown-guard.
    guard: Instant,
}

const OFF: Instant = Instant::FAR_FUTURE;

/// The control chunk that its timer sends again.
#[derive(Clone, Debug)]
struct Control {
    /// Expiries in a row.
    expiries: u32,
    /// The next wait.
    wait: Duration,
    /// The cookie that a COOKIE-ECHO carries.
    cookie: Box<[u8]>,
}

/// What the receiver owes.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    /// Packets with data since the last SACK.
    packets: u32,
    /// A SACK is due now.
    now: bool,
    /// The path on which data came last: SACKs answer there (RFC 9260 section 6.4).
    path: usize,
    /// The window that the last SACK advertised.
    window: u64,
    /// The first packet with data has come.
    begun: bool,
}

/// One end of an SCTP association; see [`Endpoint`] for the order of calls.
#[derive(Debug)]
pub struct Association {
    profile: Arc<Profile>,
    clock: Clock,
    local: SocketAddr,
    remote: SocketAddr,
    more_local: Vec<IpAddr>,
    more_remote: Vec<IpAddr>,
    mtu: u32,
    role: Role,
    secret: u64,
    state: State,
    tag: u32,
    initial_tsn: u32,
    peer: Peer,
    paths: Vec<Path>,
    /// What each path's congestion control begins as.
    congestion: Congestion,
    /// When chunks left, where congestion control goes by the rate of delivery.
    departures: Option<Box<Departures>>,
    primary: usize,
    out: Outbound,
    inb: Inbound,
    /// Streams that there are, in and out.
    streams_in: u16,
    streams_out: u16,
    timers: Timers,
    control: Control,
    owed: Owed,
    in_flight: InFlight,
    /// Fast recovery ends when this is acknowledged.
    recovery_exit: Option<SeqNumber>,
    /// Expiries in a row on all paths (RFC 9260 section 8.1).
    errors: u32,
    /// The TSN up to which FORWARD-TSN was sent last.
    forwarded: SeqNumber,
    /// Largest payload of a DATA chunk.
    fragment: u32,
    /// The application has closed.
    closing: bool,
    /// Bytes for which a writer waits.
    writer_needs: u64,
    /// Tags made for restarts, so that each is different.
    tags_made: u32,
    events: u8,
    counters: Counters,
    faults: Faults,
    queue: Outbox,
}

impl Association {
    /// An association in CLOSED (active) or LISTEN (passive).
    pub fn new(config: AssociationConfig) -> Self {
        let profile = config.profile;
        let control = Control { expiries: 0, wait: profile.rto.initial, cookie: Box::default() };
        Self {
            clock: Clock::new(profile.clock.tick, profile.clock.timers, config.phase),
            local: config.local,
            remote: config.remote,
            more_local: config.more_local,
            more_remote: config.more_remote,
            mtu: config.mtu,
            role: config.role,
            secret: config.secret,
            state: if config.role == Role::Active { State::Closed } else { State::Listen },
            tag: config.tag.max(1),
            initial_tsn: config.initial_tsn,
            peer: Peer::default(),
            paths: Vec::new(),
            congestion: Congestion::Rfc9260(Rfc9260::new(&profile.congestion)),
            departures: None,
            primary: 0,
            out: Outbound::new(config.initial_tsn),
            inb: Inbound::new(0),
            streams_in: profile.association.inbound_streams,
            streams_out: profile.association.outbound_streams,
            timers: Timers { control: OFF, sack: OFF, guard: OFF },
            control,
            owed: Owed::default(),
            in_flight: InFlight::default(),
            recovery_exit: None,
            errors: 0,
            forwarded: SeqNumber(config.initial_tsn) - 1,
            fragment: 0,
            closing: false,
            writer_needs: 0,
            tags_made: 0,
            events: 0,
            counters: Counters::default(),
            faults: Faults::default(),
            queue: Outbox::default(),
            profile,
        }
    }

    /// Takes this congestion control in place of the profile's, a copy of it for each path; call it before the first
    /// packet. What the profile says of recovery, bursts and the first window holds all the same.
    pub fn set_congestion(&mut self, mut congestion: Congestion) {
        self.departures = congestion.inner().rate_control().is_some().then(Box::default);
        self.congestion = congestion;
    }

    /// Every message says where it begins in what this side's application has written (the lowest 32 bits, as its payload
    /// protocol identifier), and what arrives as bytes is placed by what it says. Call it before the first packet.
    pub fn mark_places(&mut self) {
        self.out.marks_places = true;
        self.inb.reads_marks = true;
    }

    /// The association's state.
    pub fn state(&self) -> State {
        self.state
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What has come that no correct peer would send.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Bytes of user data that had an unexpected place in their message or stream. Anything but zero
    /// is a fault of a model.
    pub fn misplaced_bytes(&self) -> u64 {
        self.inb.misplaced
    }

    /// TSN of its first DATA chunk.
    pub fn initial_tsn(&self) -> u32 {
        self.initial_tsn
    }

    /// True if it has taken the peer's DATA chunk with this TSN, in order or not.
    pub fn has_received(&self, tsn: u32) -> bool {
        self.peer.tag != 0 && self.inb.tsns.has(self.inb.tsns.unwrap(tsn))
    }

    /// The estimate of packets in flight (SC-E-0), as far as the profile uses it.
    pub fn packets_in_flight(&self) -> i64 {
        self.in_flight.get()
    }

    /// Lends the association an outbox for the packets that it sends, so that thousands of them share one; swap it back
    /// after polling.
    pub fn swap_outbox(&mut self, outbox: &mut Outbox) {
        std::mem::swap(&mut self.queue, outbox);
    }

    fn raise(&mut self, event: Event) {
        self.events |= 1 << event_bit(event);
    }

    /// SC-E-0: few packets are in flight.
    fn is_thin(&self) -> bool {
        self.in_flight.get() < i64::from(self.profile.thin.threshold)
    }

    /// Hands a packet to the host, and says why.
    fn emit_to(&mut self, reason: Reason, ends: Ends, tag: u32, chunks: Vec<Chunk>) {
        self.counters.packets += 1;
        let ip = IpFields { ident: self.counters.packets as u16, ..IpFields::default() };
        let (src_port, dst_port) = (self.local.port(), self.remote.port());
        let transport = Transport::Sctp(sctp::Packet { src_port, dst_port, tag, chunks });
        self.queue.send(Packet { src: ends.from, dst: ends.to, ip, transport, damaged: false }, reason);
    }

    /// From where to where a packet that leaves on a path of the association goes.
    fn ends(&self, path: usize) -> Ends {
        Ends { from: self.paths[path].local, to: self.paths[path].remote }
    }

    /// Hands a packet to the host, for a path of the association.
    fn emit(&mut self, reason: Reason, path: usize, chunks: Vec<Chunk>) {
        self.emit_to(reason, self.ends(path), self.peer.tag, chunks);
    }

    /// A packet without data.
    fn emit_control(&mut self, reason: Reason, path: usize, chunks: Vec<Chunk>) {
        self.counters.pure_acks += 1;
        self.emit(reason, path, chunks);
    }

    /// Ends the association, silently.
    fn enter_closed(&mut self, event: Event) {
        self.state = State::Closed;
        self.timers = Timers { control: OFF, sack: OFF, guard: OFF };
        for path in &mut self.paths {
            path.t3 = OFF;
            path.heartbeat_due = OFF;
            path.pace = OFF;
        }
        self.raise(event);
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

fn event_bit(event: Event) -> u8 {
    EVENTS.iter().position(|e| *e == event).unwrap_or(0) as u8
}

impl Endpoint for Association {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        let ends = Ends { from: packet.src, to: packet.dst };
        match packet.transport {
            Transport::Sctp(packet) => self.on_packet(now, ends, packet),
            Transport::Other { protocol: rexmit_wire::PROTOCOL_SCTP, payload } => {
                match sctp::Packet::parse(&payload.bytes()) {
                    Ok(packet) => self.on_packet(now, ends, packet),
                    Err(_) => self.faults.malformed_packets += 1,
                }
            }
            _ => {}
        }
    }

    fn handle_timer(&mut self, now: Instant) {
        self.on_timer(now);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.queue.pop()
    }

    #[inline]
    fn poll_timer(&self) -> Option<Instant> {
        let whole = self.timers.control.min(self.timers.sack).min(self.timers.guard);
        let due = self
            .paths
            .iter()
            .fold(whole, |due, path| due.min(path.t3).min(path.heartbeat_due).min(path.pace));
        (due != OFF).then_some(due)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        if self.events == 0 {
            return None;
        }
        let bit = self.events.trailing_zeros();
        self.events &= self.events - 1;
        Some(EVENTS[bit as usize])
    }

    fn snapshot(&self) -> Snapshot {
        let path = self.paths.get(self.primary);
        let lost = path.is_some_and(|path| path.backoff > 0);
        Snapshot {
            state: self.state.name(),
            phase: match () {
                () if lost => "loss",
                () if self.recovery_exit.is_some() || self.out.queued > 0 => "recovery",
                () if !self.out.acked.is_empty() => "disorder",
                () => "open",
            },
            cwnd: path.map_or(0, |path| path.window.cwnd),
            ssthresh: path.map(|path| path.window.ssthresh).filter(|ssthresh| *ssthresh != u64::MAX),
            in_flight: Some(self.out.outstanding),
            snd_wnd: self.out.peer_window,
            send_queue: self.out.buffered,
            recv_queue: Some(self.inb.readable),
            srtt: path.and_then(|path| path.rto.srtt()),
            rttvar: path.and_then(|path| path.rto.rttvar()),
            rto: Some(path.map_or(self.profile.rto.initial, |path| path.rto.get())),
            rexmt_due: path.filter(|path| path.t3_runs()).map(|path| path.t3),
            counters: self.counters.into(),
            ..Snapshot::default()
        }
    }
}

impl Socket for Association {
    fn connect(&mut self, now: Instant) {
        self.open(now);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.take_message(now, len, &Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        self.take_message(now, len, &how)
    }

    fn read_offset(&self) -> Option<u64> {
        self.inb.read_offset
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.give_read(now, max)
    }

    fn readable(&self) -> u64 {
        self.inb.readable
    }

    fn close(&mut self, now: Instant) {
        self.shut(now);
    }

    fn abort(&mut self, _now: Instant) {
        self.cut_off();
    }
}
