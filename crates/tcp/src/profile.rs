//! A system's behaviour as data: constants and named choices, each with its source in `profiles/*.toml`.
//!
//! Every quirk is a named choice here and a branch at the mechanism that it changes; no mechanism asks which
//! system it is.

mod ecn;
mod recovery;

pub use ecn::{EcnConfig, EcnMode};
pub use recovery::{
    BsdPipe, HalvingFloor, PlainRecovery, PrrRule, RecoveryConfig, RecoveryExit, SackRecovery, ThinConfig,
};
pub use rexmit_stack::TimerRule;
use rexmit_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::congestion::CongestionConfig;
use crate::host_cache::HostCacheConfig;
use crate::rtt::{EstimatorKind, RttConfig};

/// A whole TCP, resolved: every value is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// One line that says which system this is.
    pub summary: String,
    /// The kernel's clock and what counts its ticks.
    pub clock: ClockConfig,
    /// Options offered and accepted.
    pub options: OptionsConfig,
    /// Socket buffers and the writing side of the socket.
    pub buffers: BufferConfig,
    /// The advertised window.
    pub window: WindowConfig,
    /// SYN and SYN-ACK.
    pub handshake: HandshakeConfig,
    /// The first congestion window.
    pub initial_window: InitialWindow,
    /// RTT samples and the retransmission timeout.
    pub rtt: RttConfig,
    /// What an RTT sample is taken from.
    pub rtt_source: RttSource,
    /// Growth and reduction of cwnd.
    pub congestion: CongestionConfig,
    /// What is done about losses.
    pub recovery: RecoveryConfig,
    /// Explicit congestion notification; absent: neither asked for nor granted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: EcnConfig,
    /// What is done for thin streams.
    #[serde(default, skip_serializing_if = "is_default")]
    pub thin: ThinConfig,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAckConfig,
    /// When a segment shorter than the MSS may leave.
    pub output: OutputConfig,
    /// What the host keeps of connections that have ended, for the next ones to the same address; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cache: Option<HostCacheConfig>,
}

impl Profile {
    /// Checks what the types allow and a system does not have.
    ///
    /// # Errors
    /// The key and what is allowed, one line.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.rtt.check().map_err(|e| ("rtt", e.to_string()))?;
        self.congestion.check().map_err(|e| ("congestion", e.to_string()))?;
        let (clock, recovery) = (&self.clock, &self.recovery);
        let ticks = !matches!(self.rtt.estimator, EstimatorKind::Rfc6298 | EstimatorKind::LinuxMicro);
        if ticks && (self.rtt.tick != clock.tick || clock.timestamp_unit != clock.tick) {
            let text = "this estimator counts the kernel's ticks: rtt.tick, clock.tick and clock.timestamp_unit must be equal";
            return Err(("rtt.tick", text.into()));
        }
        if clock.tick.is_zero() || clock.timestamp_unit.is_zero() {
            return Err(("clock", "a tick and a timestamp unit are longer than zero".into()));
        }
        self.check_packets()?;
        if let Some(kept) = &self.host_cache {
            kept.check()?;
            if kept.on && self.rtt.estimator != EstimatorKind::Bsd {
                let text = "keeps times as the estimator `bsd` has them: leave the cache off, or take rtt.estimator = \"bsd\"";
                return Err(("host_cache.on", text.into()));
            }
        }
        recovery.check()?;
        if self.ecn.mode != EcnMode::Off
            && matches!(recovery.sack, SackRecovery::RateHalving | SackRecovery::CountedHalving)
        {
            let text = "the state CWR of these kernels is not modelled: leave it \"off\", or inherit `rfc` or `linux-6.1`";
            return Err(("ecn.mode", text.into()));
        }
        if self.ecn.quick_acks > 0 && self.delayed_ack.policy != AckPolicy::QuickAck {
            return Err(("ecn.quick_acks", "goes with delayed_ack.policy = \"quick-ack\": write 0".into()));
        }
        if recovery.dupack_threshold == 0 {
            return Err(("recovery.dupack_threshold", "must be at least 1".into()));
        }
        if self.initial_window == InitialWindow::Segments(0) {
            return Err(("initial_window", "must be at least 1 segment".into()));
        }
        if self.buffers.send.0 == 0 || self.buffers.receive.0 == 0 || self.buffers.max.0 == 0 {
            return Err(("buffers", "a buffer holds at least 1 byte".into()));
        }
        Ok(())
    }

    /// Segments out are looked at one by one, because a rule for few of them asks.
    pub(crate) fn watches_segments(&self) -> bool {
        let (recovery, thin) = (&self.recovery, &self.thin);
        recovery.early_retransmit
            || self.probes_by_segment()
            || recovery.rto_restart
            || thin.linear_timeouts
            || thin.fast_retransmit_after > 0
    }

    /// A lost tail is probed for by the segments that are out; `prr` does so by its packets.
    pub(crate) fn probes_by_segment(&self) -> bool {
        self.recovery.tail_probe && self.recovery.sack != SackRecovery::Prr
    }

    /// It has what pacing is made of: packets of several segments, and a recovery that asks before each.
    pub(crate) fn can_pace(&self) -> bool {
        self.recovery.sack == SackRecovery::Prr && self.output.push == PushRule::Device
    }

    /// The receiver measures the round trip: for a buffer that grows, or for ACKs that are held back.
    pub(crate) fn measures_as_receiver(&self) -> bool {
        self.window.tuning.is_some() || self.delayed_ack.compression.is_some()
    }

    /// Mechanisms that count packets go together.
    fn check_packets(&self) -> Result<(), (&'static str, String)> {
        let (sack, rtt) = (self.recovery.sack, self.rtt_source);
        let (prr, counts) = (sack == SackRecovery::Prr, sack.counts_packets());
        let both = [
            ("recovery.plain", counts, self.recovery.plain == PlainRecovery::CountedDuplicates),
            ("output.probe", counts, self.output.probe == ProbeRule::OldSequence),
            ("rtt_source", prr, rtt == RttSource::Packets),
        ];
        for (key, wanted, has) in both {
            if has != wanted {
                let text = "recovery `prr` and `counted-halving` go with `counted-duplicates` and probes of \
                            `old-sequence`, `prr` also with round-trip times of `packets`: all or none";
                return Err((key, text.into()));
            }
        }
        if sack == SackRecovery::CountedHalving && rtt != RttSource::Timestamps {
            return Err(("rtt_source", "recovery `counted-halving` goes with `timestamps`".into()));
        }
        if self.output.pacing_rate.is_some_and(|rate| rate.bits_per_second() < 8) {
            return Err(("output.pacing_rate", "nothing would leave: write at least \"8 bit/s\"".into()));
        }
        if self.output.pacing_rate.is_some() && !self.can_pace() {
            let text = "goes with recovery `prr` and output.push `device`: inherit `linux-6.1`";
            return Err(("output.pacing_rate", text.into()));
        }
        let growth = self.congestion.growth == crate::congestion::Growth::PerPacket;
        if growth && !prr {
            return Err(("congestion.growth", "`per-packet` goes with recovery `prr`".into()));
        }
        Ok(())
    }
}

/// The kernel's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// Length of a tick, 1/HZ: timers fire on ticks. `1 ns` makes time continuous.
    pub tick: Duration,
    /// Unit of the timestamps option's clock (RFC 7323 section 5.4).
    pub timestamp_unit: Duration,
    /// Maximum segment lifetime: TIME-WAIT lasts twice this (RFC 9293 section 3.6.1).
    pub msl: Duration,
    /// Which ticks timers fire on.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timers: TimerRule,
}

impl ClockConfig {
    /// After this time the clock looks the same again: a tick, or the span of the wheel's third level.
    pub fn period(&self) -> Duration {
        self.timers.period(self.tick)
    }
}

/// TCP options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionsConfig {
    /// Window scale option (RFC 7323 section 2).
    pub window_scaling: bool,
    /// Timestamps option (RFC 7323 section 3).
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Duplicate reports in SACK (RFC 2883).
    pub dsack: bool,
    /// SACK blocks cover the number of a FIN that waits out of order (LK-SACK-1).
    #[serde(default, skip_serializing_if = "is_default")]
    pub sack_covers_fin: bool,
    /// SACK-permitted takes the place of the NOPs before the timestamps, so that a SYN is four bytes shorter
    /// (LK-SYN-1).
    #[serde(default, skip_serializing_if = "is_default")]
    pub sack_before_timestamps: bool,
    /// This many SACK blocks are remembered (LK-SACK-2); absent: six.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sack_blocks: Option<u32>,
    /// Answers to unacceptable segments without data are at least this far apart. A SYN in an established connection is
    /// one of them, and so is an ACK that was overtaken, of which nothing is taken; data with an old timestamp are
    /// reported as duplicates (LK-SYN-2, LK-PAWS-1). Absent: no such rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_apart: Option<Duration>,
}

/// Socket buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// Send buffer.
    pub send: Bytes,
    /// Receive buffer.
    pub receive: Bytes,
    /// Neither buffer grows beyond this.
    pub max: Bytes,
    /// Round both up to whole segments once the MSS is settled (FB-BUF-1).
    pub round_to_mss: bool,
    /// A write is handed to TCP in pieces of at most this, with "more to come" on all but the last
    /// (FB-BUF-4); absent: in one piece.
    #[serde(default)]
    pub write_piece: Option<Bytes>,
    /// A blocked writer goes on when this much space, or all that it still needs, is free (FB-BUF-3).
    pub low_water: Bytes,
    /// The send buffer grows with the window and what waits in it; absent: it stays as it is (FB-WIN-7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_growth: Option<GrowthConfig>,
    /// The receive buffer grows with what arrives in a round trip; absent: it stays as it is, or as `window.tuning`
    /// says (FB-WIN-8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_growth: Option<GrowthConfig>,
    /// Most segments kept out of order; absent: as many as the window allows (FB-ACK-8).
    #[serde(default)]
    pub reassembly_limit: Option<u32>,
}

/// A buffer of FreeBSD 7 that grows in steps (FB-WIN-7, FB-WIN-8). It never takes more than eight ninths of
/// `buffers.max`: the first step that would ends its growth (FB-BUF-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthConfig {
    /// What a step adds.
    pub step: Bytes,
    /// No step goes beyond this.
    pub most: Bytes,
}

/// How the shift count of the window scale option is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleRule {
    /// The smallest with which 65535 covers the receive buffer (FB-WIN-2, 5.x and 6.x).
    ReceiveBuffer,
    /// The smallest with which 65535 covers the largest buffer allowed (FB-WIN-2, 7.x; Linux).
    MaxBuffer,
    /// The logarithm of the largest buffer allowed, less 15: with it the field reaches half of that buffer or
    /// more (LK-WIN-1).
    HalfMaxBuffer,
}

/// The advertised window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowConfig {
    /// Choice of the window scale.
    pub scale: ScaleRule,
    /// The passive side takes the window of the handshake's third segment unscaled (FB-WIN-4).
    pub third_segment_unscaled: bool,
    /// A pure ACK with an unchanged window outside recovery leaves cwnd alone while cwnd covers that window:
    /// BSD's header prediction skips the growth (FB-CW-2).
    pub fast_path_skips_growth: bool,
    /// A read sends a window update once the window can move by this many segments (FB-WIN-5).
    pub update_segments: u32,
    /// Only a read sends window updates; otherwise whatever looks for something to send does (FB-WIN-5).
    #[serde(default)]
    pub update_at_read: bool,
    /// A read also sends a window update once the window can grow to twice what was promised, while that is
    /// at most half the buffer (Linux 2.6, tcp.c); `update_segments` of 0 leaves only this rule.
    #[serde(default)]
    pub update_when_doubled: bool,
    /// The buffer and its window grow with what is read; absent: they stay as `buffers.receive` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningConfig>,
}

/// A receive buffer that grows (LK-WIN-1 to LK-WIN-4). Half of its memory is window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuningConfig {
    /// Memory at first, what packets take besides their data included.
    pub first: Bytes,
    /// Most memory.
    pub most: Bytes,
}

/// SYN and SYN-ACK retransmission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandshakeConfig {
    /// Retransmissions of a SYN before the connection is given up.
    pub syn_retries: u32,
    /// From this expiry on the SYN carries no window scale and no timestamps (FB-SYN-1); absent: never.
    #[serde(default)]
    pub syn_plain_from: Option<u32>,
    /// First interval of the SYN-ACK's timer; it doubles (FB-SYN-2).
    pub syn_ack_timer: Duration,
    /// Retransmissions of a SYN-ACK by its timer.
    pub syn_ack_retries: u32,
    /// A repeated SYN restarts the SYN-ACK's timer, with the interval it had (FreeBSD's syncache puts the
    /// entry at the end of the same timer queue); otherwise the timer runs on.
    #[serde(default)]
    pub repeated_syn_restarts_timer: bool,
    /// A SYN-ACK resent by its timer leaves the passive side an initial window of one segment (FB-SYN-4;
    /// RFC 3390 section 2 and RFC 5681 section 3.1 allow one segment after a lost SYN).
    pub one_segment_after_syn_ack_timeout: bool,
    /// A SYN or SYN-ACK that was resent by its timer this often leaves either side an initial window of one
    /// segment (RFC 5681 section 3.1: once; RFC 6928 section 2 recommends to wait for the second);
    /// absent: never.
    #[serde(default)]
    pub one_segment_after_timeouts: Option<u32>,
    /// SYN-ACKs that answered a repeated SYN count for this as well as those sent by the timer (LK-IW-2).
    #[serde(default, skip_serializing_if = "is_default")]
    pub one_segment_after_answers: bool,
    /// The initial window stays as it is if no timer sent one again, or if the peer echoes the timestamp of the first:
    /// the timeouts were needless (LK-IW-2).
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeouts_may_be_needless: bool,
    /// The ACK that completes a passive open counts as an ACK of new data and opens cwnd (FB-IW-2).
    pub third_segment_opens_cwnd: bool,
}

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "not an initial window; allowed: a number of segments, such as 10, or \"rfc3390\", \"rfc6928\" or \
                 \"rfc3390-segments\""
)]
pub enum InitialWindow {
    /// min(4 MSS, max(2 MSS, 4380 bytes)) (RFC 3390 section 1).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 bytes)) (RFC 6928 section 2).
    Rfc6928,
    /// 4 segments up to an MSS of 1095 bytes, 3 up to 1460, else 2: RFC 3390 in whole segments (LX-IW-1).
    Rfc3390Segments,
    /// This many segments.
    #[serde(untagged)]
    Segments(u32),
}

impl InitialWindow {
    /// In bytes, for an MSS in bytes.
    pub fn bytes(self, mss: u32) -> u32 {
        match self {
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            Self::Rfc6928 => (10 * mss).min((2 * mss).max(14600)),
            Self::Rfc3390Segments => match mss {
                ..=1095 => 4 * mss,
                1096..=1460 => 3 * mss,
                _ => 2 * mss,
            },
            Self::Segments(n) => n * mss,
        }
    }
}

/// What an RTT sample is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSource {
    /// Every ACK of new data, by the echoed timestamp, and one tick is added (FB-RTT-1); one timed segment
    /// at a time where timestamps are off.
    TimestampsPlusTick,
    /// Every ACK of new data, by the echoed timestamp; 0 counts as one unit (LX-RTO-1); one timed segment at
    /// a time where timestamps are off.
    Timestamps,
    /// Every ACK or new SACK report, by when the first of its packets that were sent only once left, to the
    /// microsecond; else, for new data, by the echoed timestamp (LK-RTT-1). It goes with recovery `prr`.
    Packets,
    /// One timed segment at a time, never a retransmitted one (Karn; RFC 6298 section 3).
    Segment,
}

/// When in-order data are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Every segment at once.
    Immediate,
    /// A segment starts the timer; one that finds it running is acknowledged at once (FB-ACK-1).
    TimerToggle,
    /// Every second full-sized segment, or the timer (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
    EverySecond,
    /// Linux: more than one full-sized segment, a credit of immediate ACKs (LX-ACK-1, LX-ACK-2), a delay
    /// that follows the arrivals (LX-ACK-3), and short segments acknowledged when read (LX-ACK-4).
    QuickAck,
}

/// The receiver's acknowledgments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAckConfig {
    /// The rule.
    pub policy: AckPolicy,
    /// The delay; for `quick-ack` the longest one after a short segment (LX-ACK-3).
    pub timeout: Duration,
    /// Most immediate ACKs in a row of `quick-ack` (LX-ACK-2).
    #[serde(default)]
    pub quick_credit: u32,
    /// Shortest delay of `quick-ack`, with which it begins (LX-ACK-3).
    #[serde(default)]
    pub least: Duration,
    /// Longest delay of `quick-ack` where no segment was short (LX-ACK-3).
    #[serde(default)]
    pub most: Duration,
    /// `quick-ack`: data out of order do not refill the credit, only data that came twice do (LK-ACK-2).
    #[serde(default, skip_serializing_if = "is_default")]
    pub order_keeps_credit: bool,
    /// `quick-ack`: only a packet that acknowledges data takes from the credit (LK-ACK-2).
    #[serde(default, skip_serializing_if = "is_default")]
    pub credit_for_data: bool,
    /// `quick-ack`: a segment that finds the timer about to expire, with a quarter of the delay or less to
    /// go, is acknowledged at once (LK-ACK-3).
    #[serde(default, skip_serializing_if = "is_default")]
    pub due_timer_answers: bool,
    /// `quick-ack`: a full segment with PSH is acknowledged when a read empties the buffer, as a short one is
    /// (LK-ACK-6).
    #[serde(default, skip_serializing_if = "is_default")]
    pub push_is_short: bool,
    /// `quick-ack`: a FIN is acknowledged as data are, and what follows it is taken for an answer (LK-ACK-4).
    #[serde(default, skip_serializing_if = "is_default")]
    pub fin_waits: bool,
    /// `quick-ack`: two short segments of one size in a row are full ones from there on, and two since the last ACK
    /// are acknowledged when a read empties the buffer, even where data are sent in answer (LK-ACK-8).
    #[serde(default, skip_serializing_if = "is_default")]
    pub measures_short: bool,
    /// `quick-ack`: gaps between arrivals and the delay are counted in whole ticks (LK-ACK-10).
    #[serde(default, skip_serializing_if = "is_default")]
    pub counts_ticks: bool,
    /// Acknowledgments of data out of order are held back for a short time; absent: each leaves at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionConfig>,
}

/// Acknowledgments of data out of order, held back (LK-ACK-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompressionConfig {
    /// This many leave at once after rcv_nxt has moved.
    pub first: u32,
    /// Longest time that one waits, if a twentieth of the round trip is not shorter.
    pub delay: Duration,
    /// The timer's own delay beyond that.
    pub slack: Duration,
    /// Most that are held back together.
    pub most: u32,
    /// Where this many blocks are reported, one that is held back leaves before a further one is begun; absent: it
    /// does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
}

/// For values that a file leaves out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Rules for short segments and idle senders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// Nagle's algorithm (RFC 9293 section 3.7.4).
    pub nagle: NagleRule,
    /// Window after an idle time of one RTO, in segments; absent: as before (FB-OUT-2; RFC 5681
    /// section 4.1 restarts from the initial window).
    #[serde(default)]
    pub idle_restart: Option<InitialWindow>,
    /// Since when a sender is idle.
    #[serde(default)]
    pub idle_since: IdleSince,
    /// An idle time halves cwnd once for each RTO of it, down to `idle_restart`, instead of at once
    /// (LX-IDLE-1).
    #[serde(default)]
    pub idle_halves: bool,
    /// An idle time ends with data that wait to be sent, not with an ACK (LK-IDLE-1).
    #[serde(default, skip_serializing_if = "is_default")]
    pub idle_restart_at_data: bool,
    /// The window that an idle time halves leaves ssthresh at three quarters of it at least (LK-IDLE-1).
    #[serde(default, skip_serializing_if = "is_default")]
    pub idle_raises_ssthresh: bool,
    /// What becomes of a window that is not used; `prr` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub validation: CwndValidation,
    /// What a probe of a closed window is made of.
    #[serde(default, skip_serializing_if = "is_default")]
    pub probe: ProbeRule,
    /// Which segments of data carry PSH.
    #[serde(default, skip_serializing_if = "is_default")]
    pub push: PushRule,
    /// Data are paced, by a timer of TCP's own: at BBR's rate, or that of a window in a round trip times 1.2 (times 2 in slow
    /// start, while cwnd is below half of ssthresh), and at this rate at most (SO_MAX_PACING_RATE; LK-PACE-4). Absent: BBR alone paces. `prr`
    /// with `push = "device"` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pacing_rate: Option<Rate>,
    /// The congestion window, in segments, stands in the urgent pointer of every segment without URG and SYN, where a
    /// capture finds it: the second patch of klaver-2005. A receiver does not look at it (RFC 9293 section 3.8.5).
    #[serde(default, skip_serializing_if = "is_default")]
    pub cwnd_in_urgent_pointer: bool,
    /// Every ACK carries our FIN again until it is acknowledged (BSD). Otherwise only a retransmission does.
    #[serde(default)]
    pub fin_on_every_ack: bool,
    /// Shortest and longest interval between window probes.
    pub persist_min: Duration,
    /// Longest interval between window probes.
    pub persist_max: Duration,
}

/// What becomes of a window that was not used for an RTO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CwndValidation {
    /// It stays.
    #[default]
    Off,
    /// It goes half the way to what was used of it, no lower than the initial window (RFC 2861, LK-CW-2).
    Decay,
}

/// Which segments of data carry PSH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PushRule {
    /// The last one in the buffer (RFC 9293 section 3.9.1.2).
    #[default]
    EndOfBuffer,
    /// And the last of those that TCP gives the device as one packet (LK-PUSH-1); where such a packet could soon be
    /// larger, it waits (LK-DEFER-1).
    Device,
}

/// What a probe of a closed window is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeRule {
    /// The next byte (RFC 9293 section 3.8.6.1).
    #[default]
    NextByte,
    /// No data, with the sequence number before the last one acknowledged, which asks for an answer
    /// (LK-PROBE-1).
    OldSequence,
}

/// Since when a sender is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleSince {
    /// The last packet arrived (FB-OUT-2).
    #[default]
    Arrival,
    /// The last data left (RFC 5681 section 4.1; LX-IDLE-1).
    Transmission,
}

/// When a segment shorter than the MSS may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NagleRule {
    /// At any time (TCP_NODELAY).
    Off,
    /// When nothing is outstanding.
    On,
    /// When no other short segment is outstanding (Minshall; LX-NAGLE-1).
    Minshall,
}
