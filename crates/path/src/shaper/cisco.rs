//! A router's average-rate shaper (EM-CI-1 to EM-CI-4): credit comes at ticks, whole packets leave while it covers
//! them.
//!
//! Not modelled: a queue in hardware behind the shaper; adaptive shaping.

use rexmit_units::{Instant, Rate};

use super::units;
use crate::ticks::Ticks;

/// Bytes of an IP packet that the credit of an idle shaper covers at least (EM-CI-3).
const MTU: u64 = 1500;

/// Credit that grows by Bc = rate x Tc at each tick of Tc, up to max(Bc, an MTU with its overhead) + Be, Be being Bc.
/// It is full at the start. A packet that needs more waits until so much has come; none is split.
pub(crate) struct Cisco {
    ticks: Ticks,
    /// Bytes of the longest packet that an idle shaper lets pass at once.
    mtu: u64,
    /// The last tick whose credit has been counted.
    counted: u64,
    /// Credit, in bit x 10^9; `None` before the first packet: all that there may be.
    credit: Option<u64>,
    /// When the last packet leaves.
    busy_until: Instant,
}

impl Cisco {
    /// `overhead` in bytes.
    pub fn new(ticks: Ticks, overhead: u64) -> Self {
        Self { ticks, mtu: MTU + overhead, counted: 0, credit: None, busy_until: Instant::ZERO }
    }

    /// See [`super::Shaper::depart`].
    pub fn depart(&mut self, now: Instant, len: u64, rate: Rate) -> Instant {
        let from = now.max(self.busy_until);
        let committed = rate.bits_per_second().saturating_mul(self.ticks.nanos());
        let most = committed.max(units(self.mtu)).saturating_add(committed);
        let (tick, need) = (self.ticks.at(from).max(self.counted), units(len));
        let grown = (tick - self.counted).saturating_mul(committed);
        let credit = self.credit.map_or(most, |credit| credit.saturating_add(grown).min(most));
        self.counted = tick;
        self.busy_until = from;
        if need <= credit {
            self.credit = Some(credit - need);
            return from;
        }
        let wait = (need - credit).div_ceil(committed);
        self.credit = Some(credit.saturating_add(wait.saturating_mul(committed)).saturating_sub(need));
        self.counted = tick.saturating_add(wait);
        self.busy_until = self.ticks.instant_of(self.counted);
        self.busy_until
    }

    /// When the last packet leaves.
    pub fn busy_until(&self) -> Instant {
        self.busy_until
    }
}
