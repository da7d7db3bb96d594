//! A distribution in bounded memory.

/// A distribution in figures; times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation (of the sample, n - 1).
    pub sd: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Collects samples. Few are kept themselves and give exact percentiles; of more, percentiles are within 0.4 % (half a
/// step of 1/128 of an octave). Count, extremes, mean and standard deviation are exact always. Empty, it takes no
/// memory of its own; full, 1 KiB for each octave between the smallest and the largest sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    count: u64,
    min: u64,
    max: u64,
    /// Sums of the distances from the first sample and of their squares: no digits are lost to a large mean.
    first: u64,
    sum: f64,
    squares: f64,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    Exact(Vec<u64>),
    Steps(Steps),
}

/// Counts by step; `base` is the number of the first one.
#[derive(Clone, Debug, Default)]
struct Steps {
    base: usize,
    counts: Vec<u64>,
}

impl Default for Kept {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl Samples {
    /// Takes a sample.
    pub(crate) fn add(&mut self, value: u64) {
        if self.count == 0 {
            (self.first, self.min) = (value, value);
        }
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let off = value as f64 - self.first as f64;
        self.sum += off;
        self.squares += off * off;
        match &mut self.kept {
            Kept::Exact(values) if values.len() < EXACT => values.push(value),
            Kept::Exact(values) => {
                let mut steps = Steps::default();
                values.drain(..).for_each(|value| steps.count(value));
                steps.count(value);
                self.kept = Kept::Steps(steps);
            }
            Kept::Steps(steps) => steps.count(value),
        }
    }

    /// Bytes that they take besides themselves.
    pub(crate) fn heap(&self) -> usize {
        size_of::<u64>()
            * match &self.kept {
                Kept::Exact(values) => values.capacity(),
                Kept::Steps(steps) => steps.counts.capacity(),
            }
    }

    /// The smallest sample.
    pub(crate) fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The figures; all zero without a sample.
    pub(crate) fn spread(&self) -> Spread {
        if self.count == 0 {
            return Spread::default();
        }
        let n = self.count as f64;
        let squares = (self.squares - self.sum * self.sum / n).max(0.0);
        let [p50, p95, p99] = self.percentiles([0.50, 0.95, 0.99]);
        Spread {
            count: self.count,
            min: self.min as f64,
            mean: self.first as f64 + self.sum / n,
            sd: if self.count > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            p50,
            p95,
            p99,
            max: self.max as f64,
        }
    }

    /// For each share the smallest sample that at least this many of the samples do not exceed: the nearest rank.
    fn percentiles<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let ranks = shares.map(|share| ((share * self.count as f64).ceil() as u64).max(1));
        match &self.kept {
            Kept::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                ranks.map(|rank| sorted[rank as usize - 1] as f64)
            }
            Kept::Steps(steps) => ranks.map(|rank| steps.at(rank).clamp(self.min as f64, self.max as f64)),
        }
    }
}

/// Up to this many samples are kept themselves.
const EXACT: usize = 2048;
/// An octave has 2^BITS steps.
const BITS: u32 = 7;

impl Steps {
    fn count(&mut self, value: u64) {
        let step = step(value);
        if self.counts.is_empty() {
            self.base = step;
        }
        if step < self.base {
            // Whole octaves at a time, so that a slow descent does not move everything again and again.
            let base = step >> BITS << BITS;
            self.counts.splice(0..0, std::iter::repeat_n(0, self.base - base));
            self.base = base;
        }
        let at = step - self.base;
        if at >= self.counts.len() {
            self.counts.resize((at + (1 << BITS)) >> BITS << BITS, 0);
        }
        self.counts[at] += 1;
    }

    fn at(&self, rank: u64) -> f64 {
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle(self.base + at);
            }
        }
        f64::INFINITY
    }
}

/// The number of the step that a value falls into.
fn step(value: u64) -> usize {
    let octave = (63 - (value | 1).leading_zeros()).max(BITS) - BITS;
    // Shifted, a value still has its topmost bit, so that the octaves from the second one on begin at 2 * 2^BITS.
    ((octave as usize) << BITS) + (value >> octave) as usize
}

/// The middle of a step.
fn middle(step: usize) -> f64 {
    let octave = (step >> BITS).saturating_sub(1);
    let low = (step - (octave << BITS)) as f64;
    let width = (octave as f64).exp2();
    low * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests;
