//! Settings read from JSON: one line that says which key is wrong and what is allowed.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::HostSettings;
use crate::meant::meant;

/// An impossible setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// Dotted name of the setting, empty for the whole.
    pub key: String,
    /// What is wrong and what is allowed, one line without a full stop.
    pub message: String,
}

impl SettingError {
    /// An error at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_error(f, &self.key, &self.message)
    }
}

impl std::error::Error for SettingError {}

/// Writes an error in one line whatever stands in the file: control characters of its keys and values are written as
/// escapes.
///
/// # Errors
/// Those of the formatter.
pub fn write_error(f: &mut fmt::Formatter<'_>, key: &str, message: &str) -> fmt::Result {
    let between = if key.is_empty() { "" } else { ": " };
    for part in [key, between, message] {
        for piece in part.split_inclusive(char::is_control) {
            let last = piece.chars().next_back().filter(|c| c.is_control());
            f.write_str(piece.trim_end_matches(char::is_control))?;
            last.map_or(Ok(()), |c| write!(f, "{}", c.escape_default()))?;
        }
    }
    Ok(())
}

/// Reads a value and turns serde's words into ours: the key, and for an unknown name the nearest known one.
///
/// # Errors
/// The first key or value that does not fit.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, SettingError> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let key: Vec<String> = e.path().iter().map(part).collect();
        SettingError::new(key.join("."), explain(&e.into_inner().to_string()))
    })
}

/// A part of a key, as settings are named: `transfers.0`, not `transfers[0]`.
fn part(segment: &Segment) -> String {
    match segment {
        Segment::Seq { index } => index.to_string(),
        other => other.to_string(),
    }
}

/// What belongs where serde expects a struct.
pub const TABLE: &str = "a table of settings, such as { key = \"value\" }";

/// Serde's words for what it expected, and ours.
const EXPECTED: &[(&str, &str)] = &[
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 on"),
    ("usize", "a whole number from 0 on"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a string", "a text in quotes"),
    ("string or map", "a name in quotes"),
    ("a sequence", "a list in brackets"),
    ("a map", TABLE),
];

/// Serde's words for what it found, and ours.
const FOUND: &[(&str, &str)] =
    &[("sequence", "a list"), ("map", "a table"), ("null", "nothing"), ("unit", "nothing")];

/// Says in our words what serde says in its own.
fn explain(message: &str) -> String {
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    for kind in ["invalid type: ", "invalid value: ", "invalid length "] {
        let Some((found, expected)) = message.strip_prefix(kind).and_then(|m| m.rsplit_once(", expected "))
        else {
            continue;
        };
        let found =
            if kind == "invalid length " { "a list of another length" } else { translated(FOUND, found) };
        let expected = if expected.starts_with("struct ") { TABLE } else { translated(EXPECTED, expected) };
        return format!("{} does not fit here; allowed: {expected}", plain(found));
    }
    explain_name(message)
}

fn translated<'a>(table: &[(&str, &'a str)], word: &'a str) -> &'a str {
    table.iter().find(|(theirs, _)| *theirs == word).map_or(word, |(_, ours)| ours)
}

/// A value without serde's name of its type: `-1` of "integer `-1`", `"x"` of `string "x"`.
fn plain(found: &str) -> &str {
    for kind in ["integer `", "floating point `", "boolean `"] {
        if let Some(value) = found.strip_prefix(kind) {
            return value.trim_end_matches('`');
        }
    }
    found.strip_prefix("string ").unwrap_or(found)
}

/// Shortens serde's list of names to what helps.
fn explain_name(message: &str) -> String {
    for kind in ["unknown field", "unknown variant"] {
        let Some(rest) = message.strip_prefix(kind) else { continue };
        let mut names = rest.split('`').skip(1).step_by(2);
        let Some(found) = names.next() else { continue };
        let known: Vec<&str> = names.collect();
        return unknown_name(if kind.ends_with("field") { "key" } else { "choice" }, found, &known);
    }
    message.to_string()
}

/// Says that a name is not known, which one may be meant, and which ones there are; `what` is a word for it: `key`.
///
/// For keys, what the field calls them counts before what is spelt alike: `latency` is `delay`.
pub fn unknown_name(what: &str, found: &str, known: &[&str]) -> String {
    let all = if known.is_empty() { String::new() } else { format!("; known here: {}", known.join(", ")) };
    let spoken = if what == "key" { meant(found, known) } else { None };
    match spoken.or_else(|| nearest(found, known.iter().copied())) {
        Some(near) => format!("unknown {what} `{found}`: did you mean `{near}`?{all}"),
        None => format!("unknown {what} `{found}`{all}"),
    }
}

/// The single values that a host's `stack` changes in a profile, by their dotted names: none where it only names one. What
/// merely describes the profile is left out.
pub fn changed_values(stack: &Value) -> Vec<(String, Value)> {
    let mut changes = Vec::new();
    if stack.get("inherits").is_some() {
        flatten("", stack, &mut changes);
    }
    changes
}

/// The settings of a library at a host, and the keys that it cannot have. A library is a system of its own, so the profile's
/// name means nothing to it; single values that the scenario changes in a profile count where `translate` sets what they are
/// for the library (`None`: it has no such setting), and what stands in its own table counts before those.
pub fn settings_at<T: Default + Serialize + DeserializeOwned>(
    host: &HostSettings<'_>,
    translate: impl Fn(&str, &Value, &mut T) -> Option<()>,
) -> (T, Vec<String>) {
    let mut settings = T::default();
    let mut unsupported = Vec::new();
    for (key, value) in changed_values(host.stack) {
        if translate(&key, &value, &mut settings).is_none() {
            unsupported.push(host.key(&format!("stack.{key}")));
        }
    }
    (with_table(settings, host.settings), unsupported)
}

/// Settings with those of their own table, which has been checked.
pub fn with_table<T: Serialize + DeserializeOwned>(settings: T, table: Option<&Value>) -> T {
    let mut whole = serde_json::to_value(&settings).unwrap_or_default();
    for (key, value) in table.and_then(Value::as_object).into_iter().flatten() {
        whole[key] = value.clone();
    }
    serde_json::from_value(whole).unwrap_or(settings)
}

/// The leaves of a table by their dotted names.
fn flatten(prefix: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    let Some(table) = value.as_object() else {
        into.push((prefix.to_string(), value.clone()));
        return;
    };
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if !matches!(name.as_str(), "inherits" | "summary" | "sources") {
            flatten(&name, value, into);
        }
    }
}

/// The known name that looks most like `found`, if any does.
pub fn nearest<'a>(found: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::jaro_winkler(found, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
