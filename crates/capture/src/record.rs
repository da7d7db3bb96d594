//! One packet of a capture.

use std::borrow::Cow;

use rexmit_units::Instant;
use rexmit_wire::{Packet, Snapped};

use crate::link::{LinkType, RecordError};
use crate::options::OptionBytes;

/// A packet as a capture holds it, in the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
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
    pub data: &'a [u8],
    /// What else is said of it.
    pub(crate) options: OptionBytes<'a>,
}

impl<'a> RecordRef<'a> {
    /// Its comments, one a line; cut off after [`crate::limits::COMMENT_BYTES`].
    #[inline]
    pub fn comment(&self) -> Option<Cow<'a, str>> {
        self.comment_within_limit().map(|(comment, _)| comment)
    }

    /// The same, and true if they were cut off.
    #[inline]
    pub fn comment_within_limit(&self) -> Option<(Cow<'a, str>, bool)> {
        if self.options.is_empty() { None } else { self.options.comment() }
    }

    /// Which way it passed the interface, where the capture says.
    #[inline]
    pub fn direction(&self) -> Option<Direction> {
        if self.options.is_empty() { None } else { self.options.direction() }
    }

    /// A copy in `record`, whose memory is used again.
    pub fn copy_to(&self, record: &mut Record) {
        record.interface = self.interface;
        record.link = self.link;
        record.time = self.time;
        record.original_len = self.original_len;
        record.data.clear();
        record.data.extend_from_slice(self.data);
        record.comment = self.comment().map(Cow::into_owned);
        record.direction = self.direction();
    }
}

/// A packet as a capture holds it, with memory of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// As [`RecordRef::interface`].
    pub interface: u32,
    /// As [`RecordRef::link`].
    pub link: LinkType,
    /// As [`RecordRef::time`].
    pub time: Instant,
    /// As [`RecordRef::original_len`].
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

    /// The same, borrowed; its comment and direction are not in it.
    pub fn as_ref(&self) -> RecordRef<'_> {
        RecordRef {
            interface: self.interface,
            link: self.link,
            time: self.time,
            original_len: self.original_len,
            data: &self.data,
            options: OptionBytes::NONE,
        }
    }
}
