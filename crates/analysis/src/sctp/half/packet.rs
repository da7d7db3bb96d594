//! A packet with DATA while its chunks are looked at.

use super::super::data::{DataChunk, DataPacket, Outcome};
use super::super::judge::{Occasion, Verdict};

/// A packet while its chunks are looked at.
pub(super) struct Packet<'a> {
    pub(super) seen: &'a DataPacket,
    pub(super) occasion: Occasion,
    /// The first retransmitted chunk and its judgement.
    pub(super) lead: Option<Lead>,
    pub(super) position: u32,
    pub(super) outcome: Outcome,
}

/// The first retransmitted chunk of a packet, and its judgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    pub(super) tsn: i64,
    pub(super) verdict: Verdict,
}

/// A retransmitted chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again<'a> {
    pub(super) tsn: i64,
    pub(super) piece: &'a DataChunk,
}
