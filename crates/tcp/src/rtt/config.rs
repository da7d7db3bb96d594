//! What a profile says about its retransmission timeout.

use rexmit_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most steps that a backoff table may have.
pub const MAX_BACKOFF_STEPS: usize = 16;

/// Which arithmetic turns samples into a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EstimatorKind {
    /// FreeBSD 5.x to 7.x: fixed point in ticks, slop added, no minimum of a second.
    Bsd,
    /// RFC 6298.
    Rfc6298,
    /// Linux 2.6: jiffies, a floor under the variance term instead of under the sum.
    Linux,
    /// Linux 6.1: the same arithmetic in microseconds, the timeout rounded up to a tick (LK-RTO-1).
    #[serde(rename = "linux-us")]
    LinuxMicro,
}

/// Constants of the retransmission timeout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RttConfig {
    /// `bsd`, `rfc6298`, `linux` or `linux-us`.
    pub estimator: EstimatorKind,
    /// Length of the host's clock tick: the unit of the arithmetic of `bsd` and `linux`, the clock
    /// granularity G of `rfc6298`.
    pub tick: Duration,
    /// The timeout before any sample; the first interval of a SYN, without slop.
    pub initial_rto: Duration,
    /// Least value of the timeout: `bsd` applies it before the slop is added, `rfc6298` to the sum; `linux`
    /// has none.
    pub min_rto: Duration,
    /// Added to every timeout of `bsd` after multiplication by the backoff (FB-RTO-2, FB-RTO-6a); nothing
    /// to the others.
    #[serde(default)]
    pub slop: Duration,
    /// No timeout is longer.
    pub max_rto: Duration,
    /// Least value of the variance term of `linux` (LX-CFG-1) and `linux-us` (LK-RTO-1); nothing to the others.
    #[serde(default)]
    pub variance_floor: Duration,
    /// The timeout after a handshake in which a SYN timed out and no sample was taken; `rfc6298` (section 5.7:
    /// 3 s) and `linux-us` only. Absent: the initial one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_after_syn_loss: Option<Duration>,
    /// Factors of the timeout of a SYN: entry k after k expiries, the last one for all later. Empty: 2 to
    /// the power of k.
    #[serde(default)]
    pub syn_backoff: Vec<u32>,
    /// The same for an established connection.
    #[serde(default)]
    pub backoff: Vec<u32>,
}

/// Why constants make no sense together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RttConfigError {
    /// This duration must be longer than zero.
    Zero(&'static str),
    /// `bsd` and `linux` count in ticks: this duration must be a whole number of them.
    PartOfTick(&'static str),
    /// The least timeout is longer than the greatest.
    MinAboveMax,
    /// This table has more than [`MAX_BACKOFF_STEPS`] entries.
    TooManySteps(&'static str),
    /// This table does not start with 1, falls somewhere, or goes beyond 65535.
    BadSteps(&'static str),
}

impl RttConfig {
    /// Checks that the constants fit together.
    pub fn check(&self) -> Result<(), RttConfigError> {
        let spans = [("tick", self.tick), ("initial_rto", self.initial_rto), ("max_rto", self.max_rto)];
        for (name, span) in spans {
            if span.is_zero() {
                return Err(RttConfigError::Zero(name));
            }
        }
        if self.min_rto > self.max_rto {
            return Err(RttConfigError::MinAboveMax);
        }
        if self.estimator != EstimatorKind::Rfc6298 {
            self.check_ticks()?;
        }
        check_steps("syn_backoff", &self.syn_backoff)?;
        check_steps("backoff", &self.backoff)
    }

    fn check_ticks(&self) -> Result<(), RttConfigError> {
        let spans = [
            ("initial_rto", self.initial_rto),
            ("min_rto", self.min_rto),
            ("slop", self.slop),
            ("max_rto", self.max_rto),
            ("variance_floor", self.variance_floor),
        ];
        for (name, span) in spans {
            if span.as_nanos() % self.tick.as_nanos() != 0 {
                return Err(RttConfigError::PartOfTick(name));
            }
        }
        Ok(())
    }
}

fn check_steps(name: &'static str, steps: &[u32]) -> Result<(), RttConfigError> {
    if steps.len() > MAX_BACKOFF_STEPS {
        return Err(RttConfigError::TooManySteps(name));
    }
    let rises = steps.windows(2).all(|pair| pair[0] <= pair[1]);
    let starts = steps.first().is_none_or(|&first| first == 1);
    let fits = steps.last().is_none_or(|&last| last <= u32::from(u16::MAX));
    if rises && starts && fits { Ok(()) } else { Err(RttConfigError::BadSteps(name)) }
}

impl std::fmt::Display for RttConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Zero(name) => write!(f, "`{name}` must be longer than zero"),
            Self::PartOfTick(name) => write!(f, "`{name}` must be a whole number of ticks"),
            Self::MinAboveMax => write!(f, "`min_rto` must not be longer than `max_rto`"),
            Self::TooManySteps(name) => write!(f, "`{name}` must have at most {MAX_BACKOFF_STEPS} entries"),
            Self::BadSteps(name) => {
                write!(f, "`{name}` must start with 1, never fall, and stay at or below 65535")
            }
        }
    }
}

impl std::error::Error for RttConfigError {}

/// A backoff table; an empty one, which doubles, takes no memory.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    steps: Box<[u16]>,
}

impl Backoff {
    pub(super) fn new(steps: &[u32]) -> Self {
        let steps = steps.iter().take(MAX_BACKOFF_STEPS);
        Self { steps: steps.map(|&step| step.min(u32::from(u16::MAX)) as u16).collect() }
    }

    /// The factor after `expiries` expiries.
    pub(super) fn factor(&self, expiries: u32) -> u64 {
        match self.steps.last() {
            None => 1 << expiries.min(40),
            Some(last) => (*self.steps.get(expiries as usize).unwrap_or(last)).into(),
        }
    }
}
