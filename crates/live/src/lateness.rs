//! How late packets came out, and what went wrong with others.

use hdrhistogram::Histogram;
use rexmit_units::Duration;

/// The time between the instant at which a packet was due and the one at which it was handed over, read right before
/// that; the receiving host's stack runs after it. Percentiles are right to 1 %.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// Packets that came out.
    pub packets: u64,
    /// The longest, nanoseconds.
    pub max_ns: u64,
    /// The sum, nanoseconds.
    pub sum_ns: u64,
    /// Packets that a host's interface refused.
    pub refused: u64,
    histogram: Histogram<u64>,
}

/// Longer ones count as this long in percentiles: an hour, nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;

impl Default for Lateness {
    fn default() -> Self {
        // Two decimal digits of precision, which are legal; in virtual time none is late, and its classes are few.
        let histogram = Histogram::new(2).unwrap_or_else(|_| unreachable!("legal digits"));
        Self { packets: 0, max_ns: 0, sum_ns: 0, refused: 0, histogram }
    }
}

impl Lateness {
    /// Adds one packet.
    #[inline]
    pub fn record(&mut self, late: Duration) {
        let late = late.as_nanos();
        self.packets += 1;
        self.max_ns = self.max_ns.max(late);
        self.sum_ns += late;
        // It grows by itself up to there, and cannot fail.
        let _ = self.histogram.record(late.min(LONGEST));
    }

    /// The time that this share of packets (from 0 to 1) did not exceed; zero without packets.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.histogram.value_at_quantile(share).min(self.max_ns))
    }

    /// Packets that came out later than this.
    pub fn later_than(&self, limit: Duration) -> u64 {
        self.packets - self.histogram.count_between(0, limit.as_nanos().min(LONGEST)).min(self.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_hundredth() {
        let mut lateness = Lateness::default();
        for us in 1..=1000 {
            lateness.record(Duration::from_micros(us));
        }
        let close = |share: f64, us: u64| {
            let found = lateness.quantile(share).as_nanos();
            found.abs_diff(us * 1000) <= us * 10
        };
        assert!(close(0.5, 500) && close(0.99, 990) && close(1.0, 1000));
        assert_eq!((lateness.packets, lateness.max_ns), (1000, 1_000_000));
        assert!(lateness.later_than(Duration::from_micros(900)).abs_diff(100) <= 10);
    }
}
