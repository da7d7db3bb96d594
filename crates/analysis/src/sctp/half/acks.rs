//! How DATA is acknowledged: what a SACK says, times, and whether retransmissions were needed.

use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::Sack;

use super::super::board::Entry;
use super::super::data::{Out, give};
use super::super::rows::SctpSideRow;
use super::super::view::Report;
use super::{FARTHEST, Half};

impl Half {
    /// The receiver sent a SACK at `time`. Gives the RTT sample that this makes.
    pub(in crate::sctp) fn sack(
        &mut self,
        time: Instant,
        sack: &Sack<'_>,
        sender_loop: Option<Duration>,
        out: &mut Out<'_>,
    ) -> Option<Sample> {
        self.initial?;
        let una = self.unwrap(sack.cumulative()) + 1;
        // Blocks as they stand, which sctp_trace takes in that order.
        let gaps: Vec<(i64, i64)> = sack
            .gaps()
            .filter(|gap| gap.start > 0 && gap.start <= gap.end)
            .map(|gap| (una - 1 + i64::from(gap.start), una + i64::from(gap.end)))
            .collect();
        let reported = self.reported(una, &gaps);
        // What it acknowledges and was not seen is known to exist; farther than any window, it is not of this.
        let end = gaps.iter().map(|gap| gap.1).max().unwrap_or(una).max(una);
        let is_near = (end - self.board.end()).abs() <= FARTHEST;
        let board = &self.board;
        let moved = board.count(self.una, una) + board.count(self.view.una, una);
        // Blocks and the holes between them are looked at as they are seen here, and as the sender sees them.
        let steps = reported + if is_near { moved + 2 * board.count(una, end) } else { 0 };
        if !self.work.spend(steps) {
            self.give_up(end, out);
        }
        self.count_reports(una, &gaps);
        if !is_near {
            return None;
        }
        let gaps = in_order(gaps);
        self.extend(end, time, out);
        let sample = if una >= self.una { self.acknowledge(una, &gaps, time, out) } else { None };
        let early = self.early();
        for tsn in sack.duplicates() {
            let tsn = self.unwrap(tsn);
            let last = self.board.get(tsn).and_then(|entry| entry.row);
            self.pending.duplicate(last, time, early, &mut self.work);
        }
        let report = Report { due: time, una, gaps, window: sack.window() };
        self.view.take(report, sender_loop.unwrap_or_default(), &mut self.board);
        let keep = self.una.min(self.view.una).saturating_sub(KEPT);
        self.board.forget(keep);
        let whole = self.clock.min().unwrap_or_default() + sender_loop.unwrap_or_default();
        let need = &self.policy.need;
        let grace = (whole * need.grace_rtts).max(need.grace);
        self.pending.leave(Some((time, grace)), |row| give(row, out));
        sample
    }

    /// Within that, no answer is to a retransmission.
    fn early(&self) -> Option<Duration> {
        self.clock.min().map(|shortest| self.policy.need.early_share.of(shortest))
    }

    /// The sender gave up all up to `cumulative` (FORWARD-TSN).
    pub(in crate::sctp) fn forward(&mut self, cumulative: u32, row: &mut SctpSideRow) {
        if self.initial.is_none() {
            return;
        }
        let end = self.unwrap(cumulative) + 1;
        if !self.work.spend(self.board.count(self.una, end)) {
            self.given_up += 1;
            return;
        }
        for (_, entry) in self.board.range(self.una, end) {
            if entry.acked.is_none() && !entry.abandoned {
                entry.abandoned = true;
                row.abandoned_chunks += 1;
            }
        }
    }

    /// Steps that [`Self::count_reports`] takes.
    fn reported(&self, una: i64, gaps: &[(i64, i64)]) -> u64 {
        let mut from = una;
        gaps.iter().map(|(_, end)| self.board.count(std::mem::replace(&mut from, *end), end - 1)).sum()
    }

    /// Counts as sctp_trace does: see [`crate::sctp::trace`].
    fn count_reports(&mut self, una: i64, gaps: &[(i64, i64)]) {
        let mut from = una;
        for (_, end) in gaps {
            self.board.range(from, end - 1).for_each(|(_, entry)| entry.trace += 1);
            from = *end;
        }
    }

    fn acknowledge(
        &mut self,
        una: i64,
        gaps: &[(i64, i64)],
        time: Instant,
        out: &mut Out<'_>,
    ) -> Option<Sample> {
        let (mut new, early) = (Newly::default(), self.early());
        for (tsn, entry) in self.board.range(self.una, una) {
            if entry.acked.is_none() {
                new.take(tsn, entry, time);
                self.pending.acked(entry.row, time, early, &mut self.work);
            }
            out.row.acked_bytes += u64::from(entry.len);
            out.row.unseen_chunks += u64::from(entry.transmissions == 0);
            entry.in_gap = false;
        }
        if una > self.una {
            out.row.last_acked = Some(time);
        }
        self.una = una;
        for (start, end) in gaps {
            for (tsn, entry) in self.board.range(*start, *end) {
                if entry.acked.is_none() {
                    new.take(tsn, entry, time);
                    self.pending.acked(entry.row, time, early, &mut self.work);
                }
                entry.in_gap = true;
            }
        }
        let mut hole = una;
        for (start, end) in gaps {
            for (_, entry) in self.board.range(hole, *start) {
                entry.told += 1;
                if std::mem::take(&mut entry.in_gap) {
                    entry.acked = None;
                    new.reneged += 1;
                    new.back += u64::from(entry.len);
                }
            }
            hole = *end;
        }
        self.outstanding = (self.outstanding + new.back).saturating_sub(new.bytes);
        self.chunks_outstanding = (self.chunks_outstanding + new.reneged).saturating_sub(new.seen);
        out.row.reneged += u64::from(new.reneged > 0);
        let sample = self.time(&new, gaps.is_empty(), time);
        self.gap_open = !gaps.is_empty();
        sample
    }

    /// Takes the samples of a SACK that acknowledged `new`.
    fn time(&mut self, new: &Newly, in_order: bool, time: Instant) -> Option<Sample> {
        if new.packets > 0 {
            self.sacked.packets += new.packets;
            self.sacked.sacks += 1;
        }
        let (tsn, sent) = new.highest.filter(|_| !new.ambiguous)?;
        let rtt = time.saturating_since(sent);
        self.clock.data(rtt);
        if new.packets == 1 && in_order && !self.gap_open {
            self.sack_delay.add(rtt.as_nanos());
        }
        Some(Sample { rtt, path: new.path, tsn })
    }
}

/// An RTT sample of DATA.
#[derive(Clone, Copy, Debug)]
pub(in crate::sctp) struct Sample {
    pub(in crate::sctp) rtt: Duration,
    /// Number of the path that the chunk took.
    pub(in crate::sctp) path: u32,
    pub(in crate::sctp) tsn: i64,
}

/// What a SACK acknowledges for the first time.
#[derive(Default)]
struct Newly {
    /// The highest TSN, and when it was sent.
    highest: Option<(i64, Instant)>,
    path: u32,
    /// One of them was sent twice or not seen: which transmission arrived cannot be told.
    ambiguous: bool,
    bytes: u64,
    seen: u64,
    packets: u64,
    last_number: u64,
    reneged: u64,
    back: u64,
}

impl Newly {
    fn take(&mut self, tsn: i64, entry: &mut Entry, time: Instant) {
        entry.acked = Some(time);
        if entry.transmissions == 0 {
            self.ambiguous = true;
            return;
        }
        self.ambiguous |= entry.transmissions > 1;
        self.bytes += u64::from(entry.len);
        self.seen += 1;
        if entry.last_number != self.last_number {
            self.packets += 1;
            self.last_number = entry.last_number;
        }
        if self.highest.is_none_or(|(highest, _)| tsn > highest) {
            self.highest = Some((tsn, entry.last));
            self.path = entry.path;
        }
    }
}

/// Blocks in order, none touching another.
fn in_order(mut gaps: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    gaps.sort_unstable();
    gaps.dedup_by(|next, before| {
        let touch = next.0 <= before.1;
        if touch {
            before.1 = before.1.max(next.1);
        }
        touch
    });
    gaps
}

/// This many TSNs below the cumulative one are kept, for chunks that are sent again although they arrived.
const KEPT: i64 = 256;
