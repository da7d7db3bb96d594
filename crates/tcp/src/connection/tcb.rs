//! What one end keeps of a connection, its recovery excepted.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rexmit_stack::{Clock, Counters, Event, HeldBack, Outbox, Reason, Snapshot};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Packet, SeqNumber, TcpSegment, Transport};

use super::by_rate::ByRate;
use super::cached::CacheAccess;
use super::device::Device;
use super::ecn::Ecn;
use super::growth;
use super::pacing::Pacing;
use super::{ConnectionConfig, Role, State};
use crate::congestion::{Congestion, CongestionControl, Inflight, Window};
use crate::profile::{Profile, PushRule};
use crate::receive::{Compressed, QuickAck, Reassembly, ReceiveTuning, ReceiverRtt, SackList};
use crate::recovery::{Few, Phase};
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

/// No round trip takes this long.
const NO_RTT: Duration = Duration::from_secs(3600);

/// The sending half's sequence variables (RFC 9293 section 3.3.1; BSD's names).
#[derive(Clone, Debug)]
pub struct SendState {
    /// Initial sequence number.
    pub iss: SeqNumber,
    /// Oldest number not acknowledged.
    pub una: SeqNumber,
    /// Next number to send.
    pub nxt: SeqNumber,
    /// Highest sent plus one.
    pub max: SeqNumber,
    /// The peer's window in bytes.
    pub wnd: u32,
    /// Sequence number of the segment of the last window update.
    pub wl1: SeqNumber,
    /// Its acknowledgment number.
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
    /// The tick at which a held ACK is due, before the wheel of timers makes it later.
    pub ack_by: u64,
    /// When the timer of a held ACK fires that has left since: it is not stopped (`inet_csk_clear_xmit_timer`).
    pub left_over: Instant,
    /// ACKs of data out of order that are held back.
    pub compressed: Compressed,
    /// Round-trip time as seen by the receiver, where something asks for it.
    pub rtt: Option<Box<ReceiverRtt>>,
    /// The buffer and its window, where they grow.
    pub tuning: Option<Box<ReceiveTuning>>,
    /// Bytes whose place in the stream was not what the sequence number says: must stay 0.
    pub misplaced: u64,
}

/// What the retransmission timer runs for: Linux has one for all of this, and another is set in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RexmtFor {
    /// The oldest segment leaves again (`ICSK_TIME_RETRANS`).
    #[default]
    Retransmission,
    /// A probe for a lost tail (`ICSK_TIME_LOSS_PROBE`).
    Probe,
    /// What was overtaken is lost by then (`ICSK_TIME_REO_TIMEOUT`).
    Reordering,
}

/// When each timer is due; [`Instant::FAR_FUTURE`] if it does not run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    pub rexmt: Instant,
    /// What the retransmission timer is for.
    pub rexmt_for: RexmtFor,
    pub persist: Instant,
    pub delack: Instant,
    /// A held-back ACK of data out of order.
    pub compressed: Instant,
    /// A probe for a lost tail.
    pub probe: Instant,
    /// Data that are paced may leave.
    pub pace: Instant,
    /// SYN-ACK in SYN-RECEIVED, twice the MSL in TIME-WAIT.
    pub other: Instant,
    /// When each of the timers driven by ticks fires, and since when it has been set for that.
    set: [(Instant, Instant); 4],
}

impl Timers {
    pub const OFF: Instant = Instant::FAR_FUTURE;

    /// None runs.
    fn stopped() -> Self {
        Self {
            rexmt: Self::OFF,
            rexmt_for: RexmtFor::Retransmission,
            persist: Self::OFF,
            delack: Self::OFF,
            compressed: Self::OFF,
            probe: Self::OFF,
            pace: Self::OFF,
            other: Self::OFF,
            set: [(Self::OFF, Instant::ZERO); 4],
        }
    }

    /// Something happened at `now`: which timers were set by that. One that is set again for the same tick stays where it is.
    #[inline]
    fn note_set(&mut self, now: Instant) {
        for (set, due) in self.set.iter_mut().zip([self.rexmt, self.persist, self.delack, self.other]) {
            if set.0 != due {
                *set = (due, now);
            }
        }
    }

    /// Of the timers driven by ticks, those that are due: since when each has been set, and for when.
    pub fn due_by_ticks(&self, now: Instant) -> impl Iterator<Item = (Instant, Instant)> + '_ {
        self.set.iter().filter(move |(due, _)| *due <= now).map(|&(due, set)| (set, due))
    }

    #[inline]
    pub fn earliest(&self) -> Instant {
        self.rexmt
            .min(self.persist)
            .min(self.delack)
            .min(self.compressed)
            .min(self.probe)
            .min(self.pace)
            .min(self.other)
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

/// An address and a port. Unlike those of [`SocketAddr`] they are read without asking which family it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub ip: IpAddr,
    pub port: u16,
}

impl Address {
    fn new(of: SocketAddr) -> Self {
        Self { ip: of.ip(), port: of.port() }
    }

    pub fn socket(self) -> SocketAddr {
        SocketAddr::new(self.ip, self.port)
    }
}

/// The transmission control block (RFC 9293 section 3.3.1): all that an end keeps except what is done about losses.
///
/// Whatever may send takes the connection's way to recover as an argument, since only that says what may leave.
#[derive(Debug)]
pub struct Tcb {
    pub(crate) profile: Arc<Profile>,
    pub(crate) clock: Clock,
    pub(super) local: Address,
    pub(super) remote: Address,
    pub(super) mtu: u32,
    pub(super) role: Role,
    pub(crate) state: State,
    /// The sending half.
    pub snd: SendState,
    pub(crate) buffer: SendBuffer,
    pub(super) rcv: ReceiveState,
    pub(crate) timers: Timers,
    pub(crate) marks: Marks,
    pub(crate) rtt: RttEstimator,
    /// The shortest round trip so far (`tcp_min_rtt`); [`NO_RTT`] before the first.
    pub(crate) least_rtt: Duration,
    /// What the present acknowledgment says of the round trip, where single segments are known (HyStart++).
    pub(super) round_trip: Option<Duration>,
    /// The segment being timed: its sequence number and the tick at which it left.
    pub(super) timed: Option<(SeqNumber, Instant)>,
    /// The windows that congestion control keeps.
    pub window: Window,
    /// The congestion control.
    pub congestion: Congestion,
    /// A window by the measured bandwidth.
    pub(crate) inflight: Option<Box<Inflight>>,
    /// What a controller that goes by rate needs.
    pub(super) by_rate: Option<Box<ByRate>>,
    /// When packets may leave, where they are paced as Linux paces them.
    pub(crate) pacing: Option<Box<Pacing>>,
    /// Packets for the device, where the stack hands it several segments as one.
    pub(crate) device: Option<Box<Device>>,
    /// What is kept of ECN, where there is any.
    pub(super) ecn: Option<Box<Ecn>>,
    /// Segments that are out, where a rule for few of them asks.
    pub(crate) few: Option<Box<Few>>,
    /// Why the next retransmission, or new data, is sent, where something has just decided that;
    /// else [`Reason::New`].
    pub decision: Reason,
    /// When what leaves now counts as having left, if not now.
    pub(super) stamped_at: Option<Instant>,
    /// When the last packet arrived.
    pub(crate) last_arrival: Instant,
    /// When the last data left.
    pub(crate) last_data_sent: Instant,
    pub(super) syn_ack_sent: u32,
    /// The timestamp of our first SYN or SYN-ACK.
    pub(super) first_syn_stamp: Option<u32>,
    /// When a segment that is not acceptable was answered last.
    pub(super) answered: Option<Instant>,
    /// Expiries of the SYN-ACK's timer.
    pub(super) syn_ack_timeouts: u32,
    /// Doublings of the persist timer.
    pub(crate) persist_shift: u8,
    /// Buffers that grow.
    pub(super) growth: growth::Growth,
    /// Bytes for which a blocked writer waits.
    pub(crate) writer_needs: u32,
    /// What the host keeps of earlier connections, where it keeps something.
    pub(super) host_cache: Option<Box<CacheAccess>>,
    pub(super) events: u8,
    pub(crate) counters: Counters,
    pub(super) out: Outbox,
}

impl Tcb {
    /// In CLOSED (active) or LISTEN (passive).
    pub fn new(config: ConnectionConfig) -> Self {
        let profile = config.profile;
        let (iss, zero) = (config.iss, SeqNumber(0));
        let header = if config.local.is_ipv4() { 40 } else { 60 };
        let max_opd = config.mtu.saturating_sub(header).max(1);
        let limit = |b: rexmit_units::Bytes| b.0.min(1 << 30) as u32;
        let congestion = Congestion::new(&profile.congestion).with_phase(config.phase);
        Self {
            clock: Clock::new(profile.clock.tick, profile.clock.timers, config.phase),
            local: Address::new(config.local),
            remote: Address::new(config.remote),
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
                ack_by: 0,
                left_over: Instant::ZERO,
                compressed: Compressed::default(),
                rtt: profile.measures_as_receiver().then(Box::default),
                tuning: None,
                misplaced: 0,
            },
            timers: Timers::stopped(),
            marks: Marks::default(),
            rtt: RttEstimator::new(&profile.rtt),
            least_rtt: NO_RTT,
            round_trip: None,
            timed: None,
            window: Window { cwnd: max_opd, ssthresh: u32::MAX, mss: max_opd, max: u32::MAX },
            pacing: Pacing::of(&profile.output, &congestion),
            ecn: Ecn::new(profile.ecn.mode, congestion.needs_ecn()),
            congestion,
            inflight: Inflight::new(profile.congestion.inflight, iss).map(Box::new),
            by_rate: None,
            device: (profile.output.push == PushRule::Device).then(Box::default),
            few: profile.watches_segments().then(Box::default),
            decision: Reason::New,
            stamped_at: None,
            last_arrival: Instant::ZERO,
            last_data_sent: Instant::ZERO,
            syn_ack_sent: 0,
            first_syn_stamp: None,
            answered: None,
            syn_ack_timeouts: 0,
            persist_shift: 0,
            growth: growth::Growth::default(),
            writer_needs: 0,
            host_cache: CacheAccess::new(&profile, config.host_cache),
            events: 0,
            counters: Counters::default(),
            out: Outbox::default(),
            profile,
        }
    }

    /// Takes this congestion control in place of the profile's.
    pub(super) fn set_congestion(&mut self, mut congestion: Congestion) {
        self.by_rate = congestion.rate_control().is_some().then(Box::default);
        self.pacing = Pacing::of(&self.profile.output, &congestion);
        self.ecn = Ecn::new(self.profile.ecn.mode, congestion.needs_ecn());
        self.congestion = congestion;
    }

    /// The shortest round trip so far, microseconds, if there was one.
    pub(crate) fn least_rtt_micros(&self) -> Option<u64> {
        (self.least_rtt != NO_RTT).then(|| self.least_rtt.as_nanos() / 1_000)
    }

    /// A round trip was measured.
    #[inline]
    pub(crate) fn note_rtt(&mut self, rtt: Duration) {
        self.least_rtt = self.least_rtt.min(rtt);
    }

    /// The state for a table; `phase` is what the sender is doing.
    pub(super) fn snapshot(&self, phase: Phase) -> Snapshot {
        Snapshot {
            state: self.state.name(),
            phase: phase.name(),
            cwnd: u64::from(self.window.cwnd),
            ssthresh: (self.window.ssthresh != u32::MAX).then_some(self.window.ssthresh.into()),
            in_flight: Some(self.flight().into()),
            snd_wnd: u64::from(self.snd.wnd),
            send_queue: u64::from(self.buffer.len()),
            recv_queue: Some(self.rcv.unread.into()),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            rto: Some(self.rtt.rto()),
            rexmt_due: self.timers.rexmt_runs().then_some(self.timers.rexmt),
            counters: self.counters.into(),
            cached: self.cached(),
            held: HeldBack { by: self.held_by(phase), ..HeldBack::default() },
        }
    }

    pub(crate) fn raise(&mut self, event: Event) {
        self.events |= 1 << event_bit(event);
    }

    /// Something happened at `now`: when timers were set is kept where it decides which of them is first.
    #[inline]
    pub(super) fn note_timers(&mut self, now: Instant) {
        if self.clock.has_turns() {
            self.timers.note_set(now);
        }
    }

    /// Nothing has happened that the application does not know.
    #[inline]
    pub(super) fn has_no_events(&self) -> bool {
        self.events == 0
    }

    /// This has happened, and the application does not know yet.
    pub(super) fn is_raised(&self, event: Event) -> bool {
        self.events & (1 << event_bit(event)) != 0
    }

    /// The application is not told after all.
    pub(super) fn take_back(&mut self, event: Event) {
        self.events &= !(1 << event_bit(event));
    }

    #[inline]
    pub(super) fn next_event(&mut self) -> Option<Event> {
        if self.events == 0 {
            return None;
        }
        let bit = self.events.trailing_zeros();
        self.events &= self.events - 1;
        Some(EVENTS[bit as usize])
    }

    /// Bytes outstanding.
    #[inline]
    pub fn flight(&self) -> u32 {
        self.snd.max.diff(self.snd.una) as u32
    }

    /// Hands a segment to the host, and says why.
    #[inline]
    pub(crate) fn emit(&mut self, reason: Reason, segment: TcpSegment) {
        self.emit_data(reason, segment, false);
    }

    /// The same; `new`: data that ECN may mark, if it is in use.
    #[inline]
    pub(super) fn emit_data(&mut self, reason: Reason, mut segment: TcpSegment, new: bool) {
        let tos = if self.ecn.is_some() { self.mark_segment(&mut segment, new) } else { 0 };
        segment.src_port = self.local.port;
        segment.dst_port = self.remote.port;
        if self.profile.output.cwnd_in_urgent_pointer && !segment.flags.any(Flags::SYN.with(Flags::URG)) {
            segment.urgent = (self.window.cwnd / self.window.mss).min(u32::from(u16::MAX)) as u16;
        }
        if let Some(stamps) = segment.timestamps {
            self.note_stamp_sent(stamps.value);
        }
        self.counters.packets += 1;
        let ip = rexmit_wire::IpFields { ident: self.counters.packets as u16, tos, ..Default::default() };
        let (src, dst) = (self.local.ip, self.remote.ip);
        self.out.send(Packet { src, dst, ip, transport: Transport::Tcp(segment), damaged: false }, reason);
    }

    /// Ends the connection at once, silently.
    pub(crate) fn enter_closed(&mut self, event: Event) {
        self.state = State::Closed;
        self.timers = Timers::stopped();
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
