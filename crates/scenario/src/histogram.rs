//! How often each value occurred, to a thousandth.

use std::collections::BTreeMap;

/// Values with their counts; those above [`EXACT`] are cut to their first bits, less than a thousandth below.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    counts: BTreeMap<u64, u64>,
    count: u64,
    sum: u128,
    max: u64,
}

const EXACT: u64 = 1 << 10;

impl Histogram {
    /// Adds a value that occurred this often.
    pub fn add(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let cut = value.checked_ilog2().unwrap_or(0).saturating_sub(EXACT.ilog2());
        *self.counts.entry(value >> cut << cut).or_default() += times;
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.max = self.max.max(value);
    }

    /// `None` for no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// `None` for no values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// `None` for no values.
    pub fn min(&self) -> Option<u64> {
        self.counts.keys().next().copied()
    }

    /// The least value that this many hundredths of all do not exceed; `None` for no values.
    pub fn quantile(&self, hundredths: u64) -> Option<u64> {
        let rank = (self.count * hundredths).div_ceil(100);
        let mut below = 0;
        let reached = |(value, count): (&u64, &u64)| {
            below += count;
            (below >= rank).then_some(*value)
        };
        self.counts.iter().find_map(reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact_and_large_ones_a_thousandth_low_at_most() {
        let mut of = Histogram::default();
        assert_eq!((of.mean(), of.quantile(50), of.max()), (None, None, None));
        (0..=100).for_each(|value| of.add(value, 1));
        assert_eq!(
            (of.quantile(50), of.quantile(99), of.max(), of.mean()),
            (Some(50), Some(99), Some(100), Some(50.0))
        );
        of.add(123_456_789, 1000);
        let found = of.quantile(99).unwrap();
        assert!(found <= 123_456_789 && found as f64 > 123_456_789.0 * 0.999, "{found}");
        assert_eq!(of.max(), Some(123_456_789));
    }
}
