//! The estimator of Linux (`tcp_rtt_estimator`): of 2.6.9 and 2.6.15, LX-RTO-1 to LX-RTO-5 and LX-RTO-7, and of 6.1.
//!
//! In C's integer arithmetic: 2.6 counts whole jiffies; 6.1 counts microseconds and rounds the timeout up to whole
//! ticks (`__tcp_set_rto`, `usecs_to_jiffies`). A single low sample is not allowed to widen the variance, and the
//! variance term has a floor of its own, so the timeout tends to the round-trip time plus 200 ms.

use rexmit_units::Duration;
use rexmit_wire::SeqNumber;

use super::{Backoff, EstimatorKind, RttConfig};

/// Longest sample, in units.
const MAX_SAMPLE: i64 = 1 << 32;

/// Estimator of Linux; see [`super::RttEstimator`] for the meaning of the methods.
#[derive(Clone, Debug)]
pub struct Linux {
    tick: Duration,
    /// What the arithmetic counts: jiffies or microseconds.
    unit: Duration,
    /// The shortest sample, in units.
    least: i64,
    max: Duration,
    floor: i64,
    /// Whether the end of the handshake ends the backoff of the SYN, and what then holds without a sample.
    after_loss: Option<Option<Duration>>,
    syn_backoff: Backoff,
    backoff: Backoff,
    /// In 1/8 unit; 0: the next sample is a first one.
    srtt: i64,
    /// Medium deviation, in 1/4 unit.
    mdev: i64,
    /// Greatest `mdev` of this round trip.
    mdev_max: i64,
    /// The term of the timeout, in units.
    rttvar: i64,
    /// The round trip ends when this is acknowledged.
    round_end: SeqNumber,
    /// The timeout without backoff.
    base: Duration,
    factor: u64,
    shift: u32,
    /// Expiries that left the interval as it was.
    held: u32,
}

impl Linux {
    /// See [`super::RttEstimator::new`].
    pub fn new(config: &RttConfig) -> Self {
        let micro = config.estimator == EstimatorKind::LinuxMicro;
        let unit = if micro { Duration::from_micros(1) } else { config.tick };
        Self {
            tick: config.tick,
            unit,
            // LX-RTO-1: a sample of 0 counts as one jiffy.
            least: i64::from(!micro),
            max: config.max_rto,
            floor: count(config.variance_floor, unit),
            after_loss: micro.then_some(config.rto_after_syn_loss),
            syn_backoff: Backoff::new(&config.syn_backoff),
            backoff: Backoff::new(&config.backoff),
            srtt: 0,
            mdev: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: SeqNumber(0),
            base: config.initial_rto,
            factor: 1,
            shift: 0,
            held: 0,
        }
    }

    /// See [`super::RttEstimator::sample`].
    pub fn sample(&mut self, rtt: Duration, una: SeqNumber, nxt: SeqNumber) {
        let m = count(rtt, self.unit).max(self.least);
        if self.srtt == 0 {
            // LX-RTO-2
            self.srtt = m << 3;
            self.mdev = m << 1;
            self.mdev_max = self.mdev.max(self.floor);
            self.rttvar = self.mdev_max;
            self.round_end = nxt;
        } else {
            self.smooth(m);
            self.end_round(una, nxt);
        }
        self.srtt = self.srtt.max(1);
        // LX-RTO-5
        let rto = self.unit * ((self.srtt >> 3) + self.rttvar) as u64;
        self.base = self.tick * rto.as_nanos().div_ceil(self.tick.as_nanos());
        self.reset_backoff();
    }

    /// The handshake of 6.1 left no sample: the timeout falls back (`tcp_init_metrics`; RFC 6298 section 5.7).
    pub fn handshake_complete(&mut self) {
        let Some(after_loss) = self.after_loss else { return };
        if self.srtt == 0
            && let Some(rto) = after_loss
        {
            self.base = rto;
        }
        self.reset_backoff();
    }

    /// See [`super::RttEstimator::rto`].
    pub fn rto(&self) -> Duration {
        (self.base * self.factor).min(self.max)
    }

    /// See [`super::RttEstimator::backoff`].
    pub fn backoff(&mut self) {
        // LX-RTO-7
        self.shift += 1;
        self.factor = self.backoff.factor(self.shift - self.held);
    }

    /// See [`super::RttEstimator::hold`].
    pub fn hold(&mut self) {
        self.shift += 1;
        self.held = self.shift;
        self.factor = 1;
    }

    /// See [`super::RttEstimator::backoff_syn`].
    pub fn backoff_syn(&mut self) {
        self.shift += 1;
        self.factor = self.syn_backoff.factor(self.shift);
    }

    /// See [`super::RttEstimator::reset_backoff`].
    pub fn reset_backoff(&mut self) {
        self.shift = 0;
        self.held = 0;
        self.factor = 1;
    }

    /// See [`super::RttEstimator::shift`].
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// See [`super::RttEstimator::srtt`].
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos((self.unit.as_nanos() * self.srtt as u64) >> 3))
    }

    /// See [`super::RttEstimator::rttvar`].
    pub fn rttvar(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos((self.unit.as_nanos() * self.mdev as u64) >> 2))
    }

    /// LX-RTO-3.
    fn smooth(&mut self, m: i64) {
        let error = m - (self.srtt >> 3);
        self.srtt += error;
        let mut change = error.abs() - (self.mdev >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev += change;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
    }

    /// LX-RTO-4.
    fn end_round(&mut self, una: SeqNumber, nxt: SeqNumber) {
        if una <= self.round_end {
            return;
        }
        if self.mdev_max < self.rttvar {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
        }
        self.round_end = nxt;
        self.mdev_max = self.floor;
    }
}

fn count(d: Duration, unit: Duration) -> i64 {
    ((d.as_nanos() / unit.as_nanos().max(1)) as i64).min(MAX_SAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::EstimatorKind;

    fn fresh() -> Linux {
        let ms = Duration::from_millis;
        Linux::new(&RttConfig {
            estimator: EstimatorKind::LinuxMicro,
            tick: ms(1),
            initial_rto: ms(1_000),
            min_rto: Duration::ZERO,
            slop: Duration::ZERO,
            max_rto: ms(120_000),
            variance_floor: ms(200),
            rto_after_syn_loss: Some(ms(3_000)),
            syn_backoff: Vec::new(),
            backoff: Vec::new(),
        })
    }

    /// The timeouts of a kernel whose round trip grows by a queue, in whole milliseconds rounded up.
    #[test]
    fn the_floor_lies_under_the_variance() {
        let mut e = fresh();
        let mut rto = |us: u64, una: u32| {
            e.sample(Duration::from_micros(us), SeqNumber(una), SeqNumber(una + 10));
            e.rto().as_nanos() / 1_000_000
        };
        assert_eq!([rto(20_928, 1), rto(32_416, 2), rto(44_416, 3)], [221, 223, 226]);
    }

    #[test]
    fn without_a_sample_the_timeout_falls_back() {
        let mut e = fresh();
        e.backoff_syn();
        assert_eq!(e.rto(), Duration::from_secs(2));
        e.handshake_complete();
        assert_eq!(e.rto(), Duration::from_secs(3));
    }
}
