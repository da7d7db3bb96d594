//! Amounts, rates and probabilities.

use std::iter::Sum;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign};

use crate::Duration;

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The number of bytes.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

/// Stops at the largest value.
impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// A rate in whole bit/s; zero never stands for "no limit": use `Option<Rate>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// `bps` bits a second, or `None` for zero.
    pub const fn from_bits_per_second(bps: u64) -> Option<Self> {
        match NonZeroU64::new(bps) {
            Some(bps) => Some(Self(bps)),
            None => None,
        }
    }

    /// Bits a second, never zero.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }
}

/// The rate of a line at a moment, which may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LineRate {
    /// Nothing passes: 0 bit/s.
    Outage,
    /// This many bits a second.
    Rate(Rate),
}

impl LineRate {
    /// Bits a second, zero in an outage.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        match self {
            Self::Outage => 0,
            Self::Rate(rate) => rate.bits_per_second(),
        }
    }
}

impl From<Rate> for LineRate {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

/// A probability in steps of 10^-12, so that decimal text is held exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0);
    /// Always.
    pub const ONE: Self = Self(1_000_000_000_000);

    /// `n` times 10^-12, or `None` above one.
    pub const fn from_trillionths(n: u64) -> Option<Self> {
        if n > Self::ONE.0 { None } else { Some(Self(n)) }
    }

    /// In steps of 10^-12.
    pub const fn trillionths(self) -> u64 {
        self.0
    }

    /// The nearest floating-point number, for people and formulas.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }

    /// Whether the event happens for `draw`, a number drawn evenly from all of `u64`.
    ///
    /// Never for [`Probability::ZERO`] and always for [`Probability::ONE`]; for others, the share of draws
    /// is right to one in 2^64.
    #[inline]
    pub const fn occurs(self, draw: u64) -> bool {
        // The draw as one of the 10^12 steps: the high half of the product.
        ((draw as u128 * Self::ONE.0 as u128) >> 64) < self.0 as u128
    }

    /// The number of draws out of 2^64 for which the event happens, rounded up: it happens where
    /// `draw < threshold`. `None` for [`Probability::ONE`], where every draw counts.
    pub const fn threshold(self) -> Option<u64> {
        if self.0 == Self::ONE.0 {
            return None;
        }
        Some(((self.0 as u128) << 64).div_ceil(Self::ONE.0 as u128) as u64)
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueLimit {
    /// This many packets, whatever their size.
    Packets(u64),
    /// This many bytes of IP packets.
    Bytes(u64),
}

/// How much a queue is to hold, as people say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueSize {
    /// This many packets or bytes.
    Limit(QueueLimit),
    /// What its line sends in this time.
    Time(Duration),
}

impl QueueSize {
    /// In packets or bytes, rounded down to a whole byte, before a line of this rate; `None` where that takes a rate and
    /// there is none.
    pub fn limit(self, rate: Option<Rate>) -> Option<QueueLimit> {
        match self {
            Self::Limit(limit) => Some(limit),
            Self::Time(time) => {
                let bits = u128::from(rate?.bits_per_second()) * u128::from(time.as_nanos());
                Some(QueueLimit::Bytes(u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX)))
            }
        }
    }
}

impl From<QueueLimit> for QueueSize {
    fn from(limit: QueueLimit) -> Self {
        Self::Limit(limit)
    }
}
