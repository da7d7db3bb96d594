//! What a scenario may set.

use std::net::SocketAddr;
use std::sync::Arc;

use rexmit_stack::Role;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::UsrsctpError;

/// Settings of one end. Every default is the library's own, but `nodelay`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct UsrsctpConfig {
    /// Small messages leave at once (SCTP_NODELAY), as games set it; the library's default is not to.
    pub nodelay: bool,
    /// How long an acknowledgment waits for a second packet, in whole milliseconds; 0: none waits.
    pub sack_delay: Duration,
    /// Every so many packets with data are acknowledged at once.
    pub sack_frequency: u32,
    /// Retransmission timeout before the first sample, in whole milliseconds.
    pub rto_initial: Duration,
    /// Smallest retransmission timeout, in whole milliseconds.
    pub rto_min: Duration,
    /// Largest retransmission timeout, in whole milliseconds.
    pub rto_max: Duration,
    /// Initial congestion window in packets of the path's MTU; 0: that of RFC 4960 section 7.2.1.
    pub initial_window: u32,
    /// Most packets sent at once; 0: no limit.
    pub max_burst: u32,
    /// Most packets that a fast retransmit sends at once; 0: no limit.
    pub fast_max_burst: u32,
    /// How messages that are delivered in parts may mix (RFC 6458 section 8.1.20): 0, 1 or 2.
    pub fragment_interleave: u32,
    /// Send buffer.
    pub send_buffer: Bytes,
    /// Receive buffer, which the peer sees as its window.
    pub receive_buffer: Bytes,
    /// Outgoing streams asked for.
    pub streams: u16,
    /// Interval between heartbeats on an idle path, in whole milliseconds, RTO and jitter added; 0: none are sent.
    pub heartbeat: Duration,
    /// An INIT or COOKIE-ECHO is sent again so often at most.
    pub init_retransmits: u16,
    /// Expiries in a row after which the association is given up.
    pub association_retransmits: u16,
    /// Expiries in a row after which a path counts as failed.
    pub path_retransmits: u16,
    /// Explicit congestion notification is offered.
    pub ecn: bool,
}

impl Default for UsrsctpConfig {
    fn default() -> Self {
        Self {
            nodelay: true,
            sack_delay: Duration::from_millis(200),
            sack_frequency: 2,
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            initial_window: 3,
            max_burst: 4,
            fast_max_burst: 4,
            fragment_interleave: 1,
            send_buffer: Bytes(262_144),
            receive_buffer: Bytes(131_072),
            streams: 10,
            heartbeat: Duration::from_secs(30),
            init_retransmits: 8,
            association_retransmits: 10,
            path_retransmits: 5,
            ecn: true,
        }
    }
}

/// What an end is made from.
#[derive(Clone, Debug)]
pub struct AssociationConfig {
    /// Its settings.
    pub settings: Arc<UsrsctpConfig>,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// MTU of the interface in bytes.
    pub mtu: u32,
    /// Which side opens.
    pub role: Role,
    /// For this end's random numbers: tags, first TSNs, keys of cookies.
    pub seed: u64,
}

const WHOLE_MS: &str = "write whole milliseconds";

impl UsrsctpConfig {
    /// Says what is wrong with it, if anything is.
    ///
    /// # Errors
    /// [`UsrsctpError::Setting`] for a value that the library cannot take.
    pub fn check(&self) -> Result<(), UsrsctpError> {
        let times = [
            ("sack_delay", self.sack_delay),
            ("rto_initial", self.rto_initial),
            ("rto_min", self.rto_min),
            ("rto_max", self.rto_max),
            ("heartbeat", self.heartbeat),
        ];
        for (key, time) in times {
            if time.as_nanos() % 1_000_000 != 0 {
                return Err(setting(key, time, WHOLE_MS));
            }
        }
        if self.rto_min.is_zero() || self.rto_min > self.rto_initial || self.rto_initial > self.rto_max {
            return Err(setting("rto_initial", self.rto_initial, "it lies between rto_min and rto_max"));
        }
        if self.sack_delay > Duration::from_millis(500) {
            return Err(setting("sack_delay", self.sack_delay, "500 ms at most (RFC 9260 section 6.2)"));
        }
        if self.rto_max > Duration::from_secs(86_400) {
            return Err(setting("rto_max", self.rto_max, "a day at most"));
        }
        if self.fragment_interleave > 2 {
            return Err(setting("fragment_interleave", self.fragment_interleave, "write 0, 1 or 2"));
        }
        if self.sack_frequency == 0 {
            return Err(setting("sack_frequency", self.sack_frequency, "write 1 or more"));
        }
        if self.streams == 0 || self.streams > 2048 {
            return Err(setting("streams", self.streams, "write 1 to 2048"));
        }
        for (key, size) in [("send_buffer", self.send_buffer), ("receive_buffer", self.receive_buffer)] {
            if !(4_096..=1 << 28).contains(&size.0) {
                return Err(setting(key, size, "4 KiB to 256 MiB"));
            }
        }
        Ok(())
    }
}

fn setting(key: &'static str, value: impl ToString, allowed: &'static str) -> UsrsctpError {
    UsrsctpError::Setting { key, value: value.to_string(), allowed }
}
