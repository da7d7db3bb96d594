//! FreeBSD's dummynet of 2005 (EM-DN-1 to EM-DN-7): everything happens at ticks.
//!
//! Not modelled: flow queues, RED, WF2Q; the refusal of queues beyond 100 slots (a limit is taken as given).

use rexmit_units::{Duration, Instant, Rate};

/// A pipe of a fixed rate. Ticks fall at `phase`, `phase + tick`, ...; the work of a tick comes before
/// packets that arrive at that instant.
pub(crate) struct Dummynet {
    /// Nanoseconds between ticks.
    tick: u64,
    /// Nanoseconds from the start of the run to tick 1.
    phase: u64,
    /// Tick at which the last packet leaves.
    last: u64,
    /// Credit left at that tick, in bit x 10^9 (one bit/s for one nanosecond is one unit).
    credit: u64,
}

impl Dummynet {
    /// `tick` is not zero; `phase` is shorter than `tick`.
    pub fn new(tick: Duration, phase: Duration) -> Self {
        Self { tick: tick.as_nanos(), phase: phase.as_nanos(), last: 0, credit: 0 }
    }

    /// See [`super::Shaper::depart`].
    pub fn depart(&mut self, now: Instant, len: u64, rate: Option<Rate>) -> Instant {
        let Some(rate) = rate else { return now.max(self.busy_until()) };
        let current = self.tick_at(now);
        if self.last <= current {
            // The queue was empty: counting starts at the current tick, without credit (EM-DN-4).
            self.last = current;
            self.credit = 0;
        }
        let need = len.saturating_mul(8_000_000_000);
        let per_tick = rate.bits_per_second().saturating_mul(self.tick);
        let ticks = need.saturating_sub(self.credit).div_ceil(per_tick);
        self.credit = self.credit.saturating_add(ticks.saturating_mul(per_tick)) - need;
        self.last = self.last.saturating_add(ticks);
        self.instant_of(self.last)
    }

    /// When the last packet leaves.
    pub fn busy_until(&self) -> Instant {
        if self.last == 0 { Instant::ZERO } else { self.instant_of(self.last) }
    }

    /// The delay is cut to whole ticks, counted from the tick of departure (EM-DN-5). Without delay a packet
    /// goes on at once.
    pub fn arrive(&self, departure: Instant, delay: Duration) -> Instant {
        match delay.as_nanos() / self.tick {
            0 => departure,
            ticks => {
                let from = self.tick_at(departure);
                let ns = from.saturating_add(ticks).saturating_mul(self.tick).saturating_sub(self.tick);
                Instant::from_nanos(ns.saturating_add(self.phase))
            }
        }
    }

    /// Number of the last tick at or before `now`; tick 0 lies before the run.
    fn tick_at(&self, now: Instant) -> u64 {
        let ns = now.as_nanos();
        if ns < self.phase { 0 } else { (ns - self.phase) / self.tick + 1 }
    }

    fn instant_of(&self, tick: u64) -> Instant {
        debug_assert!(tick > 0, "a packet leaves at or after tick 1");
        Instant::from_nanos((tick - 1).saturating_mul(self.tick).saturating_add(self.phase))
    }
}
