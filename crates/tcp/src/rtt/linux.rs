//! The estimator of Linux 2.6.9 and 2.6.15: LX-RTO-1 to LX-RTO-5 and LX-RTO-7.
//!
//! In whole jiffies with C's integer arithmetic. A single low sample is not let to widen the variance, and
//! the variance term has a floor of its own, so the timeout tends to the round-trip time plus 200 ms.

use rexmit_units::Duration;
use rexmit_wire::SeqNumber;

use super::{Backoff, RttConfig};

/// Longest sample, in jiffies: keeps the fixed point within 31 bits.
const MAX_SAMPLE: i32 = 1 << 24;

/// Estimator of Linux 2.6; see [`super::RttEstimator`] for the meaning of the methods.
#[derive(Clone, Debug)]
pub struct Linux {
    tick: Duration,
    max: Duration,
    floor: i32,
    syn_backoff: Backoff,
    backoff: Backoff,
    /// In 1/8 jiffy; 0: the next sample is a first one.
    srtt: i32,
    /// Medium deviation, in 1/4 jiffy.
    mdev: i32,
    /// Greatest `mdev` of this round trip.
    mdev_max: i32,
    /// The term of the timeout, in jiffies.
    rttvar: i32,
    /// The round trip ends when this is acknowledged.
    round_end: SeqNumber,
    /// The timeout without backoff.
    base: Duration,
    factor: u64,
    shift: u32,
}

impl Linux {
    /// See [`super::RttEstimator::new`].
    pub fn new(config: &RttConfig) -> Self {
        Self {
            tick: config.tick,
            max: config.max_rto,
            floor: in_ticks(config.variance_floor, config.tick),
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
        // LX-RTO-1: a sample of 0 counts as one jiffy.
        let m = in_ticks(rtt, self.tick).clamp(1, MAX_SAMPLE);
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
        // LX-RTO-5
        self.base = self.tick * ((self.srtt >> 3) + self.rttvar) as u64;
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
        self.factor = self.backoff.factor(self.shift);
    }

    /// See [`super::RttEstimator::backoff_syn`].
    pub fn backoff_syn(&mut self) {
        self.shift += 1;
        self.factor = self.syn_backoff.factor(self.shift);
    }

    /// See [`super::RttEstimator::reset_backoff`].
    pub fn reset_backoff(&mut self) {
        self.shift = 0;
        self.factor = 1;
    }

    /// See [`super::RttEstimator::shift`].
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// See [`super::RttEstimator::srtt`].
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos((self.tick.as_nanos() * self.srtt as u64) >> 3))
    }

    /// See [`super::RttEstimator::rttvar`].
    pub fn rttvar(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| Duration::from_nanos((self.tick.as_nanos() * self.mdev as u64) >> 2))
    }

    /// The term that enters the timeout beside the smoothed time (four deviations, floored).
    pub fn variance_term(&self) -> Duration {
        self.tick * self.rttvar as u64
    }

    /// LX-RTO-3.
    fn smooth(&mut self, m: i32) {
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

fn in_ticks(d: Duration, tick: Duration) -> i32 {
    (d.as_nanos() / tick.as_nanos().max(1)).min(1 << 28) as i32
}
