//! The times for which something held a side back.

use rexmit_units::Instant;

use crate::core::held::Held;
use crate::core::rows::Confidence;
use crate::core::side::SideName;

/// A time in which one thing held a side back. The rows of a side follow each other without gaps, from its first to its
/// last packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// Number of the connection.
    pub connection: u32,
    /// Who was held back.
    pub side: SideName,
    /// From when.
    pub start: Instant,
    /// Until when.
    pub end: Instant,
    /// What held it.
    pub by: Held,
    /// How sure that is.
    pub confidence: Confidence,
    /// Bytes of data that it sent in that time.
    pub bytes: u64,
    /// Number of the packet with data before it, or with which it begins.
    pub first_number: u64,
    /// Number of the packet with data that ended it.
    pub last_number: u64,
}
