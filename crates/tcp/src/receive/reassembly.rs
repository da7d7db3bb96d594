//! Data that arrived out of order, as ranges of sequence numbers.
//!
//! Neighbouring segments are joined, so that a long run behind one hole costs one range; how many segments
//! a range is made of is kept for systems that limit their number (FB-ACK-8).

use std::collections::VecDeque;

use rexmit_wire::SeqNumber;

#[derive(Clone, Copy, Debug)]
struct Range {
    start: SeqNumber,
    end: SeqNumber,
    segments: u32,
}

/// The queue of a connection, in order and disjoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    ranges: VecDeque<Range>,
    segments: u32,
    /// Sequence number of a FIN that waits behind a hole.
    fin: Option<SeqNumber>,
}

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inserted {
    /// rcv_nxt may advance to this.
    pub next: SeqNumber,
    /// The FIN at `next` has been reached.
    pub fin: bool,
    /// Some of the segment's bytes were new.
    pub fresh: bool,
}

impl Reassembly {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.fin.is_none()
    }

    /// A FIN at `end` waits already.
    pub fn holds_fin(&self, end: SeqNumber) -> bool {
        self.fin == Some(end)
    }

    /// Segments kept.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Bytes kept.
    #[cfg(test)]
    pub fn bytes(&self) -> u32 {
        self.ranges.iter().map(|r| r.end.diff(r.start) as u32).sum()
    }

    /// True if `[start, end)` waits here; a FIN takes the last number of it.
    pub fn holds(&self, start: SeqNumber, end: SeqNumber) -> bool {
        let range = self.ranges.iter().find(|r| r.start <= start && start < r.end);
        let to = range.map_or(start, |r| r.end);
        to >= end || (self.fin == Some(to) && to + 1 == end)
    }

    /// Adds `[start, end)` and perhaps a FIN at `end`; `nxt` is rcv_nxt, and `start >= nxt`.
    pub fn insert(&mut self, start: SeqNumber, end: SeqNumber, fin: bool, nxt: SeqNumber) -> Inserted {
        if fin {
            self.fin = Some(end);
        }
        let fresh = self.merge(start, end);
        let mut next = nxt;
        while let Some(first) = self.ranges.front() {
            if first.start > next {
                break;
            }
            next = next.max(first.end);
            self.segments -= first.segments;
            self.ranges.pop_front();
        }
        let fin = self.fin == Some(next);
        if fin {
            self.fin = None;
        }
        if self.ranges.is_empty() && self.ranges.capacity() > 16 {
            self.ranges.shrink_to_fit();
        }
        Inserted { next, fin, fresh }
    }

    /// Drops what lies beyond `end`, or everything.
    pub fn cut(&mut self, end: Option<SeqNumber>) {
        self.fin = self.fin.filter(|fin| end.is_some_and(|end| *fin <= end));
        let Some(end) = end else {
            (self.segments, self.ranges) = (0, VecDeque::new());
            return;
        };
        while let Some(last) = self.ranges.back_mut().filter(|last| last.end > end) {
            if last.start < end {
                last.end = end;
                break;
            }
            self.segments -= last.segments;
            self.ranges.pop_back();
        }
    }

    /// Joins the range with those that it touches; true if any byte was new.
    fn merge(&mut self, start: SeqNumber, end: SeqNumber) -> bool {
        if start == end {
            return false;
        }
        // The newest data mostly lie at the end: look there first, then by halves.
        let mut hi = self.ranges.len();
        if hi > 0 && self.ranges[hi - 1].start > end {
            hi = self.ranges.partition_point(|r| r.start <= end);
        }
        let mut lo = hi;
        while lo > 0 && self.ranges[lo - 1].end >= start {
            lo -= 1;
        }
        if lo == hi {
            self.ranges.insert(lo, Range { start, end, segments: 1 });
            self.segments += 1;
            return true;
        }
        let fresh = !(hi - lo == 1 && self.ranges[lo].start <= start && end <= self.ranges[lo].end);
        let last_end = self.ranges[hi - 1].end;
        let extra: u32 = self.ranges.range(lo + 1..hi).map(|r| r.segments).sum();
        let kept = &mut self.ranges[lo];
        kept.start = kept.start.min(start);
        kept.end = last_end.max(end);
        kept.segments += extra;
        if fresh {
            kept.segments += 1;
            self.segments += 1;
        }
        self.ranges.drain(lo + 1..hi);
        fresh
    }
}
