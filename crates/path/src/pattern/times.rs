//! Spans of time: `1 s-2 s, 3 s-3.5 s`.

use std::fmt;
use std::str::FromStr;

use rexmit_units::{Duration, Instant};

/// A set of instants: spans since the start of the run, each without its end; the last may have no end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In order, neither overlapping nor adjacent; an end of [`OPEN`] is none.
    spans: Vec<(Duration, Duration)>,
}

const OPEN: Duration = Duration::from_nanos(u64::MAX);

impl Times {
    /// The set of all instants in `spans`, each from its start up to but not at its end.
    pub fn from_spans(spans: impl IntoIterator<Item = (Duration, Duration)>) -> Self {
        let mut all: Vec<_> = spans.into_iter().filter(|(a, b)| a < b).collect();
        all.sort_unstable();
        let mut merged: Vec<(Duration, Duration)> = Vec::with_capacity(all.len());
        for (a, b) in all {
            match merged.last_mut() {
                Some(last) if a <= last.1 => last.1 = last.1.max(b),
                _ => merged.push((a, b)),
            }
        }
        Self { spans: merged }
    }

    /// The times at which a switch is on that is `start` at first and turned at each of `points`.
    pub fn from_switches(points: impl IntoIterator<Item = Duration>, start: bool) -> Self {
        let mut points: Vec<_> = points.into_iter().collect();
        points.sort_unstable();
        let mut since = start.then_some(Duration::ZERO);
        let mut spans = Vec::new();
        for point in points {
            match since.take() {
                Some(from) => spans.push((from, point)),
                None => since = Some(point),
            }
        }
        spans.extend(since.map(|from| (from, OPEN)));
        Self::from_spans(spans)
    }

    /// Reads switch points, `4 ms, 8 ms`.
    pub fn parse_switches(text: &str, start: bool) -> Result<Self, String> {
        let points: Result<Vec<Duration>, _> = text.split(',').map(|t| t.trim().parse()).collect();
        points.map(|p| Self::from_switches(p, start)).map_err(|why| format!("switches: {why}"))
    }

    /// True if the instant this long after the start is in the set.
    pub fn contains(&self, at: Duration) -> bool {
        let after = self.spans.partition_point(|s| s.0 <= at);
        after > 0 && (at < self.spans[after - 1].1 || self.spans[after - 1].1 == OPEN)
    }

    /// The spans, in order; an end of `u64::MAX` ns stands for none.
    pub fn spans(&self) -> &[(Duration, Duration)] {
        &self.spans
    }

    /// When the last span begins; `None` for the empty set.
    pub fn last_start(&self) -> Option<Instant> {
        self.spans.last().map(|s| Instant::from_nanos(s.0.as_nanos()))
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (from, to)) in self.spans.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            if *to == OPEN { write!(f, "{from}-")? } else { write!(f, "{from}-{to}")? }
        }
        Ok(())
    }
}

impl FromStr for Times {
    type Err = String;

    /// Reads `1 s-2 s, 3 s-3.5 s`; the error is one line.
    fn from_str(text: &str) -> Result<Self, String> {
        let spans: Result<Vec<_>, String> = text.split(',').map(|item| span(item.trim())).collect();
        spans.map(Self::from_spans).map_err(|why| {
            format!(
                "{text:?} is not a list of times ({why}); allowed: such as \"1 s-2 s, 3 s-3.5 s\" or \"5 s-\""
            )
        })
    }
}

fn span(item: &str) -> Result<(Duration, Duration), String> {
    // The hyphen of an exponent (1e-3 s) is not a separator: the separator follows a unit.
    let separator = item
        .match_indices('-')
        .find(|(i, _)| !item[..*i].ends_with(['e', 'E']))
        .ok_or_else(|| format!("{item:?} has no end"))?;
    let (from, to) = (item[..separator.0].trim(), item[separator.0 + 1..].trim());
    let from: Duration = from.parse().map_err(|e| format!("{e}"))?;
    let to: Duration = if to.is_empty() { OPEN } else { to.parse().map_err(|e| format!("{e}"))? };
    if from < to { Ok((from, to)) } else { Err(format!("{item:?} does not run forwards")) }
}
