//! SCTP (RFC 9260, RFC 8260, RFC 3758) in two views: fields read from bytes, and a typed representation.
//!
//! [`Header`] reads the common header and [`Header::chunks`] walks over the chunks; [`RawChunk::body`] says which chunk
//! each is and gives a view of it. Nothing is copied and no bytes make it panic. A packet of which a capture kept the
//! head only gives the chunks that are there, and [`Chunks::end`] says how the walk ended.
//!
//! [`Packet`] and [`Chunk`] hold what a legal packet can say; [`Packet::emit`] makes bytes of it and [`Packet::parse`]
//! reads them again.
//!
//! Not read: what AUTH, ASCONF and other extensions' chunks hold (they are passed over by their length), error causes
//! but their codes, host name addresses.

mod chunk;
mod data;
mod emit;
mod init;
mod parse;
mod sack;
mod typed;

use crate::ParseError;
use crate::header::{be16, be32, need};

pub use chunk::{Body, Causes, Chunks, End, RawChunk};
pub use data::{Data, ForwardTsn};
pub use init::{Init, Parameter, Parameters};
pub use sack::{Gap, Gaps, Sack, Tsns};
pub use typed::{Chunk, DataChunk, Extension, InitChunk, Packet, SackChunk, kind};

/// Bytes of the common header.
pub const HEADER_LEN: usize = 12;

/// An SCTP packet of which at least the common header is there (RFC 9260 section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    bytes: &'a [u8],
    wire_len: usize,
}

impl<'a> Header<'a> {
    /// The packet whose first bytes are `bytes` and which had `wire_len` bytes on the wire.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 12 bytes.
    pub fn new(bytes: &'a [u8], wire_len: usize) -> Result<Self, ParseError> {
        need(bytes, HEADER_LEN)?;
        Ok(Self { bytes, wire_len: wire_len.max(bytes.len()) })
    }

    /// Source port.
    pub fn src_port(&self) -> u16 {
        be16(self.bytes, 0)
    }

    /// Destination port.
    pub fn dst_port(&self) -> u16 {
        be16(self.bytes, 2)
    }

    /// Verification tag.
    pub fn tag(&self) -> u32 {
        be32(self.bytes, 4)
    }

    /// The checksum field, as the number that its bytes make in network order.
    pub fn checksum(&self) -> u32 {
        be32(self.bytes, 8)
    }

    /// Whether the CRC32c is right (RFC 9260 section 6.8); `None` where the packet is not all there.
    pub fn checksum_ok(&self) -> Option<bool> {
        (self.bytes.len() == self.wire_len).then(|| checksum(self.bytes) == self.checksum())
    }

    /// Bytes of user data in its DATA and I-DATA chunks.
    pub fn user_len(&self) -> u32 {
        let data = |chunk: RawChunk<'_>| match chunk.body() {
            Body::Data(data) => Some(data.user_len()),
            _ => None,
        };
        self.chunks().filter_map(data).sum()
    }

    /// The chunks, as far as they are there.
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks::new(&self.bytes[HEADER_LEN..], self.wire_len - HEADER_LEN)
    }
}

/// The CRC32c of a packet of at least 12 bytes, its checksum field taken as zero, as [`Header::checksum`] gives it.
pub fn checksum(packet: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&packet[..8]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    // RFC 9260 appendix A: the CRC is placed with its lowest byte first.
    crc32c::crc32c_append(crc, &packet[HEADER_LEN..]).swap_bytes()
}
