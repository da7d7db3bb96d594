//! The estimator of FreeBSD 5.x to 7.x: FB-RTT-2, FB-RTT-3, FB-RTO-1 to FB-RTO-6a, FB-SYN-1.
//!
//! Everything is in whole ticks with C's integer arithmetic (right shifts round towards minus infinity),
//! because a timeout that is off by one tick moves every later event of a run.

use rexmit_units::Duration;

use super::{Backoff, RttConfig};

/// `srtt` counts 1/32 tick.
const RTT_SHIFT: u32 = 5;
/// `rttvar` counts 1/16 tick.
const RTTVAR_SHIFT: u32 = 4;
/// Differences count 1/4 tick.
const DELTA_SHIFT: u32 = 2;
/// From this expiry on the smoothed time is thought to be wrong and given up (FB-RTO-6).
const LOSING_SHIFT: u32 = 4;
/// Longest sample, in ticks: keeps the fixed point within 31 bits. More than an hour at 1000 Hz.
const MAX_SAMPLE: i32 = 1 << 22;

/// Estimator of FreeBSD; see [`super::RttEstimator`] for the meaning of the methods.
#[derive(Clone, Debug)]
pub struct Bsd {
    tick: Duration,
    initial: i32,
    min: i32,
    slop: i32,
    max: i32,
    syn_backoff: Backoff,
    backoff: Backoff,
    /// In 1/32 tick; 0: the next sample is a first one.
    srtt: i32,
    /// In 1/16 tick.
    rttvar: i32,
    /// The present timeout in ticks.
    current: i32,
    shift: u32,
    /// Expiries that left the interval as it was.
    held: u32,
    /// Samples taken.
    samples: u32,
}

impl Bsd {
    /// See [`super::RttEstimator::new`].
    pub fn new(config: &RttConfig) -> Self {
        let ticks = |d: Duration| in_ticks(d, config.tick);
        let initial = ticks(config.initial_rto);
        Self {
            tick: config.tick,
            initial,
            min: ticks(config.min_rto),
            slop: ticks(config.slop),
            max: ticks(config.max_rto),
            syn_backoff: Backoff::new(&config.syn_backoff),
            backoff: Backoff::new(&config.backoff),
            srtt: 0,
            // So that the value before any sample is the initial timeout (FB-RTO-4).
            rttvar: initial << DELTA_SHIFT,
            current: initial,
            shift: 0,
            held: 0,
            samples: 0,
        }
    }

    /// See [`super::RttEstimator::sample`]. `rtt` is now - echo + 1 in ticks: at least 1.
    pub fn sample(&mut self, rtt: Duration) {
        let r = in_ticks(rtt, self.tick).clamp(1, MAX_SAMPLE);
        self.samples = self.samples.saturating_add(1);
        if self.srtt == 0 {
            // FB-RTT-2
            self.srtt = r << RTT_SHIFT;
            self.rttvar = r << (RTTVAR_SHIFT - 1);
        } else {
            // FB-RTT-3: the "- 1" undoes the "+ 1" of the measurement. With samples of at least 1 neither
            // bound of 1 is ever reached; the rule has them, so they stand here.
            let delta = ((r - 1) << DELTA_SHIFT) - (self.srtt >> (RTT_SHIFT - DELTA_SHIFT));
            self.srtt = (self.srtt + delta).max(1);
            let growth = delta.abs() - (self.rttvar >> (RTTVAR_SHIFT - DELTA_SHIFT));
            self.rttvar = (self.rttvar + growth).max(1);
        }
        (self.shift, self.held) = (0, 0);
        // FB-RTO-1: never less than two ticks more than what was just seen.
        self.current = self.within(i64::from(self.value()), self.min.max(r + 2));
    }

    /// See [`super::RttEstimator::begin_from`].
    pub(crate) fn begin_from(&mut self, srtt: u32, rttvar: u32) {
        let fixed = |n: u32| n.min(MAX_SAMPLE as u32) as i32;
        self.srtt = fixed(srtt);
        // Without a variation, one round trip.
        self.rttvar = if rttvar == 0 { self.srtt >> (RTT_SHIFT - RTTVAR_SHIFT) } else { fixed(rttvar) };
        // FB-HC-5: the shifts are those of an older scaling, and give four times the timeout of FB-RTO-1.
        self.current = self.within(i64::from(((self.srtt >> 2) + self.rttvar) >> 1), self.min);
    }

    /// See [`super::RttEstimator::fixed_point`].
    pub(crate) fn fixed_point(&self) -> (u32, u32) {
        (self.srtt as u32, self.rttvar as u32)
    }

    /// See [`super::RttEstimator::samples`].
    pub(crate) fn samples(&self) -> u32 {
        self.samples
    }

    /// See [`super::RttEstimator::rto`].
    pub fn rto(&self) -> Duration {
        self.tick * self.current as u64
    }

    /// See [`super::RttEstimator::backoff`].
    pub fn backoff(&mut self) {
        self.expire(|bsd| &bsd.backoff);
    }

    /// See [`super::RttEstimator::hold`].
    pub fn hold(&mut self) {
        self.shift += 1;
        self.held = self.shift;
        self.current = self.within(i64::from(self.value()), self.min);
    }

    /// See [`super::RttEstimator::backoff_syn`].
    pub fn backoff_syn(&mut self) {
        self.expire(|bsd| &bsd.syn_backoff);
    }

    /// See [`super::RttEstimator::reset_backoff`].
    pub fn reset_backoff(&mut self) {
        (self.shift, self.held) = (0, 0);
        let sampled = self.srtt != 0;
        self.current = if sampled { self.within(i64::from(self.value()), self.min) } else { self.initial };
    }

    /// See [`super::RttEstimator::shift`].
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// See [`super::RttEstimator::srtt`].
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| self.part_of_ticks(self.srtt, RTT_SHIFT))
    }

    /// See [`super::RttEstimator::rttvar`].
    pub fn rttvar(&self) -> Option<Duration> {
        (self.srtt != 0).then(|| self.part_of_ticks(self.rttvar, RTTVAR_SHIFT))
    }

    /// See [`super::RttEstimator::half_srtt`]: in whole ticks.
    pub fn half_srtt(&self) -> Duration {
        self.tick * (self.srtt >> (RTT_SHIFT + 1)) as u64
    }

    fn expire(&mut self, table: fn(&Self) -> &Backoff) {
        self.shift += 1;
        // FB-RTO-6, FB-RTO-6a: the slop is added once, after the multiplication.
        let interval =
            i64::from(self.value()) * table(self).factor(self.shift - self.held).min(1 << 31) as i64;
        self.current = self.within(interval, self.min);
        if self.shift >= LOSING_SHIFT {
            // Added without rescaling: a sixteenth of what was meant. Kept, as it is in the kernel.
            self.rttvar += self.srtt >> RTT_SHIFT;
            self.srtt = 0;
        }
    }

    /// The timeout in ticks without backoff and slop.
    fn value(&self) -> i32 {
        self.min.max(((self.srtt >> (RTT_SHIFT - DELTA_SHIFT)) + self.rttvar) >> DELTA_SHIFT)
    }

    fn within(&self, value: i64, least: i32) -> i32 {
        // The lower bound first: the maximum wins.
        (value + i64::from(self.slop)).max(i64::from(least)).min(i64::from(self.max)) as i32
    }

    fn part_of_ticks(&self, value: i32, shift: u32) -> Duration {
        Duration::from_nanos((self.tick.as_nanos() * value as u64) >> shift)
    }
}

fn in_ticks(d: Duration, tick: Duration) -> i32 {
    (d.as_nanos() / tick.as_nanos().max(1)).min(1 << 28) as i32
}
