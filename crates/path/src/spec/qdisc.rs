//! A queueing discipline of the Linux kernel, in the words of its own tool, and what the kernel is told of it.

use std::fmt;
use std::str::FromStr;

use rexmit_units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod cake;
mod listed;
mod options;
mod red;
mod sfq;
mod units;
mod words;

pub use options::KernelOptions;

use words::Words;

/// A queueing discipline of the Linux kernel as `tc` is told it: its name and options, such as `fq_codel`,
/// `pfifo limit 50`, `codel target 20ms interval 200ms` (tc(8)). Allowed: `pfifo`, `bfifo`, `pfifo_head_drop`,
/// `pfifo_fast`, `codel`, `fq_codel`, `pie`, `fq_pie`, `fq`, `sfq`, `red`, `cake`, with the options of their manual pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Qdisc(String);

impl Qdisc {
    /// Its name, such as `fq_codel`.
    pub fn name(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// Whether it is a bottleneck by itself, and needs none behind it.
    pub fn has_bottleneck(&self) -> bool {
        self.name() == CAKE
    }

    /// Whether it has a timer that waits for others to be due (`TIMER_DEFERRABLE`): that by which SFQ changes its hash.
    pub fn has_deferred_timer(&self) -> bool {
        self.words().any(|word| word == "perturb")
    }

    /// What the kernel is told of it before a bottleneck of this rate.
    ///
    /// # Errors
    /// None for one that has been read and has no bottleneck of its own; else what is wrong, in words.
    pub fn kernel_options(&self, bottleneck: Option<Rate>) -> Result<KernelOptions, String> {
        let own = bottleneck.filter(|_| self.has_bottleneck());
        // It counts from the IP header on.
        let before = own.map(|rate| format!("bandwidth {}bit overhead 14", rate.bits_per_second()));
        let words: Vec<&str> = before.iter().flat_map(|text| text.split(' ')).chain(self.words()).collect();
        options_of(self.name(), &words)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').skip(1)
    }
}

impl FromStr for Qdisc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some((name, options)) = words.split_first().filter(|(name, _)| NAMES.contains(name)) else {
            return Err(format!(
                "{text:?} is not a queueing discipline; allowed: {}, each with its options of tc, such as \"pfifo limit 50\"",
                NAMES.join(", ")
            ));
        };
        options_of(name, options)?;
        Ok(Self(words.join(" ")))
    }
}

const CAKE: &str = "cake";
const NAMES: [&str; 12] = [
    "pfifo",
    "bfifo",
    "pfifo_head_drop",
    "pfifo_fast",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "fq",
    "sfq",
    "red",
    CAKE,
];

/// What the kernel is told of the discipline `name` with these options.
fn options_of(name: &str, options: &[&str]) -> Result<KernelOptions, String> {
    let words = Words::new(name, options);
    match name {
        CAKE => cake::read(words),
        "red" => red::read(words),
        "sfq" => sfq::read(words),
        "pfifo" | "bfifo" | "pfifo_head_drop" => listed::fifo(words),
        _ => listed::read(words),
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
mod tests;
