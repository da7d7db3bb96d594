//! What a scenario may set.

use rexmit_stack::SettingError;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Settings of the associations of a host. Every default is Pion's own where it has one; it has none for the send buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct PionConfig {
    /// The largest packet without its IP header; smaller where the interface has a smaller MTU.
    pub mtu: Bytes,
    /// Messages wait with the application while so much is not acknowledged.
    pub send_buffer: Bytes,
    /// Receive buffer, which the peer sees as its window.
    pub receive_buffer: Bytes,
    /// The largest message. Pion's own is 64 KiB, less than some workloads write.
    pub max_message: Bytes,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// Least congestion window. 0: none.
    pub min_cwnd: Bytes,
}

impl Default for PionConfig {
    fn default() -> Self {
        Self {
            mtu: Bytes(1_191),
            send_buffer: Bytes(1 << 20),
            receive_buffer: Bytes(1 << 20),
            max_message: Bytes(4 << 20),
            max_rto: Duration::from_secs(60),
            min_cwnd: Bytes(0),
        }
    }
}

/// Sets what a value of a profile is in Pion; `None` where it has no such setting.
pub(crate) fn translate(key: &str, value: &Value, settings: &mut PionConfig) -> Option<()> {
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    match key {
        "protocol" => (value.as_str() == Some("sctp")).then_some(())?,
        "buffers.send" => settings.send_buffer = bytes()?,
        "buffers.receive" => settings.receive_buffer = bytes()?,
        "rto.max" => settings.max_rto = value.as_str()?.parse().ok()?,
        _ => return None,
    }
    Some(())
}

pub(crate) fn check(settings: &PionConfig) -> Result<(), SettingError> {
    let most = u64::from(u32::MAX);
    for (key, size, least, text) in [
        ("mtu", settings.mtu, 512, "allowed: 512 bytes to 4 GiB"),
        ("send_buffer", settings.send_buffer, 1, "allowed: 1 byte to 4 GiB"),
        (
            "receive_buffer",
            settings.receive_buffer,
            1_500,
            "allowed: 1500 bytes to 4 GiB (RFC 9260 section 3.3.2)",
        ),
        ("max_message", settings.max_message, 1, "allowed: 1 byte to 4 GiB"),
        ("min_cwnd", settings.min_cwnd, 0, "allowed: up to 4 GiB"),
    ] {
        if !(least..=most).contains(&size.0) {
            return Err(SettingError::new(key, text));
        }
    }
    if settings.max_rto < Duration::from_secs(1) {
        return Err(SettingError::new("max_rto", "allowed: 1 s and more, Pion's least timeout"));
    }
    Ok(())
}

/// The settings as `program/main.go` reads them: sizes in bytes, times in milliseconds.
pub(crate) fn told(settings: &PionConfig) -> Value {
    json!({
        "mtu": settings.mtu.0,
        "send_buffer": settings.send_buffer.0,
        "receive_buffer": settings.receive_buffer.0,
        "max_message": settings.max_message.0,
        "max_rto": settings.max_rto.as_nanos() as f64 / 1e6,
        "min_cwnd": settings.min_cwnd.0,
    })
}
