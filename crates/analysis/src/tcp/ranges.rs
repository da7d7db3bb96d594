//! Ranges of sequence space.

use std::ops::Range;

use crate::limits::RANGES;

/// Ranges that do not touch, in order. Few, so that a vector serves: a receiver holds as many as it has holes.
/// There are no more than [`RANGES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ranges: Vec<Range<i64>>,
    /// How many were left out.
    pub(super) left_out: u64,
}

impl Ranges {
    /// One past the highest number, if there is any.
    pub(super) fn highest(&self) -> Option<i64> {
        self.ranges.last().map(|range| range.end)
    }

    /// Adds `new` and calls `fresh` for each part of it that was not there. Where there are too many, it is left out
    /// unless it touches another.
    pub(super) fn add(&mut self, new: Range<i64>, mut fresh: impl FnMut(Range<i64>)) {
        if new.is_empty() {
            return;
        }
        // The ranges that overlap or touch it.
        let first = self.ranges.partition_point(|range| range.end < new.start);
        if self.ranges.len() >= RANGES && self.ranges.get(first).is_none_or(|next| next.start > new.end) {
            self.left_out += 1;
            return;
        }
        let mut after = first;
        let mut at = new.start;
        let mut whole = new.clone();
        while let Some(range) = self.ranges.get(after).filter(|range| range.start <= new.end) {
            if at < range.start {
                fresh(at..range.start);
            }
            at = at.max(range.end);
            whole = whole.start.min(range.start)..whole.end.max(range.end);
            after += 1;
        }
        if at < new.end {
            fresh(at..new.end);
        }
        if after == first + 1 {
            self.ranges[first] = whole;
        } else {
            self.ranges.splice(first..after, [whole]);
        }
    }

    /// Forgets all below `edge`; returns how many bytes that were.
    pub(super) fn trim(&mut self, edge: i64) -> i64 {
        let mut gone = 0;
        let below = self.ranges.partition_point(|range| range.end <= edge);
        for range in self.ranges.drain(..below) {
            gone += range.end - range.start;
        }
        if let Some(range) = self.ranges.first_mut().filter(|range| range.start < edge) {
            gone += edge - range.start;
            range.start = edge;
        }
        gone
    }

    /// The range that holds `at`.
    pub(super) fn around(&self, at: i64) -> Option<&Range<i64>> {
        let index = self.ranges.partition_point(|range| range.end <= at);
        self.ranges.get(index).filter(|range| range.start <= at)
    }

    /// True if all of `range` is there.
    pub(super) fn covers(&self, range: &Range<i64>) -> bool {
        self.around(range.start).is_some_and(|found| range.end <= found.end)
    }

    /// Bytes above `edge`.
    pub(super) fn bytes_above(&self, edge: i64) -> i64 {
        self.ranges.iter().rev().take_while(|range| range.end > edge).map(|r| r.end - r.start.max(edge)).sum()
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        self.ranges.capacity() * size_of::<Range<i64>>()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests;
