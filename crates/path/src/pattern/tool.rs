//! What `rexmit pattern make|show|convert` do, without files: texts and bytes in, texts and bytes out.
//!
//! The plain text form of a pattern is what a study holds: a list of positions, or the keys of a table a line
//! each, or a list of tables; lines that start with `#` are comments.
//!
//! ```text
//! position = "1,4,10-12"
//! period = 32
//! ```

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Duration, Probability};
use serde::Deserialize;

use super::generator::Words;
use super::{Fields, Pattern, PatternTable, Positions, Rule, Scope};
use crate::random::LossProcess;
use crate::spec::LossModel;

/// Bytes of a pattern file, and what was left out of it, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The file.
    pub bytes: Vec<u8>,
    /// What was left out.
    pub warnings: Vec<String>,
}

/// What a list means to the generator of hurtig-2006.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Positions of losses.
    Data,
    /// Points at which loss is switched on or off; `start`: on before the first.
    Time {
        /// On at first.
        start: bool,
    },
}

/// The longest pattern that a tool makes or reads entry by entry.
const MAX_LENGTH: u64 = 1 << 20;

/// Reads the plain text form.
///
/// # Errors
/// One line that says what is allowed.
pub fn parse(text: &str) -> Result<Pattern, String> {
    let kept: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with('#')).collect();
    let body = kept.join("\n");
    let body = body.trim();
    if body.starts_with(['{', '[', '"']) {
        #[derive(Deserialize)]
        struct Value {
            pattern: Pattern,
        }
        return toml::from_str(&format!("pattern = {body}")).map(|v: Value| v.pattern).map_err(one_line);
    }
    if body.contains('=') {
        return toml::from_str::<PatternTable>(body).map_err(one_line)?.pattern();
    }
    body.parse::<Positions>().map(Pattern::at)
}

/// The plain text form, which [`parse`] reads back; ends with a line feed.
pub fn print(pattern: &Pattern) -> String {
    match pattern.rules.as_slice() {
        [rule] if rule.plain().is_none() => Fields::from(rule).lines(),
        _ => format!("{pattern}\n"),
    }
}

/// A pattern from a list of positions, in plain text form, and what in it names no packet, a line each.
/// `period`: packets after which it starts over.
///
/// # Errors
/// One line that says what is allowed.
pub fn make_list(positions: &str, period: Option<u64>) -> Result<(String, Vec<String>), String> {
    if period == Some(0) {
        return Err("period = 0: allowed: at least 1 packet".into());
    }
    let positions: Positions = positions.parse()?;
    let mut warnings = Vec::new();
    if positions.contains(0) {
        warnings.push("position 0 names no packet; the first packet is 1".into());
    }
    // A range without end is reached with its start.
    let ends = positions.ranges().iter().map(|&(a, b)| (a, if b == u64::MAX { a } else { b }));
    let beyond = Positions::from_ranges(ends).above(period.unwrap_or(u64::MAX));
    if let (Some(period), false) = (period, beyond.is_empty()) {
        warnings
            .push(format!("position {beyond} never comes: after packet {period} counting begins again at 1"));
    }
    Ok((print(&Rule::Position { positions, period, scope: Scope::Direction }.into()), warnings))
}

/// A random but fixed pattern, in plain text form: each of `length` packets is named with probability `rate`
/// (such as `5 %`). The same rate, length and seed give the same pattern always. `repeat`: it starts over after
/// `length` packets; otherwise it ends.
///
/// # Errors
/// One line that says what is allowed.
pub fn make_random(rate: &str, length: u64, seed: u64, repeat: bool) -> Result<String, String> {
    let rate: Probability = rate.parse().map_err(|e| format!("rate: {e}"))?;
    if !(1..=MAX_LENGTH).contains(&length) {
        return Err(format!("length = {length}: allowed: 1 to {MAX_LENGTH} packets"));
    }
    let stream = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut process = LossProcess::new(&LossModel::Independent(rate), stream);
    let named: Positions = (1..=length).filter(|_| process.next_is_lost()).collect();
    let positions = if named.is_empty() { Positions::one(0) } else { named };
    let period = repeat.then_some(length);
    Ok(print(&Rule::Position { positions, period, scope: Scope::Direction }.into()))
}

/// A pattern file as the generator of hurtig-2006 writes it: `factor` words of 16 entries, and its comma
/// separated list.
///
/// # Errors
/// One line that says what is allowed.
pub fn make_file(factor: usize, list: &str, mode: Mode) -> Result<Made, String> {
    let list: Positions = list.parse()?;
    let (words, beyond) = match mode {
        Mode::Data => Words::data(factor, &list)?,
        Mode::Time { start } => Words::time(factor, &list, start)?,
    };
    let last = words.len() - 1;
    let warning = || format!("{beyond} left out: the last entry of factor {factor} is {last}");
    let warnings = if beyond.is_empty() { Vec::new() } else { vec![warning()] };
    Ok(Made { bytes: words.to_bytes(), warnings })
}

/// The plain text form of a pattern file. `step`: each entry stands for this much time, such as `1 ms`; without
/// it, for a packet.
///
/// # Errors
/// One line that says what is wrong with the file.
pub fn file_to_text(bytes: &[u8], step: Option<&str>) -> Result<String, String> {
    let words = Words::from_bytes(bytes)?;
    match step {
        None => Ok(print(&words.to_pattern())),
        Some(step) => {
            let step: Duration = step.parse().map_err(|e| format!("step: {e}"))?;
            words.to_time_pattern(step).map(|p| print(&p))
        }
    }
}

/// The pattern file of a plain text form: positions of the whole direction with a period of 16 times a number
/// of packets, or without a period and with a `factor`.
///
/// # Errors
/// One line that says what is allowed.
pub fn text_to_file(text: &str, factor: Option<usize>) -> Result<Vec<u8>, String> {
    Words::from_pattern(&parse(text)?, factor).map(|words| words.to_bytes())
}

/// A pattern for people: its canonical form, and where it counts packets of the direction, a picture of the
/// first `width` packets, `x` for those that it names.
///
/// # Errors
/// One line that says what is wrong with the text.
pub fn show(text: &str, width: u64) -> Result<String, String> {
    let pattern = parse(text)?;
    let mut out = print(&pattern);
    let [Rule::Position { positions, period, scope: Scope::Direction }] = pattern.rules.as_slice() else {
        return Ok(out);
    };
    let named = |n: u64| positions.contains(super::in_period(n, *period));
    for first in (1..=width.min(MAX_LENGTH)).step_by(50) {
        let last = width.min(first + 49);
        let row: String = (first..=last).map(|n| if named(n) { 'x' } else { '.' }).collect();
        out.push_str(&format!("{first:>7} {row}\n"));
    }
    Ok(out)
}

fn one_line(error: toml::de::Error) -> String {
    error.message().replace('\n', " ")
}
