//! One line that says which key is wrong and what is allowed.

use std::fmt;

/// A scenario, profile or factor that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Dotted name of the setting, empty for the whole.
    pub key: String,
    /// What is wrong and what is allowed, one line without a full stop.
    pub message: String,
    /// The number of the operating system's error, where a file could not be written.
    pub os_error: Option<i32>,
}

impl SpecError {
    /// An error at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), os_error: None }
    }

    /// A file that could not be written.
    pub(crate) fn writing(what: &str, error: &std::io::Error) -> Self {
        Self { os_error: error.raw_os_error(), ..Self::new("", format!("cannot write {what}: {error}")) }
    }

    /// The same error, seen from one level further out.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.key = if self.key.is_empty() { outer.to_string() } else { format!("{outer}.{}", self.key) };
        self
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.key, self.message)
        }
    }
}

impl std::error::Error for SpecError {}

/// Reads a value and turns serde's words into ours: the key, and for an unknown name the nearest known one.
pub(crate) fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, SpecError> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let path = e.path().to_string();
        let key = if path == "." { String::new() } else { path };
        SpecError::new(key, explain(&e.into_inner().to_string()))
    })
}

/// Shortens serde's list of names to what helps.
fn explain(message: &str) -> String {
    for kind in ["unknown field", "unknown variant"] {
        let Some(rest) = message.strip_prefix(kind) else { continue };
        let mut names = rest.split('`').skip(1).step_by(2);
        let Some(found) = names.next() else { continue };
        let known: Vec<&str> = names.collect();
        let what = if kind.ends_with("field") { "key" } else { "choice" };
        let all =
            if known.is_empty() { String::new() } else { format!("; known here: {}", known.join(", ")) };
        return match nearest(found, known.iter().copied()) {
            Some(near) => format!("unknown {what} `{found}`: did you mean `{near}`?{all}"),
            None => format!("unknown {what} `{found}`{all}"),
        };
    }
    message.to_string()
}

/// The known name that looks most like `found`, if any does.
pub(crate) fn nearest<'a>(found: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::jaro_winkler(found, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
