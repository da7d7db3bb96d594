//! What a scenario may set.

use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of one end. Every default is smoltcp's own where it has one; it has none for buffers and timestamps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct SmoltcpConfig {
    /// Congestion control.
    pub congestion: Congestion,
    /// Small segments wait until all before them is acknowledged (RFC 896).
    pub nagle: bool,
    /// How long an acknowledgment waits for data to go with, in whole microseconds; 0: none waits.
    pub ack_delay: Duration,
    /// Timestamps are offered, of milliseconds (RFC 7323).
    pub timestamps: bool,
    /// Send buffer.
    pub send_buffer: Bytes,
    /// Receive buffer, which the peer sees as its window.
    pub receive_buffer: Bytes,
}

/// A congestion control that smoltcp has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// The peer's window alone limits it.
    None,
    /// Reno.
    Reno,
    /// CUBIC.
    Cubic,
}

impl Congestion {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

impl Default for SmoltcpConfig {
    fn default() -> Self {
        Self {
            congestion: Congestion::None,
            nagle: true,
            ack_delay: Duration::from_millis(10),
            timestamps: false,
            send_buffer: Bytes(65_535),
            receive_buffer: Bytes(65_535),
        }
    }
}
