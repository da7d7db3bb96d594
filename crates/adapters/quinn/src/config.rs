//! What a scenario may set.

use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of one end. Every default is quinn's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct QuinnConfig {
    /// Congestion control.
    pub congestion: Congestion,
    /// The first congestion window. Absent: quinn's, of ten datagrams of 1,200 bytes, and 200 of BBR.
    pub initial_window: Option<Bytes>,
    /// The RTT that is assumed before the first sample (RFC 9002 section 6.2.2).
    pub initial_rtt: Duration,
    /// A packet is lost once one sent so many later is acknowledged (RFC 9002 section 6.1.1).
    pub packet_threshold: u32,
    /// A packet is lost so many RTTs after it was sent, once a later one is acknowledged (RFC 9002 section 6.1.2).
    pub time_threshold: f32,
    /// Bytes that the peer may send on one stream before the application reads.
    pub stream_window: Bytes,
    /// Bytes that the peer may send on all streams together. Absent: no limit but the streams'.
    pub receive_window: Option<Bytes>,
    /// Bytes written that are kept until they are acknowledged.
    pub send_window: Bytes,
    /// A connection on which nothing has arrived for so long is given up.
    pub idle_timeout: Duration,
    /// An end on which nothing has been sent for so long sends a PING. Absent: none.
    pub keep_alive: Option<Duration>,
    /// The path's MTU is looked for with probes (RFC 8899); otherwise datagrams have 1,200 bytes.
    pub mtu_discovery: bool,
    /// A client that has been connected to the server before sends data at once (0-RTT, RFC 9001 section 4.6).
    pub zero_rtt: bool,
}

/// A congestion control that quinn has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// NewReno (RFC 9002 section 7).
    #[serde(alias = "newreno", alias = "new-reno")]
    Reno,
    /// CUBIC (RFC 8312).
    Cubic,
    /// BBR, its first version; it draws from the system's random numbers, so runs with it differ.
    Bbr,
}

impl Congestion {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

impl Default for QuinnConfig {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            initial_window: None,
            initial_rtt: Duration::from_millis(333),
            packet_threshold: 3,
            time_threshold: 9.0 / 8.0,
            stream_window: Bytes(1_250_000),
            receive_window: None,
            send_window: Bytes(10_000_000),
            idle_timeout: Duration::from_secs(30),
            keep_alive: None,
            mtu_discovery: true,
            zero_rtt: false,
        }
    }
}
