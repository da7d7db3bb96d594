//! What is written: lists of writes and bulk amounts as text, bursts and requests as tables.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rexmit_units::{Bytes, Duration, UnitError};
use schemars::JsonSchema;

/// Writes of one size after each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRun {
    /// How many; at least 1.
    pub count: u64,
    /// Bytes of each; at least 1.
    pub size: u64,
}

/// A list of writes: `5000 bytes, 8 x 2500 bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes(Arc<[WriteRun]>);

impl Writes {
    /// The runs, in order; at least one.
    pub fn runs(&self) -> &[WriteRun] {
        &self.0
    }

    /// Bytes of all writes.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|run| run.count * run.size).sum()
    }

    /// How many writes; at least one.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|run| run.count).sum()
    }
}

/// A place in a list of writes. It holds the list, which copies share.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    writes: Writes,
    run: usize,
    done: u64,
}

impl Cursor {
    pub fn new(writes: &Writes) -> Self {
        Self { writes: writes.clone(), run: 0, done: 0 }
    }

    /// The size of the next write; `None` after the last.
    pub fn next(&mut self) -> Option<u64> {
        let current = self.writes.runs().get(self.run)?;
        self.done += 1;
        if self.done == current.count {
            (self.run, self.done) = (self.run + 1, 0);
        }
        Some(current.size)
    }

    pub fn at_start(&self) -> bool {
        (self.run, self.done) == (0, 0)
    }

    pub fn at_end(&self) -> bool {
        self.run == self.writes.runs().len()
    }

    pub fn rewind(&mut self) {
        (self.run, self.done) = (0, 0);
    }
}

/// The list of writes again and again: each time is a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstsSpec {
    /// Bursts; at least 1.
    pub count: u64,
    /// Each burst begins this much later than the one before, or when the socket has taken that one whole, if that is
    /// later. Longer than a burst's pauses together.
    pub every: Duration,
}

/// Requests, each with its response, one pair after the other on one connection. `to` asks and `from` answers,
/// whoever opened the connection: the responses are the data. A request and a response are known by their length.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsSpec {
    /// Requests; at least 1. Default: 1.
    #[serde(default = "one")]
    pub count: u64,
    /// What is written as each request, at once: one write (`"200 bytes"`) or several (`"200 bytes, 50 bytes"`).
    pub request: Writes,
    /// What is written as each response, likewise.
    pub response: Writes,
    /// From the arrival of the whole request to the first write of its response. Default: none.
    #[serde(default)]
    pub think: Duration,
    /// From the end of a response, when it has been read whole, to the next request. Default: none.
    #[serde(default)]
    pub pause: Duration,
}

fn one() -> u64 {
    1
}

impl RequestsSpec {
    /// Bytes of all requests and responses; `None` beyond 2^64 - 1.
    pub fn total(&self) -> Option<u64> {
        self.request.total().checked_add(self.response.total())?.checked_mul(self.count)
    }
}

/// How much is written in pieces without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// As much as the socket takes for this long: `10 s`, counted from the established connection.
    Time(Duration),
    /// This many bytes: `10 MB`.
    Bytes(Bytes),
}

/// Text that is neither a list of writes nor a bulk amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A part of a list is missing.
    #[error(
        "a write is missing before or after a comma: write a list such as \"5000 bytes, 8 x 2500 bytes\""
    )]
    MissingWrite,
    /// What stands before the `x` is not a whole number from 1 on.
    #[error(
        "{0:?} is not a number of writes: write a whole number from 1 on, such as 8 in \"8 x 2500 bytes\""
    )]
    Count(String),
    /// A size is not one.
    #[error(transparent)]
    Size(#[from] UnitError),
    /// A write of no bytes.
    #[error("a write of no bytes does nothing: write at least 1 byte")]
    EmptyWrite,
    /// All writes together are more than 2^64 - 1 bytes.
    #[error("the writes are more than 2^64 - 1 bytes together")]
    TooMuch,
    /// Neither a duration nor an amount.
    #[error("{0:?} is neither a time nor an amount of data: write for instance \"10 s\" or \"10 MB\"")]
    Bulk(String),
    /// A bulk transfer of nothing.
    #[error("a bulk transfer of nothing does nothing: write more than zero")]
    EmptyBulk,
}

impl FromStr for Writes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let runs: Arc<[WriteRun]> = text.split(',').map(parse_run).collect::<Result<_, _>>()?;
        runs.iter()
            .try_fold(0_u64, |sum, run| sum.checked_add(run.count.checked_mul(run.size)?))
            .ok_or(ParseError::TooMuch)?;
        Ok(Self(runs))
    }
}

fn parse_run(part: &str) -> Result<WriteRun, ParseError> {
    let part = part.trim();
    if part.is_empty() {
        return Err(ParseError::MissingWrite);
    }
    let (count, size) = match part.split_once('x') {
        Some((count, size)) => (parse_count(count.trim())?, size.trim()),
        None => (1, part),
    };
    match size.parse::<Bytes>()?.as_u64() {
        0 => Err(ParseError::EmptyWrite),
        size => Ok(WriteRun { count, size }),
    }
}

fn parse_count(text: &str) -> Result<u64, ParseError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(count) if digits && count > 0 => Ok(count),
        _ => Err(ParseError::Count(text.to_owned())),
    }
}

impl fmt::Display for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let size = Bytes(run.size);
            match run.count {
                1 => write!(f, "{comma}{size}")?,
                count => write!(f, "{comma}{count} x {size}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Bulk {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bulk = match (text.parse(), text.parse()) {
            (Ok(time), _) => Self::Time(time),
            (_, Ok(bytes)) => Self::Bytes(bytes),
            _ => return Err(ParseError::Bulk(text.to_owned())),
        };
        match bulk {
            Self::Time(Duration::ZERO) | Self::Bytes(Bytes::ZERO) => Err(ParseError::EmptyBulk),
            _ => Ok(bulk),
        }
    }
}

impl fmt::Display for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

/// The type is text in a file.
macro_rules! as_text {
    ($type:ident, $description:literal, $examples:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "description": $description, "type": "string", "examples": $examples })
            }
        }
    };
}

pub(crate) use as_text;

as_text!(
    Writes,
    "a list of writes, each an amount of data, or a number of writes, x and an amount",
    ["5000 bytes, 8 x 2500 bytes"]
);
as_text!(Bulk, "a time to write for, or an amount of data to write", ["10 s", "10 MB"]);
