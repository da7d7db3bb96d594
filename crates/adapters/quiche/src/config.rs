//! What a scenario may set.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rexmit_stack::SettingError;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Congestion control, by quiche's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuicheCongestion {
    /// NewReno (RFC 9002 section 7).
    Reno,
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// BBR, version 2, the only one that is paced.
    Bbr2Gcongestion,
}

/// Settings of the connections of a host. Defaults are quiche's own; where it has none, those of the server and client that
/// come with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct QuicheConfig {
    /// Congestion control.
    pub congestion: QuicheCongestion,
    /// The initial congestion window, in packets.
    pub initial_window: u32,
    /// Slow start ends early where the RTT grows (HyStart++, RFC 9406); not with BBR.
    pub hystart: bool,
    /// Packets are paced; with BBR alone.
    pub pacing: bool,
    /// The RTT that is assumed before one is measured.
    pub initial_rtt: Duration,
    /// Payload of a UDP datagram; smaller where the interface has a smaller MTU.
    pub packet_size: Bytes,
    /// Looks for a larger MTU, up to the interface's (RFC 8899).
    pub pmtud: bool,
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
    /// A client that has been connected to the server before sends data at once (0-RTT, RFC 9001 section 4.6).
    pub zero_rtt: bool,
}

impl Default for QuicheConfig {
    fn default() -> Self {
        Self {
            congestion: QuicheCongestion::Cubic,
            initial_window: 10,
            hystart: true,
            pacing: true,
            initial_rtt: Duration::from_millis(333),
            packet_size: Bytes(1_200),
            pmtud: false,
            stream_window: Bytes(1_000_000),
            stream_window_max: Bytes(16 << 20),
            receive_window: Bytes(10_000_000),
            receive_window_max: Bytes(24 << 20),
            idle_timeout: Duration::from_secs(30),
            zero_rtt: false,
        }
    }
}

/// Sets what a value of a profile is in quiche; `None` where it has no such setting.
pub(crate) fn translate(key: &str, value: &Value, settings: &mut QuicheConfig) -> Option<()> {
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    match key {
        "protocol" => (value.as_str() == Some("quic")).then_some(())?,
        "congestion.algorithm" => {
            settings.congestion = match value.as_str()? {
                "reno" | "newreno" | "new-reno" => QuicheCongestion::Reno,
                "cubic" => QuicheCongestion::Cubic,
                _ => return None,
            }
        }
        "windows.receive" => settings.receive_window = bytes()?,
        "windows.stream" => settings.stream_window = bytes()?,
        "idle_timeout" => settings.idle_timeout = value.as_str()?.parse().ok()?,
        _ => return None,
    }
    settings.receive_window_max = settings.receive_window_max.max(settings.receive_window);
    settings.stream_window_max = settings.stream_window_max.max(settings.stream_window);
    Some(())
}

pub(crate) fn check(settings: &QuicheConfig) -> Result<(), SettingError> {
    if !(1..=10_000).contains(&settings.initial_window) {
        return Err(SettingError::new("initial_window", "allowed: 1 to 10000 packets"));
    }
    if !(1_200..=65_527).contains(&settings.packet_size.0) {
        return Err(SettingError::new("packet_size", "allowed: 1200 to 65527 bytes (RFC 9000 section 14)"));
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
    for (key, time) in [("initial_rtt", settings.initial_rtt), ("idle_timeout", settings.idle_timeout)] {
        if time < Duration::from_millis(1) {
            return Err(SettingError::new(key, "allowed: 1 ms and longer, such as \"333 ms\""));
        }
    }
    Ok(())
}

/// The settings as `program/src/main.rs` reads them: sizes in bytes, times in nanoseconds.
pub(crate) fn told(settings: &QuicheConfig) -> Value {
    json!({
        "certificate": STANDARD.encode(rexmit_tls::CERTIFICATE),
        "key": STANDARD.encode(rexmit_tls::KEY),
        "congestion": settings.congestion,
        "initial_window": settings.initial_window,
        "hystart": settings.hystart,
        "pacing": settings.pacing,
        "initial_rtt": settings.initial_rtt.as_nanos(),
        "packet_size": settings.packet_size.0,
        "pmtud": settings.pmtud,
        "stream_window": settings.stream_window.0,
        "stream_window_max": settings.stream_window_max.0,
        "receive_window": settings.receive_window.0,
        "receive_window_max": settings.receive_window_max.0,
        "idle_timeout": settings.idle_timeout.as_nanos(),
        "zero_rtt": settings.zero_rtt,
    })
}
