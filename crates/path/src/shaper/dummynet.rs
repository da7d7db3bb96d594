//! FreeBSD's dummynet of 2005 (EM-DN-1 to EM-DN-7): everything happens at ticks.
//!
//! Not modelled: flow queues, RED, WF2Q; the refusal of queues beyond 100 slots (a limit is taken as given).

use rexmit_units::{Instant, Rate};

use super::units;
use crate::ticks::Ticks;

/// A pipe of a fixed rate.
pub(crate) struct Dummynet {
    ticks: Ticks,
    /// Tick at which the last packet leaves.
    last: u64,
    /// Credit left at that tick, in bit x 10^9 (one bit/s for one nanosecond is one unit).
    credit: u64,
}

impl Dummynet {
    pub fn new(ticks: Ticks) -> Self {
        Self { ticks, last: 0, credit: 0 }
    }

    /// See [`super::Shaper::depart`].
    pub fn depart(&mut self, now: Instant, len: u64, rate: Option<Rate>) -> Instant {
        let Some(rate) = rate else { return now.max(self.busy_until()) };
        let current = self.ticks.at(now);
        if self.last <= current {
            // The queue was empty: counting starts at the current tick, without credit (EM-DN-4).
            self.last = current;
            self.credit = 0;
        }
        let need = units(len);
        let per_tick = rate.bits_per_second().saturating_mul(self.ticks.nanos());
        let ticks = need.saturating_sub(self.credit).div_ceil(per_tick);
        self.credit = self.credit.saturating_add(ticks.saturating_mul(per_tick)) - need;
        self.last = self.last.saturating_add(ticks);
        self.ticks.instant_of(self.last)
    }

    /// When the last packet leaves.
    pub fn busy_until(&self) -> Instant {
        if self.last == 0 { Instant::ZERO } else { self.ticks.instant_of(self.last) }
    }
}
