//! The stacks that hosts can choose from.

use crate::{SettingError, StackFactory, unknown_name};

/// The name of rexmit's own code: the models, one entry for each protocol.
pub const MODEL: &str = "model";

/// The stacks that hosts can choose from, and the one of a host that chooses none.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    entries: &'static [&'static dyn StackFactory],
    default: &'static str,
}

impl Registry {
    /// These stacks; a host that chooses none gets [`MODEL`].
    pub const fn new(entries: &'static [&'static dyn StackFactory]) -> Self {
        Self { entries, default: MODEL }
    }

    /// The same, but a host that chooses none gets the stack of this name.
    ///
    /// # Errors
    /// A name that no stack has.
    pub fn with_default(self, name: &str) -> Result<Self, SettingError> {
        match self.names().find(|known| *known == name) {
            Some(default) => Ok(Self { default, ..self }),
            None => Err(self.unknown(name)),
        }
    }

    /// Every entry, in order.
    pub fn entries(&self) -> &'static [&'static dyn StackFactory] {
        self.entries
    }

    /// The names, each once, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let name = |n: usize| self.entries[n].about().name;
        (0..self.entries.len()).filter(move |n| (0..*n).all(|before| name(before) != name(*n))).map(name)
    }

    /// The name of the stack of a host that chooses this one, or none.
    pub fn chosen<'a>(&self, code: Option<&'a str>) -> &'a str {
        code.unwrap_or(self.default)
    }

    /// The stack of this name that speaks this protocol.
    ///
    /// # Errors
    /// A name that no stack has, or a stack without the protocol.
    pub fn find(&self, name: &str, protocol: &str) -> Result<&'static dyn StackFactory, SettingError> {
        let mut of_name = self.entries.iter().filter(|entry| entry.about().name == name).peekable();
        let Some(first) = of_name.peek().copied() else { return Err(self.unknown(name)) };
        of_name.find(|entry| entry.about().protocols.contains(&protocol)).copied().ok_or_else(|| {
            let upper = protocol.to_uppercase();
            let others: Vec<&str> = self.names().filter(|other| self.speaks(other, protocol)).collect();
            if name == MODEL && !others.is_empty() {
                let text = format!(
                    "there is no model of {upper}: give the host the code of one that speaks it: {}",
                    others.join(", ")
                );
                return SettingError::new("", text);
            }
            let speaks = first.about().protocols.join(" and ").to_uppercase();
            let text = format!(
                "the stack {name} speaks {speaks}, and this profile is of {upper}: give the hosts one of {speaks}"
            );
            SettingError::new("", text)
        })
    }

    /// A stack of this name speaks this protocol.
    fn speaks(&self, name: &str, protocol: &str) -> bool {
        self.entries.iter().any(|entry| {
            let about = entry.about();
            about.name == name && about.protocols.contains(&protocol)
        })
    }

    /// The stack whose settings are the table `hosts.X.NAME`, if one has such a table.
    pub fn with_settings(&self, name: &str) -> Option<&'static dyn StackFactory> {
        self.tables().find(|entry| entry.about().name == name)
    }

    /// Every stack that has settings of its own.
    pub fn tables(&self) -> impl Iterator<Item = &'static dyn StackFactory> {
        self.entries.iter().copied().filter(|entry| entry.about().settings.is_some())
    }

    fn unknown(&self, name: &str) -> SettingError {
        SettingError::new("", unknown_name("code", name, &self.names().collect::<Vec<_>>()))
    }
}
