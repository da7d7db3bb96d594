//! Whether packets come one after the other, as from a queue, or after a pause.

use rexmit_units::{Duration, Instant};

use super::clock::LONGEST;
use crate::core::policy::TcpFar;

/// The pace of one side's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Since when they come without a pause.
    pub busy_since: Option<Instant>,
    last: Option<Instant>,
    /// The distance of packets from a queue: the smallest of late.
    usual: Option<Duration>,
}

impl Pace {
    /// A packet came.
    pub(super) fn packet(&mut self, now: Instant, policy: &TcpFar) {
        let Some(last) = self.last.replace(now) else {
            self.busy_since = Some(now);
            return;
        };
        let gap = now.saturating_since(last).min(LONGEST);
        // Losses double the distance now and then.
        let usual = self.usual.unwrap_or(gap);
        if gap > usual * policy.pause_gaps + policy.pause {
            self.busy_since = Some(now);
        }
        // Packets from a queue come no closer than the slowest link lets them.
        self.usual = Some(gap.min(usual + usual / policy.gap_growth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_starts_a_busy_period_anew() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut pace = Pace::default();
        for ms in [0, 10, 20, 40, 50] {
            pace.packet(at(ms), &TcpFar::STANDARD);
            assert_eq!(pace.busy_since, Some(at(0)));
        }
        pace.packet(at(200), &TcpFar::STANDARD);
        assert_eq!(pace.busy_since, Some(at(200)));
    }
}
