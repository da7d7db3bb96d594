//! The estimator of Linux 6.1: that of 2.6 (LX-RTO-2 to LX-RTO-4) in microseconds (`tcp_rtt_estimator`).
//!
//! The floor lies under the variance term, so the timeout tends to the round-trip time plus 200 ms; it is
//! rounded up to whole ticks (`__tcp_set_rto`, `usecs_to_jiffies`).

use rexmit_units::Duration;
use rexmit_wire::SeqNumber;

use super::{Backoff, RttConfig};

/// Longest sample, in microseconds.
const MAX_SAMPLE: i64 = 1 << 32;

/// Estimator of Linux 6.1; see [`super::RttEstimator`] for the meaning of the methods.
#[derive(Clone, Debug)]
pub struct LinuxMicro {
    tick: Duration,
    max: Duration,
    floor: i64,
    after_loss: Option<Duration>,
    syn_backoff: Backoff,
    backoff: Backoff,
    /// In 1/8 microsecond; 0: the next sample is a first one.
    srtt: i64,
    /// Medium deviation, in 1/4 microsecond.
    mdev: i64,
    /// Greatest `mdev` of this round trip.
    mdev_max: i64,
    /// The term of the timeout, in microseconds.
    rttvar: i64,
    /// The round trip ends when this is acknowledged.
    round_end: SeqNumber,
    /// The timeout without backoff.
    base: Duration,
    factor: u64,
    shift: u32,
}

impl LinuxMicro {
    /// See [`super::RttEstimator::new`].
    pub fn new(config: &RttConfig) -> Self {
        Self {
            tick: config.tick,
            max: config.max_rto,
            floor: micros(config.variance_floor),
            after_loss: config.rto_after_syn_loss,
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
        }
    }

    /// See [`super::RttEstimator::sample`].
    pub fn sample(&mut self, rtt: Duration, una: SeqNumber, nxt: SeqNumber) {
        let m = micros(rtt);
        if self.srtt == 0 {
            (self.srtt, self.mdev) = (m << 3, m << 1);
            self.rttvar = self.mdev.max(self.floor);
            self.mdev_max = self.rttvar;
            self.round_end = nxt;
        } else {
            self.smooth(m);
            self.end_round(una, nxt);
        }
        self.srtt = self.srtt.max(1);
        let rto = Duration::from_micros(((self.srtt >> 3) + self.rttvar) as u64);
        self.base = self.tick * rto.as_nanos().div_ceil(self.tick.as_nanos());
        self.reset_backoff();
    }

    /// The handshake left no sample: the timeout falls back (`tcp_init_metrics`; RFC 6298 section 5.7).
    pub fn handshake_complete(&mut self) {
        if self.srtt == 0
            && let Some(rto) = self.after_loss
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
        self.shift += 1;
        self.factor = self.backoff.factor(self.shift);
    }

    /// See [`super::RttEstimator::backoff_syn`].
    pub fn backoff_syn(&mut self) {
        self.shift += 1;
        self.factor = self.syn_backoff.factor(self.shift);
    }

    /// See [`super::RttEstimator::reset_backoff`].
    pub fn reset_backoff(&mut self) {
        (self.shift, self.factor) = (0, 1);
    }

    /// See [`super::RttEstimator::shift`].
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// See [`super::RttEstimator::srtt`].
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos((self.srtt * 1_000 / 8) as u64))
    }

    /// See [`super::RttEstimator::rttvar`].
    pub fn rttvar(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos((self.mdev * 1_000 / 4) as u64))
    }

    /// As LX-RTO-3: a sample below the mean does not widen the deviation in full.
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

    /// As LX-RTO-4: once a round trip the term may fall.
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

fn micros(d: Duration) -> i64 {
    ((d.as_nanos() / 1_000) as i64).min(MAX_SAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::EstimatorKind;

    fn fresh() -> LinuxMicro {
        let ms = Duration::from_millis;
        LinuxMicro::new(&RttConfig {
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
