//! Time stamps of any resolution.

use rexmit_units::Instant;

/// How time stamps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    resolution: Resolution,
    /// Seconds to add.
    offset: i64,
    /// Nanoseconds of a unit, where these are whole and nothing is to be added: the common case.
    plain: Option<u64>,
}

/// A time stamp's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// 10 to the power -n seconds.
    Decimal(u8),
    /// 2 to the power -n seconds.
    Binary(u8),
}

impl Clock {
    /// With the `resolution` as the option of pcapng has it.
    pub(crate) fn new(resolution: u8, offset: i64) -> Self {
        let (plain, resolution) = match resolution {
            n @ 0..=9 => (Some(10_u64.pow(9 - u32::from(n))), Resolution::Decimal(n)),
            n @ 10..0x80 => (None, Resolution::Decimal(n)),
            n => (None, Resolution::Binary(n & 0x7f)),
        };
        Self { resolution, offset, plain: plain.filter(|_| offset == 0) }
    }

    /// The instant since 1970 of a time stamp.
    #[inline]
    pub(crate) fn instant(self, stamp: u64) -> Instant {
        match self.plain.and_then(|unit| stamp.checked_mul(unit)) {
            Some(ns) => Instant::from_nanos(ns),
            None => self.any_instant(stamp),
        }
    }

    fn any_instant(self, stamp: u64) -> Instant {
        let stamp = u128::from(stamp);
        let ns = match self.resolution {
            Resolution::Decimal(n @ 0..=9) => stamp * 10_u128.pow(9 - u32::from(n)),
            Resolution::Decimal(n) => match 10_u128.checked_pow(u32::from(n) - 9) {
                Some(per_ns) => stamp / per_ns,
                None => 0,
            },
            Resolution::Binary(n) => (stamp * 1_000_000_000).checked_shr(n.into()).unwrap_or(0),
        };
        // Below 2^94, so it fits.
        let ns = ns as i128 + i128::from(self.offset) * 1_000_000_000;
        Instant::from_nanos(ns.clamp(0, u64::MAX.into()) as u64)
    }
}
