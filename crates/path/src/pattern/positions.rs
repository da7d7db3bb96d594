//! A set of positions: `1,4,10-12`.

use std::fmt;
use std::str::FromStr;

/// A set of whole numbers that count packets, the first being 1.
///
/// Written as a list of numbers and ranges, `1,4,10-12`; a range may be open at its end, `10-`. Number 0 is
/// allowed and matches nothing: it is the level "no loss" of a design over positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// Inclusive, in order, neither overlapping nor adjacent.
    ranges: Vec<(u64, u64)>,
}

impl Positions {
    /// The set of all numbers in `ranges` (both ends included; an empty range adds nothing).
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all: Vec<_> = ranges.into_iter().filter(|(a, b)| a <= b).collect();
        all.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        for (a, b) in all {
            match merged.last_mut() {
                Some(last) if a <= last.1.saturating_add(1) => last.1 = last.1.max(b),
                _ => merged.push((a, b)),
            }
        }
        Self { ranges: merged }
    }

    /// The set of one number.
    pub fn one(position: u64) -> Self {
        Self { ranges: vec![(position, position)] }
    }

    /// True if `position` is in the set.
    #[inline]
    pub fn contains(&self, position: u64) -> bool {
        let after = self.ranges.partition_point(|r| r.0 <= position);
        after > 0 && position <= self.ranges[after - 1].1
    }

    /// The inclusive ranges, in order.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// The part of the set above `limit`.
    #[must_use]
    pub fn above(&self, limit: u64) -> Self {
        Self::from_ranges(self.ranges.iter().map(|&(a, b)| (a.max(limit.saturating_add(1)), b)))
    }

    /// True if the set has no number.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl FromIterator<u64> for Positions {
    fn from_iter<I: IntoIterator<Item = u64>>(positions: I) -> Self {
        Self::from_ranges(positions.into_iter().map(|p| (p, p)))
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &(a, b)) in self.ranges.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match b {
                _ if a == b => write!(f, "{a}")?,
                u64::MAX => write!(f, "{a}-")?,
                _ => write!(f, "{a}-{b}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Positions {
    type Err = String;

    /// Reads `1,4,10-12`. The error is one line.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut ranges = Vec::new();
        for item in text.split(',') {
            ranges.push(range(item.trim()).map_err(|why| {
                format!(
                    "{text:?} is not a list of positions ({why}); allowed: such as 18, \"1,4,10-12\" or \"10-\""
                )
            })?);
        }
        Ok(Self::from_ranges(ranges))
    }
}

fn range(item: &str) -> Result<(u64, u64), String> {
    if item.is_empty() {
        return Err("an empty item".into());
    }
    if item.contains("..") {
        return Err(format!("{item:?} names levels of [vary]; a range of positions has a hyphen"));
    }
    let (first, last) = match item.split_once('-') {
        None => {
            let n = number(item)?;
            (n, n)
        }
        Some((first, "")) => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if first > last { Err(format!("{item:?} runs backwards")) } else { Ok((first, last)) }
}

fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{text:?} is not a whole number"));
    }
    text.parse().map_err(|_| format!("{text} is too large"))
}
