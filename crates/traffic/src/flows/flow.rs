//! Flows that are given, each with its start and size: as a text, or as a table.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rexmit_units::{Bytes, Duration};

use super::table::{self, Column};

/// Most flows of a transfer.
pub(super) const MOST_FLOWS: u64 = 1_000_000;

/// Most bytes of one flow, which no draw exceeds either.
pub(super) const MOST_SIZE: Bytes = Bytes(1 << 40);

/// The column of sizes, of every table that has one.
pub(super) const SIZE: Column = Column {
    name: "size",
    units: &["bytes", "kB", "MB", "GB", "KiB", "MiB", "GiB"],
    packets: true,
    example: "size (kB)",
};

const COLUMNS: [Column; 2] = [
    Column {
        name: "start",
        units: &["ns", "us", "ms", "s", "min", "h"],
        packets: false,
        example: "start (ms)",
    },
    SIZE,
];

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When its connection is opened, after the `start` of its transfer.
    pub start: Duration,
    /// Bytes that it carries; at least 1.
    pub size: u64,
}

/// A list of flows in the order of their starts: `0 s 10 kB, 5 ms 1 MB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowList(Arc<[Flow]>);

impl FlowList {
    /// The flows, in order; at least one.
    pub fn flows(&self) -> &Arc<[Flow]> {
        &self.0
    }

    /// Reads a table of start and size.
    ///
    /// # Errors
    /// The line that is wrong, and what to write there.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut flows = Vec::new();
        table::read(text, &COLUMNS, |[start, size]| {
            let start: Duration = start.parse().map_err(|e| format!("start: {e}"))?;
            let size: Bytes = size.parse().map_err(|e| format!("size: {e}"))?;
            add(&mut flows, start, size)
        })?;
        Ok(Self(flows.into()))
    }
}

/// Adds a flow to those before it.
fn add(flows: &mut Vec<Flow>, start: Duration, size: Bytes) -> Result<(), String> {
    if size == Bytes::ZERO {
        return Err("a flow of no bytes does nothing: write at least 1 byte".to_owned());
    }
    if size > MOST_SIZE {
        return Err(format!("{size} is more than a flow carries: write at most {MOST_SIZE}"));
    }
    if let Some(last) = flows.last().filter(|last| last.start > start) {
        return Err(format!(
            "{start}, behind {} before it: starts must not go back: put the flows in order",
            last.start
        ));
    }
    if flows.len() as u64 == MOST_FLOWS {
        return Err(format!("one more than {MOST_FLOWS} flows: leave some out"));
    }
    flows.push(Flow { start, size: size.as_u64() });
    Ok(())
}

impl FromStr for FlowList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut flows = Vec::new();
        for part in text.split(',').map(str::trim) {
            if part.is_empty() {
                return Err(
                    "a flow is missing before or after a comma: write a list such as \"0 s 10 kB, 5 ms 1 MB\""
                        .to_owned(),
                );
            }
            let (start, size) = parse(part)?;
            add(&mut flows, start, size)?;
        }
        Ok(Self(flows.into()))
    }
}

/// `5 ms 10 kB`: the space between the two is the one on whose left is a time and on whose right an amount.
fn parse(part: &str) -> Result<(Duration, Bytes), String> {
    let at = part.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(at, _)| at);
    at.map(|at| part.split_at(at))
        .find_map(|(start, size)| Some((start.parse().ok()?, size.parse().ok()?)))
        .ok_or_else(|| {
            let shown: String = part.chars().take(40).collect();
            format!("{shown:?} is not a flow: write its start and its size, such as \"5 ms 10 kB\"")
        })
}

impl fmt::Display for FlowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, flow) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", flow.start, Bytes(flow.size))?;
        }
        Ok(())
    }
}

crate::workload::as_text!(
    FlowList,
    "flows in the order of their starts, each a time and an amount of data",
    ["0 s 10 kB, 5 ms 1 MB"]
);
