//! A kernel's clock: ticks of a fixed length with a phase of their own.

use std::cmp::Reverse;

use rexmit_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which ticks timers fire on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimerRule {
    /// The tick one wait after the present one.
    #[default]
    Ticks,
    /// Linux since 4.8: a wheel whose buckets are one tick wide up to 62 ticks ahead, then 8, 64, 512 and so
    /// on, each level reaching 8 times as far; a timer fires at the end of its bucket, so never early and up
    /// to an eighth late (kernel/time/timer.c, `calc_index`).
    Wheel,
}

impl TimerRule {
    /// After this time a clock of this rule looks the same again: a tick, or the span of the wheel's third level.
    pub fn period(self, tick: Duration) -> Duration {
        match self {
            Self::Ticks => tick,
            Self::Wheel => tick * 512,
        }
    }
}

/// Turns instants into ticks. A tick of one nanosecond makes time continuous.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick: u64,
    phase: u64,
    wheel: bool,
}

impl Clock {
    /// Ticks of this length; the first comes `tick - phase` after the start of the run, where the phase
    /// is taken modulo [`TimerRule::period`].
    pub fn new(tick: Duration, timers: TimerRule, phase: Duration) -> Self {
        let period = timers.period(tick).as_nanos().max(1);
        let tick = tick.as_nanos().max(1);
        Self { tick, phase: phase.as_nanos() % period, wheel: timers == TimerRule::Wheel }
    }

    /// Whole ticks at `now`.
    #[inline]
    pub fn ticks(&self, now: Instant) -> u64 {
        let ns = now.as_nanos() + self.phase;
        match self.tick {
            1 => ns,
            1_000_000 => ns / 1_000_000,
            tick => ns / tick,
        }
    }

    /// When a timer of length `wait`, set at `now`, fires: on the tick that lies `wait` (in whole ticks,
    /// rounded up) after the present one, so after more than n - 1 and at most n tick lengths (FB-RTO-5).
    #[inline]
    pub fn deadline(&self, now: Instant, wait: Duration) -> Instant {
        if self.tick == 1 {
            return now + wait;
        }
        let n = wait.as_nanos().div_ceil(self.tick).max(1);
        let mut due = self.ticks(now) + n;
        if self.wheel {
            let shift = bucket_shift(n);
            due = ((due >> shift) + 1) << shift;
        }
        Instant::from_nanos(due * self.tick - self.phase)
    }

    /// The rank of a timer that was set at `set` among all that fire at `due`, the least first; `None` where a clock
    /// has no wheel. Those of the widest buckets come first, and in a bucket the last one set (kernel/time/timer.c,
    /// `__run_timers`, `enqueue_timer`).
    pub fn turn(&self, set: Instant, due: Instant) -> Option<(Reverse<u32>, Reverse<Instant>)> {
        if !self.wheel {
            return None;
        }
        let (ticks, end) = (self.ticks(due).saturating_sub(self.ticks(set)), self.ticks(due));
        let mut shift = 0;
        // A bucket ends up to its width after the time asked for, and a wider one at a multiple of its own width.
        while shift < 24 && ticks > 63 << shift && end.is_multiple_of(8 << shift) {
            shift += 3;
        }
        Some((Reverse(shift), Reverse(set)))
    }

    /// Whether timers that fire on one tick have an order ([`Self::turn`]).
    #[inline]
    pub fn has_turns(&self) -> bool {
        self.wheel
    }

    /// The length of `n` ticks.
    #[inline]
    pub fn span(&self, n: u64) -> Duration {
        Duration::from_nanos(n * self.tick)
    }
}

/// Buckets of the wheel at `n` ticks from now are this power of two wide: 63 of each width (`LVL_START`).
fn bucket_shift(n: u64) -> u32 {
    let mut shift = 0;
    while shift < 24 && n >= 63 << shift {
        shift += 3;
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(timers: TimerRule, phase_us: u64) -> Clock {
        Clock::new(Duration::from_millis(1), timers, Duration::from_micros(phase_us))
    }

    /// kernel/time/timer.c: never early, one tick late at most up to 62 ticks, 8 up to 503, 64 beyond.
    #[test]
    fn a_wheel_fires_at_the_end_of_the_bucket() {
        for phase in [0, 300, 5_700] {
            let clock = clock(TimerRule::Wheel, phase);
            for us in (0..100_000).step_by(130) {
                let now = Instant::from_nanos(us * 1_000);
                for (ms, late) in
                    [(1, 1), (40, 1), (62, 1), (63, 8), (200, 8), (503, 8), (504, 64), (1_000, 64)]
                {
                    let wait = clock.deadline(now, Duration::from_millis(ms)) - now;
                    let (least, most) = (Duration::from_millis(ms), Duration::from_millis(ms + late));
                    assert!(wait > Duration::ZERO && wait >= least && wait <= most, "{us} {ms}: {wait:?}");
                }
            }
        }
    }

    #[test]
    fn a_timer_fires_after_more_than_n_minus_one_and_at_most_n_ticks() {
        let clock = clock(TimerRule::Ticks, 300);
        for us in 0..3_000 {
            let now = Instant::from_nanos(us * 1_000);
            let wait = clock.deadline(now, Duration::from_millis(5)) - now;
            assert!(wait > Duration::from_millis(4) && wait <= Duration::from_millis(5), "{us}: {wait:?}");
        }
    }

    /// kernel/time/timer.c: the level is known by where a bucket ends.
    #[test]
    fn of_one_tick_long_timers_go_first_and_of_these_the_last_one_set() {
        for phase in [0, 300, 5_700] {
            let clock = clock(TimerRule::Wheel, phase);
            for ms in 1..4_000 {
                let set = Instant::from_nanos(1_234_567 * ms);
                let due = clock.deadline(set, Duration::from_millis(ms));
                let turn = clock.turn(set, due);
                assert_eq!(turn, Some((Reverse(bucket_shift(ms)), Reverse(set))), "{phase} {ms}");
            }
        }
        let ticks = clock(TimerRule::Ticks, 0);
        assert_eq!(ticks.turn(Instant::ZERO, Instant::from_nanos(1_000_000)), None);
    }

    #[test]
    fn the_phase_moves_the_ticks() {
        let clock = clock(TimerRule::Ticks, 300);
        assert_eq!(clock.ticks(Instant::from_nanos(699_999)), 0);
        assert_eq!(clock.ticks(Instant::from_nanos(700_000)), 1);
    }
}
