//! From round-trip times to the retransmission timeout: three estimators behind one enum.
//!
//! Families of methods, and who calls them when:
//!
//! 1. *samples*: [`RttEstimator::sample`] at each acknowledgment that yields one. Which ones do (timestamps,
//!    Karn's rule) is the sender's business;
//! 2. *expiries*: [`RttEstimator::backoff`], or [`RttEstimator::backoff_syn`] while a SYN is unanswered, at
//!    each expiry of the retransmission timer; [`RttEstimator::handshake_complete`] when data may flow;
//! 3. *getters*: [`RttEstimator::rto`] whenever the timer starts.
//!
//! Values kept from earlier connections (host cache, route metrics) are BSD's alone: `RttEstimator::begin_from`.
//!
//! Not modelled: the newer BSD minima.

mod bsd;
mod config;
mod linux;
mod rfc6298;
#[cfg(test)]
mod tests;

use rexmit_units::Duration;
use rexmit_wire::SeqNumber;

pub use bsd::Bsd;
pub use config::{EstimatorKind, MAX_BACKOFF_STEPS, RttConfig, RttConfigError};
pub use linux::Linux;
pub use rfc6298::Rfc6298;

use config::Backoff;

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub enum RttEstimator {
    /// Fixed point in ticks, with slop.
    Bsd(Bsd),
    /// RFC 6298 in nanoseconds.
    Rfc6298(Rfc6298),
    /// Linux: 2.6 in jiffies, 6.1 in microseconds.
    Linux(Box<Linux>),
}

impl RttEstimator {
    /// An estimator that has seen nothing. `config` is taken as it is: check it first with
    /// [`RttConfig::check`].
    pub fn new(config: &RttConfig) -> Self {
        match config.estimator {
            EstimatorKind::Bsd => Self::Bsd(Bsd::new(config)),
            EstimatorKind::Rfc6298 => Self::Rfc6298(Rfc6298::new(config)),
            EstimatorKind::Linux | EstimatorKind::LinuxMicro => Self::Linux(Box::new(Linux::new(config))),
        }
    }

    /// Takes a round-trip time, and with it clears the backoff.
    ///
    /// `rtt` is in whole ticks of the host's clock for BSD (where the caller has computed now - echo + 1, as
    /// FB-RTT-1 says) and Linux; RFC 6298 takes any length. `una` is the oldest unacknowledged sequence
    /// number after this acknowledgment and `nxt` the next to send; only Linux looks at them, to find the
    /// end of a round trip.
    pub fn sample(&mut self, rtt: Duration, una: SeqNumber, nxt: SeqNumber) {
        match self {
            Self::Bsd(e) => e.sample(rtt),
            Self::Rfc6298(e) => e.sample(rtt),
            Self::Linux(e) => e.sample(rtt, una, nxt),
        }
    }

    /// The interval to start the timer with now, backoff included.
    pub fn rto(&self) -> Duration {
        match self {
            Self::Bsd(e) => e.rto(),
            Self::Rfc6298(e) => e.rto(),
            Self::Linux(e) => e.rto(),
        }
    }

    /// One more expiry of the retransmission timer of an established connection.
    pub fn backoff(&mut self) {
        match self {
            Self::Bsd(e) => e.backoff(),
            Self::Rfc6298(e) => e.backoff(),
            Self::Linux(e) => e.backoff(),
        }
    }

    /// One more expiry, which leaves the interval as it is: those before it that did not are forgotten, too.
    pub fn hold(&mut self) {
        match self {
            Self::Bsd(e) => e.hold(),
            Self::Rfc6298(e) => e.hold(),
            Self::Linux(e) => e.hold(),
        }
    }

    /// One more expiry of the retransmission timer while the SYN is unanswered.
    pub fn backoff_syn(&mut self) {
        match self {
            Self::Bsd(e) => e.backoff_syn(),
            Self::Rfc6298(e) => e.backoff_syn(),
            Self::Linux(e) => e.backoff_syn(),
        }
    }

    /// The handshake is over. Where SYNs were lost and no sample came of it, the configured
    /// [`RttConfig::rto_after_syn_loss`] holds from here (RFC 6298 section 5.7), and the backoff of the SYN
    /// ends.
    pub fn handshake_complete(&mut self) {
        match self {
            Self::Bsd(_) => {}
            Self::Rfc6298(e) => e.handshake_complete(),
            Self::Linux(e) => e.handshake_complete(),
        }
    }

    /// Forgets the expiries without a sample: the interval is again that of the last sample.
    pub fn reset_backoff(&mut self) {
        match self {
            Self::Bsd(e) => e.reset_backoff(),
            Self::Rfc6298(e) => e.reset_backoff(),
            Self::Linux(e) => e.reset_backoff(),
        }
    }

    /// Expiries since the last sample (or since [`Self::reset_backoff`]).
    pub fn shift(&self) -> u32 {
        match self {
            Self::Bsd(e) => e.shift(),
            Self::Rfc6298(e) => e.shift(),
            Self::Linux(e) => e.shift(),
        }
    }

    /// Smoothed round-trip time; `None` before the first sample, and for BSD again from the fourth expiry on
    /// (FB-RTO-6).
    pub fn srtt(&self) -> Option<Duration> {
        match self {
            Self::Bsd(e) => e.srtt(),
            Self::Rfc6298(e) => e.srtt(),
            Self::Linux(e) => e.srtt(),
        }
    }

    /// Mean deviation of the round-trip time, once there is a sample. For Linux this is its medium
    /// deviation, not the larger term that enters the timeout.
    pub fn rttvar(&self) -> Option<Duration> {
        match self {
            Self::Bsd(e) => e.rttvar(),
            Self::Rfc6298(e) => e.rttvar(),
            Self::Linux(e) => e.rttvar(),
        }
    }

    /// Begins from the smoothed time and variation of an earlier connection, as [`Self::fixed_point`] gave them (FB-HC-5).
    pub(crate) fn begin_from(&mut self, srtt: u32, rttvar: u32) {
        if let Self::Bsd(e) = self {
            e.begin_from(srtt, rttvar);
        }
    }

    /// Smoothed time in 1/32 and its variation in 1/16 of a tick, as FreeBSD keeps them; 0 before the first sample, and of
    /// other estimators.
    pub(crate) fn fixed_point(&self) -> (u32, u32) {
        if let Self::Bsd(e) = self { e.fixed_point() } else { (0, 0) }
    }

    /// Samples taken so far, of FreeBSD's estimator.
    pub(crate) fn samples(&self) -> u32 {
        if let Self::Bsd(e) = self { e.samples() } else { 0 }
    }

    /// Half the smoothed round-trip time in the estimator's own resolution: how long after a first expiry
    /// an acknowledgment proves the expiry wrong (FB-RTO-6). Zero without a sample.
    pub fn half_srtt(&self) -> Duration {
        match self {
            Self::Bsd(e) => e.half_srtt(),
            Self::Rfc6298(_) | Self::Linux(_) => {
                Duration::from_nanos(self.srtt().unwrap_or_default().as_nanos() / 2)
            }
        }
    }
}
