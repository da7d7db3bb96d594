//! How an emulator keeps its delay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the propagation delay is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayRule {
    /// To the nanosecond; with the shaper `dummynet`, cut to whole ticks (EM-DN-5).
    #[default]
    Exact,
    /// As Linux's netem up to 2.6.21: a packet is let go at a tick that is later than its time, and its timer has cut the
    /// delay to whole ticks; so it leaves that many whole ticks and one more after the tick of its arrival (EM-NE-2).
    /// With `tick` = 4 ms, 50 ms become 52 ms less the time since the last tick. A delay of zero is none.
    #[serde(rename = "netem-2.6")]
    Netem26,
}

impl DelayRule {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Netem26 => "netem-2.6",
        }
    }
}
