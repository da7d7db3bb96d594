//! The estimator of RFC 6298, in whole nanoseconds.
//!
//! One deviation: section 5.7 re-initialises the timeout after a lost SYN whatever else is known; here a
//! sample from the handshake (timestamps) comes before it, since such a sample is beyond doubt.

use rexmit_units::Duration;

use super::{Backoff, RttConfig};

/// Estimator of RFC 6298; see [`super::RttEstimator`] for the meaning of the methods.
#[derive(Clone, Debug)]
pub struct Rfc6298 {
    granularity: u64,
    min: u64,
    max: u64,
    after_syn_loss: Option<u64>,
    syn_backoff: Backoff,
    backoff: Backoff,
    /// Smoothed time and its variation, in nanoseconds.
    smoothed: Option<(u64, u64)>,
    /// The timeout without backoff, in nanoseconds.
    base: u64,
    /// What the backoff multiplies it with.
    factor: u64,
    shift: u32,
    /// Expiries that left the interval as it was.
    held: u32,
}

impl Rfc6298 {
    /// See [`super::RttEstimator::new`].
    pub fn new(config: &RttConfig) -> Self {
        Self {
            granularity: config.tick.as_nanos(),
            min: config.min_rto.as_nanos(),
            max: config.max_rto.as_nanos(),
            after_syn_loss: config.rto_after_syn_loss.map(Duration::as_nanos),
            syn_backoff: Backoff::new(&config.syn_backoff),
            backoff: Backoff::new(&config.backoff),
            smoothed: None,
            // Section 2.1.
            base: config.initial_rto.as_nanos(),
            factor: 1,
            shift: 0,
            held: 0,
        }
    }

    /// See [`super::RttEstimator::sample`].
    pub fn sample(&mut self, rtt: Duration) {
        // A bound far beyond any timeout keeps the sums below within 64 bits.
        let r = rtt.as_nanos().min(1 << 60);
        let (srtt, rttvar) = match self.smoothed {
            // Section 2.2.
            None => (r, r / 2),
            // Section 2.3: the variation first, with the old smoothed time; alpha 1/8, beta 1/4.
            Some((srtt, rttvar)) => ((7 * srtt + r) / 8, (3 * rttvar + srtt.abs_diff(r)) / 4),
        };
        self.smoothed = Some((srtt, rttvar));
        // Sections 2.3 and 2.4: K = 4.
        self.base = (srtt + self.granularity.max(4 * rttvar)).max(self.min);
        self.reset_backoff();
    }

    /// See [`super::RttEstimator::rto`].
    pub fn rto(&self) -> Duration {
        // Section 2.5.
        Duration::from_nanos(self.base.saturating_mul(self.factor).min(self.max))
    }

    /// See [`super::RttEstimator::backoff`].
    pub fn backoff(&mut self) {
        // Section 5.5.
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

    /// See [`super::RttEstimator::handshake_complete`].
    pub fn handshake_complete(&mut self) {
        // Section 5.7.
        if let (None, Some(fallback), true) = (self.smoothed, self.after_syn_loss, self.shift > 0) {
            self.base = fallback;
            self.reset_backoff();
        }
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
        self.smoothed.map(|(srtt, _)| Duration::from_nanos(srtt))
    }

    /// See [`super::RttEstimator::rttvar`].
    pub fn rttvar(&self) -> Option<Duration> {
        self.smoothed.map(|(_, rttvar)| Duration::from_nanos(rttvar))
    }
}
