//! Whether packets come one behind the other, as from a queue, or after a pause.

use rexmit_units::Instant;

use super::clock::LONGEST;

/// The pace of one side's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Since when they come without a pause.
    pub busy_since: Option<Instant>,
    last: Option<Instant>,
    /// The distance of packets from a queue, nanoseconds: the smallest of late.
    usual: Option<u64>,
}

impl Pace {
    /// A packet came.
    pub(super) fn packet(&mut self, now: Instant) {
        let Some(last) = self.last.replace(now) else {
            self.busy_since = Some(now);
            return;
        };
        let gap = now.saturating_since(last).as_nanos().min(LONGEST);
        // Losses double the distance now and then.
        let usual = self.usual.unwrap_or(gap);
        if gap > 4 * usual + 1_000_000 {
            self.busy_since = Some(now);
        }
        // Packets from a queue come no closer than the slowest link lets them.
        self.usual = Some(gap.min(usual + usual / 16));
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
            pace.packet(at(ms));
            assert_eq!(pace.busy_since, Some(at(0)));
        }
        pace.packet(at(200));
        assert_eq!(pace.busy_since, Some(at(200)));
    }
}
