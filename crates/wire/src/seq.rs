//! Sequence numbers modulo 2^32 (RFC 9293 section 3.4).

use std::ops::{Add, AddAssign, Sub};

/// A TCP sequence number. Comparison is modular: valid while both lie within 2^31 of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Signed distance from `other` to `self`.
    #[inline]
    pub fn diff(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The later of the two.
    pub fn max(self, other: Self) -> Self {
        if self >= other { self } else { other }
    }

    /// The earlier of the two.
    pub fn min(self, other: Self) -> Self {
        if self <= other { self } else { other }
    }
}

impl PartialOrd for SeqNumber {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.diff(*other).cmp(&0))
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    #[inline]
    fn add(self, rhs: u32) -> Self {
        Self(self.0.wrapping_add(rhs))
    }
}

impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, rhs: u32) {
        *self = *self + rhs;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    fn sub(self, rhs: u32) -> Self {
        Self(self.0.wrapping_sub(rhs))
    }
}
