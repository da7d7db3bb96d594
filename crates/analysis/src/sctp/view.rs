//! What the sender of DATA knows: the SACKs that it has seen when it sends.
//!
//! A SACK seen here is known to the sender, and shows in its packets here, one way to the sender and back later. At the
//! sender that is at once.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};

use super::board::{Board, Entry};
use crate::core::policy::SctpPolicy;
use crate::limits::{UNDER_WAY, Work};

/// What a SACK reports, with unwrapped TSNs.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// When the sender's packets can show that it knows.
    pub(super) due: Instant,
    /// One past the cumulative TSN.
    pub(super) una: i64,
    /// Blocks above it, each from its first TSN to one past its last, in order, none touching another.
    pub(super) gaps: Vec<(i64, i64)>,
    /// The advertised window.
    pub(super) window: u32,
}

impl Report {
    fn acknowledges(&self, tsn: i64) -> bool {
        let at = self.gaps.partition_point(|(_, to)| *to <= tsn);
        tsn < self.una || self.gaps.get(at).is_some_and(|(from, _)| *from <= tsn)
    }

    fn heap(&self) -> usize {
        size_of::<Self>() + self.gaps.capacity() * size_of::<(i64, i64)>()
    }
}

/// What an expiry of T3 marked: the TSNs from `from` to before `to` that nothing has cleared since.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// Number of the expiry, from 1.
    number: u32,
    from: i64,
    to: i64,
}

/// The sender's knowledge.
#[derive(Debug)]
pub(super) struct View {
    policy: &'static SctpPolicy,
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
    pub(super) shortest_timer: Option<Duration>,
    /// How often this many strikes (by index) had something sent again when no timer could have.
    thresholds: [u32; 8],
    /// SACKs on their way to the sender.
    coming: VecDeque<Report>,
    /// Bytes that these take.
    coming_bytes: usize,
    /// SACKs that too many came after.
    pub(super) hurried: u64,
    marks: Marks,
    /// Times of the last SACKs that were seen, the latest last.
    recent: VecDeque<Instant>,
}

impl View {
    /// One that knows of nothing.
    pub(super) fn new(policy: &'static SctpPolicy) -> Self {
        Self {
            policy,
            una: UNKNOWN,
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
            coming_bytes: 0,
            hurried: 0,
            marks: Marks::default(),
            recent: VecDeque::new(),
        }
    }

    /// A SACK was seen that the sender will know of `sender_loop` later.
    pub(super) fn take(&mut self, mut report: Report, sender_loop: Duration, board: &mut Board) {
        if sender_loop.is_zero() && self.coming.is_empty() {
            self.apply(&report, board);
        } else {
            if self.coming.len() == UNDER_WAY {
                self.hurried += 1;
                self.arrive(board);
            }
            report.due += sender_loop;
            report.gaps.shrink_to_fit();
            self.coming_bytes += report.heap();
            self.coming.push_back(report);
        }
    }

    /// Lets the sender know what it can know at `now`, when it is seen to have sent the TSNs `again`.
    ///
    /// No sender repeats what it knows to have arrived, so a SACK that acknowledges one of them is late, or was lost
    /// past the place of the capture.
    pub(super) fn catch_up(&mut self, now: Instant, again: &[i64], board: &mut Board) {
        while let Some(report) = self.coming.front().filter(|report| report.due <= now) {
            let late = now.saturating_since(report.due) < self.policy.prompt.latest;
            if late && again.iter().any(|tsn| report.acknowledges(*tsn) && !board.is_known(*tsn)) {
                return;
            }
            self.arrive(board);
        }
    }

    /// The first SACK that is on its way arrives.
    fn arrive(&mut self, board: &mut Board) {
        let Some(report) = self.coming.pop_front() else { return };
        self.coming_bytes -= report.heap();
        self.apply(&report, board);
    }

    /// What is sent again was not known to have arrived: SACKs that said so came late, or were lost past the place of
    /// the capture. `near`: no delay lies between, so that it stands as an error of the sender.
    pub(super) fn unlearn(&mut self, again: &[i64], near: bool, board: &mut Board, work: &mut Work) {
        let Some(&lowest) = again.iter().find(|tsn| board.is_known(**tsn)) else { return };
        self.behind = true;
        if near {
            return;
        }
        self.una = self.una.min(lowest);
        let end = board.end();
        if board.any_known() && work.spend(board.count(lowest, end)) {
            let forgotten = board.range(lowest, end).map(|(_, entry)| u64::from(self.forget(entry))).sum();
            board.known_changed(0, forgotten);
        }
    }

    /// T3 expired: what is outstanding from `lead` on to before `end` is marked, except `again`, which was sent again.
    pub(super) fn mark(&mut self, lead: i64, end: i64, again: &[i64], board: &mut Board) {
        let number = self.marks.number + 1;
        self.marks = Marks { number, from: lead.max(self.una), to: end };
        for tsn in again {
            if let Some(entry) = board.get(*tsn) {
                entry.cleared = number;
            }
        }
    }

    /// True if T3 expired while `tsn` was outstanding, and it was not sent again since.
    pub(super) fn is_marked(&self, tsn: i64, entry: &Entry) -> bool {
        let Marks { number, from, to } = self.marks;
        number > 0 && (from..to).contains(&tsn) && entry.cleared != number && !entry.known
    }

    /// It is no longer marked.
    pub(super) fn clear(&self, entry: &mut Entry) {
        entry.cleared = self.marks.number;
    }

    /// Number of the last expiry of T3.
    pub(super) fn expiry(&self) -> u32 {
        self.marks.number
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.coming_bytes + self.coming.capacity().saturating_sub(self.coming.len()) * size_of::<Report>()
    }

    /// It is not known to have arrived, true if it was; an expiry in the meantime did not mark it then.
    fn forget(&self, entry: &mut Entry) -> bool {
        let known = std::mem::take(&mut entry.known);
        if known {
            self.clear(entry);
        }
        known
    }

    /// SACKs within `span` before `now`, as far as their times are kept.
    pub(super) fn sacks_within(&self, now: Instant, span: Duration) -> u64 {
        self.recent.iter().filter(|time| now.saturating_since(**time) <= span).count() as u64
    }

    /// Strikes that this sender takes to send again: what it was seen to take, otherwise the standard's number.
    pub(super) fn threshold(&self) -> u32 {
        self.learned().unwrap_or(self.policy.prompt.reports as u32)
    }

    /// What it was seen to take.
    pub(super) fn learned(&self) -> Option<u32> {
        let (strikes, count) = self.thresholds.iter().enumerate().max_by_key(|(_, count)| **count)?;
        (*count > 0).then_some(strikes as u32)
    }

    /// This many strikes had something sent again, and no timer can have.
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
        let (mut more, mut fewer) = (0, 0);
        let expiry = self.marks.number;
        let mut learn = |tsn: i64, entry: &mut Entry| {
            if !entry.known {
                entry.known = true;
                more += 1;
                entry.cleared = expiry;
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
            // The first SACK may acknowledge nothing yet.
            if self.una != UNKNOWN || report.una > board.base() {
                self.advanced = Some(report.due);
            }
            self.una = report.una;
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
                    entry.cleared = expiry;
                    fewer += 1;
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
        board.known_changed(more, fewer);
    }
}

/// Stands for the cumulative TSN before the first SACK: below any other.
const UNKNOWN: i64 = i64::MIN / 4;
/// This many times of SACKs are kept.
const RECENT: usize = 8;
