//! What a profile says about explicit congestion notification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Explicit congestion notification (RFC 3168), counted as Linux's `tcp_ecn`. Accurate ECN (RFC 9768) is not there: neither Linux
/// 6.1 nor 6.12 has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// Neither asked for nor granted (`tcp_ecn` 0).
    #[default]
    Off,
    /// Asked for by whoever opens, and granted (`tcp_ecn` 1).
    On,
    /// Granted to whoever asks (`tcp_ecn` 2, Linux's default).
    Grant,
}

/// Explicit congestion notification at both ends (RFC 3168). Marks are set by the path: `mark`, or a queue's `aqm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcnConfig {
    /// Who begins with it. `congestion.algorithm = "dctcp"` asks for it and grants it whatever stands here.
    pub mode: EcnMode,
    /// A SYN that is sent again no longer asks, for paths that drop those that do (RFC 3168 section 6.1.1.1; LK-ECN-1,
    /// `tcp_ecn_fallback`).
    pub fallback: bool,
    /// With `delayed_ack.policy = "quick-ack"`: at most this many ACKs leave at once after a first mark, and after data
    /// that are not ECN-capable though others were (LK-ECN-4); 0: none.
    pub quick_acks: u32,
    /// Data with CWR are acknowledged at once (LK-ECN-4).
    pub cwr_answered: bool,
}

impl Default for EcnConfig {
    fn default() -> Self {
        Self { mode: EcnMode::Off, fallback: true, quick_acks: 0, cwr_answered: false }
    }
}
