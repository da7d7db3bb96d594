//! A stream that knows its byte order and how far it was read.

use std::io::{self, BufReader, Read};

use super::ReadError;

/// Longest block or packet believed: a longer one is taken for damage.
pub(super) const MAX_BLOCK: u32 = 64 << 20;

#[derive(Debug)]
pub(super) struct Source<R: Read> {
    inner: BufReader<R>,
    offset: u64,
    pub(super) order: Order,
}

/// The byte order of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner: BufReader::with_capacity(1 << 16, inner), offset: 0, order: Order::Little }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Fills `bytes`; false where the stream ends before the first of them. `start` is where the block
    /// begins, for the error.
    pub(super) fn read_exact_or_end(&mut self, bytes: &mut [u8], start: u64) -> Result<bool, ReadError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.inner.read(&mut bytes[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(ReadError::Truncated { offset: start }),
                Ok(n) => {
                    filled += n;
                    self.offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ReadError::Io { offset: self.offset, source }),
            }
        }
        Ok(true)
    }

    /// Fills `bytes`.
    pub(super) fn read_exact(&mut self, bytes: &mut [u8], start: u64) -> Result<(), ReadError> {
        let whole = bytes.is_empty() || self.read_exact_or_end(bytes, start)?;
        if whole { Ok(()) } else { Err(ReadError::Truncated { offset: start }) }
    }

    /// Reads `len` bytes into `out`, which holds nothing else then. Memory grows with what is there, not
    /// with what a damaged length promises.
    pub(super) fn read_vec(&mut self, out: &mut Vec<u8>, len: usize, start: u64) -> Result<(), ReadError> {
        out.clear();
        let result = (&mut self.inner).take(len as u64).read_to_end(out);
        self.offset += out.len() as u64;
        match result {
            Err(source) => Err(ReadError::Io { offset: self.offset, source }),
            Ok(n) if n < len => Err(ReadError::Truncated { offset: start }),
            Ok(_) => Ok(()),
        }
    }
}

impl Order {
    /// The number at `at`, which must be within `bytes`.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let number = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(number),
            Self::Big => u16::from_be_bytes(number),
        }
    }

    /// The number at `at`, which must be within `bytes`.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let number = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(number),
            Self::Big => u32::from_be_bytes(number),
        }
    }

    /// The number of eight bytes at `at`, which must be within `bytes`.
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (self.u32(bytes, at), self.u32(bytes, at + 4));
        let (high, low) = if self == Self::Big { (first, second) } else { (second, first) };
        u64::from(high) << 32 | u64::from(low)
    }
}
