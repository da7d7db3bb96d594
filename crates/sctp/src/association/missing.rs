//! Missing reports and fast retransmit (RFC 9260 section 7.2.4; SC-F-1 to SC-F-6).

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::Association;
use super::output::Trigger;
use super::sack::News;
use crate::outbound::Place;
use crate::profile::FastRetransmits;

/// Chunks that have been reported missing often enough.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reports {
    /// The first of them that is outstanding, and its reports.
    first: Option<(SeqNumber, u8)>,
    /// The last one.
    last: SeqNumber,
    /// The SACK moved the cumulative TSN.
    moved: bool,
}

impl Association {
    /// How many reports make a fast retransmit (SC-F-2; SC-E-1).
    fn threshold(&self) -> u8 {
        let usual = self.profile.recovery.missing_reports;
        self.profile.thin.fast_retransmit_reports.filter(|_| self.is_thin()).unwrap_or(usual)
    }

    /// Counts the missing reports of a SACK (SC-F-1; RFC 9260 section 7.2.4, the highest TSN newly acknowledged).
    pub(super) fn strike(&mut self, news: &News) -> Reports {
        let mut reports = Reports { moved: news.moved, ..Reports::default() };
        let Some(&(_, top)) = self.out.acked.last() else { return reports };
        let all = self.profile.recovery.strike_all_in_recovery && self.recovery_exit.is_some() && news.moved;
        // Below this TSN a chunk is struck; up to the other one it is looked at, since it may have become thin meanwhile.
        let limit = if all { Some(top) } else { news.highest };
        let watches = self.profile.thin.fast_retransmit_reports.is_some();
        let Some(end) = (if watches { Some(top) } else { limit }) else { return reports };
        let threshold = self.threshold();
        let mut from = self.out.base;
        for block in 0..self.out.acked.len() {
            let (first, last) = self.out.acked[block];
            let to = first.min(end);
            while from < to {
                let counts = limit.is_some_and(|limit| from < limit);
                self.strike_one(from, u8::from(counts), threshold, &mut reports);
                from += 1;
            }
            if first >= end {
                break;
            }
            from = last + 1;
        }
        reports
    }

    /// This many more reports of one chunk.
    fn strike_one(&mut self, tsn: SeqNumber, more: u8, threshold: u8, reports: &mut Reports) {
        let config = &self.profile.recovery;
        let at = self.out.index(tsn);
        let chunk = &mut self.out.sent[at];
        let queued = chunk.place == Place::Queued;
        let counts = chunk.place == Place::Outstanding || (queued && config.reports_in_queue);
        let spent = config.fast_retransmits == FastRetransmits::Once && chunk.fast_done;
        if !counts || chunk.fast || spent {
            return;
        }
        chunk.missing = chunk.missing.saturating_add(more);
        if chunk.missing < threshold {
            return;
        }
        chunk.fast = true;
        if !queued {
            reports.first.get_or_insert((tsn, chunk.missing));
            reports.last = tsn;
        }
    }

    /// Fast retransmit of all that `strike` has found (SC-F-3; RFC 9260 section 7.2.4 items 1 to 6).
    pub(super) fn retransmit_fast(&mut self, now: Instant, reports: Reports) {
        let Some((first, missing)) = reports.first else { return };
        let config = &self.profile.recovery;
        let enters = !config.fast_recovery || self.recovery_exit.is_none();
        let (recovers, restarts) = (config.fast_recovery, config.fast_restarts_timer);
        let takes_all = self.profile.thin.bundle_in_fast_retransmit && self.is_thin();
        let first_path = usize::from(self.out.sent[self.out.index(first)].path);
        let earliest = self.out.sent.iter().position(|chunk| chunk.place == Place::Outstanding);
        let is_earliest = earliest == Some(self.out.index(first));
        let range = match takes_all {
            true => 0..self.out.sent.len(),
            false => self.out.index(first)..self.out.index(reports.last) + 1,
        };
        let mut lowered = [false; 256];
        for at in range {
            let chunk = &mut self.out.sent[at];
            if chunk.place != Place::Outstanding || !(chunk.fast || takes_all) {
                continue;
            }
            chunk.fast_done |= chunk.fast;
            // In fast recovery the chunk waits its turn (RFC 9260 section 7.2.4 item 3).
            chunk.fast &= enters;
            let path = usize::from(chunk.path);
            self.mark(at, path);
            if enters && !std::mem::replace(&mut lowered[path], true) {
                let path = &mut self.paths[path];
                path.congestion.inner().on_loss(&mut path.window, now, path.flight);
            }
        }
        if !enters {
            return;
        }
        self.counters.fast_retransmits += 1;
        if recovers {
            self.recovery_exit = Some(self.out.next_tsn() - 1);
        }
        let sacked = self.whole_packets_above();
        self.flush(now, Trigger::Fast { missing, sacked });
        if restarts && (is_earliest || reports.moved) {
            self.restart_t3(now, first_path);
        }
    }

    /// Chunks reported by gap blocks.
    fn whole_packets_above(&self) -> u16 {
        let chunks: u64 = self.out.acked.iter().map(|(first, last)| last.diff(*first) as u64 + 1).sum();
        chunks.min(u64::from(u16::MAX)) as u16
    }
}
