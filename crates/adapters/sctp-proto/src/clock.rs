//! The library's times are those of the system's clock, which only `Instant::now` makes.

use rexmit_units::Instant;
use std::time::Instant as Theirs;

/// One instant in the run's time and in the library's; it asks for differences alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    ours: Instant,
    theirs: Theirs,
}

impl Clock {
    /// A clock whose run begins now.
    pub fn new() -> Self {
        Self { ours: Instant::ZERO, theirs: Theirs::now() }
    }

    /// The clock by which these are the same.
    pub fn of(ours: Instant, theirs: Theirs) -> Self {
        Self { ours, theirs }
    }

    /// The library's time of one of the run that is not before its beginning.
    pub fn theirs(&self, time: Instant) -> Theirs {
        self.theirs + std::time::Duration::from_nanos((time - self.ours).as_nanos())
    }

    pub fn ours(&self, time: Theirs) -> Instant {
        let since = time.saturating_duration_since(self.theirs);
        self.ours + rexmit_units::Duration::from_nanos(since.as_nanos() as u64)
    }
}
