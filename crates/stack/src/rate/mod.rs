//! What congestion controllers that go by the rate of delivery, pace, or heed ECN are told and answer, whatever the
//! protocol.
//!
//! - [`RateControl`] is such a controller's side of it. `Window` is the protocol's own type.
//! - [`DeliveryRate`] makes the samples: one for each path, and a [`Stamp`] for each segment or chunk that is out.
//! - [`Pace`] says when data may leave.
//!
//! ECN: a link marks what is ECN-capable (`marks`, `aqm` in the path's settings), and [`RateControl::on_ecn`] hears what a
//! peer tells of it. TCP negotiates ECN where its profile says so (`ecn.mode`). SCTP does not: its packets are Not-ECT, its
//! receiver reflects no mark, and only a peer that echoes unasked is heard. Counts of marked packets come from SCTP alone; those
//! of accurate ECN (RFC 9768) are not read.

mod delivery;
#[cfg(test)]
mod tests;

use rexmit_units::{Duration, Instant, Rate};

pub use delivery::{DeliveryRate, Stamp};

/// Data leave in a segment or chunk, for the first time or again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentData {
    /// When.
    pub now: Instant,
    /// Bytes of data.
    pub len: u32,
    /// Bytes in flight before it; for SCTP, on its path.
    pub in_flight: u64,
    /// It has been sent before.
    pub again: bool,
}

/// What an acknowledgment tells of the rate of delivery (draft-cheng-iccrg-delivery-rate-estimation-02; Linux's
/// `struct rate_sample`). "The newest" is the one that left last of the segments or chunks newly reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it says have arrived, acknowledged or SACKed, beyond what was known.
    pub newly_delivered: u64,
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// Bytes delivered on the whole connection or path when the newest left: where this reaches what had been delivered at
    /// the end of a round, a round trip is over.
    pub prior_delivered: u64,
    /// When the last of those were delivered, or the first data of this flight left.
    pub prior_delivered_at: Instant,
    /// Bytes delivered on the whole connection or path so far.
    pub total_delivered: u64,
    /// The longer of the times in which they were sent and in which they were acknowledged.
    pub interval: Duration,
    /// Round-trip time of the newest, if it was sent once only.
    pub rtt: Option<Duration>,
    /// The newest had been sent before.
    pub is_retransmit: bool,
    /// The application, not the window, limited the sender when the newest left: the rate is a lower bound.
    pub app_limited: bool,
    /// Bytes in flight after it.
    pub in_flight: u64,
}

impl RateSample {
    /// Bytes delivered over the interval, as a rate; `None` if the interval is empty.
    pub fn rate(&self) -> Option<Rate> {
        let bits = u128::from(self.delivered) * 8 * 1_000_000_000;
        let rate = bits.checked_div(u128::from(self.interval.as_nanos()))?;
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// A peer says that packets were marked: a segment with ECE (RFC 3168 section 6.1.2), or a chunk ECNE (RFC 4960 appendix
/// A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnEcho {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it newly acknowledges; 0 for ECNE, where a SACK does that.
    pub acked: u64,
    /// How many packets were marked since the last CWR, as far as it says: at least 1. ECE does not count.
    pub marks: u32,
    /// Bytes in flight before it; for SCTP, on the path of the marked chunk.
    pub in_flight: u64,
}

// --8<-- [start:rate]
/// What a controller that goes by the rate of delivery, paces, or heeds ECN is told and answers.
///
/// It still implements its protocol's `CongestionControl`: losses and timeouts are told there. Connections whose
/// controller has none of this keep no record of what they sent for it.
pub trait RateControl<Window> {
    /// Data leave.
    fn on_sent(&mut self, _window: &mut Window, _sent: &SentData) {}

    /// An acknowledgment tells of data that have arrived: called for each, also in fast recovery, before the
    /// acknowledgment is acted upon.
    fn on_rate_sample(&mut self, window: &mut Window, sample: &RateSample);

    /// A peer tells of marks, asked or not.
    fn on_ecn(&mut self, _window: &mut Window, _echo: &EcnEcho) {}

    /// The rate at which data may leave, first transmissions and others, counted in bytes of data; `None`: as the
    /// window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The window that holds whatever recovery makes of it, in bytes: recovery then chooses what is sent again, and
    /// not how much. `None`: recovery lowers it, as with Reno.
    fn cwnd(&self) -> Option<u64> {
        None
    }
}
// --8<-- [end:rate]

/// When data may leave at a rate.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    release: Instant,
}

impl Pace {
    /// At once.
    pub const fn new() -> Self {
        Self { release: Instant::ZERO }
    }

    /// When the next data may leave, if not now.
    pub fn waits_until(&self, now: Instant) -> Option<Instant> {
        (self.release > now).then_some(self.release)
    }

    /// `len` bytes leave: the next wait as long as these take at the rate.
    pub fn on_sent(&mut self, now: Instant, len: u32, rate: Rate) {
        let nanos = u128::from(len) * 8 * 1_000_000_000 / u128::from(rate.bits_per_second());
        let gap = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX >> 1));
        self.release = self.release.max(now) + gap;
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}
