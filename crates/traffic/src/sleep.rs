//! How an application sleeps on a kernel with ticks.

use rexmit_stack::{Clock, TimerRule};
use rexmit_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a pause really is on a kernel whose sleeps end at ticks (EM-TR-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SleepSpec {
    /// Time between ticks; above zero. They have the phase of the host's own.
    pub tick: Duration,
    /// Which call waits.
    pub rule: SleepRule,
}

/// Which call an application waits with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SleepRule {
    /// As `nanosleep` of Linux before 2.6.21: the time in whole ticks, rounded up, and one more, counted from the
    /// tick at which the write before was taken. At 4 ms, 250 ms become 256 ms.
    Nanosleep,
    /// As a periodic `setitimer`: the time in whole ticks, rounded up, counted from the tick at which the write before
    /// began. At 4 ms, 250 ms become 252 ms.
    Itimer,
}

/// The sleeps of an application, with the phase of its host's ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleeper {
    clock: Clock,
    rule: SleepRule,
    tick: Duration,
}

impl Sleeper {
    pub fn new(spec: SleepSpec, phase: Duration) -> Self {
        Self { clock: Clock::new(spec.tick, TimerRule::Ticks, phase), rule: spec.rule, tick: spec.tick }
    }

    /// True where a sleep begins only when the write has been taken.
    pub fn follows_write(&self) -> bool {
        self.rule == SleepRule::Nanosleep
    }

    /// When a sleep of `wait` that begins at `now` is over.
    pub fn until(&self, now: Instant, wait: Duration) -> Instant {
        if wait.is_zero() {
            return now;
        }
        match self.rule {
            SleepRule::Nanosleep => self.clock.deadline(now, wait) + self.tick,
            SleepRule::Itimer => self.clock.deadline(now, wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(rule: SleepRule, ms: u64) -> u64 {
        let spec = SleepSpec { tick: Duration::from_millis(4), rule };
        let at = Instant::ZERO + Duration::from_millis(400);
        let over = Sleeper::new(spec, Duration::ZERO).until(at, Duration::from_millis(ms));
        ((over - at).as_nanos()) / 1_000_000
    }

    /// EM-TR-2, SC-A-1, SC-A-2.
    #[test]
    fn sleeps_of_study_002() {
        assert_eq!([10, 250, 1000].map(|ms| until(SleepRule::Nanosleep, ms)), [16, 256, 1004]);
        assert_eq!(until(SleepRule::Itimer, 250), 252);
    }
}
