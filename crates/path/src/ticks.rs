//! The ticks of a machine that works at ticks.

use rexmit_units::{Duration, Instant};

/// Ticks fall at `phase`, `phase + tick`, ...; tick 0 lies before the run. The work of a tick comes before packets
/// that arrive at that instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// Nanoseconds between ticks.
    tick: u64,
    /// Nanoseconds from the start of the run to tick 1.
    phase: u64,
}

impl Ticks {
    /// `tick` is not zero; `phase` is shorter than `tick`.
    pub fn new(tick: Duration, phase: Duration) -> Self {
        Self { tick: tick.as_nanos(), phase: phase.as_nanos() }
    }

    /// Nanoseconds between ticks.
    pub fn nanos(&self) -> u64 {
        self.tick
    }

    /// Number of the last tick at or before `now`.
    pub fn at(&self, now: Instant) -> u64 {
        let ns = now.as_nanos();
        if ns < self.phase { 0 } else { (ns - self.phase) / self.tick + 1 }
    }

    /// When a tick falls; tick 0 counts as tick 1.
    pub fn instant_of(&self, tick: u64) -> Instant {
        Instant::from_nanos(tick.saturating_sub(1).saturating_mul(self.tick).saturating_add(self.phase))
    }

    /// The instant as many whole ticks as `delay` has, and this many `more`, after the tick at or before `from`; `from`
    /// itself where that is none.
    pub fn after(&self, from: Instant, delay: Duration, more: u64) -> Instant {
        match delay.as_nanos() / self.tick + more {
            0 => from,
            ticks => {
                let ns = self.at(from).saturating_add(ticks).saturating_mul(self.tick);
                Instant::from_nanos(ns.saturating_sub(self.tick).saturating_add(self.phase))
            }
        }
    }
}
