//! What a profile says about growth and reduction of the congestion window.

use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bbr::BbrConfig;

/// Which algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlgorithmKind {
    /// Reno and NewReno (RFC 5681, RFC 6582): they differ in recovery, not here.
    Reno,
    /// CUBIC (RFC 9438), in the arithmetic that [`CubicConfig`] names.
    Cubic,
    /// BIC as in Linux 2.6.15 (LX-BIC-2 to LX-BIC-4).
    Bic,
    /// BBR, version 1, as in Linux 6.1 (LK-BBR-1 to LK-BBR-8).
    Bbr,
    /// DCTCP (RFC 8257) as in Linux 6.1: Reno that answers the share of marks (LK-DCTCP-1 to LK-DCTCP-3). It asks for ECN, and is Reno
    /// where the peer does not grant it.
    Dctcp,
}

/// How an acknowledgment of new data makes `reno` grow, and `cubic` in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// By one segment in slow start, by mss x mss / cwnd after it, whatever the ACK covers (FB-CW-1).
    PerAck,
    /// By the bytes acknowledged, at most `abc_limit` segments, in slow start; by one segment for each
    /// window of bytes acknowledged after it (RFC 3465).
    PerByte,
    /// By one segment in slow start; after it a counter of ACKs is compared with the window in segments
    /// before it is increased, so a step takes one ACK more than the window (LX-ST-12).
    Counter,
    /// Bytes are counted, except while a timeout is being repaired. In slow start a segment is added once
    /// they reach one segment, after which the count starts again from 0; in congestion avoidance once they
    /// reach the window (LX-ABC-1, LX-ABC-2, LX-ABC-4).
    CountedBytes,
    /// Packets are counted, those reported by SACK too. In slow start each adds a segment, up to ssthresh; what
    /// is left of the count, and all in congestion avoidance, adds a segment for each window of them (LK-CW-1).
    PerPacket,
}

/// How often an acknowledgment of new data makes the window grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthCount {
    /// Once.
    #[default]
    Acks,
    /// Once for each segment that it acknowledges, a part of one for a whole one, while nothing is suspected: the
    /// patch of klaver-2005, against delayed acknowledgments (LX-ACK-5). Else once.
    Segments,
}

/// Up to where slow start goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartCondition {
    /// While cwnd <= ssthresh (FB-CW-1, LX-ST-12).
    UpToSsthresh,
    /// While cwnd < ssthresh (RFC 5681 section 3.1 leaves equality open).
    BelowSsthresh,
}

impl GrowthCount {
    fn is_acks(&self) -> bool {
        *self == Self::Acks
    }
}

/// When an acknowledgment of new data makes the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthCondition {
    /// Always, even if the sender used only a part of the window (FB-CW-2).
    Always,
    /// Only if the window was what limited the sender (LX-ST-3; RFC 9438 section 4.2).
    WhenLimited,
}

/// The slow-start threshold of `reno` after a congestion event, never below two segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SsthreshRule {
    /// Half the smaller of cwnd and the peer's window, in whole segments (FB-FR-2).
    WindowHalf,
    /// Half of cwnd, in whole segments (LX-ST-6).
    CwndHalf,
    /// Half of the bytes in flight (RFC 5681 equation 4).
    FlightHalf,
}

/// Constants of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CubicConfig {
    /// C of the cubic function, in segments per second cubed.
    pub c: f64,
    /// What a congestion event multiplies the window with.
    pub beta: f64,
    /// Give up some of the former window when losses come at smaller ones (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// Never be slower than Reno would be (RFC 9438 section 4.3).
    pub reno_friendly: bool,
    /// How it computes. `integer` has constants of its own in place of `c` and `beta`.
    #[serde(skip_serializing_if = "CubicArithmetic::is_exact")]
    pub arithmetic: CubicArithmetic,
    /// Leave slow start before a loss; `integer` only. Absent: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<HystartConfig>,
}

/// How CUBIC computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CubicArithmetic {
    /// RFC 9438 in floating point.
    #[default]
    Exact,
    /// Linux 6.1's: whole packets, time in ticks of 1 ms, C = 41/1024 of a packet per (0.1 s) cubed, factor
    /// 717/1024, cube root by a table (LK-CUBIC-1 to LK-CUBIC-4). It goes with growth `per-packet`.
    Integer,
}

impl CubicArithmetic {
    fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

/// Whether slow start ends before a loss, in `reno` and `cubic`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HystartRule {
    /// It does not.
    #[default]
    Off,
    /// HyStart++: where the round trip grows, the first slow start goes on at a quarter of its pace, and ends five round
    /// trips later if that lasts (RFC 9406; RF-HS-1 to RF-HS-4). It goes with growth `per-byte`, and needs timestamps, or
    /// recovery that looks at single segments.
    Rfc9406,
}

impl HystartRule {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// When slow start ends before a loss (LK-CUBIC-5; tcp_cubic.c, `hystart_update`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HystartConfig {
    /// Once a train of closely spaced ACKs has lasted half of the least round-trip time.
    pub train: bool,
    /// Once the round-trip time has grown by an eighth, at least 4 ms and at most 16 ms.
    pub delay: bool,
    /// Not below this window, in segments.
    pub low_window: u32,
    /// ACKs of a train follow each other within this time.
    pub spacing: Duration,
}

impl Default for CubicConfig {
    fn default() -> Self {
        // RFC 9438 section 5.
        Self {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            arithmetic: CubicArithmetic::Exact,
            hystart: None,
        }
    }
}

/// Constants of BIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BicConfig {
    /// What a congestion event multiplies the window with, in 1024ths.
    pub beta: u32,
    /// Up to this window, in segments, BIC is Reno.
    pub low_window: u32,
    /// Largest step in a round trip, in segments.
    pub max_increment: u32,
    /// Round trips that the last step of the search takes.
    pub smooth_part: u32,
    /// Give up some of the former window when losses come at smaller ones.
    pub fast_convergence: bool,
}

impl Default for BicConfig {
    fn default() -> Self {
        // LX-BIC-2, LX-BIC-3.
        Self { beta: 819, low_window: 14, max_increment: 16, smooth_part: 20, fast_convergence: true }
    }
}

/// FreeBSD's `inflight`: the sender keeps no more out than the product of bandwidth and delay and a few segments
/// (FB-INF-1, FB-OUT-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InflightConfig {
    /// Whether it does so (`net.inet.tcp.inflight.enable`).
    pub on: bool,
    /// Least window, and never below two segments (`inflight.min`).
    pub least: Bytes,
    /// Greatest window (`inflight.max`).
    pub most: Bytes,
    /// Tenths of a segment that are added to the product (`inflight.stab`).
    pub stab: u32,
    /// No limit while the least round-trip time that was seen is shorter (`inflight.rttthresh`).
    pub rtt_threshold: Duration,
}

impl InflightConfig {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for InflightConfig {
    fn default() -> Self {
        // FB-INF-1.
        Self {
            on: false,
            least: Bytes(6_144),
            most: Bytes(65_535 << 14),
            stab: 20,
            rtt_threshold: Duration::from_millis(10),
        }
    }
}

/// Congestion control of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionConfig {
    /// `reno`, `cubic`, `bic`, `bbr` or `dctcp`.
    pub algorithm: AlgorithmKind,
    /// What an acknowledgment adds; for `cubic` in slow start only.
    pub growth: Growth,
    /// How often an acknowledgment does so; `segments` goes with `per-ack` and `counter`.
    #[serde(default, skip_serializing_if = "GrowthCount::is_acks")]
    pub counts: GrowthCount,
    /// In congestion avoidance per ACK, an increment that would round to nothing is one byte (FreeBSD 7.x;
    /// RFC 5681 section 3.1).
    #[serde(default)]
    pub at_least_one: bool,
    /// L of RFC 3465, in segments: what one ACK adds at most in slow start under `per-byte` growth. After a
    /// timeout it is 1 until slow start is over (RFC 3465 section 2.3).
    #[serde(default = "default_abc_limit")]
    pub abc_limit: u32,
    /// Up to where slow start goes.
    pub slow_start: SlowStartCondition,
    /// Whether the first slow start ends before a loss. `cubic.hystart` is Linux's own.
    #[serde(default, skip_serializing_if = "HystartRule::is_off")]
    pub hystart: HystartRule,
    /// When there is growth at all.
    pub grows: GrowthCondition,
    /// The threshold after a congestion event; `cubic` has its own factor and takes from this rule what the
    /// factor applies to.
    pub ssthresh: SsthreshRule,
    /// The threshold before the first congestion event, in segments; absent: none (LX-BIC-4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<u32>,
    /// A window by the measured bandwidth beside cwnd.
    #[serde(default, skip_serializing_if = "InflightConfig::is_default")]
    pub inflight: InflightConfig,
    /// Constants of `cubic`.
    #[serde(default)]
    pub cubic: CubicConfig,
    /// Constants of `bic`.
    #[serde(default)]
    pub bic: BicConfig,
    /// Constants of `bbr`.
    #[serde(default, skip_serializing_if = "BbrConfig::is_default")]
    pub bbr: BbrConfig,
}

fn default_abc_limit() -> u32 {
    2
}

/// Why a configuration makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionConfigError {
    /// `abc_limit` is 0.
    AbcLimit,
    /// `cubic.c` is not a positive number.
    C,
    /// `cubic.beta` is not between 0 and 1.
    Beta,
    /// `bic.beta` is not between 1 and 1023, or another constant of `bic` is 0.
    Bic,
    /// CUBIC's arithmetic is not that of its growth.
    Cubic,
    /// BIC with growth in packets.
    BicOfPackets,
    /// BBR without growth in packets.
    Bbr,
    /// The same of DCTCP.
    Dctcp,
    /// BBR does not begin with the phase that is set.
    BbrPhase,
    /// HyStart without integer CUBIC.
    Hystart,
    /// HyStart++ without growth by bytes, or with an algorithm that has none.
    HystartPlusPlus,
    /// Segments counted where bytes or packets are.
    Counts,
}

impl CongestionConfig {
    /// Checks the numbers.
    pub fn check(&self) -> Result<(), CongestionConfigError> {
        if self.abc_limit == 0 {
            return Err(CongestionConfigError::AbcLimit);
        }
        if !(self.cubic.c.is_finite() && self.cubic.c > 0.0) {
            return Err(CongestionConfigError::C);
        }
        if !(self.cubic.beta > 0.0 && self.cubic.beta < 1.0) {
            return Err(CongestionConfigError::Beta);
        }
        let bic = &self.bic;
        if !(1..1024).contains(&bic.beta) || bic.max_increment == 0 || bic.smooth_part == 0 {
            return Err(CongestionConfigError::Bic);
        }
        let packets = self.growth == Growth::PerPacket;
        let cubic = self.cubic.arithmetic == CubicArithmetic::Integer;
        match self.algorithm {
            AlgorithmKind::Cubic if packets != cubic => return Err(CongestionConfigError::Cubic),
            AlgorithmKind::Bic if packets => return Err(CongestionConfigError::BicOfPackets),
            AlgorithmKind::Bbr if !packets => return Err(CongestionConfigError::Bbr),
            AlgorithmKind::Dctcp if !packets => return Err(CongestionConfigError::Dctcp),
            _ => {}
        }
        if self.bbr.first_phase.is_some_and(|phase| phase == 1 || phase > 7) {
            return Err(CongestionConfigError::BbrPhase);
        }
        if self.counts == GrowthCount::Segments && !matches!(self.growth, Growth::PerAck | Growth::Counter) {
            return Err(CongestionConfigError::Counts);
        }
        if self.cubic.hystart.is_some() && !cubic {
            return Err(CongestionConfigError::Hystart);
        }
        let has_slow_start = matches!(self.algorithm, AlgorithmKind::Reno | AlgorithmKind::Cubic);
        if !self.hystart.is_off() && (self.growth != Growth::PerByte || !has_slow_start) {
            return Err(CongestionConfigError::HystartPlusPlus);
        }
        Ok(())
    }
}

impl std::fmt::Display for CongestionConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AbcLimit => "`abc_limit` must be at least 1",
            Self::C => "`cubic.c` must be a positive number",
            Self::Beta => "`cubic.beta` must be between 0 and 1, both excluded",
            Self::Bic => "`bic.beta` must be between 1 and 1023, the other constants of `bic` at least 1",
            Self::Cubic => "`cubic` with growth `per-packet` takes `cubic.arithmetic` `integer`, and with any other growth `exact`",
            Self::BicOfPackets => "`bic` is that of Linux 2.6: inherit `linux-2.6.15`, or take another growth than `per-packet`",
            Self::Bbr => "`bbr` is Linux's and counts packets: inherit `linux-6.1`, or take growth `per-packet` with all that goes with it",
            Self::Dctcp => "`dctcp` is Linux's and counts packets: inherit `linux-6.1`, or take growth `per-packet` with all that goes with it",
            Self::BbrPhase => "`bbr.first_phase` must be 0 or 2 to 7: cycles never begin with phase 1",
            Self::Counts => "`counts` of `segments` goes with growth `per-ack` and `counter`",
            Self::Hystart => "`cubic.hystart` goes with `cubic.arithmetic` `integer`",
            Self::HystartPlusPlus => "`hystart` of `rfc9406` goes with `reno` and `cubic` and with growth `per-byte`",
        })
    }
}

impl std::error::Error for CongestionConfigError {}
