//! One line that says which key of a scenario is wrong and what is allowed.

use std::fmt;

use rexmit_stack::SettingError;

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
    /// Where a host lacks its stack, the names of the others, since the name may be a slip for one of them.
    pub(crate) fn beside_hosts(mut self, names: &[String]) -> Self {
        let Some(own) = self.key.strip_prefix("hosts.").filter(|_| self.message == "`stack` is missing")
        else {
            return self;
        };
        let others: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| *name != own).take(12).collect();
        self.message += "; name one, such as \"linux-6.1\"";
        if !others.is_empty() {
            self.message += &format!(" (other hosts: {})", others.join(", "));
        }
        self
    }

    /// An error at `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), os_error: None }
    }

    /// A file that could not be written.
    pub fn writing(what: &str, error: &std::io::Error) -> Self {
        Self { os_error: error.raw_os_error(), ..Self::new("", format!("cannot write {what}: {error}")) }
    }

    /// The same error, seen from one level further out.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.key = if self.key.is_empty() { outer.to_string() } else { format!("{outer}.{}", self.key) };
        self
    }
}

impl From<SettingError> for SpecError {
    fn from(error: SettingError) -> Self {
        Self::new(error.key, error.message)
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rexmit_stack::write_error(f, &self.key, &self.message)
    }
}

impl std::error::Error for SpecError {}

/// Reads a value; an error says the key, and for an unknown name the nearest known one.
pub(crate) fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, SpecError> {
    Ok(rexmit_stack::read(value)?)
}

/// Refuses a list where a table belongs: serde would take its entries for the keys in their order.
pub(crate) fn refuse_list(value: &serde_json::Value, key: impl FnOnce() -> String) -> Result<(), SpecError> {
    if value.is_array() {
        let text = format!("a list does not fit here; allowed: {}", rexmit_stack::TABLE);
        return Err(SpecError::new(key(), text));
    }
    Ok(())
}
