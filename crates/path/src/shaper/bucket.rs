//! Linux's token bucket filter of 2.6.9 (EM-TB-1 to EM-TB-4).
//!
//! Not modelled: the peak rate with its second bucket; rate tables, which round a packet's length to their cells (here
//! its tokens are exact); packets of several segments.

use rexmit_units::{Instant, LineRate};

use super::units;
use crate::schedule::Rates;
use crate::ticks::Ticks;

/// A bucket that fills continuously and is full at the start. A packet leaves when there are tokens for its length;
/// else the kernel looks again after whole jiffies, or when the next packet comes.
pub(crate) struct Bucket {
    jiffies: Ticks,
    /// What it holds, in bit x 10^9.
    size: u64,
    tokens: u64,
    /// When tokens were last counted.
    counted: Instant,
}

impl Bucket {
    /// `burst` in bytes.
    pub fn new(jiffies: Ticks, burst: u64) -> Self {
        let size = units(burst);
        Self { jiffies, size, tokens: size, counted: Instant::ZERO }
    }

    /// True if a packet of `len` bytes fits into it at all.
    pub fn holds(&self, len: u64) -> bool {
        units(len) <= self.size
    }

    /// It is given another rate, which fills it (EM-TB-11).
    pub fn fill(&mut self, now: Instant) {
        self.tokens = self.size;
        self.counted = now;
    }

    /// Takes the tokens for a packet of `len` bytes, which fits; `rates` has one at `now`.
    ///
    /// # Errors
    /// Too few are there: when to look again.
    pub fn take(&mut self, now: Instant, len: u64, rates: Rates<'_>) -> Result<(), Instant> {
        if rates.change_within(self.counted, now) {
            // Since then it has stayed full.
            self.fill(now);
        }
        let rate = rates.at(now).map_or(1, LineRate::bits_per_second).max(1);
        let elapsed = now.saturating_since(self.counted).as_nanos();
        let tokens = self.tokens.saturating_add(elapsed.saturating_mul(rate)).min(self.size);
        let need = units(len);
        if need <= tokens || now == Instant::FAR_FUTURE {
            self.tokens = tokens.saturating_sub(need);
            self.counted = now;
            return Ok(());
        }
        // Whole jiffies from the start of the present one, at least one (EM-TB-1): the timer may expire before the
        // tokens are there, and is set again.
        let jiffies = (need - tokens).div_ceil(rate.saturating_mul(self.jiffies.nanos())).max(1);
        Err(self.jiffies.instant_of(self.jiffies.at(now).saturating_add(jiffies)))
    }
}
