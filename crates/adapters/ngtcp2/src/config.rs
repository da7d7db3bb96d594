//! What a scenario may set.

use rexmit_stack::SettingError;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of one end. Every default is the library's, or where it has none, that of its example client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Ngtcp2Config {
    /// Congestion control.
    pub congestion: Ngtcp2Congestion,
    /// The RTT that is assumed before the first sample (RFC 9002 section 6.2.2).
    pub initial_rtt: Duration,
    /// An acknowledgment waits no longer (RFC 9000 section 18.2, `max_ack_delay`).
    pub max_ack_delay: Duration,
    /// So many packets that ask for an acknowledgment get one at once.
    #[schemars(range(min = 1))]
    pub ack_threshold: u32,
    /// Bytes that the peer may send on one stream before the application reads.
    pub stream_window: Bytes,
    /// That window grows up to so many bytes as the application reads. Absent: it stays as it is.
    pub most_stream_window: Option<Bytes>,
    /// Bytes that the peer may send on all streams together.
    pub receive_window: Bytes,
    /// That window grows up to so many bytes as the application reads. Absent: it stays as it is.
    pub most_receive_window: Option<Bytes>,
    /// Bytes written that are kept until they are acknowledged. They are kept by the application, so this has no default of the
    /// library's.
    pub send_window: Bytes,
    /// A connection on which nothing has arrived for so long is given up.
    pub idle_timeout: Duration,
    /// A handshake that takes longer is given up.
    pub handshake_timeout: Duration,
    /// An end on which nothing has been sent for so long sends a PING. Absent: none.
    pub keep_alive: Option<Duration>,
    /// The path's MTU is looked for with probes of a few sizes (RFC 8899); otherwise datagrams have 1,200 bytes.
    pub mtu_discovery: bool,
    /// A client that has been connected to the server before sends data at once (0-RTT, RFC 9001 section 4.6).
    pub zero_rtt: bool,
}

/// A congestion control that ngtcp2 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ngtcp2Congestion {
    /// NewReno (RFC 9002 section 7).
    #[serde(alias = "newreno", alias = "new-reno")]
    Reno,
    /// CUBIC (RFC 8312).
    Cubic,
    /// BBR, its first version.
    Bbr,
    /// BBR, its second version.
    Bbr2,
}

impl Ngtcp2Congestion {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

impl Default for Ngtcp2Config {
    fn default() -> Self {
        Self {
            congestion: Ngtcp2Congestion::Cubic,
            initial_rtt: Duration::from_millis(333),
            max_ack_delay: Duration::from_millis(25),
            ack_threshold: 2,
            stream_window: Bytes(6 << 20),
            most_stream_window: Some(Bytes(16 << 20)),
            receive_window: Bytes(15 << 20),
            most_receive_window: Some(Bytes(24 << 20)),
            send_window: Bytes(10_000_000),
            idle_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(10),
            keep_alive: None,
            mtu_discovery: true,
            zero_rtt: false,
        }
    }
}

impl Ngtcp2Config {
    /// Checks what the library, or QUIC, cannot have.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let windows = [
            ("stream_window", Some(self.stream_window)),
            ("most_stream_window", self.most_stream_window),
            ("receive_window", Some(self.receive_window)),
            ("most_receive_window", self.most_receive_window),
            ("send_window", Some(self.send_window)),
        ];
        for (key, size) in windows {
            if size.is_some_and(|size| !(1..1 << 62).contains(&size.0)) {
                let text = "allowed: 1 byte to 2^62 - 1 bytes (RFC 9000 section 16)";
                return Err(SettingError::new(key, text));
            }
        }
        for (key, time) in [("initial_rtt", self.initial_rtt), ("handshake_timeout", self.handshake_timeout)]
        {
            if time.is_zero() {
                return Err(SettingError::new(key, "allowed: longer than zero, such as \"333 ms\""));
            }
        }
        if self.max_ack_delay.as_nanos() >= (1 << 14) * 1_000_000 {
            let text = "allowed: less than 16384 ms (RFC 9000 section 18.2)";
            return Err(SettingError::new("max_ack_delay", text));
        }
        if self.ack_threshold == 0 {
            return Err(SettingError::new("ack_threshold", "allowed: 1 and more"));
        }
        Ok(())
    }
}
