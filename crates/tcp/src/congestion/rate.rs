//! The seams for controllers that go by the rate of delivery, pace, or heed ECN.

use rexmit_units::{Duration, Instant, Rate};

use super::Window;

/// A segment of data leaves, for the first time or again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentData {
    /// When.
    pub now: Instant,
    /// Bytes of data.
    pub len: u32,
    /// Bytes in flight before it.
    pub in_flight: u32,
    /// It has been sent before.
    pub again: bool,
}

/// What an acknowledgment tells of the rate of delivery (draft-cheng-iccrg-delivery-rate-estimation-02; Linux's
/// `struct rate_sample`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it says have arrived, acknowledged or SACKed, beyond what was known.
    pub newly_delivered: u32,
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// Bytes delivered on the whole connection when the newest of these segments left: where this reaches what had
    /// been delivered at the end of a round, a round trip is over.
    pub prior_delivered: u64,
    /// Bytes delivered on the whole connection so far.
    pub total_delivered: u64,
    /// The longer of the times in which they were sent and in which they were acknowledged.
    pub interval: Duration,
    /// Round-trip time of the newest of these segments, if it was sent once only.
    pub rtt: Option<Duration>,
    /// The application, not the window, limited the sender when it left: the rate is a lower bound.
    pub app_limited: bool,
    /// Bytes in flight after it.
    pub in_flight: u32,
}

impl RateSample {
    /// Bytes delivered over the interval, as a rate; `None` if the interval is empty.
    pub fn rate(&self) -> Option<Rate> {
        let bits = u128::from(self.delivered) * 8 * 1_000_000_000;
        let rate = bits.checked_div(u128::from(self.interval.as_nanos()))?;
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// An acknowledgment whose ECE flag says that a packet was marked (RFC 3168 section 6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnEcho {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it newly acknowledges.
    pub acked: u32,
    /// Bytes in flight before it.
    pub in_flight: u32,
}

// --8<-- [start:rate]
/// What a controller hears and says that goes by the rate of delivery, paces, or heeds ECN.
///
/// It still implements [`super::CongestionControl`]: losses and timeouts are told there. Connections whose controller
/// has none of this keep no record of what they sent for it.
pub trait RateControl {
    /// A segment of data leaves.
    fn on_sent(&mut self, _window: &mut Window, _sent: &SentData) {}

    /// An acknowledgment tells of data that have arrived: called for each, also in fast recovery, before the
    /// acknowledgment is acted upon.
    fn on_rate_sample(&mut self, window: &mut Window, sample: &RateSample);

    /// An acknowledgment carries ECE. No profile negotiates ECN, so that only a peer that sends it unasked is heard.
    fn on_ecn(&mut self, _window: &mut Window, _echo: &EcnEcho) {}

    /// The rate at which data may leave, first transmissions and others, counted in bytes of data; `None`: as the
    /// window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// The window that holds whatever recovery makes of it, in bytes: recovery then chooses what is sent again, and
    /// not how much. `None`: recovery lowers it, as with Reno.
    fn cwnd(&self) -> Option<u32> {
        None
    }
}
// --8<-- [end:rate]
