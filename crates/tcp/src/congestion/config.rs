//! What a profile says about growth and reduction of the congestion window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlgorithmKind {
    /// Reno and NewReno (RFC 5681, RFC 6582): they differ in recovery, not here.
    Reno,
    /// CUBIC (RFC 9438), without HyStart.
    Cubic,
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
}

impl Default for CubicConfig {
    fn default() -> Self {
        // RFC 9438 section 5.
        Self { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true }
    }
}

/// Congestion control of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionConfig {
    /// `reno` or `cubic`.
    pub algorithm: AlgorithmKind,
    /// What an acknowledgment adds; for `cubic` in slow start only.
    pub growth: Growth,
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
    /// When there is growth at all.
    pub grows: GrowthCondition,
    /// The threshold after a congestion event; `cubic` has its own factor and takes from this rule what the
    /// factor applies to.
    pub ssthresh: SsthreshRule,
    /// Constants of `cubic`.
    #[serde(default)]
    pub cubic: CubicConfig,
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
        Ok(())
    }
}

impl std::fmt::Display for CongestionConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AbcLimit => "`abc_limit` must be at least 1",
            Self::C => "`cubic.c` must be a positive number",
            Self::Beta => "`cubic.beta` must be between 0 and 1, both excluded",
        })
    }
}

impl std::error::Error for CongestionConfigError {}
