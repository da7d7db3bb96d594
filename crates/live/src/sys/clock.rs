//! The clocks that runs are driven and stamped by, in nanoseconds.

use std::io;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime, clock_settime};
use rexmit_units::Instant;

use super::inside;

/// CLOCK_MONOTONIC.
pub fn monotonic() -> u64 {
    inside::now().unwrap_or_else(|| nanoseconds(ClockId::CLOCK_MONOTONIC))
}

/// CLOCK_REALTIME, which stamps packets; since 1970.
pub fn realtime() -> u64 {
    nanoseconds(ClockId::CLOCK_REALTIME)
}

fn nanoseconds(clock: ClockId) -> u64 {
    // These two clocks cannot fail.
    clock_gettime(clock).map_or(0, |t| t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
}

/// What to add to CLOCK_MONOTONIC to get CLOCK_REALTIME: read between two looks at the other clock, the closest
/// of a few.
pub fn realtime_offset() -> i64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..5 {
        let (before, real, after) = (monotonic(), realtime(), monotonic());
        let width = after.saturating_sub(before);
        if width < best.0 {
            best = (width, real as i64 - (before + width / 2) as i64);
        }
        if width == 0 {
            // A virtual clock stands meanwhile.
            break;
        }
    }
    best.1
}

/// Sets CLOCK_REALTIME to this much more than CLOCK_MONOTONIC, nanoseconds.
///
/// # Errors
/// Without the privilege to.
pub fn set_realtime_offset(offset: i64) -> io::Result<()> {
    let now = monotonic().saturating_add_signed(offset);
    let time = TimeSpec::from_duration(std::time::Duration::from_nanos(now));
    clock_settime(ClockId::CLOCK_REALTIME, time).map_err(io::Error::from)
}

/// CLOCK_MONOTONIC since the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// A run that starts now.
    pub fn start() -> Self {
        Self { start: monotonic() }
    }

    /// The time since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        self.at(monotonic())
    }

    /// CLOCK_MONOTONIC at an instant since the start, nanoseconds.
    #[inline]
    pub fn monotonic_at(&self, instant: Instant) -> u64 {
        self.start + instant.as_nanos()
    }

    /// An instant of CLOCK_MONOTONIC, nanoseconds, since the start.
    #[inline]
    pub fn at(&self, monotonic: u64) -> Instant {
        Instant::from_nanos(monotonic.saturating_sub(self.start))
    }
}
