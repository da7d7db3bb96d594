//! Traces: a link's opportunities to send, or its rate, delay and loss over time, as lines of a file.
//!
//! A trace is read as it is needed, a piece at a time, by as many readers as there are links that follow it; each has
//! its own place in the file and a buffer of its own. Memory therefore does not grow with the file. Whoever opens it
//! gives its bytes ([`TraceBytes`]); [`TraceFile::survey`] reads it once from the first line to the last and refuses it
//! where a line is wrong, so that no reader meets a wrong line later.

use std::fmt;
use std::sync::Arc;

use rexmit_units::{Duration, Rate};

use crate::spec::Trace;

mod bins;
mod column;
mod convert;
mod csv;
mod lines;
mod mahimahi;

pub use bins::{Bin, bins};
pub use convert::{Converter, IntoCsv, IntoMahimahi};
pub use mahimahi::OPPORTUNITY;

pub(crate) use column::Column;
pub(crate) use csv::Row;
pub(crate) use mahimahi::{Opportunities, TUN_HEADER};

use lines::Lines;

/// The bytes of a file, read at any place.
pub trait TraceBytes: Send + Sync {
    /// Reads some bytes from `at` on, as many as are there and fit; none at the end.
    ///
    /// # Errors
    /// Those of the file, in words.
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, String>;
}

impl TraceBytes for Vec<u8> {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, String> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// A trace whose lines have all been read once and are right. Clones share it.
#[derive(Clone)]
pub struct TraceFile {
    name: Arc<str>,
    bytes: Arc<dyn TraceBytes>,
    about: About,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// A line for each opportunity, its time in ms.
    Mahimahi,
    /// A header, and rows of time, rate, delay and loss.
    Csv,
}

impl Trace {
    /// Whether one of this format begins again at its end.
    pub(crate) fn repeats(&self, format: TraceFormat) -> bool {
        self.repeat.unwrap_or(format == TraceFormat::Mahimahi)
    }
}

impl TraceFormat {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mahimahi => "mahimahi",
            Self::Csv => "csv",
        }
    }
}

/// The smallest and the largest value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
}

/// What a whole trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// How it is written.
    pub format: TraceFormat,
    /// Opportunities, or rows.
    pub lines: u64,
    /// Time of the first.
    pub first: Duration,
    /// Time of the last, after which a trace that repeats begins again.
    pub last: Duration,
    /// Rates of a CSV, bit/s; `None` without that column.
    pub rate: Option<Span>,
    /// The highest of those before the last row, which of a trace that repeats are all that hold.
    pub most_in_round: Option<u64>,
    /// Delays of a CSV, ns.
    pub delay: Option<Span>,
    /// Loss of a CSV, in steps of 10^-12.
    pub loss: Option<Span>,
}

impl TraceFile {
    /// Reads a trace whole, by pieces, each byte once and in order; `name` is for errors.
    ///
    /// # Errors
    /// The first line that is wrong, and what to write there.
    pub fn survey(name: &str, bytes: Arc<dyn TraceBytes>) -> Result<Self, TraceError> {
        let name: Arc<str> = name.into();
        let mut lines = Lines::new(bytes.clone());
        let found = match lines.next() {
            Ok(None) => Err(Fault::whole(
                "is empty: write a line for each opportunity of 1504 bytes, its time in whole ms, or a CSV whose first \
                 line is such as time (s),rate (Mbit/s)",
            )),
            Ok(Some(first)) if mahimahi::is_time(first) => mahimahi::survey(lines),
            Ok(Some(_)) => csv::survey(Lines::new(bytes.clone())),
            Err(fault) => Err(fault),
        };
        match found {
            Ok(about) => Ok(Self { name, bytes, about }),
            Err(fault) => Err(TraceError { file: name.to_string(), line: fault.line, what: fault.what }),
        }
    }

    /// Its name, as errors have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the whole of it is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The mean rate of mahimahi's opportunities, if it is of these.
    pub(crate) fn mean_of_opportunities(&self) -> Option<Rate> {
        if self.about.format != TraceFormat::Mahimahi {
            return None;
        }
        let bits = u128::from(self.about.lines) * u128::from(OPPORTUNITY) * 8 * 1_000_000_000;
        let rate = bits / u128::from(self.about.last.as_nanos().max(1));
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// The same lines from another place: whoever reads it next.
    #[must_use]
    pub fn with_bytes(self, bytes: Arc<dyn TraceBytes>) -> Self {
        Self { bytes, ..self }
    }

    /// Its lines from the first on.
    fn lines(&self) -> Lines {
        Lines::new(self.bytes.clone())
    }

    /// What was right when it was first read no longer is.
    ///
    /// # Panics
    /// Always: somebody has written to the file meanwhile, and what has come out so far is of no file.
    fn has_changed(&self, fault: &Fault) -> ! {
        panic!("{}: was changed while it was in use: {fault}", self.name)
    }
}

impl fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFile")
            .field("name", &self.name)
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

/// What is wrong with a trace: one line that says where, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Its name.
    pub file: String,
    /// Which line, from 1; `None` for the whole file.
    pub line: Option<u64>,
    /// What is wrong there, and what to write.
    pub what: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what } = self;
        match line {
            Some(line) => write!(f, "{file}: line {line}: {what}"),
            None => write!(f, "{file}: {what}"),
        }
    }
}

impl std::error::Error for TraceError {}

/// The same for a file whose name is not known here.
#[derive(Debug)]
struct Fault {
    line: Option<u64>,
    what: String,
}

impl Fault {
    fn whole(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    fn at(line: u64, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

#[cfg(test)]
mod tests;
