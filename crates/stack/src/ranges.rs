//! Which numbers of a sequence there are: bytes that have arrived, or are acknowledged.

use std::collections::BTreeMap;

/// Numbers from 0: all before [`Self::until`], and pieces after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    until: u64,
    /// Where each piece begins, and ends.
    behind: BTreeMap<u64, u64>,
}

impl Ranges {
    /// The first number that is missing.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// Adds `from` to `end`, the end excluded.
    pub fn add(&mut self, mut from: u64, mut end: u64) {
        if end <= self.until {
            return;
        }
        let touched: Vec<u64> =
            self.behind.range(..=end).filter(|(_, other)| **other >= from).map(|(start, _)| *start).collect();
        for start in touched {
            let other = self.behind.remove(&start).unwrap_or(start);
            (from, end) = (from.min(start), end.max(other));
        }
        if from <= self.until {
            self.until = end;
        } else {
            self.behind.insert(from, end);
        }
    }

    /// True if all from `from` to `end` are there.
    pub fn has(&self, from: u64, end: u64) -> bool {
        end <= self.until || self.behind.range(..=from).next_back().is_some_and(|(_, until)| *until >= end)
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.until + self.behind.iter().map(|(from, end)| end - from).sum::<u64>()
    }
}
