//! What the sender of DATA knows: the SACKs that it has seen when it sends.
//!
//! A SACK seen here is known to the sender, and shows in its packets here, one way to the sender and back later. At the
//! sender that is at once.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};

use super::board::Board;

/// What a SACK reports, with unwrapped TSNs.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// When the sender's packets can show that it knows.
    pub(super) due: Instant,
    /// One past the cumulative TSN.
    pub(super) una: i64,
    /// Blocks above it, each from its first TSN to one past its last, in order.
    pub(super) gaps: Vec<(i64, i64)>,
    /// The advertised window.
    pub(super) window: u32,
}

impl Report {
    fn acknowledges(&self, tsn: i64) -> bool {
        tsn < self.una || self.gaps.iter().any(|(from, to)| (*from..*to).contains(&tsn))
    }
}

/// The sender's knowledge.
#[derive(Debug)]
pub(super) struct View {
    /// One past the highest cumulative TSN.
    pub(super) una: i64,
    /// SACKs that were seen here did not reach it, or came late.
    pub(super) behind: bool,
    /// The last advertised window.
    pub(super) window: Option<u32>,
    /// When it saw a SACK.
    pub(super) last_sack: Option<Instant>,
    /// When a SACK moved the cumulative TSN.
    pub(super) advanced: Option<Instant>,
    /// When T3 expired last.
    pub(super) expired: Option<Instant>,
    /// The TSN that it sent again first.
    pub(super) expired_lead: Option<i64>,
    /// It has sent new data since.
    pub(super) moved_on: bool,
    /// Expiries in a row, without an RTT sample since.
    pub(super) expiries: u32,
    /// One past the highest TSN sent when the last fast retransmit began a recovery, while that lasts.
    pub(super) recover: Option<i64>,
    /// Shortest time from the start of T3 to an expiry that looks like one.
    pub(super) shortest_timer: Option<u64>,
    /// How often so many strikes (by index) had something sent again when no timer could have.
    thresholds: [u32; 8],
    /// SACKs on their way to the sender.
    coming: VecDeque<Report>,
    /// Times of the last SACKs that were seen, the latest last.
    recent: VecDeque<Instant>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            una: i64::MIN / 4,
            behind: false,
            window: None,
            last_sack: None,
            advanced: None,
            expired: None,
            expired_lead: None,
            moved_on: false,
            expiries: 0,
            recover: None,
            shortest_timer: None,
            thresholds: [0; 8],
            coming: VecDeque::new(),
            recent: VecDeque::new(),
        }
    }
}

impl View {
    /// A SACK was seen that the sender will know of `sender_loop` nanoseconds later.
    pub(super) fn take(&mut self, mut report: Report, sender_loop: u64, board: &mut Board) {
        if sender_loop == 0 && self.coming.is_empty() {
            self.apply(&report, board);
        } else {
            report.due += Duration::from_nanos(sender_loop);
            self.coming.push_back(report);
        }
    }

    /// Lets the sender know what it can know at `now`, when it is seen to have sent the TSNs `again`.
    ///
    /// No sender repeats what it knows to have arrived, so a SACK that acknowledges one of them is late, or was lost
    /// behind the place of the capture.
    pub(super) fn catch_up(&mut self, now: Instant, again: &[i64], board: &mut Board) {
        while let Some(report) = self.coming.front().filter(|report| report.due <= now) {
            let late = now.saturating_since(report.due).as_nanos() < LATEST;
            if late && again.iter().any(|tsn| report.acknowledges(*tsn) && !board.is_known(*tsn)) {
                return;
            }
            let report = self.coming.pop_front().expect("it is there");
            self.apply(&report, board);
        }
    }

    /// What is sent again was not known to have arrived: SACKs that said so came late, or were lost behind the place of
    /// the capture. `near`: no delay lies between, so that it stands as an error of the sender.
    pub(super) fn unlearn(&mut self, again: &[i64], near: bool, board: &mut Board) {
        let Some(&lowest) = again.iter().find(|tsn| board.is_known(**tsn)) else { return };
        self.behind = true;
        if near {
            return;
        }
        self.una = self.una.min(lowest);
        let end = board.end();
        board.range(lowest, end).for_each(|(_, entry)| entry.known = false);
    }

    /// SACKs of the last `span` nanoseconds.
    pub(super) fn sacks_within(&self, now: Instant, span: u64) -> u32 {
        self.recent.iter().filter(|time| now.saturating_since(**time).as_nanos() <= span).count() as u32
    }

    /// Strikes that this sender takes to send again: what it was seen to take, otherwise 3 (RFC 9260 section 7.2.4).
    pub(super) fn threshold(&self) -> u32 {
        self.learned().unwrap_or(3)
    }

    /// What it was seen to take.
    pub(super) fn learned(&self) -> Option<u32> {
        let (strikes, count) = self.thresholds.iter().enumerate().max_by_key(|(_, count)| **count)?;
        (*count > 0).then_some(strikes as u32)
    }

    /// So many strikes had something sent again, and no timer can have.
    pub(super) fn learn(&mut self, strikes: u32) {
        if let Some(count) = self.thresholds.get_mut(strikes as usize) {
            *count += 1;
        }
    }

    fn apply(&mut self, report: &Report, board: &mut Board) {
        // RFC 9260 section 6.2.1 D i: an older SACK is dropped.
        if report.una < self.una {
            return;
        }
        self.last_sack = Some(report.due);
        self.window = Some(report.window);
        self.recent.push_back(report.due);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        let mut highest_new = None;
        let mut sampled = false;
        let mut learn = |tsn: i64, entry: &mut super::board::Entry| {
            if !entry.known {
                entry.known = true;
                entry.marked = false;
                highest_new = Some(tsn);
                sampled |= entry.transmissions == 1;
            }
        };
        board.range(self.una, report.una).for_each(|(tsn, entry)| learn(tsn, entry));
        for (start, end) in &report.gaps {
            board.range(*start, *end).for_each(|(tsn, entry)| learn(tsn, entry));
        }
        // RFC 9260 section 7.2.4: in a recovery, a SACK that moves the cumulative TSN counts for all that it reports.
        let all = report.una > self.una && self.recover.is_some();
        if report.una > self.una {
            self.una = report.una;
            self.advanced = Some(report.due);
        }
        self.recover = self.recover.filter(|recover| report.una < *recover);
        if sampled {
            self.expiries = 0;
        }
        let mut hole = report.una;
        for (start, end) in &report.gaps {
            for (tsn, entry) in board.range(hole, *start) {
                if std::mem::take(&mut entry.known) {
                    // Taken back: RFC 9260 section 6.2.1 D iv.
                    continue;
                }
                entry.reports += 1;
                entry.reported = report.due;
                if all || highest_new.is_some_and(|highest| tsn < highest) {
                    entry.strikes += 1;
                    entry.struck = report.due;
                }
            }
            hole = *end;
        }
    }
}

/// SACKs come no later than this after they could, nanoseconds.
const LATEST: u64 = 5_000_000_000;
/// So many times of SACKs are kept.
const RECENT: usize = 8;
