//! What a scenario may set.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rexmit_stack::SettingError;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Settings of the connections of a host. Every default is quic-go's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct QuicGoConfig {
    /// Payload of a UDP datagram; smaller where the interface has a smaller MTU.
    pub packet_size: Bytes,
    /// Bytes that the peer may send on one stream before the application reads, to begin with.
    pub stream_window: Bytes,
    /// What that grows to.
    pub stream_window_max: Bytes,
    /// Bytes that the peer may send on all streams together, to begin with.
    pub receive_window: Bytes,
    /// What that grows to.
    pub receive_window_max: Bytes,
    /// A connection on which nothing has arrived for so long is given up.
    pub idle_timeout: Duration,
    /// An end on which nothing has been sent for so long sends a PING. Absent: none.
    pub keep_alive: Option<Duration>,
    /// A client that has been connected to the server before sends data at once (0-RTT, RFC 9001 section 4.6).
    pub zero_rtt: bool,
}

impl Default for QuicGoConfig {
    fn default() -> Self {
        Self {
            packet_size: Bytes(1_280),
            stream_window: Bytes(512 << 10),
            stream_window_max: Bytes(6 << 20),
            receive_window: Bytes(512 << 10),
            receive_window_max: Bytes(15 << 20),
            idle_timeout: Duration::from_secs(30),
            keep_alive: None,
            zero_rtt: false,
        }
    }
}

/// Sets what a value of a profile is in quic-go; `None` where it has no such setting.
pub(crate) fn translate(key: &str, value: &Value, settings: &mut QuicGoConfig) -> Option<()> {
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    match key {
        "protocol" => (value.as_str() == Some("quic")).then_some(())?,
        "congestion.algorithm" => matches!(value.as_str()?, "reno" | "newreno" | "new-reno").then_some(())?,
        "windows.receive" => settings.receive_window = bytes()?,
        "windows.stream" => settings.stream_window = bytes()?,
        "idle_timeout" => settings.idle_timeout = value.as_str()?.parse().ok()?,
        _ => return None,
    }
    settings.receive_window_max = settings.receive_window_max.max(settings.receive_window);
    settings.stream_window_max = settings.stream_window_max.max(settings.stream_window);
    Some(())
}

pub(crate) fn check(settings: &QuicGoConfig) -> Result<(), SettingError> {
    if !(1_200..=1_452).contains(&settings.packet_size.0) {
        return Err(SettingError::new("packet_size", "allowed: 1200 to 1452 bytes, which quic-go takes"));
    }
    for (key, size) in [
        ("stream_window", settings.stream_window),
        ("stream_window_max", settings.stream_window_max),
        ("receive_window", settings.receive_window),
        ("receive_window_max", settings.receive_window_max),
    ] {
        if !(1..1 << 62).contains(&size.0) {
            return Err(SettingError::new(key, "allowed: 1 byte to 2^62 - 1 bytes (RFC 9000 section 16)"));
        }
    }
    if settings.idle_timeout.is_zero() {
        return Err(SettingError::new("idle_timeout", "allowed: longer than zero, such as \"30 s\""));
    }
    Ok(())
}

/// The settings as `program/main.go` reads them: sizes in bytes, times in nanoseconds.
pub(crate) fn told(settings: &QuicGoConfig) -> Value {
    json!({
        "certificate": STANDARD.encode(rexmit_tls::CERTIFICATE),
        "key": STANDARD.encode(rexmit_tls::KEY),
        "packet_size": settings.packet_size.0,
        "stream_window": settings.stream_window.0,
        "stream_window_max": settings.stream_window_max.0,
        "receive_window": settings.receive_window.0,
        "receive_window_max": settings.receive_window_max.0,
        "idle_timeout": settings.idle_timeout.as_nanos(),
        "keep_alive": settings.keep_alive.map_or(0, Duration::as_nanos),
        "zero_rtt": settings.zero_rtt,
    })
}
