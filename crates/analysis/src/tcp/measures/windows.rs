//! The windows that a side offers.

use rexmit_units::{Duration, Instant};

use crate::rows::SideRow;

/// Smallest and largest window, and when it was closed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows {
    /// After the handshake.
    min: Option<u64>,
    max: Option<u64>,
    closings: u64,
    closed_for: Duration,
    closed_since: Option<Instant>,
}

impl Windows {
    /// A window of this many bytes was offered, in the handshake or later. What is not `known` may have to be scaled,
    /// except a closed one.
    pub(super) fn offered(&mut self, time: Instant, window: u64, syn: bool, known: bool) {
        if known || syn {
            self.max = self.max.max(Some(window));
        }
        if syn {
            return;
        }
        if known {
            self.min = Some(self.min.map_or(window, |min| min.min(window)));
        }
        match self.closed_since {
            None if window == 0 => {
                self.closings += 1;
                self.closed_since = Some(time);
            }
            Some(since) if window > 0 => {
                self.closed_for += time.saturating_since(since);
                self.closed_since = None;
            }
            _ => {}
        }
    }

    /// Writes them into the row; a window that is still closed was so until `end`.
    pub(super) fn fill(&self, row: &mut SideRow, end: Instant) {
        let open_end = self.closed_since.map_or(Duration::ZERO, |since| end.saturating_since(since));
        row.min_window = self.min;
        row.max_window = self.max;
        row.zero_windows = self.closings;
        row.zero_window_time = (self.closed_for + open_end).as_nanos();
    }
}
