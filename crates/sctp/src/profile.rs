//! A system's behaviour as data: constants and named choices, each with its source in `profiles/*.toml`.
//!
//! Every deviation of a system from RFC 9260 is a named choice here and a branch at the mechanism that it changes; no
//! mechanism asks which system it is. Rules named SC-... are those of `docs/profiles.md`.

use rexmit_stack::TimerRule;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A whole SCTP, resolved: every value is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// One line that says which system this is.
    pub summary: String,
    /// The kernel's clock.
    pub clock: ClockConfig,
    /// Buffers of the socket.
    pub buffers: BufferConfig,
    /// The association's life: handshake, limits, extensions.
    pub association: AssociationRules,
    /// Round-trip times and the retransmission timeout.
    pub rto: RtoConfig,
    /// Growth and reduction of the congestion window.
    pub congestion: CongestionConfig,
    /// What is done about losses.
    pub recovery: RecoveryConfig,
    /// When the receiver acknowledges.
    pub sack: SackConfig,
    /// When data may leave, and how.
    pub output: OutputConfig,
    /// Restarts of the retransmission timer T3.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timer: TimerConfig,
    /// What changes while the stream is thin.
    pub thin: ThinConfig,
    /// Heartbeats of idle paths.
    pub heartbeat: HeartbeatConfig,
}

impl Profile {
    /// Checks what the types allow and a system does not have.
    ///
    /// # Errors
    /// The key and what is allowed, one line.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let rules: [(bool, &'static str, &str); 10] = [
            (self.clock.tick.is_zero(), "clock.tick", "a tick is longer than zero"),
            (self.rto.min > self.rto.max, "rto.min", "must not be above rto.max"),
            (self.rto.max.is_zero(), "rto.max", "must be longer than zero"),
            (self.congestion.max_burst == 0, "congestion.max_burst", "must be at least 1 packet"),
            (self.recovery.missing_reports == 0, "recovery.missing_reports", "must be at least 1"),
            (self.sack.packets == 0, "sack.packets", "must be at least 1 packet"),
            (
                self.thin.fast_retransmit_reports == Some(0),
                "thin.fast_retransmit_reports",
                "must be at least 1",
            ),
            (
                self.association.outbound_streams == 0 || self.association.inbound_streams == 0,
                "association",
                "there is at least 1 stream each way",
            ),
            (
                self.buffers.send.0 == 0 || self.buffers.receive.0 < LEAST_WINDOW,
                "buffers",
                "a send buffer holds at least 1 byte, a receive buffer 1500 (RFC 9260 section 3.3.2)",
            ),
            (self.association.cookie_life.is_zero(), "association.cookie_life", "must be longer than zero"),
        ];
        match rules.iter().find(|(broken, ..)| *broken) {
            Some((_, key, text)) => Err((key, (*text).into())),
            None => Ok(()),
        }
    }
}

/// The least window of an INIT (RFC 9260 section 3.3.2).
const LEAST_WINDOW: u64 = 1_500;

/// The kernel's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// Length of a tick, 1/HZ: timers fire on ticks. `1 ns` makes time continuous.
    pub tick: Duration,
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

/// Buffers of the socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferConfig {
    /// User data written and not yet acknowledged. A message that is longer is taken when nothing else waits.
    pub send: Bytes,
    /// User data received and not yet read: what an empty buffer advertises.
    pub receive: Bytes,
}

/// The association's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssociationRules {
    /// Outgoing streams that the INIT or INIT-ACK asks for (RFC 9260 section 5.1.1).
    pub outbound_streams: u16,
    /// Incoming streams that it accepts.
    pub inbound_streams: u16,
    /// How long a state cookie is valid (Valid.Cookie.Life, RFC 9260 section 16).
    pub cookie_life: Duration,
    /// An INIT or COOKIE-ECHO is sent again this often (Max.Init.Retransmits, RFC 9260 sections 4 and 16).
    pub max_init_retransmits: u32,
    /// More expiries in a row than this end the association (Association.Max.Retrans, RFC 9260 section 8.1).
    pub max_retransmits: u32,
    /// More expiries in a row than this make a path inactive (Path.Max.Retrans, RFC 9260 section 8.2).
    pub path_max_retransmits: u32,
    /// A shutdown ends after this at the latest (T5-shutdown-guard, RFC 9260 section 9.2); absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown_guard: Option<Duration>,
    /// Messages may be given up: FORWARD-TSN (RFC 3758) is offered.
    pub partial_reliability: bool,
    /// I-DATA (RFC 8260) is offered, and used if the peer offers it too.
    pub interleaving: bool,
}

/// Round-trip times and the retransmission timeout (RFC 9260 section 6.3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtoConfig {
    /// In which arithmetic.
    pub estimator: RtoEstimator,
    /// Before the first sample (RTO.Initial, rule C1).
    pub initial: Duration,
    /// Least value (RTO.Min, rule C6).
    pub min: Duration,
    /// Greatest value, backoff included (RTO.Max, rule C7).
    pub max: Duration,
}

/// The arithmetic of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoEstimator {
    /// RFC 9260 section 6.3.1 in nanoseconds.
    Rfc9260,
    /// Whole ticks of the clock and shifts, each term truncated (SC-K-3).
    Ticks,
}

/// The congestion window (RFC 9260 section 7.2), in bytes of user data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionConfig {
    /// What one step of the window is.
    pub unit: WindowUnit,
    /// The first window is min(4 units, max(2 units, this)) (RFC 9260 section 7.2.1; SC-P-1).
    pub initial_bytes: Bytes,
    /// The first slow-start threshold.
    pub initial_ssthresh: InitialSsthresh,
    /// What is left of partial_bytes_acked when the window grows in congestion avoidance.
    pub partial_bytes: PartialBytes,
    /// partial_bytes_acked is forgotten once everything is acknowledged (RFC 9260 section 7.2.2).
    pub forget_partial_when_idle: bool,
    /// Packets that may leave at once (Max.Burst, RFC 9260 section 6.1).
    pub max_burst: u32,
    /// How that is held.
    pub burst_rule: BurstRule,
    /// A window over which nothing is sent falls to max(cwnd / 2, 4 units) each RTO (RFC 9260 section 7.2.1).
    pub idle_halves: bool,
}

/// What one step of the congestion window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowUnit {
    /// The largest DATA chunk that a packet holds, its header included: PMDCS (RFC 9260 section 2.3).
    DataChunk,
    /// The path's MTU (RFC 2960 section 7.2; SC-P-1).
    PathMtu,
}

/// The first slow-start threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialSsthresh {
    /// Beyond any window (RFC 9260 section 7.2.1).
    Unlimited,
    /// The window that the peer advertises first (RFC 2960 section 7.2.1).
    PeerWindow,
}

/// What is left of partial_bytes_acked when the window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialBytes {
    /// It is reduced by the window before it grew, and never above a window that was not full (RFC 9260 section 7.2.2).
    LessOldWindow,
    /// It is reduced by the window after it grew, and grows only with a full window (SC-C-1, SC-C-3).
    LessNewWindow,
}

/// How Max.Burst is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstRule {
    /// While one thing is answered, as if cwnd were at most flight + max_burst units (RFC 9260 section 6.1 D).
    Temporary,
    /// Before each chunk, cwnd is lowered to flight + max_burst units for good (SC-S-3).
    Permanent,
}

/// What is done about losses (RFC 9260 sections 6.3.3 and 7.2.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryConfig {
    /// Missing reports that start a fast retransmit (RFC 9260 section 7.2.4; SC-F-2).
    pub missing_reports: u8,
    /// cwnd is lowered once until all that is outstanding at a fast retransmit has been acknowledged, and meanwhile does
    /// not grow (RFC 9260 section 7.2.4 items 2 and 6). Off: lowered by each fast retransmit (SC-F-4).
    pub fast_recovery: bool,
    /// How often one chunk may be sent by fast retransmit.
    pub fast_retransmits: FastRetransmits,
    /// In fast recovery, a SACK that moves the cumulative TSN counts as a report for all that it reports missing
    /// (RFC 9260 section 7.2.4), not only below the highest TSN that it newly acknowledges.
    pub strike_all_in_recovery: bool,
    /// Chunks that wait for retransmission are counted as missing too, and from the threshold on leave without regard to
    /// cwnd (SC-S-4, section 4 step 3).
    pub reports_in_queue: bool,
    /// T3 restarts where a fast retransmit sends the earliest outstanding chunk (RFC 9260 section 7.2.4 item 4).
    /// Off: it runs on (SC-F-5).
    pub fast_restarts_timer: bool,
    /// The order of what a SACK leads to.
    pub sack_order: SackOrder,
    /// When an expiry of T3 doubles the timeout.
    pub backoff: BackoffRule,
}

/// How often one chunk may be sent by fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastRetransmits {
    /// Once (RFC 9260 section 7.2.4 item 5).
    Once,
    /// Again whenever it has been reported missing often enough since it was sent last (SC-F-4, SC-F-6).
    Repeated,
}

/// The order of what a SACK leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackOrder {
    /// The peer's window is updated before a fast retransmit (RFC 9260 section 6.2.1).
    WindowFirst,
    /// A fast retransmit, and what may leave after it, goes by the window of the SACK before (SC section 4).
    RetransmitFirst,
}

/// When an expiry of T3 doubles the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackoffRule {
    /// Before T3 restarts (RFC 9260 section 6.3.3 E2).
    BeforeRestart,
    /// After T3 has restarted with the old value (SC-T-1, SC-T-2).
    AfterRestart,
}

/// When the receiver acknowledges (RFC 9260 section 6.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SackConfig {
    /// A SACK is sent whenever this many packets with data have come.
    pub packets: u32,
    /// A SACK is sent this long after data at the latest (SACK.Delay); `0 ns`: at once (SC-E-7).
    pub delay: Duration,
    /// The first packet with data is acknowledged at once (SC-R-1).
    pub first_at_once: bool,
    /// A packet whose last DATA chunk is a duplicate is acknowledged at once, whatever else it brings: one use of RFC
    /// 9260's MAY for packets with duplicates and new data. Absent: as other packets, where any chunk is new.
    #[serde(default, skip_serializing_if = "is_default")]
    pub last_duplicate_at_once: bool,
    /// The I bit of a DATA chunk is obeyed (RFC 9260 section 3.3.1).
    pub immediate_bit: bool,
}

/// When data may leave, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputConfig {
    /// A packet that is not full waits while data are outstanding (RFC 9260 section 6.1).
    pub nagle: bool,
    /// The I bit is set on the last chunk before a shutdown (RFC 9260 section 9.2).
    pub immediate_bit: bool,
}

/// Restarts of T3 (RFC 9260 section 6.3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerConfig {
    /// T3 is restarted less the age of the earliest outstanding chunk, thin or not (SC-E-4; study 002 section 4.3.3).
    #[serde(default, skip_serializing_if = "is_default")]
    pub restart_less_age: bool,
}

/// What changes while the stream is thin: the enhancements of study 002, chapter 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinConfig {
    /// The stream is thin while fewer packets than this are estimated in flight (SC-E-0); 0: never.
    pub threshold: u32,
    /// Missing reports that start a fast retransmit while thin (SC-E-1); absent: as many as otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_retransmit_reports: Option<u8>,
    /// A fast retransmit takes along all that is outstanding (SC-E-2).
    pub bundle_in_fast_retransmit: bool,
    /// Least timeout where it is computed while thin (SC-E-3); absent: as otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// An expiry of T3 doubles the timeout while thin too; `false`: it does not (SC-E-5).
    pub backoff: bool,
    /// Outstanding chunks go before new ones in packets with room (SC-E-6).
    pub bundle_with_new: BundleWithNew,
}

impl ThinConfig {
    /// True if anything depends on the estimate.
    pub fn is_used(&self) -> bool {
        self.threshold > 0
            && (self.fast_retransmit_reports.is_some()
                || self.bundle_in_fast_retransmit
                || self.min_rto.is_some()
                || !self.backoff
                || self.bundle_with_new != BundleWithNew::Off)
    }
}

/// Which outstanding chunks go along with new ones while the stream is thin (SC-E-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BundleWithNew {
    /// None.
    #[default]
    Off,
    /// Those that are not acknowledged, oldest first (study 002 section 4.4).
    Outstanding,
    /// All above the cumulative TSN, acknowledged by gap blocks or not, as its appendix A.5 lists it.
    Listing,
}

/// Heartbeats (RFC 9260 section 8.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatConfig {
    /// Idle paths are probed.
    pub enabled: bool,
    /// A path is probed when it has been idle for this and an RTO (HB.interval).
    pub interval: Duration,
    /// The RTO in that sum varies by up to half of itself either way.
    pub jitter: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
