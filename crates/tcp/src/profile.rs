//! A system's behaviour as data: constants and named choices, each with its source in `profiles/*.toml`.
//!
//! Every quirk is a named choice here and a branch at the mechanism that it changes; no mechanism asks which
//! system it is.

use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::congestion::CongestionConfig;
use crate::rtt::RttConfig;

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
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAckConfig,
    /// When a segment shorter than the MSS may leave.
    pub output: OutputConfig,
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
        let ticks = self.rtt.estimator != crate::rtt::EstimatorKind::Rfc6298;
        if ticks && (self.rtt.tick != clock.tick || clock.timestamp_unit != clock.tick) {
            let text = "this estimator counts the kernel's ticks: rtt.tick, clock.tick and clock.timestamp_unit must be equal";
            return Err(("rtt.tick", text.into()));
        }
        if clock.tick.is_zero() || clock.timestamp_unit.is_zero() {
            return Err(("clock", "a tick and a timestamp unit are longer than zero".into()));
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
    /// Most segments kept out of order; absent: as many as the window allows (FB-ACK-8).
    #[serde(default)]
    pub reassembly_limit: Option<u32>,
}

/// How the shift count of the window scale option is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleRule {
    /// The smallest with which 65535 covers the receive buffer (FB-WIN-2, 5.x and 6.x).
    ReceiveBuffer,
    /// The smallest with which 65535 covers the largest buffer allowed (FB-WIN-2, 7.x; Linux).
    MaxBuffer,
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
    /// at most half the buffer (Linux 2.6, tcp.c); `update_segments` of 0 leaves this rule alone.
    #[serde(default)]
    pub update_when_doubled: bool,
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
    /// A repeated SYN starts the SYN-ACK's timer anew, with the interval it had (FreeBSD's syncache puts the
    /// entry at the end of the same timer queue); otherwise the timer runs on.
    #[serde(default)]
    pub repeated_syn_restarts_timer: bool,
    /// A SYN-ACK resent by its timer leaves the passive side an initial window of one segment (FB-SYN-4;
    /// RFC 3390 section 2 and RFC 5681 section 3.1 allow one segment after a lost SYN).
    pub one_segment_after_syn_ack_timeout: bool,
    /// A SYN or SYN-ACK that was resent by its timer so often leaves either side an initial window of one
    /// segment (RFC 5681 section 3.1: once; RFC 6928 section 2 recommends to wait for the second);
    /// absent: never.
    #[serde(default)]
    pub one_segment_after_timeouts: Option<u32>,
    /// The ACK that completes a passive open counts as an ACK of new data and opens cwnd (FB-IW-2).
    pub third_segment_opens_cwnd: bool,
}

/// The first congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialWindow {
    /// min(4 MSS, max(2 MSS, 4380 bytes)) (RFC 3390 section 1).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600 bytes)) (RFC 6928 section 2).
    Rfc6928,
    /// 4 segments up to an MSS of 1095 bytes, 3 up to 1460, else 2: RFC 3390 in whole segments (LX-IW-1).
    Rfc3390Segments,
    /// So many segments.
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
    /// One timed segment at a time, never a retransmitted one (Karn; RFC 6298 section 3).
    Segment,
}

/// How losses are repaired when SACK is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackRecovery {
    /// FreeBSD 6: cwnd of one segment at entry, then grown to ssthresh by awnd and partial ACKs
    /// (FB-FR-3, -5, -6).
    Bsd,
    /// RFC 6675: cwnd = ssthresh, a segment whenever cwnd - pipe allows.
    Rfc6675,
    /// Linux: segments count as lost by their distance from the highest SACKed byte (FACK, LX-ST-9), and
    /// cwnd is lowered by one for every second ACK (rate halving, LX-ST-7).
    RateHalving,
}

/// How losses are repaired without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlainRecovery {
    /// Fast recovery ends with the first ACK of new data (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery lasts until all that was outstanding is acknowledged, with BSD's accounting: limited
    /// transmit lessens the inflation, every partial ACK restarts the timer (FB-FR-4, FB-FR-8).
    NewReno,
    /// The same to the letter of RFC 6582 section 3.2: cwnd = ssthresh + 3 MSS at entry, one MSS added back
    /// only for a partial ACK of at least one, and only the first partial ACK restarts the timer.
    Rfc6582,
}

/// The window with which recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryExit {
    /// ssthresh, but flight + MSS if ssthresh would allow a burst (FB-FR-9; [000 Listing 4.1]).
    BsdSlowStart,
    /// min(ssthresh, max(flight, MSS) + MSS) (RFC 6582 section 3.2 step 3, first choice). Recovery after
    /// RFC 6675 keeps cwnd = ssthresh (its section 5 step 4.2).
    Rfc6582,
    /// ssthresh (RFC 6582, second choice; RFC 6675).
    Ssthresh,
    /// min(cwnd, ssthresh), and at most three segments more than what is in flight (LX-ST-10).
    Moderated,
}

/// Loss recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryConfig {
    /// With SACK.
    pub sack: SackRecovery,
    /// Without SACK.
    pub plain: PlainRecovery,
    /// Duplicate ACKs that trigger a fast retransmit.
    pub dupack_threshold: u32,
    /// A changed window makes an ACK a window update, not a duplicate (RFC 5681 section 2 (e); FB-DUP-1).
    pub changed_window_is_no_duplicate: bool,
    /// A FIN without data whose acknowledgment is old counts as a duplicate ACK, and is not looked at further:
    /// FreeBSD 6 asks for the length of the data alone. RFC 5681 section 2 (c) excludes it.
    #[serde(default)]
    pub bare_fin_is_duplicate: bool,
    /// Most segments sent by limited transmit in an episode (RFC 3042); 0 turns it off.
    pub limited_transmit: u32,
    /// With SACK, duplicates at or below `recover` may not start recovery (RFC 6582 section 3.2 step 1);
    /// FreeBSD does not test this (FB-FR-1).
    pub sack_entry_guard: bool,
    /// A partial ACK in recovery is answered even when no data can go (FB-FR-7).
    pub partial_ack_answers: bool,
    /// The window with which recovery ends.
    pub exit: RecoveryExit,
    /// An ACK within srtt/2 of the first timeout restores cwnd, ssthresh and nxt (FB-RTO-7).
    pub bad_retransmit_undo: bool,
    /// Only the first timeout of a segment lowers ssthresh (RFC 5681 section 3.1, last paragraph).
    pub ssthresh_once_per_segment: bool,
    /// A timeout in fast recovery leaves ssthresh as the recovery set it (Linux 2.6, tcp_input.c).
    #[serde(default)]
    pub ssthresh_kept_in_recovery: bool,
    /// Forget SACK reports at a timeout (RFC 6675 section 5.1, RFC 2018 section 5).
    pub forget_sack_at_timeout: bool,
    /// Retransmissions of a segment before the connection is given up.
    pub max_retransmits: u32,
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
}

/// Rules for short segments and idle senders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// Nagle's algorithm (RFC 9293 section 3.7.4).
    pub nagle: NagleRule,
    /// Window after an idle time of one RTO: so many segments; absent: as before (FB-OUT-2; RFC 5681
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
    /// Every ACK carries our FIN again until it is acknowledged (BSD). Otherwise only a retransmission does.
    #[serde(default)]
    pub fin_on_every_ack: bool,
    /// Shortest and longest interval between window probes.
    pub persist_min: Duration,
    /// Longest interval between window probes.
    pub persist_max: Duration,
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
