//! What a scenario may set.

use rexmit_stack::SettingError;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A window above this cannot be told by any option (RFC 7323 section 2.3).
const MOST_BUFFER: u64 = 1 << 30;

/// Settings of the connections of a host. Every default is what gVisor's sandbox sets, or netstack's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct GvisorConfig {
    /// Congestion control.
    pub congestion: Congestion,
    /// Selective acknowledgments are offered (RFC 2018).
    pub sack: bool,
    /// With SACK, losses are found by RACK, with tail loss probes (RFC 8985); without, as RFC 6675 does.
    pub rack: bool,
    /// Small segments wait until all before them is acknowledged (RFC 896).
    pub nagle: bool,
    /// Send buffer.
    pub send_buffer: Bytes,
    /// Receive buffer to begin with.
    pub receive_buffer: Bytes,
    /// What the receive buffer grows to as the application reads; not above `receive_buffer`: it does not grow.
    pub receive_buffer_max: Bytes,
    /// Least retransmission timeout.
    pub min_rto: Duration,
}

/// A congestion control that netstack has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// Reno.
    Reno,
    /// CUBIC.
    Cubic,
}

impl Default for GvisorConfig {
    fn default() -> Self {
        Self {
            congestion: Congestion::Reno,
            sack: true,
            rack: true,
            nagle: false,
            send_buffer: Bytes(1 << 20),
            receive_buffer: Bytes(1 << 20),
            receive_buffer_max: Bytes(4 << 20),
            min_rto: Duration::from_millis(200),
        }
    }
}

/// Sets what a value of a profile is in netstack; `None` where it has no such setting.
pub(crate) fn translate(key: &str, value: &Value, settings: &mut GvisorConfig) -> Option<()> {
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    match key {
        "protocol" => (value.as_str() == Some("tcp")).then_some(())?,
        "congestion.algorithm" => settings.congestion = serde_json::from_value(value.clone()).ok()?,
        "options.sack" => settings.sack = value.as_bool()?,
        "buffers.send" => settings.send_buffer = bytes()?,
        "buffers.receive" => settings.receive_buffer = bytes()?,
        "rto.min" => settings.min_rto = value.as_str()?.parse().ok()?,
        _ => return None,
    }
    Some(())
}

pub(crate) fn check(settings: &GvisorConfig) -> Result<(), SettingError> {
    for (key, size) in [
        ("send_buffer", settings.send_buffer),
        ("receive_buffer", settings.receive_buffer),
        ("receive_buffer_max", settings.receive_buffer_max),
    ] {
        if !(1..=MOST_BUFFER).contains(&size.0) {
            return Err(SettingError::new(key, "allowed: 1 byte to 1 GiB"));
        }
    }
    let allowed = Duration::from_millis(1)..=Duration::from_secs(120);
    if !allowed.contains(&settings.min_rto) {
        return Err(SettingError::new("min_rto", "allowed: 1 ms to 120 s, the largest timeout"));
    }
    Ok(())
}

/// The settings as `program/main.go` reads them: sizes in bytes, times in nanoseconds.
pub(crate) fn told(settings: &GvisorConfig) -> Value {
    json!({
        "congestion": settings.congestion,
        "sack": settings.sack,
        "rack": settings.rack,
        "nagle": settings.nagle,
        "send_buffer": settings.send_buffer.0,
        "receive_buffer": settings.receive_buffer.0,
        "receive_buffer_max": settings.receive_buffer_max.0,
        "min_rto": settings.min_rto.as_nanos(),
    })
}
