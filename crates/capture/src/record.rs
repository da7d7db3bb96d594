//! One packet of a capture.

use rexmit_units::Instant;
use rexmit_wire::{Packet, Snapped};

use crate::link::{LinkType, RecordError};

/// A packet as a capture holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Which of [`crate::Reader::interfaces`] captured it.
    pub interface: u32,
    /// What the data begins with.
    pub link: LinkType,
    /// When, since 1970-01-01 00:00 UTC. Finer times are rounded down, and times that 64 bits of
    /// nanoseconds do not hold become the nearest that they do; zero where the format gives none.
    pub time: Instant,
    /// Bytes on the wire, link-layer header included.
    pub original_len: u32,
    /// The bytes kept.
    pub data: Vec<u8>,
    /// Its comments, one a line.
    pub comment: Option<String>,
    /// Which way it passed the interface, where the capture says.
    pub direction: Option<Direction>,
}

/// Which way a packet passed the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

impl Record {
    /// The bytes from the IP header on.
    ///
    /// # Errors
    /// As [`LinkType::ip_offset`].
    pub fn ip(&self) -> Result<&[u8], RecordError> {
        Ok(&self.data[self.link.ip_offset(&self.data)?..])
    }

    /// The packet, of which the capture may hold the head only.
    ///
    /// # Errors
    /// As [`LinkType::ip_offset`] and [`Packet::parse_truncated`].
    pub fn packet(&self) -> Result<Snapped, RecordError> {
        let offset = self.link.ip_offset(&self.data)?;
        let original = self.original_len.saturating_sub(offset as u32);
        Ok(Packet::parse_truncated(&self.data[offset..], original)?)
    }
}
