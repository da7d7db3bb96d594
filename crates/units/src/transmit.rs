//! When a transmitter of a given rate has sent its packets.

use crate::{Duration, Instant, Rate};

/// When a transmitter is free again, exact to the bit: the part of a nanosecond that a packet leaves over
/// is carried to the next packet of the same busy period.
///
/// Where the rate changes within a busy period, the part carried over is expressed in the new rate, rounded
/// down: less than one bit time of the new rate divided by 10^9 is lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransmitClock {
    free: Instant,
    /// Left over, in units of 1/rate ns.
    remainder: u64,
    /// The rate, in bit/s, that the remainder belongs to.
    rate: u64,
}

impl TransmitClock {
    /// Sends `bytes` at `rate`, starting at `now` or when the transmitter is free, and returns the instant
    /// at which the last bit has left (rounded up to a whole nanosecond).
    #[inline]
    pub fn transmit(&mut self, now: Instant, bytes: u64, rate: Rate) -> Instant {
        let r = rate.bits_per_second();
        if self.free < now {
            self.free = now;
            self.remainder = 0;
        } else if self.rate != r && self.remainder != 0 {
            // Below the new rate, because the remainder is below the old one.
            self.remainder = (u128::from(self.remainder) * u128::from(r) / u128::from(self.rate)) as u64;
        }
        self.rate = r;
        // 64 bits hold a packet of up to 2.3 GB; they divide several times faster than 128.
        let short = bytes.checked_mul(8_000_000_000).and_then(|t| t.checked_add(self.remainder));
        let ns = if let Some(total) = short {
            self.remainder = total % r;
            total / r
        } else {
            let total = u128::from(bytes) * 8_000_000_000 + u128::from(self.remainder);
            self.remainder = (total % u128::from(r)) as u64;
            u64::try_from(total / u128::from(r)).unwrap_or(u64::MAX)
        };
        self.free += Duration::from_nanos(ns);
        if self.remainder == 0 { self.free } else { self.free + Duration::from_nanos(1) }
    }

    /// When the transmitter is free (rounded down).
    #[inline]
    pub fn free_at(&self) -> Instant {
        self.free
    }
}
