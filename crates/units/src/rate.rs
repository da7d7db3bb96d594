//! Amounts, rates and probabilities.

use crate::{Duration, Instant};

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in whole bit/s; zero stands for "no limit" nowhere: use `Option<Rate>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `bps` bits a second, or `None` for zero.
    pub const fn from_bits_per_second(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Self(bps)) }
    }

    /// Bits a second, never zero.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
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
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueLimit {
    /// So many packets, whatever their size.
    Packets(u64),
    /// So many bytes of IP packets.
    Bytes(u64),
}

/// When a transmitter of a fixed rate is free again, exact to the bit: the part of a nanosecond that a
/// packet leaves over is carried to the next packet of the same busy period.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransmitClock {
    free: Instant,
    /// Left over, in units of 1/rate ns.
    remainder: u64,
}

impl TransmitClock {
    /// Sends `bytes` at `rate`, starting at `now` or when the transmitter is free, and returns the instant
    /// at which the last bit has left (rounded up to a whole nanosecond).
    pub fn transmit(&mut self, now: Instant, bytes: u64, rate: Rate) -> Instant {
        if self.free < now {
            self.free = now;
            self.remainder = 0;
        }
        let total = bytes as u128 * 8 * 1_000_000_000 + self.remainder as u128;
        let r = rate.bits_per_second() as u128;
        self.free += Duration::from_nanos((total / r) as u64);
        self.remainder = (total % r) as u64;
        if self.remainder == 0 { self.free } else { self.free + Duration::from_nanos(1) }
    }

    /// When the transmitter is free (rounded down).
    pub fn free_at(&self) -> Instant {
        self.free
    }
}
