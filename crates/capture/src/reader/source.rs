//! A stream in a large buffer, that knows its byte order and how far it was read.

use std::io::Read;

use super::ReadError;
use super::input::{Failure, Input};
use crate::limits::{BLOCK_BYTES, UNPACKED_BYTES, UNPACKED_RATIO};
use crate::order::Order;

/// Room of the buffer; it grows where a block is longer.
const BUFFER: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Source<R: Read> {
    input: Input<R>,
    buffer: Vec<u8>,
    /// What is not taken yet is `buffer[at..end]`.
    at: usize,
    end: usize,
    /// Where in the capture `buffer` begins.
    base: u64,
    pub(super) order: Order,
}

impl<R: Read> Source<R> {
    /// The stream, unpacked if it begins like something compressed.
    pub(super) fn new(inner: R) -> Result<Self, ReadError> {
        let input = Input::new(inner).map_err(|failure| failed(failure, 0))?;
        Ok(Self { input, buffer: vec![0; BUFFER], at: 0, end: 0, base: 0, order: Order::Little })
    }

    /// Where in the capture the next byte lies.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Bytes taken from the stream, packed as it is.
    pub(super) fn raw_bytes(&self) -> u64 {
        self.input.raw_bytes()
    }

    /// Sees to it that `n` bytes are in the buffer; false where the stream ends before the first of them.
    /// `start` is where the block begins, for the error.
    #[inline]
    pub(super) fn require(&mut self, n: usize, start: u64) -> Result<bool, ReadError> {
        if self.end - self.at >= n { Ok(true) } else { self.refill(n, start) }
    }

    /// What is in the buffer.
    #[inline]
    pub(super) fn peek(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Takes `n` bytes that are in the buffer, and says where in it they begin.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> usize {
        let from = self.at;
        self.at += n;
        debug_assert!(self.at <= self.end, "bytes are taken that are not there");
        from
    }

    /// Bytes that were taken since the last [`Source::require`].
    #[inline]
    pub(super) fn taken(&self, from: usize, n: usize) -> &[u8] {
        &self.buffer[from..from + n]
    }

    #[cold]
    fn refill(&mut self, n: usize, start: u64) -> Result<bool, ReadError> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while self.end < n {
            if self.end == self.buffer.len() {
                // Memory grows with what is there, not with what a damaged length promises.
                let len = (2 * self.end).min(n.next_multiple_of(BUFFER));
                self.buffer.reserve_exact(len - self.end);
                self.buffer.resize(len, 0);
            }
            let unpacked = self.base + self.end as u64;
            if self.input.is_packed() && unpacked > UNPACKED_BYTES {
                let most = self.raw_bytes().saturating_mul(UNPACKED_RATIO).saturating_add(UNPACKED_BYTES);
                if unpacked > most {
                    return Err(ReadError::Limit { offset: unpacked, what: BOMB });
                }
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) if self.end == 0 => return Ok(false),
                Ok(0) => return Err(ReadError::Truncated { offset: start }),
                Ok(read) => self.end += read,
                Err(failure) => return Err(failed(failure, self.base + self.end as u64)),
            }
        }
        Ok(true)
    }
}

fn failed(failure: Failure, offset: u64) -> ReadError {
    match failure {
        Failure::Io(source) => ReadError::Io { offset, source },
        Failure::Window => ReadError::Limit { offset, what: WINDOW },
        Failure::Damaged { packing, what } => ReadError::Packing { offset, packing, what },
    }
}

const BOMB: &str = "it unpacks to far more than a capture of its size does; unpack it, and give the result";
const WINDOW: &str = "its zstd window is too large for a file of its size; unpack it, and give the result";

// A block fits the buffer whole.
const _: () = assert!((BLOCK_BYTES as usize).is_multiple_of(BUFFER));
