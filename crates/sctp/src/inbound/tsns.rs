//! Which TSNs have come (RFC 9260 section 6.2).

use rexmit_wire::sctp::Gap;

/// TSNs, counted without end from the first 2^32 on, so that the low 32 bits are those of the packet.
#[derive(Clone, Debug)]
pub(crate) struct Tsns {
    /// All up to here have come.
    pub cumulative: u64,
    /// What has come beyond: ascending, apart, ends included.
    ranges: Vec<(u64, u64)>,
    /// TSNs that came again since the last SACK.
    pub duplicates: Vec<u32>,
}

/// What a TSN is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It has come for the first time.
    New,
    /// It came before.
    Again,
    /// No gap block could report it.
    TooFar,
}

/// Gap blocks reach this far beyond the cumulative TSN.
const REACH: u64 = u16::MAX as u64;
/// Duplicates beyond these are not reported.
const MOST_DUPLICATES: usize = 32;

impl Tsns {
    pub fn new(initial_tsn: u32) -> Self {
        let cumulative = (1 << 32) + u64::from(initial_tsn) - 1;
        Self { cumulative, ranges: Vec::new(), duplicates: Vec::new() }
    }

    /// A packet's TSN, counted without end.
    #[inline]
    pub fn unwrap(&self, tsn: u32) -> u64 {
        let ahead = tsn.wrapping_sub(self.cumulative as u32) as i32;
        self.cumulative.saturating_add_signed(ahead.into())
    }

    /// What `tsn` is; nothing changes.
    #[inline]
    pub fn look(&self, tsn: u64) -> Seen {
        if tsn <= self.cumulative || self.range_of(tsn).is_ok() {
            Seen::Again
        } else if tsn - self.cumulative > REACH {
            Seen::TooFar
        } else {
            Seen::New
        }
    }

    /// `tsn` came again.
    pub fn note_duplicate(&mut self, tsn: u32) {
        if self.duplicates.len() < MOST_DUPLICATES {
            self.duplicates.push(tsn);
        }
    }

    /// The index of the range that holds `tsn`, or of the first one beyond it.
    fn range_of(&self, tsn: u64) -> Result<usize, usize> {
        let at = self.ranges.partition_point(|(_, end)| *end < tsn);
        match self.ranges.get(at) {
            Some((start, _)) if *start <= tsn => Ok(at),
            _ => Err(at),
        }
    }

    /// Takes a TSN that is [`Seen::New`].
    #[inline]
    pub fn take(&mut self, tsn: u64) {
        if tsn == self.cumulative + 1 {
            self.cumulative = tsn;
            if !self.ranges.is_empty() {
                self.swallow();
            }
            return;
        }
        let Err(at) = self.range_of(tsn) else { return };
        let joins_before = at > 0 && self.ranges[at - 1].1 + 1 == tsn;
        let joins_after = self.ranges.get(at).is_some_and(|(start, _)| *start == tsn + 1);
        match (joins_before, joins_after) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = tsn,
            (false, true) => self.ranges[at].0 = tsn,
            (false, false) => self.ranges.insert(at, (tsn, tsn)),
        }
    }

    /// All up to `tsn` count as come (RFC 3758 section 3.6).
    pub fn forward(&mut self, tsn: u64) {
        self.cumulative = self.cumulative.max(tsn);
        self.swallow();
    }

    /// Ranges that the cumulative TSN has reached go.
    fn swallow(&mut self) {
        let mut gone = 0;
        for (start, end) in &self.ranges {
            if *start > self.cumulative + 1 {
                break;
            }
            self.cumulative = self.cumulative.max(*end);
            gone += 1;
        }
        self.ranges.drain(..gone);
    }

    /// Something is missing below what has come.
    #[inline]
    pub fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The highest TSN that has come.
    #[inline]
    pub fn highest(&self) -> u64 {
        self.ranges.last().map_or(self.cumulative, |(_, end)| *end)
    }

    /// True if `tsn` has come.
    pub fn has(&self, tsn: u64) -> bool {
        self.look(tsn) == Seen::Again
    }

    /// Gap blocks for a SACK: as many as fit.
    pub fn gaps(&self, most: usize) -> Vec<Gap> {
        let offset = |tsn: u64| (tsn - self.cumulative) as u16;
        let reach = |range: &&(u64, u64)| range.1 - self.cumulative <= REACH;
        self.ranges
            .iter()
            .take_while(reach)
            .take(most)
            .map(|(start, end)| Gap { start: offset(*start), end: offset(*end) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(tsns: &Tsns) -> Vec<(u16, u16)> {
        tsns.gaps(usize::MAX).iter().map(|gap| (gap.start, gap.end)).collect()
    }

    #[test]
    fn gaps_grow_join_and_close_across_the_wrap() {
        let mut tsns = Tsns::new(u32::MAX - 1);
        for (tsn, expected) in [
            (0_u32, vec![(3, 3)]),
            (2, vec![(3, 3), (5, 5)]),
            (1, vec![(3, 5)]),
            (u32::MAX, vec![(2, 5)]),
            (u32::MAX - 1, vec![]),
        ] {
            let unwrapped = tsns.unwrap(tsn);
            assert_eq!(unwrapped as u32, tsn);
            assert_eq!(tsns.look(unwrapped), Seen::New);
            tsns.take(unwrapped);
            assert_eq!(tsns.look(unwrapped), Seen::Again);
            assert_eq!(gaps(&tsns), expected, "after {tsn}");
        }
        assert_eq!(tsns.cumulative as u32, 2);
        assert!(!tsns.has_gap());
    }

    #[test]
    fn what_no_block_can_report_is_too_far() {
        let tsns = Tsns::new(1);
        assert_eq!(tsns.look(tsns.unwrap(65_535)), Seen::New);
        assert_eq!(tsns.look(tsns.unwrap(65_536)), Seen::TooFar);
    }
}
