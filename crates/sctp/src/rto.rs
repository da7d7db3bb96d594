//! Round-trip times and the retransmission timeout of one path (RFC 9260 section 6.3.1; SC-K-3).

use rexmit_units::Duration;

use crate::profile::{RtoConfig, RtoEstimator};

/// The estimator. A sample ends any backoff: it recomputes the timeout (SC-K-2).
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    /// What the arithmetic counts, ns.
    unit: u64,
    estimator: RtoEstimator,
    max: u64,
    /// Smoothed round-trip time and its variation, in units, once there is a sample.
    smooth: Option<(u64, u64)>,
    /// The timeout, ns.
    rto: u64,
}

impl Rto {
    /// Before any sample, with a clock of these ticks.
    pub fn new(config: &RtoConfig, tick: Duration) -> Self {
        let unit = match config.estimator {
            RtoEstimator::Rfc9260 => 1,
            RtoEstimator::Ticks => tick.as_nanos().max(1),
        };
        Self {
            unit,
            estimator: config.estimator,
            max: config.max.as_nanos(),
            smooth: None,
            rto: config.initial.as_nanos(),
        }
    }

    /// Takes a sample; the timeout is at least `min`.
    pub fn sample(&mut self, rtt: Duration, min: Duration, granularity: Duration) {
        let r = rtt.as_nanos() / self.unit;
        let (srtt, mut rttvar) = match (self.smooth, self.estimator) {
            (None, _) => (r, r / 2),
            (Some((srtt, rttvar)), RtoEstimator::Rfc9260) => {
                ((7 * srtt + r) / 8, (3 * rttvar + srtt.abs_diff(r)) / 4)
            }
            (Some((srtt, rttvar)), RtoEstimator::Ticks) => {
                (srtt - (srtt >> 3) + (r >> 3), rttvar - (rttvar >> 2) + (srtt.abs_diff(r) >> 2))
            }
        };
        if rttvar == 0 {
            rttvar = (granularity.as_nanos() / self.unit).max(1);
        }
        self.smooth = Some((srtt, rttvar));
        let rto = (srtt + 4 * rttvar).saturating_mul(self.unit);
        self.rto = rto.max(min.as_nanos()).min(self.max);
    }

    /// Doubles the timeout (RFC 9260 section 6.3.3 E2).
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.max);
    }

    /// The timeout, backoff included.
    #[inline]
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.rto)
    }

    /// Smoothed round-trip time, once there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.smooth.map(|(srtt, _)| Duration::from_nanos(srtt * self.unit))
    }

    /// Its variation, once there is a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.smooth.map(|(_, rttvar)| Duration::from_nanos(rttvar * self.unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rto(estimator: RtoEstimator, tick_ms: u64) -> Rto {
        let config = RtoConfig {
            estimator,
            initial: Duration::from_secs(3),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        };
        Rto::new(&config, Duration::from_millis(tick_ms))
    }

    fn feed(rto: &mut Rto, ms: u64) {
        rto.sample(Duration::from_millis(ms), Duration::ZERO, Duration::from_millis(4));
    }

    /// RFC 9260 section 6.3.1 C2 and C3, worked by hand.
    #[test]
    fn rfc9260() {
        let mut rto = rto(RtoEstimator::Rfc9260, 4);
        assert_eq!(rto.get(), Duration::from_secs(3));
        feed(&mut rto, 100);
        assert_eq!(rto.get(), Duration::from_millis(300));
        feed(&mut rto, 180);
        // rttvar = 3/4 * 50 + 1/4 * 80 = 57.5, srtt = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!(
            (rto.srtt(), rto.rttvar()),
            (Some(Duration::from_millis(110)), Some(Duration::from_micros(57_500)))
        );
        assert_eq!(rto.get(), Duration::from_millis(340));
        rto.back_off();
        assert_eq!(rto.get(), Duration::from_millis(680));
        (0..10).for_each(|_| rto.back_off());
        assert_eq!(rto.get(), Duration::from_secs(60));
        rto.sample(Duration::from_millis(110), Duration::from_secs(1), Duration::ZERO);
        assert_eq!(rto.get(), Duration::from_secs(1), "C6, and a sample ends the backoff");
    }

    /// SC-K-3: jiffies of 4 ms, each term truncated by itself.
    #[test]
    fn ticks() {
        let mut rto = rto(RtoEstimator::Ticks, 4);
        feed(&mut rto, 104); // 26 jiffies: srtt 26, rttvar 13
        assert_eq!(rto.get(), Duration::from_millis(4 * (26 + 52)));
        feed(&mut rto, 304); // 76: rttvar 13 - 3 + (50 >> 2) = 22, srtt 26 - 3 + 9 = 32
        assert_eq!(rto.srtt(), Some(Duration::from_millis(4 * 32)));
        assert_eq!(rto.get(), Duration::from_millis(4 * (32 + 88)));
        for _ in 0..100 {
            feed(&mut rto, 128);
        }
        // |32 - 32| >> 2 = 0 and rttvar - (rttvar >> 2) sticks at 3.
        assert_eq!(
            (rto.srtt(), rto.rttvar()),
            (Some(Duration::from_millis(128)), Some(Duration::from_millis(12)))
        );
    }

    /// RFC 9260 section 6.3.1: a variation of 0 counts as the clock's granularity.
    #[test]
    fn no_variation() {
        let mut rto = rto(RtoEstimator::Ticks, 4);
        feed(&mut rto, 0);
        assert_eq!(rto.rttvar(), Some(Duration::from_millis(4)));
    }
}
