//! Shapers: when the last bit of a packet leaves the bottleneck, and when the packet arrives after that.
//!
//! A shaper works in order and decides on admission, so a new one (token bucket, netem's timer, a router's
//! committed rate) is one more variant with the same two questions.

use rexmit_units::{Duration, Instant, Rate, TransmitClock};

use crate::queue::ByteRule;
use crate::spec::ShaperKind;

mod dummynet;

use dummynet::Dummynet;

/// One shaper with its state.
pub(crate) enum Shaper {
    /// Sends bit by bit; a packet leaves when its last bit has left, exact to the nanosecond.
    Exact(TransmitClock),
    /// Works at ticks.
    Dummynet(Dummynet),
}

impl Shaper {
    pub fn new(kind: ShaperKind, tick: Duration, phase: Duration) -> Self {
        match kind {
            ShaperKind::Exact => Self::Exact(TransmitClock::default()),
            ShaperKind::Dummynet => Self::Dummynet(Dummynet::new(tick, phase)),
        }
    }

    /// When a packet of `len` bytes admitted at `now` leaves, at `rate` (`None`: no limit). Never earlier than
    /// the packet before it.
    #[inline]
    pub fn depart(&mut self, now: Instant, len: u64, rate: Option<Rate>) -> Instant {
        match (self, rate) {
            (Self::Exact(clock), Some(rate)) => clock.transmit(now, len, rate),
            (Self::Exact(clock), None) => now.max(clock.free_at()),
            (Self::Dummynet(dummynet), rate) => dummynet.depart(now, len, rate),
        }
    }

    /// When a packet admitted at `now` begins to be sent.
    pub fn starts(&self, now: Instant) -> Instant {
        match self {
            Self::Exact(clock) => now.max(clock.free_at()),
            Self::Dummynet(dummynet) => now.max(dummynet.busy_until()),
        }
    }

    /// When a packet that leaves at `departure` has crossed a link of `delay`.
    #[inline]
    pub fn arrive(&self, departure: Instant, delay: Duration) -> Instant {
        match self {
            Self::Exact(_) => departure + delay,
            Self::Dummynet(dummynet) => dummynet.arrive(departure, delay),
        }
    }

    /// How a limit in bytes is compared.
    pub fn byte_rule(&self) -> ByteRule {
        match self {
            Self::Exact(_) => ByteRule::MustFit,
            Self::Dummynet(_) => ByteRule::MayOverrun,
        }
    }
}
