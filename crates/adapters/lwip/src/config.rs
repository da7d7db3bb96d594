//! What a scenario may set.

use rexmit_stack::SettingError;
use rexmit_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest window and MSS that Debian's library is built for, its default send buffer, and what its queue of 180
/// segments holds.
const WINDOW: u64 = 65_535;
const MSS: u16 = 1_460;
const MOST_QUEUED: u64 = 180 * MSS as u64;
/// The smallest MSS that every host takes (RFC 9293 section 3.7.1, for IPv4), and less than any MTU here leaves.
const LEAST_MSS: u16 = 88;

/// Settings of one host. Every default is that of Debian's library, which fixes all others when it is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct LwipConfig {
    /// Most bytes of data in a segment, either way; 88 to 1460. The MTU limits it as well.
    #[schemars(range(min = 88, max = 1460))]
    pub mss: u16,
    /// Small segments wait until all before them is acknowledged (RFC 896).
    pub nagle: bool,
    /// Send buffer, up to 262800 bytes; it holds 180 writes or segments at most.
    pub send_buffer: Bytes,
    /// Receive buffer, which the peer sees as its window: from the MSS up to 65535 bytes.
    pub receive_buffer: Bytes,
    /// The byte of differentiated services in the IP header.
    pub tos: u8,
}

impl LwipConfig {
    /// Checks what the library cannot have.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        if !(LEAST_MSS..=MSS).contains(&self.mss) {
            return Err(SettingError::new("mss", format!("allowed: {LEAST_MSS} to {MSS}")));
        }
        if !(1..=MOST_QUEUED).contains(&self.send_buffer.0) {
            return Err(SettingError::new("send_buffer", format!("allowed: 1 to {MOST_QUEUED} bytes")));
        }
        let least = u64::from(self.mss);
        if !(least..=WINDOW).contains(&self.receive_buffer.0) {
            let text = format!("allowed: {least} (its mss) to {WINDOW} bytes");
            return Err(SettingError::new("receive_buffer", text));
        }
        Ok(())
    }
}

impl Default for LwipConfig {
    fn default() -> Self {
        Self { mss: MSS, nagle: true, send_buffer: Bytes(WINDOW), receive_buffer: Bytes(WINDOW), tos: 0 }
    }
}
