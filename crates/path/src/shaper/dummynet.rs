//! FreeBSD's dummynet of 2005 (EM-DN-1 to EM-DN-7): everything happens at ticks.
//!
//! Not modelled: flow queues, RED, WF2Q; the refusal of queues beyond 100 slots (a limit is taken as given).

use rexmit_units::{Instant, LineRate};

use super::units;
use crate::schedule::Rates;
use crate::ticks::Ticks;

/// A packet whose credit new configurations have taken this often never leaves: a trace that begins again may do so for
/// ever.
const MOST_TAKEN: u32 = 10_000;

/// A pipe with a rate.
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

    /// See [`super::Shaper::depart`]. The timer of the packet at the head is set by the rate of that moment, and again where
    /// it finds too little credit (EM-DN-15).
    pub fn depart(&mut self, now: Instant, len: u64, rates: Rates<'_>) -> Instant {
        let per_tick = |rate: LineRate| rate.bits_per_second().saturating_mul(self.ticks.nanos()).max(1);
        let mut set = now.max(self.busy_until());
        let Some(mut rate) = rates.at(set) else { return set };
        let current = self.ticks.at(now);
        if self.last <= current {
            // The queue was empty: counting starts at the current tick, without credit (EM-DN-4).
            self.last = current;
            self.credit = 0;
        }
        let need = units(len);
        let mut taken = 0;
        loop {
            let ticks = need.saturating_sub(self.credit).div_ceil(per_tick(rate));
            self.last = self.last.saturating_add(ticks);
            let fires = self.ticks.instant_of(self.last);
            if rates.change_within(set, fires) {
                // A new configuration takes the credit, and all ticks since the timer was set bring the new rate's.
                rate = rates.at(fires).unwrap_or(rate);
                self.credit = 0;
                taken += 1;
            }
            if taken > MOST_TAKEN {
                self.last = u64::MAX;
                return Instant::FAR_FUTURE;
            }
            self.credit = self.credit.saturating_add(ticks.saturating_mul(per_tick(rate)));
            if self.credit >= need || fires == Instant::FAR_FUTURE {
                self.credit = self.credit.saturating_sub(need);
                return fires;
            }
            set = fires;
        }
    }

    /// When the last packet leaves.
    fn busy_until(&self) -> Instant {
        if self.last == 0 { Instant::ZERO } else { self.ticks.instant_of(self.last) }
    }
}
