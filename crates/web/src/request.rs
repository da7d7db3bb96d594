//! What a page asks for.

use serde::Deserialize;
use serde_json::Value;

/// One run, and what of it is wanted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The scenario, as a study file has it.
    pub scenario: Value,
    /// The seed of its random streams.
    #[serde(default = "one")]
    pub seed: u64,
    /// What names the run among those of a study, for its random streams.
    #[serde(default)]
    pub run_key: String,
    /// What comes back.
    #[serde(default)]
    pub wanted: Wanted,
}

/// What comes back of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// The block that graphs are drawn from.
    #[default]
    Block,
    /// The captures of the hosts as pcapng, each behind its length as a `u32` in little-endian order.
    Captures,
}

fn one() -> u64 {
    1
}
