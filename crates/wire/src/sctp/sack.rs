//! SACK (RFC 9260 section 3.3.4).

use super::chunk::RawChunk;
use crate::header::{be16, be32};

/// A SACK chunk whose fixed fields are there.
#[derive(Clone, Copy, Debug)]
pub struct Sack<'a> {
    value: &'a [u8],
    cut: bool,
}

/// A gap ack block: offsets from the cumulative TSN, both ends within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// Offset of the first TSN received.
    pub start: u16,
    /// Offset of the last TSN received.
    pub end: u16,
}

impl<'a> Sack<'a> {
    /// Bytes of fixed fields after the chunk's header.
    pub(super) const FIXED: usize = 12;

    pub(super) fn new(chunk: &RawChunk<'a>) -> Self {
        Self { value: chunk.value(), cut: chunk.is_cut() }
    }

    /// Cumulative TSN ack.
    pub fn cumulative(&self) -> u32 {
        be32(self.value, 0)
    }

    /// Advertised receiver window, bytes.
    pub fn window(&self) -> u32 {
        be32(self.value, 4)
    }

    /// Number of gap ack blocks, as the field says.
    pub fn gap_count(&self) -> u16 {
        be16(self.value, 8)
    }

    /// Number of duplicate TSNs, as the field says.
    pub fn duplicate_count(&self) -> u16 {
        be16(self.value, 10)
    }

    /// True where the capture cut through it, so that blocks or duplicates may be missing.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Gap ack blocks, as many as are there.
    pub fn gaps(&self) -> Gaps<'a> {
        let bytes = &self.value[Self::FIXED..];
        Gaps { rest: &bytes[..bytes.len().min(usize::from(self.gap_count()) * 4)] }
    }

    /// Duplicate TSNs, as many as are there.
    pub fn duplicates(&self) -> Tsns<'a> {
        let bytes = self.value.get(Self::FIXED + usize::from(self.gap_count()) * 4..).unwrap_or(&[]);
        Tsns { rest: &bytes[..bytes.len().min(usize::from(self.duplicate_count()) * 4)] }
    }
}

/// Gap ack blocks of a SACK.
#[derive(Clone, Copy, Debug)]
pub struct Gaps<'a> {
    rest: &'a [u8],
}

impl Iterator for Gaps<'_> {
    type Item = Gap;

    fn next(&mut self) -> Option<Gap> {
        let (block, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        Some(Gap { start: be16(block, 0), end: be16(block, 2) })
    }
}

/// Duplicate TSNs of a SACK.
#[derive(Clone, Copy, Debug)]
pub struct Tsns<'a> {
    rest: &'a [u8],
}

impl Iterator for Tsns<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let (tsn, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        Some(be32(tsn, 0))
    }
}
