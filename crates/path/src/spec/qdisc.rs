//! A queueing discipline of the Linux kernel, in the words of its own tool.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queueing discipline of the Linux kernel as `tc` is told it: its name and options, such as `fq_codel`,
/// `pfifo limit 50`, `codel target 20ms interval 200ms` (tc(8)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Qdisc(String);

impl Qdisc {
    /// Its name, such as `fq_codel`.
    pub fn name(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// What follows the name.
    pub fn options(&self) -> &str {
        self.0.split_once(' ').map_or("", |(_, options)| options)
    }
}

impl FromStr for Qdisc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.%-:/".contains(c);
        let named = words.first().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()));
        if named && words.iter().all(|word| word.chars().all(plain)) {
            Ok(Self(words.join(" ")))
        } else {
            Err(format!(
                "{text:?} is no queueing discipline; allowed: a name and options of tc, such as \"fq_codel\" or \
                 \"pfifo limit 50\""
            ))
        }
    }
}

impl TryFrom<String> for Qdisc {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Qdisc> for String {
    fn from(qdisc: Qdisc) -> Self {
        qdisc.0
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Qdisc;

    #[test]
    fn a_name_and_options_are_read_and_anything_a_shell_or_a_second_line_would_need_is_not() {
        let read: Qdisc = "  codel  target 20ms   interval 200ms ".parse().unwrap();
        assert_eq!((read.name(), read.options()), ("codel", "target 20ms interval 200ms"));
        assert_eq!(read.to_string().parse(), Ok(read));
        assert_eq!("cake".parse::<Qdisc>().unwrap().options(), "");
        for text in
            ["", "  ", "1fq", "fq; reboot", "fq\nqdisc del dev lo root;", "-batch", "fq 'x'", "fq $HOME"]
        {
            let wrong = text.parse::<Qdisc>().map(|q| q.to_string());
            assert!(
                wrong.as_ref().is_err_and(|e| e.contains("no queueing discipline")),
                "{text:?}: {wrong:?}"
            );
        }
    }
}
