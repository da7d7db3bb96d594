//! A kernel's clock: ticks of a fixed length with a phase of their own.

use rexmit_units::{Duration, Instant};

/// Turns instants into ticks. A tick of one nanosecond makes time continuous.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick: u64,
    phase: u64,
}

impl Clock {
    /// Ticks of length `tick`; the first comes `tick - phase` after the start of the run.
    pub fn new(tick: Duration, phase: Duration) -> Self {
        let tick = tick.as_nanos().max(1);
        Self { tick, phase: phase.as_nanos() % tick }
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
        Instant::from_nanos((self.ticks(now) + n) * self.tick - self.phase)
    }

    /// The length of `n` ticks.
    #[inline]
    pub fn span(&self, n: u64) -> Duration {
        Duration::from_nanos(n * self.tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_after_more_than_n_minus_one_and_at_most_n_ticks() {
        let clock = Clock::new(Duration::from_millis(1), Duration::from_micros(300));
        for us in 0..3_000 {
            let now = Instant::from_nanos(us * 1_000);
            let wait = clock.deadline(now, Duration::from_millis(5)) - now;
            assert!(wait > Duration::from_millis(4) && wait <= Duration::from_millis(5), "{us}: {wait:?}");
        }
    }

    #[test]
    fn the_phase_moves_the_ticks() {
        let clock = Clock::new(Duration::from_millis(1), Duration::from_micros(300));
        assert_eq!(clock.ticks(Instant::from_nanos(699_999)), 0);
        assert_eq!(clock.ticks(Instant::from_nanos(700_000)), 1);
    }
}
