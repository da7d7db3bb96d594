//! When a transmitter of a given rate has sent its packets.

use crate::{Duration, Instant, LineRate, Rate};

/// What a line does from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its rate; `None` for no limit.
    pub rate: Option<LineRate>,
    /// Until when, which is later than that instant; [`Instant::FAR_FUTURE`] for ever.
    pub until: Instant,
}

/// When a transmitter is free again, exact to the bit: the part of a nanosecond that a packet leaves over
/// is carried to the next packet of the same busy period.
///
/// Where [`Self::transmit`] is given another rate within a busy period, the part carried over is expressed in that,
/// rounded down: less than one bit time of the new rate divided by 10^9 is lost. [`Self::transmit_over`] loses nothing.
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

    /// Sends `bytes` over a line whose rate changes at instants that are known: the bits that are left at a change go at
    /// the new rate. `line` says what the line does from an instant on. Exact, and rounded up as by [`Self::transmit`];
    /// [`Instant::FAR_FUTURE`] where an outage has no end.
    pub fn transmit_over(&mut self, now: Instant, bytes: u64, line: impl Fn(Instant) -> Stretch) -> Instant {
        if self.free < now {
            self.free = now;
            self.remainder = 0;
        }
        let mut at = self.free;
        let mut stretch = line(at);
        let rate = |stretch: Stretch| stretch.rate.map(LineRate::bits_per_second);
        // Bits times 10^9, as many as a rate of 1 bit/s sends in this many nanoseconds.
        let mut left = u128::from(bytes) * 8_000_000_000 + self.carried(rate(stretch));
        loop {
            let Some(r) = rate(stretch) else {
                (self.free, self.remainder) = (at, 0);
                return at;
            };
            let for_ever = stretch.until == Instant::FAR_FUTURE || stretch.until <= at;
            let most = u128::from(stretch.until.as_nanos().saturating_sub(at.as_nanos())) * u128::from(r);
            if r > 0 && (for_ever || left <= most) {
                let ns = u64::try_from(left / u128::from(r)).unwrap_or(u64::MAX);
                (self.rate, self.remainder) = (r, (left % u128::from(r)) as u64);
                self.free = at + Duration::from_nanos(ns);
                return if self.remainder == 0 { self.free } else { self.free + Duration::from_nanos(1) };
            }
            if for_ever {
                (self.free, self.remainder) = (Instant::FAR_FUTURE, 0);
                return self.free;
            }
            left -= most;
            at = stretch.until;
            stretch = line(at);
        }
    }

    /// What is left over, in units of 1/rate ns of the rate `r` in bit/s.
    fn carried(&self, r: Option<u64>) -> u128 {
        match r {
            Some(r) if self.rate != r && self.remainder != 0 => {
                u128::from(self.remainder) * u128::from(r) / u128::from(self.rate)
            }
            _ => self.remainder.into(),
        }
    }

    /// When the transmitter is free (rounded down).
    #[inline]
    pub fn free_at(&self) -> Instant {
        self.free
    }
}
