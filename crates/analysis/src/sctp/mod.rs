//! SCTP associations: chunks, SACKs, and the cause of every retransmission.

mod rows;

use crate::analyzer::Options;
use crate::packet::Packet;

pub use rows::*;

/// All associations of a capture.
#[derive(Debug)]
pub(crate) struct Associations {}

impl Associations {
    pub(crate) fn new(_options: &Options) -> Self {
        Self {}
    }

    /// Takes the next packet, whose bytes from the common header on are `bytes` as far as the capture has them, and
    /// had `wire_len` bytes on the wire.
    pub(crate) fn push(&mut self, _packet: &Packet, _bytes: &[u8], _wire_len: u32) {}

    /// Ends what is open.
    pub(crate) fn finish(&mut self) {}

    /// The rows since the last call.
    pub(crate) fn take_rows(&mut self) -> SctpRows {
        SctpRows::default()
    }
}
