//! What a scenario may set.

use rexmit_stack::SettingError;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of one end. Every default is sctp-proto's own but `mend_closing`; it has no send buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct SctpProtoConfig {
    /// Retransmission timeout before the first sample, in whole milliseconds.
    pub rto_initial: Duration,
    /// Smallest retransmission timeout, in whole milliseconds.
    pub rto_min: Duration,
    /// Largest retransmission timeout, in whole milliseconds.
    pub rto_max: Duration,
    /// An INIT or COOKIE-ECHO is sent again so often at most.
    pub init_retransmits: u16,
    /// Outgoing streams asked for.
    pub streams: u16,
    /// Bytes written that are kept until they are acknowledged; sctp-proto itself takes whatever is written.
    pub send_buffer: Bytes,
    /// Receive buffer, which the peer sees as its window. A message that does not fit into it ends the association.
    pub receive_buffer: Bytes,
    /// The largest message that is sent whole; the rest of a longer one is another.
    pub max_message: Bytes,
    /// Closing works beside other code: a SHUTDOWN acknowledges the peer's data and not its own, and a SHUTDOWN-COMPLETE
    /// with the T bit is heard (RFC 9260 sections 3.3.8 and 8.5.1). With false it does neither, as it is released, and
    /// an association with other code often does not end.
    pub mend_closing: bool,
}

impl Default for SctpProtoConfig {
    fn default() -> Self {
        Self {
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            init_retransmits: 8,
            streams: 65_535,
            send_buffer: Bytes(262_144),
            receive_buffer: Bytes(1 << 20),
            max_message: Bytes(65_536),
            mend_closing: true,
        }
    }
}

impl SctpProtoConfig {
    /// Says what is wrong with it, if anything is.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let times = [("rto_initial", self.rto_initial), ("rto_min", self.rto_min), ("rto_max", self.rto_max)];
        for (key, time) in times {
            if !time.as_nanos().is_multiple_of(1_000_000) || time > Duration::from_secs(86_400) {
                return Err(SettingError::new(key, "allowed: whole milliseconds, a day at most"));
            }
        }
        if self.rto_min.is_zero() || self.rto_min > self.rto_initial || self.rto_initial > self.rto_max {
            return Err(SettingError::new("rto_initial", "it lies between rto_min and rto_max"));
        }
        if self.streams == 0 {
            return Err(SettingError::new("streams", "allowed: 1 to 65535"));
        }
        // RFC 9260 section 3.3.2: a window of 1,500 bytes is the least.
        let sizes = [
            ("send_buffer", self.send_buffer, 1),
            ("receive_buffer", self.receive_buffer, 1_500),
            ("max_message", self.max_message, 1),
        ];
        for (key, size, least) in sizes {
            if !(least..=1 << 30).contains(&size.0) {
                return Err(SettingError::new(key, format!("allowed: {least} bytes to 1 GiB")));
            }
        }
        Ok(())
    }
}
