//! Shapers: when the last bit of a packet leaves the bottleneck.
//!
//! A shaper works in order and knows the departure of a packet on admission; a new one of that kind is one more
//! variant with the same questions.

use rexmit_units::{Instant, Rate, TransmitClock};

use crate::queue::ByteRule;
use crate::spec::ShaperKind;
use crate::ticks::Ticks;

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
    pub fn new(kind: ShaperKind, ticks: Ticks) -> Self {
        match kind {
            ShaperKind::Exact => Self::Exact(TransmitClock::default()),
            ShaperKind::Dummynet => Self::Dummynet(Dummynet::new(ticks)),
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

    /// How a limit in bytes is compared.
    pub fn byte_rule(&self) -> ByteRule {
        match self {
            Self::Exact(_) => ByteRule::MustFit,
            Self::Dummynet(_) => ByteRule::MayOverrun,
        }
    }
}
