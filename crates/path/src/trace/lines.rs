//! Lines of a file, read a piece at a time.

use std::sync::Arc;

use super::{Fault, TraceBytes};

/// Bytes that are read at a time, and the longest line.
const PIECE: usize = 16 << 10;

/// What spreadsheets write before the first line of a CSV.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The lines of a file in order.
pub(super) struct Lines {
    bytes: Arc<dyn TraceBytes>,
    buffer: Vec<u8>,
    /// The part of the buffer that has not been handed out.
    start: usize,
    end: usize,
    /// Where the next piece begins.
    at: u64,
    /// Lines that have been handed out.
    number: u64,
    /// Where to begin again: the byte, and the lines before it.
    again: (u64, u64),
}

impl Lines {
    pub fn new(bytes: Arc<dyn TraceBytes>) -> Self {
        Self { bytes, buffer: Vec::new(), start: 0, end: 0, at: 0, number: 0, again: (0, 0) }
    }

    /// Begins again at the first line, or where [`Lines::mark`] was called.
    pub fn rewind(&mut self) {
        (self.start, self.end) = (0, 0);
        (self.at, self.number) = self.again;
    }

    /// The next line is the one that [`Lines::rewind`] comes back to.
    pub fn mark(&mut self) {
        self.again = (self.at - (self.end - self.start) as u64, self.number);
    }

    /// Number of the line that was handed out last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        let mut searched = 0;
        let len = loop {
            let rest = &self.buffer[self.start..self.end];
            if let Some(len) = rest[searched..].iter().position(|byte| *byte == b'\n') {
                break searched + len;
            }
            searched = rest.len();
            if !self.read()? {
                break searched;
            }
        };
        if len == 0 && self.start == self.end {
            return Ok(None);
        }
        self.number += 1;
        let line = self.start..self.start + len;
        self.start = (line.end + 1).min(self.end);
        let line = &self.buffer[line];
        let line = if self.number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.last() == Some(&b'\r') {
            let what = "ends with CR LF, and a line of a trace ends with LF alone: write the file anew, as by \
                        tr -d '\\r' < OLD > NEW";
            return Err(Fault::at(self.number, what));
        }
        Ok(Some(line))
    }

    /// Reads the next piece after what is left; false at the end of the file.
    fn read(&mut self) -> Result<bool, Fault> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.is_empty() {
            self.buffer.resize(PIECE, 0);
        }
        if self.end == self.buffer.len() {
            let what =
                format!("is longer than {PIECE} bytes: a trace has short lines of numbers; is it one?");
            return Err(Fault::at(self.number + 1, what));
        }
        match self.bytes.read_at(self.at, &mut self.buffer[self.end..]) {
            Ok(0) => Ok(false),
            Ok(len) => {
                self.end += len;
                self.at += len as u64;
                Ok(true)
            }
            Err(e) => Err(Fault::whole(format!("cannot be read: {e}"))),
        }
    }
}

/// A line for people, shortened.
pub(super) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    format!("{shown:?}")
}
