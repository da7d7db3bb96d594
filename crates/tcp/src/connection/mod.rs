//! One end of a TCP connection.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use rexmit_stack::{Clock, Counters, Endpoint, Event, Reason, Snapshot, Socket, Transmission};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Packet, SeqNumber, TcpSegment, Transport};

use crate::congestion::{Congestion, Inflight, Window};
use crate::delayed_ack::{Compressed, QuickAck};
use crate::profile::Profile;
use crate::receive::{Reassembly, ReceiveTuning, ReceiverRtt, SackList};
use crate::recovery::{Outstanding, Packets, Phase, Recovery, Scoreboard};
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

mod ack;
mod duplicate;
mod growth;
mod handshake;
mod input;
mod output;
mod receiver;
mod socket;
mod state;
mod timeout;

pub use rexmit_stack::Role;
pub use state::State;

/// What a connection is made from.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// The system's behaviour.
    pub profile: Arc<Profile>,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Initial send sequence number.
    pub iss: SeqNumber,
    /// MTU of the interface in bytes.
    pub mtu: u32,
    /// Phase of the kernel's tick.
    pub phase: Duration,
    /// Which side opens.
    pub role: Role,
}

/// The sending half's sequence variables (RFC 9293 section 3.3.1; BSD's names).
#[derive(Clone, Debug)]
pub(crate) struct SendState {
    pub iss: SeqNumber,
    pub una: SeqNumber,
    pub nxt: SeqNumber,
    /// Highest sent plus one.
    pub max: SeqNumber,
    /// The peer's window in bytes.
    pub wnd: u32,
    pub wl1: SeqNumber,
    pub wl2: SeqNumber,
    /// Largest window that the peer has offered.
    pub max_wnd: u32,
    /// Shift of the windows that arrive.
    pub scale: u8,
    /// Full segment, options deducted.
    pub mss: u32,
    /// Full segment and options.
    pub max_opd: u32,
    /// One past the last segment shorter than the MSS (Minshall).
    pub short_end: SeqNumber,
}

/// The receiving half's sequence variables.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveState {
    pub nxt: SeqNumber,
    /// Right edge of the window that has been advertised.
    pub adv: SeqNumber,
    /// Shift of the windows that leave.
    pub scale: u8,
    /// Receive buffer in bytes.
    pub limit: u32,
    /// Bytes in order that wait for a read.
    pub unread: u32,
    /// Stream offset at `nxt`.
    pub offset: u64,
    pub last_ack_sent: SeqNumber,
    pub ts_recent: u32,
    pub out_of_order: Reassembly,
    pub sacks: SackList,
    /// When Linux acknowledges.
    pub quick: QuickAck,
    /// ACKs of data out of order that are held back.
    pub compressed: Compressed,
    /// Round-trip time as seen by the receiver.
    pub rtt: ReceiverRtt,
    /// The buffer and its window, where they grow.
    pub tuning: Option<ReceiveTuning>,
    /// Bytes whose place in the stream was not what the sequence number says: must stay 0.
    pub misplaced: u64,
}

/// When each timer is due; [`Instant::FAR_FUTURE`] if it does not run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    pub rexmt: Instant,
    pub persist: Instant,
    pub delack: Instant,
    /// A held-back ACK of data out of order.
    pub compressed: Instant,
    /// A probe for a lost tail.
    pub probe: Instant,
    /// SYN-ACK in SYN-RECEIVED, twice the MSL in TIME-WAIT.
    pub other: Instant,
}

impl Timers {
    pub const OFF: Instant = Instant::FAR_FUTURE;

    fn earliest(&self) -> Instant {
        self.rexmt.min(self.persist).min(self.delack).min(self.compressed).min(self.probe).min(self.other)
    }

    #[inline]
    pub fn rexmt_runs(&self) -> bool {
        self.rexmt != Self::OFF
    }

    #[inline]
    pub fn persist_runs(&self) -> bool {
        self.persist != Self::OFF
    }

    #[inline]
    pub fn delack_runs(&self) -> bool {
        self.delack != Self::OFF
    }
}

/// Marks that outlive one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// An ACK is owed now.
    pub ack_now: bool,
    /// An ACK is owed, to be delayed.
    pub delay_ack: bool,
    /// Data or a FIN have come since the last ACK.
    pub ack_owed: bool,
    /// The writer has more to come at once.
    pub more_to_come: bool,
    /// "Idle" lasts until the last piece of a write (FB-OUT-1).
    pub last_idle: bool,
    /// The application has just read.
    pub reading: bool,
    /// A window probe is forced out.
    pub force: bool,
    /// A probe for a lost tail is to leave.
    pub probing: bool,
    /// A FIN has been sent.
    pub sent_fin: bool,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// Window scaling is in use.
    pub scaling: bool,
    /// SACK is in use.
    pub sack: bool,
    /// The SYN carries neither window scale nor timestamps any more.
    pub plain_syn: bool,
    /// The application closed before the handshake was complete.
    pub close_wanted: bool,
    /// Our SYN has been acknowledged.
    pub syn_acknowledged: bool,
    /// The SYN-ACK was resent by its timer.
    pub syn_ack_timed_out: bool,
    /// A zero window was advertised.
    pub zero_window_sent: bool,
    /// The peer has sent its FIN.
    pub end_of_stream: bool,
}

/// One end of a TCP connection; see [`Endpoint`] for the order of calls.
#[derive(Debug)]
pub struct Connection {
    pub(crate) profile: Arc<Profile>,
    pub(crate) clock: Clock,
    local: SocketAddr,
    remote: SocketAddr,
    mtu: u32,
    role: Role,
    pub(crate) state: State,
    pub(crate) snd: SendState,
    pub(crate) buffer: SendBuffer,
    pub(crate) rcv: ReceiveState,
    pub(crate) timers: Timers,
    pub(crate) marks: Marks,
    pub(crate) rtt: RttEstimator,
    /// The segment being timed: its sequence number and the tick at which it left.
    timed: Option<(SeqNumber, Instant)>,
    pub(crate) window: Window,
    pub(crate) congestion: Congestion,
    /// A window by the measured bandwidth.
    pub(crate) inflight: Inflight,
    pub(crate) recovery: Recovery,
    pub(crate) board: Scoreboard,
    /// What is out, where packets are counted.
    pub(crate) packets: Packets,
    /// Segments that are out, where a rule for few of them asks.
    pub(crate) outstanding_segments: Outstanding,
    /// When the last packet arrived.
    last_arrival: Instant,
    /// When the last data left.
    pub(crate) last_data_sent: Instant,
    syn_ack_sent: u32,
    /// Expiries of the SYN-ACK's timer.
    syn_ack_timeouts: u32,
    /// Doublings of the persist timer.
    pub(crate) persist_shift: u8,
    /// Buffers that grow.
    growth: growth::Growth,
    /// Bytes for which a blocked writer waits.
    pub(crate) writer_needs: u32,
    events: u8,
    pub(crate) counters: Counters,
    out: VecDeque<Transmission>,
}

impl Connection {
    /// A connection in CLOSED (active) or LISTEN (passive).
    pub fn new(config: ConnectionConfig) -> Self {
        let profile = config.profile;
        let (iss, zero) = (config.iss, SeqNumber(0));
        let header = if config.local.is_ipv4() { 40 } else { 60 };
        let max_opd = config.mtu.saturating_sub(header).max(1);
        let limit = |b: rexmit_units::Bytes| b.0.min(1 << 30) as u32;
        Self {
            clock: Clock::new(profile.clock.tick, profile.clock.timers, config.phase),
            local: config.local,
            remote: config.remote,
            mtu: config.mtu,
            role: config.role,
            state: if config.role == Role::Active { State::Closed } else { State::Listen },
            snd: SendState {
                iss,
                una: iss,
                nxt: iss,
                max: iss,
                wnd: 0,
                wl1: zero,
                wl2: zero,
                max_wnd: 0,
                scale: 0,
                mss: max_opd,
                max_opd,
                short_end: iss,
            },
            buffer: SendBuffer::new(limit(profile.buffers.send)),
            rcv: ReceiveState {
                nxt: zero,
                adv: zero,
                scale: 0,
                limit: limit(profile.buffers.receive),
                unread: 0,
                offset: 0,
                last_ack_sent: zero,
                ts_recent: 0,
                out_of_order: Reassembly::default(),
                sacks: SackList::default(),
                quick: QuickAck::default(),
                compressed: Compressed::default(),
                rtt: ReceiverRtt::default(),
                tuning: None,
                misplaced: 0,
            },
            timers: Timers {
                rexmt: Timers::OFF,
                persist: Timers::OFF,
                delack: Timers::OFF,
                compressed: Timers::OFF,
                probe: Timers::OFF,
                other: Timers::OFF,
            },
            marks: Marks::default(),
            rtt: RttEstimator::new(&profile.rtt),
            timed: None,
            window: Window { cwnd: max_opd, ssthresh: u32::MAX, mss: max_opd, max: u32::MAX },
            congestion: Congestion::new(&profile.congestion),
            inflight: Inflight::new(profile.congestion.inflight, iss),
            recovery: Recovery::new(iss),
            board: Scoreboard::default(),
            packets: Packets::new(profile.recovery.dupack_threshold, iss),
            outstanding_segments: Outstanding::default(),
            last_arrival: Instant::ZERO,
            last_data_sent: Instant::ZERO,
            syn_ack_sent: 0,
            syn_ack_timeouts: 0,
            persist_shift: 0,
            growth: growth::Growth::default(),
            writer_needs: 0,
            events: 0,
            counters: Counters::default(),
            out: VecDeque::new(),
            profile,
        }
    }

    /// Takes this congestion control in place of the profile's; call it before the first packet. What the
    /// profile says of recovery, and of the first window, holds all the same.
    pub fn set_congestion(&mut self, congestion: Congestion) {
        self.congestion = congestion;
    }

    /// The connection's state.
    pub fn state(&self) -> State {
        self.state
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes that arrived at another place of the stream than their sequence number says. Anything but zero
    /// is a fault of a model.
    pub fn misplaced_bytes(&self) -> u64 {
        self.rcv.misplaced
    }

    /// Its initial sequence number.
    pub fn initial_sequence(&self) -> SeqNumber {
        self.snd.iss
    }

    /// True if it has taken all of `[seq, end)` of what the peer sends, in order or not.
    pub fn has_received(&self, seq: SeqNumber, end: SeqNumber) -> bool {
        let knows_peer = self.state >= State::SynReceived || self.marks.syn_acknowledged;
        let beyond = seq.max(self.rcv.nxt);
        knows_peer && (end <= self.rcv.nxt || self.rcv.out_of_order.holds(beyond, end))
    }

    /// Lends the connection a queue for the packets that it sends, so that thousands of connections share
    /// one; swap it back after polling.
    pub fn swap_queue(&mut self, queue: &mut VecDeque<Transmission>) {
        std::mem::swap(&mut self.out, queue);
    }

    pub(crate) fn raise(&mut self, event: Event) {
        self.events |= 1 << event_bit(event);
    }

    /// Bytes outstanding.
    #[inline]
    pub(crate) fn flight(&self) -> u32 {
        self.snd.max.diff(self.snd.una) as u32
    }

    #[inline]
    pub(crate) fn in_recovery(&self) -> bool {
        self.recovery.phase == Phase::Recovery
    }

    /// Hands a segment to the host, and says why.
    pub(crate) fn emit(&mut self, reason: Reason, mut segment: TcpSegment) {
        segment.src_port = self.local.port();
        segment.dst_port = self.remote.port();
        if self.profile.output.cwnd_in_urgent_pointer && !segment.flags.any(Flags::SYN.with(Flags::URG)) {
            segment.urgent = (self.window.cwnd / self.window.mss).min(u32::from(u16::MAX)) as u16;
        }
        if let Some(stamps) = segment.timestamps {
            self.note_stamp_sent(stamps.value);
        }
        self.counters.packets += 1;
        let ip = rexmit_wire::IpFields { ident: self.counters.packets as u16, ..Default::default() };
        self.out.push_back(Transmission {
            packet: Packet {
                src: self.local.ip(),
                dst: self.remote.ip(),
                ip,
                transport: Transport::Tcp(segment),
                damaged: false,
            },
            reason,
        });
    }

    /// Ends the connection at once, silently.
    pub(crate) fn enter_closed(&mut self, event: Event) {
        self.state = State::Closed;
        let off = Timers::OFF;
        self.timers =
            Timers { rexmt: off, persist: off, delack: off, compressed: off, probe: off, other: off };
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

impl Endpoint for Connection {
    fn handle_packet(&mut self, now: Instant, packet: Packet) {
        if let Transport::Tcp(segment) = packet.transport {
            self.on_segment(now, segment);
        }
    }

    fn handle_timer(&mut self, now: Instant) {
        self.on_timer(now);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.out.pop_front()
    }

    #[inline]
    fn poll_timer(&self) -> Option<Instant> {
        let due = self.timers.earliest();
        (due != Timers::OFF).then_some(due)
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
        Snapshot {
            state: self.state.name(),
            phase: self.recovery.phase.name(),
            cwnd: u64::from(self.window.cwnd),
            ssthresh: if self.window.ssthresh == u32::MAX { u64::MAX } else { self.window.ssthresh.into() },
            in_flight: u64::from(self.flight()),
            snd_wnd: u64::from(self.snd.wnd),
            send_queue: u64::from(self.buffer.len()),
            recv_queue: u64::from(self.rcv.unread),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: self.rtt.rto(),
            rexmt_due: self.timers.rexmt_runs().then_some(self.timers.rexmt),
            counters: self.counters,
        }
    }
}

impl Socket for Connection {
    fn connect(&mut self, now: Instant) {
        self.open(now);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.take_write(now, len)
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.give_read(now, max)
    }

    fn readable(&self) -> u64 {
        u64::from(self.rcv.unread)
    }

    fn close(&mut self, now: Instant) {
        self.shut(now);
    }

    fn abort(&mut self, now: Instant) {
        self.reset(now);
    }
}
