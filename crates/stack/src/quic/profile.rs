//! What a scenario may say of QUIC.

use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A QUIC as a profile with `protocol = "quic"` describes it. rexmit has no model of QUIC: a host needs the code of a
/// third party, and every value that stands here takes the place of that code's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuicProfile {
    /// One line that says which QUIC this is.
    pub summary: String,
    /// Congestion control.
    #[serde(default)]
    pub congestion: QuicCongestion,
    /// Detection of losses (RFC 9002 sections 5 and 6).
    #[serde(default)]
    pub recovery: QuicRecovery,
    /// Flow control and buffers.
    #[serde(default)]
    pub windows: QuicWindows,
    /// An acknowledgment waits no longer than this for data to go with (RFC 9000 section 18.2, `max_ack_delay`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ack_delay: Option<Duration>,
    /// A connection on which nothing has arrived for this long is given up (RFC 9000 section 10.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
}

/// Congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuicCongestion {
    /// Its name: `reno`, `cubic`, `bbr`, as far as the code has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// The first congestion window (RFC 9002 section 7.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Bytes>,
}

/// Detection of losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuicRecovery {
    /// The RTT that is assumed before the first sample (RFC 9002 section 6.2.2, kInitialRtt).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rtt: Option<Duration>,
    /// A packet is lost once one sent this many packets later is acknowledged (RFC 9002 section 6.1.1,
    /// kPacketThreshold).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_threshold: Option<u32>,
    /// A packet is lost this many RTTs after it was sent, once a later one is acknowledged (RFC 9002 section 6.1.2,
    /// kTimeThreshold).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_threshold: Option<f64>,
}

/// Flow control and buffers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuicWindows {
    /// Bytes that the peer may send on all streams together before the application reads (`initial_max_data`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Bytes>,
    /// Bytes that the peer may send on one stream (`initial_max_stream_data_uni`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Bytes>,
    /// Bytes written that are kept until they are acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<Bytes>,
}

impl QuicProfile {
    /// Checks what the types allow and no QUIC has.
    ///
    /// # Errors
    /// The key and what is allowed, one line.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let windows = &self.windows;
        let sizes = [
            ("congestion.initial_window", self.congestion.initial_window),
            ("windows.receive", windows.receive),
            ("windows.stream", windows.stream),
            ("windows.send", windows.send),
        ];
        for (key, size) in sizes {
            if size.is_some_and(|size| !(1..MOST_WINDOW).contains(&size.0)) {
                return Err((key, "allowed: 1 byte to 2^62 - 1 bytes (RFC 9000 section 16)".into()));
            }
        }
        let recovery = &self.recovery;
        if recovery.initial_rtt.is_some_and(Duration::is_zero) {
            return Err(("recovery.initial_rtt", "longer than zero".into()));
        }
        if recovery.packet_threshold.is_some_and(|packets| packets < 3) {
            return Err(("recovery.packet_threshold", "at least 3 (RFC 9002 section 6.1.1)".into()));
        }
        if recovery.time_threshold.is_some_and(|times| !(times > 1.0 && times <= 100.0)) {
            return Err(("recovery.time_threshold", "allowed: more than 1, up to 100 RTTs".into()));
        }
        Ok(())
    }
}

const MOST_WINDOW: u64 = 1 << 62;
