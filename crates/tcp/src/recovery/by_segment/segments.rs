//! Segments that are out, one by one: when each left, and what is known of it (RFC 8985 section 5.2).
//!
//! Neighbours that were reported become one entry, so that an ACK costs the holes and not the window. Totals are kept
//! as entries change.

use std::collections::VecDeque;

use rexmit_units::Instant;
use rexmit_wire::{SackBlocks, SeqNumber};

/// `[start, end)` is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub start: SeqNumber,
    pub end: SeqNumber,
    /// When it left last (Segment.xmit_ts).
    pub at: Instant,
    /// This many segments, where several that were reported are one entry.
    count: u32,
    /// Reported by SACK.
    pub sacked: bool,
    /// Believed to be lost, and not sent again since (Segment.lost).
    pub lost: bool,
    /// It has left more than once (Segment.retransmitted).
    pub resent: bool,
}

impl Segment {
    fn len(&self) -> u32 {
        self.end.diff(self.start) as u32
    }
}

/// All that is out, in the order of sequence numbers and without a gap.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    list: VecDeque<Segment>,
    /// Those of which the last acknowledgment told, as they were before it, each once.
    pub arrived: Vec<Segment>,
    bytes: u32,
    sacked: u32,
    sacked_segments: u32,
    lost: u32,
    /// Nothing at or above this has left more than once.
    resent_below: SeqNumber,
    /// Nothing below this is lost and waits to leave again.
    next_lost: SeqNumber,
}

impl Segments {
    /// Bytes reported by SACK.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Segments reported by SACK (RACK.segs_sacked).
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Bytes believed to be in the network (pipe of RFC 6675, with RFC 8985's losses): not reported, and not lost.
    pub fn in_flight(&self) -> u32 {
        self.bytes - self.sacked - self.lost
    }

    /// Entries from the oldest on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.list.iter()
    }

    /// Nothing is reported and nothing has been sent again: no segment can have been overtaken.
    pub fn is_plain(&self) -> bool {
        self.sacked == 0 && self.list.front().is_none_or(|first| first.start >= self.resent_below)
    }

    /// One past the highest byte that is reported.
    pub fn highest_report(&self) -> Option<SeqNumber> {
        self.list.iter().rev().find(|s| s.sacked).map(|s| s.end)
    }

    /// Below this all that is not reported is lost by RFC 6675's IsLost: `threshold` separate ranges or more than
    /// (`threshold` - 1) `mss` bytes are reported above it.
    pub fn lost_below(&self, threshold: u32, mss: u32) -> Option<SeqNumber> {
        let (mut ranges, mut bytes) = (0, 0);
        if self.sacked == 0 {
            return None;
        }
        let found = self.list.iter().rev().filter(|s| s.sacked).find(|s| {
            (ranges, bytes) = (ranges + 1, bytes + s.len());
            ranges >= threshold || bytes > (threshold - 1) * mss
        });
        found.map(|s| s.start)
    }

    /// `[start, end)` leaves, for the first time or again.
    pub fn note(&mut self, start: SeqNumber, end: SeqNumber, at: Instant) {
        if self.list.is_empty() {
            (self.resent_below, self.next_lost) = (start, start);
        }
        let known = self.list.back().map_or(start, |last| last.end);
        if start < known {
            self.resend(start, end.min(known), at);
        }
        if known < end {
            let start = start.max(known);
            let segment = Segment { start, end, at, count: 1, sacked: false, lost: false, resent: false };
            self.bytes += segment.len();
            self.list.push_back(segment);
        }
    }

    /// What of `[start, end)` has not been reported leaves again.
    fn resend(&mut self, start: SeqNumber, end: SeqNumber, at: Instant) {
        let mut i = self.list.partition_point(|s| s.end <= start);
        while i < self.list.len() && self.list[i].start < end {
            if !self.list[i].sacked {
                i = self.split(i, start, end);
                let segment = &mut self.list[i];
                let len = segment.len();
                let was_lost = std::mem::take(&mut segment.lost);
                (segment.at, segment.resent) = (at, true);
                self.lost -= if was_lost { len } else { 0 };
            }
            i += 1;
        }
        self.resent_below = self.resent_below.max(end);
    }

    /// Cuts the entry at `i` to what of it lies within `[start, end)`; the rest stays beside it. Returns where it is.
    fn split(&mut self, mut i: usize, start: SeqNumber, end: SeqNumber) -> usize {
        let whole = self.list[i];
        if whole.start < start {
            self.list[i].start = start;
            self.list.insert(i, Segment { end: start, ..whole });
            i += 1;
        }
        if whole.end > end {
            self.list[i].end = end;
            self.list.insert(i + 1, Segment { start: end, ..whole });
        }
        i
    }

    /// Takes an acknowledgment: all before `ack` has arrived, and what the blocks report. Blocks are taken in the order
    /// of sequence numbers, whatever their order in the option.
    pub fn take(&mut self, una: SeqNumber, ack: SeqNumber, sack: &SackBlocks, max: SeqNumber) {
        self.arrived.clear();
        if ack > una {
            self.acknowledge(ack);
        }
        let mut blocks = [(SeqNumber(0), SeqNumber(0)); 4];
        let mut n = 0;
        for &(left, right) in sack.as_slice() {
            if right > left && left > una && left > ack && right <= max {
                blocks[n] = (left, right);
                n += 1;
            }
        }
        blocks[..n].sort_unstable_by(|a, b| a.0.diff(b.0).cmp(&0));
        for &(left, right) in &blocks[..n] {
            self.report(left, right);
        }
    }

    fn acknowledge(&mut self, ack: SeqNumber) {
        while let Some(first) = self.list.front_mut() {
            if first.start >= ack {
                break;
            }
            let arrived = first.end.min(ack).diff(first.start) as u32;
            self.bytes -= arrived;
            self.sacked -= if first.sacked { arrived } else { 0 };
            self.lost -= if first.lost { arrived } else { 0 };
            if first.end > ack {
                first.start = ack;
                break;
            }
            if first.sacked {
                self.sacked_segments -= first.count;
            } else {
                self.arrived.push(*first);
            }
            self.list.pop_front();
        }
        // Kept near, or they would seem to lie ahead after 2 GiB.
        self.resent_below = self.resent_below.max(ack);
        self.next_lost = self.next_lost.max(ack);
    }

    /// `[left, right)` has arrived.
    fn report(&mut self, left: SeqNumber, right: SeqNumber) {
        let mut i = self.list.partition_point(|s| s.end <= left);
        while i < self.list.len() && self.list[i].start < right {
            if !self.list[i].sacked {
                i = self.split(i, left, right);
                let segment = &mut self.list[i];
                self.arrived.push(*segment);
                let len = segment.len();
                let was_lost = std::mem::take(&mut segment.lost);
                segment.sacked = true;
                self.lost -= if was_lost { len } else { 0 };
                self.sacked += len;
                self.sacked_segments += segment.count;
                i = self.join(i);
            }
            i += 1;
        }
    }

    /// The entry at `i` and its neighbours become one where all are reported. Returns where it is.
    fn join(&mut self, mut i: usize) -> usize {
        if self.list.get(i + 1).is_some_and(|next| next.sacked) {
            let next = self.list.remove(i + 1).unwrap_or(self.list[i]);
            self.list[i].end = next.end;
            self.list[i].count += next.count;
        }
        if i > 0 && self.list[i - 1].sacked {
            let this = self.list.remove(i).unwrap_or(self.list[i - 1]);
            i -= 1;
            self.list[i].end = this.end;
            self.list[i].count += this.count;
        }
        i
    }

    /// Goes over all that has not been reported, from the oldest on, until `look` has seen enough; what it says is lost
    /// is marked. Returns whether anything is newly lost, and whether that was a retransmission.
    pub fn mark(&mut self, mut look: impl FnMut(&Segment, bool) -> Verdict) -> Marked {
        let mut marked = Marked::default();
        for segment in &mut self.list {
            if segment.sacked {
                continue;
            }
            match look(segment, segment.start >= self.resent_below) {
                Verdict::Enough => break,
                Verdict::Lost if !segment.lost => {
                    marked.some = true;
                    if segment.resent {
                        marked.retransmission = marked.retransmission.max(Some(segment.at));
                    }
                    segment.lost = true;
                    self.lost += segment.len();
                    self.next_lost = self.next_lost.min(segment.start);
                }
                Verdict::Lost | Verdict::Keep => {}
            }
        }
        marked
    }

    /// Nothing counts as lost any more.
    pub fn forgive(&mut self) {
        self.list.iter_mut().for_each(|s| s.lost = false);
        self.lost = 0;
    }

    /// Every report is forgotten (RFC 2018 section 8).
    pub fn forget_reports(&mut self) {
        self.list.iter_mut().for_each(|s| s.sacked = false);
        (self.sacked, self.sacked_segments) = (0, 0);
    }

    /// The oldest that is lost and waits to leave again.
    pub fn first_lost(&mut self) -> Option<Segment> {
        if self.lost == 0 {
            return None;
        }
        let i = self.list.partition_point(|s| s.end <= self.next_lost);
        let found = self.list.range(i..).find(|s| s.lost).copied();
        self.next_lost = found.map_or(self.next_lost, |s| s.start);
        found
    }

    /// The entry that holds una, if it has not been reported.
    pub fn head(&self) -> Option<Segment> {
        self.list.front().copied().filter(|s| !s.sacked)
    }

    /// From `nxt` past what has been reported.
    pub fn skip_sacked(&self, nxt: SeqNumber) -> SeqNumber {
        let i = self.list.partition_point(|s| s.end <= nxt);
        self.list.get(i).filter(|s| s.sacked && s.start <= nxt).map_or(nxt, |s| s.end)
    }
}

/// What is made of a segment.
pub(super) enum Verdict {
    /// It is lost.
    Lost,
    /// It stays as it is.
    Keep,
    /// So does all that follows.
    Enough,
}

/// What has been marked as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked {
    /// Something.
    pub some: bool,
    /// When the latest of the retransmissions among it left.
    pub retransmission: Option<Instant>,
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
