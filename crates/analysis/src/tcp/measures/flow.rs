//! How much a side has outstanding over time, and what holds it back.

use rexmit_units::{Duration, Instant};

use crate::rows::SideRow;

/// The state of a side's data after a packet.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Level {
    /// Bytes sent and acknowledged neither cumulatively nor by SACK.
    pub outstanding: u64,
    /// What is left of the other side's window, bytes; `None` if that is not known.
    pub left: Option<i64>,
    /// The other side's window is closed.
    pub closed: bool,
    /// Pieces that are not acknowledged cumulatively.
    pub pieces: u32,
    /// Bytes of those.
    pub unacknowledged: u64,
}

/// Outstanding data, idle periods and the window as a limit, integrated from packet to packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    at: Instant,
    level: u64,
    limited: bool,
    /// Since when nothing is outstanding.
    quiet: Instant,
    max: u64,
    /// Byte-nanoseconds, and the time in which there were any.
    area: f64,
    busy: Duration,
    limited_for: Duration,
    idle_periods: u64,
    idle_for: Duration,
}

impl Flow {
    /// The level from `now` on. `mss` is a full segment.
    pub(super) fn step(&mut self, now: Instant, level: &Level, outstanding: u64, mss: u32) {
        let since = now.saturating_since(self.at);
        if self.level > 0 {
            self.area += self.level as f64 * since.as_nanos() as f64;
            self.busy += since;
        }
        if self.limited {
            self.limited_for += since;
        }
        // Waiting for a closed window is not idle.
        if self.level > 0 || self.limited {
            self.quiet = now;
        }
        self.at = self.at.max(now);
        self.level = outstanding;
        self.max = self.max.max(outstanding);
        let little = level.left.is_some_and(|left| left < i64::from(mss));
        self.limited = little && (outstanding > 0 || level.closed);
    }

    /// New data are sent, not the first ones; call before [`step`](Self::step). A silence counts as idle from `least` on.
    pub(super) fn resume(&mut self, now: Instant, least: Duration) {
        let idle = now.saturating_since(self.quiet);
        if self.level == 0 && idle > least {
            self.idle_periods += 1;
            self.idle_for += idle;
        }
    }

    /// Writes it into the row.
    pub(super) fn fill(&self, row: &mut SideRow) {
        row.max_outstanding = self.max;
        row.mean_outstanding = (!self.busy.is_zero()).then(|| self.area / self.busy.as_nanos() as f64);
        row.window_limited_time = self.limited_for.as_nanos();
        row.idle_periods = self.idle_periods;
        row.idle_time = self.idle_for.as_nanos();
    }
}
