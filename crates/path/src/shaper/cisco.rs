//! A router's average-rate shaper (EM-CI-1 to EM-CI-4): credit comes at ticks, whole packets leave while it covers
//! them.
//!
//! Not modelled: a queue in hardware behind the shaper; adaptive shaping.

use rexmit_units::{Instant, LineRate};

use super::units;
use crate::schedule::Rates;
use crate::ticks::Ticks;

/// Bytes of an IP packet that the credit of an idle shaper covers at least (EM-CI-3).
const MTU: u64 = 1500;

/// Credit that grows by Bc = rate x Tc at each tick of Tc, up to max(Bc, an MTU with its overhead) + Be, Be being Bc.
/// It is full at the start. A packet that needs more waits until that much has come; none is split.
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

    /// See [`super::Shaper::depart`]. Each tick brings credit by the rate of its moment (EM-CI-8).
    pub fn depart(&mut self, now: Instant, len: u64, rates: Rates<'_>) -> Instant {
        let from = now.max(self.busy_until);
        self.busy_until = from;
        if rates.at(from).is_none() {
            return from;
        }
        let need = units(len);
        let mut credit = self.grown(self.ticks.at(from), rates);
        if need > credit {
            let Some(bursts) = self.wait(need - credit, rates) else {
                self.busy_until = Instant::FAR_FUTURE;
                return self.busy_until;
            };
            credit = credit.saturating_add(bursts);
            self.busy_until = self.ticks.instant_of(self.counted);
        }
        self.credit = Some(credit.saturating_sub(need));
        self.busy_until
    }

    /// The credit after `tick` and those before it, up to the bound of each moment.
    fn grown(&mut self, tick: u64, rates: Rates<'_>) -> u64 {
        let most = |committed: u64| committed.max(units(self.mtu)).saturating_add(committed);
        let mut credit = self.credit.unwrap_or_else(|| most(self.committed(rates.at(Instant::ZERO))));
        let mut counted = self.counted;
        while counted < tick {
            let (committed, last) = self.next_ticks(counted, rates);
            let last = last.min(tick);
            let grown = (last - counted).saturating_mul(committed);
            credit = credit.saturating_add(grown).min(most(committed));
            counted = last;
        }
        self.counted = counted;
        credit
    }

    /// Counts ticks until they have brought `missing`, and returns what they have; `None` if that never happens.
    fn wait(&mut self, missing: u64, rates: Rates<'_>) -> Option<u64> {
        let mut brought = 0u64;
        loop {
            let (committed, last) = self.next_ticks(self.counted, rates);
            let all = last - self.counted;
            let needed = (committed > 0).then(|| (missing - brought).div_ceil(committed));
            if let Some(ticks) = needed.filter(|ticks| *ticks <= all || last == u64::MAX) {
                self.counted = self.counted.saturating_add(ticks);
                return Some(brought.saturating_add(ticks.saturating_mul(committed)));
            }
            if last == u64::MAX {
                return None;
            }
            brought = brought.saturating_add(all.saturating_mul(committed));
            self.counted = last;
        }
    }

    /// What each tick after the one of number `counted` brings, and the number of the last that brings as much.
    fn next_ticks(&self, counted: u64, rates: Rates<'_>) -> (u64, u64) {
        let stretch = rates.from(self.ticks.instant_of(counted.saturating_add(1)));
        let last = match stretch.until {
            Instant::FAR_FUTURE => u64::MAX,
            until => self.ticks.at(Instant::from_nanos(until.as_nanos() - 1)),
        };
        (self.committed(stretch.rate), last)
    }

    /// Bc at a rate.
    fn committed(&self, rate: Option<LineRate>) -> u64 {
        rate.map_or(0, LineRate::bits_per_second).saturating_mul(self.ticks.nanos())
    }
}
