//! Shapers: when the last bit of a packet leaves the bottleneck.
//!
//! A shaper works in order and knows the departure of a packet on admission; a new one of that kind is one more
//! variant with the same questions.

use rexmit_units::{Instant, TransmitClock};

use crate::queue::ByteRule;
use crate::schedule::Rates;
use crate::spec::ShaperKind;
use crate::ticks::Ticks;

mod bucket;
mod cisco;
mod dummynet;

pub(crate) use bucket::Bucket;
use cisco::Cisco;
use dummynet::Dummynet;

/// What one bit counts where rates are multiplied by nanoseconds.
const BIT: u64 = 1_000_000_000;

/// This many bytes, in bit x 10^9: one bit/s for one nanosecond is one unit.
fn units(bytes: u64) -> u64 {
    bytes.saturating_mul(8 * BIT)
}

/// One shaper with its state.
pub(crate) enum Shaper {
    /// Sends bit by bit; a packet leaves when its last bit has left, exact to the nanosecond.
    Exact(TransmitClock),
    /// Works at ticks.
    Dummynet(Dummynet),
    /// Has credit from ticks.
    Cisco(Box<Cisco>),
}

impl Shaper {
    /// The shaper, if it is one that knows departures on admission; `overhead` in bytes.
    pub fn new(kind: ShaperKind, ticks: Ticks, overhead: u64) -> Option<Self> {
        Some(match kind {
            ShaperKind::Exact => Self::Exact(TransmitClock::default()),
            ShaperKind::Dummynet => Self::Dummynet(Dummynet::new(ticks)),
            ShaperKind::Cisco => Self::Cisco(Box::new(Cisco::new(ticks, overhead))),
            ShaperKind::Tbf => return None,
        })
    }

    /// When a packet of `len` bytes admitted at `now` leaves, at `rates`; [`Instant::FAR_FUTURE`] for never. Never earlier
    /// than the packet before it.
    #[inline]
    pub fn depart(&mut self, now: Instant, len: u64, rates: Rates<'_>) -> Instant {
        match (self, rates) {
            (Self::Exact(clock), Rates::Constant(Some(rate))) => clock.transmit(now, len, rate),
            (Self::Exact(clock), Rates::Constant(None)) => now.max(clock.free_at()),
            (Self::Exact(clock), rates) => clock.transmit_over(now, len, |at| rates.from(at)),
            (Self::Dummynet(dummynet), rates) => dummynet.depart(now, len, rates),
            (Self::Cisco(cisco), rates) => cisco.depart(now, len, rates),
        }
    }

    /// When a packet that has waited begins to be sent, where the one before has left at `now`: at a part of a
    /// nanosecond before, which the clock of the transmitter keeps.
    pub fn resumes(&self, now: Instant) -> Instant {
        match self {
            Self::Exact(clock) => clock.free_at().min(now),
            Self::Dummynet(_) | Self::Cisco(_) => now,
        }
    }

    /// How a limit in bytes is compared.
    pub fn byte_rule(&self) -> ByteRule {
        match self {
            Self::Exact(_) | Self::Cisco(_) => ByteRule::MustFit,
            Self::Dummynet(_) => ByteRule::MayOverrun,
        }
    }
}
