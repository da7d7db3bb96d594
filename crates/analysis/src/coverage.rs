//! How often each part of the sequence space has been seen.

use std::collections::BTreeMap;

/// Ranges of sequence space with the number of times each was seen. Neighbours with the same number are one
/// range, so that the map stays as small as the number of holes and repetitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    /// Start to (end, count); ranges do not overlap, none is empty.
    ranges: BTreeMap<i64, (i64, u32)>,
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// How often the most repeated part had been seen before.
    pub(crate) before: u32,
    /// True if a part had not been seen before.
    pub(crate) any_new: bool,
}

impl Coverage {
    /// One past the highest number seen, if any was.
    pub(crate) fn highest(&self) -> Option<i64> {
        self.ranges.last_key_value().map(|(_, &(end, _))| end)
    }

    /// Counts `start..end` (not empty) once more.
    pub(crate) fn add(&mut self, start: i64, end: i64) -> Seen {
        debug_assert!(start < end, "empty range");
        if let Some(mut last) = self.ranges.last_entry()
            && *last.get() == (start, 1)
        {
            last.get_mut().0 = end;
            return Seen { before: 0, any_new: true };
        }
        self.split_at(start);
        self.split_at(end);
        let mut before = 0;
        let mut at = start;
        let mut gaps = Vec::new();
        for (&from, (to, count)) in self.ranges.range_mut(start..end) {
            if at < from {
                gaps.push((at, from));
            }
            before = before.max(*count);
            *count += 1;
            at = *to;
        }
        if at < end {
            gaps.push((at, end));
        }
        for &(from, to) in &gaps {
            self.ranges.insert(from, (to, 1));
        }
        self.merge(start, end);
        Seen { before, any_new: !gaps.is_empty() }
    }

    /// Makes `at` a border between ranges where a range lies across it.
    fn split_at(&mut self, at: i64) {
        let Some((_, range)) = self.ranges.range_mut(..at).next_back() else { return };
        let (end, count) = *range;
        if end > at {
            range.0 = at;
            self.ranges.insert(at, (end, count));
        }
    }

    /// Joins equal neighbours from the range before `start` to the one at `end`.
    fn merge(&mut self, start: i64, end: i64) {
        let first = self.ranges.range(..start).next_back().map_or(start, |(&from, _)| from);
        let touched: Vec<_> = self.ranges.range(first..=end).map(|(&from, &range)| (from, range)).collect();
        let mut kept: Option<(i64, (i64, u32))> = None;
        for (from, (to, count)) in touched {
            match kept {
                Some((left, (right, same))) if right == from && same == count => {
                    self.ranges.remove(&from);
                    self.ranges.insert(left, (to, count));
                    kept = Some((left, (to, count)));
                }
                _ => kept = Some((from, (to, count))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn data_in_order_is_one_range() {
        let mut seen = Coverage::default();
        for i in 0..1000 {
            assert_eq!(seen.add(i * 10, i * 10 + 10), Seen { before: 0, any_new: true });
        }
        assert_eq!(seen.ranges.len(), 1);
        assert_eq!(seen.highest(), Some(10_000));
    }

    #[test]
    fn a_hole_filled_is_one_range_again() {
        let mut seen = Coverage::default();
        seen.add(0, 10);
        seen.add(20, 30);
        assert_eq!(seen.ranges.len(), 2);
        assert_eq!(seen.add(10, 20), Seen { before: 0, any_new: true });
        assert_eq!(seen.ranges.len(), 1);
    }

    proptest! {
        #[test]
        fn agrees_with_a_count_for_each_number(adds in prop::collection::vec((0_i64..60, 1_i64..20), 1..40)) {
            let mut seen = Coverage::default();
            let mut counts = [0_u32; 80];
            for (start, len) in adds {
                let part = &mut counts[start as usize..(start + len) as usize];
                let expected = Seen {
                    before: part.iter().copied().max().unwrap_or(0),
                    any_new: part.contains(&0),
                };
                part.iter_mut().for_each(|count| *count += 1);
                prop_assert_eq!(seen.add(start, start + len), expected);
                let stored: Vec<_> = seen.ranges.iter().map(|(&from, &range)| (from, range)).collect();
                for pair in stored.windows(2) {
                    let ((_, (end, count)), (next, (_, next_count))) = (pair[0], pair[1]);
                    prop_assert!(end < next || (end == next && count != next_count));
                }
                for (at, &count) in counts.iter().enumerate() {
                    let at = at as i64;
                    let here = stored.iter().find(|(from, (to, _))| (*from..*to).contains(&at));
                    prop_assert_eq!(here.map_or(0, |(_, (_, count))| *count), count);
                }
            }
        }
    }
}
