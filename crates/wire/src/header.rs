//! Raw accessors: single fields of headers, read from bytes.
//!
//! Each view is made by `new`, which checks that the whole header is there; the accessors cannot fail then.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::checksum::Sum;
use crate::{Flags, ParseError, SeqNumber};

/// An IPv4 packet (RFC 791), of which at least the header is there.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Header<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv4Header<'a> {
    /// The packet at the head of `bytes`.
    ///
    /// # Errors
    /// [`ParseError::Version`] for another version, [`ParseError::Truncated`] where the header is cut off,
    /// [`ParseError::BadLength`] where its length is below 20.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        need(bytes, 20)?;
        if bytes[0] >> 4 != 4 {
            return Err(ParseError::Version(bytes[0] >> 4));
        }
        let header = Self { bytes };
        if header.header_len() < 20 {
            return Err(ParseError::BadLength { field: "IPv4 header length", value: header.header_len() });
        }
        need(bytes, header.header_len())?;
        Ok(header)
    }

    /// Bytes of the header, options included.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[0] & 0x0f) * 4
    }

    /// Type of service: DSCP and ECN.
    #[inline]
    pub fn tos(&self) -> u8 {
        self.bytes[1]
    }

    /// Bytes of the packet, as the header says.
    #[inline]
    pub fn total_len(&self) -> usize {
        be16(self.bytes, 2).into()
    }

    /// Identification.
    #[inline]
    pub fn ident(&self) -> u16 {
        be16(self.bytes, 4)
    }

    /// True for each fragment of a packet, the first and the last included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        // More fragments, or an offset.
        be16(self.bytes, 6) & 0x3fff != 0
    }

    /// Where a fragment's body begins in the whole one, bytes.
    #[inline]
    pub fn fragment_offset(&self) -> u32 {
        u32::from(be16(self.bytes, 6) & 0x1fff) * 8
    }

    /// True if a later fragment follows.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        be16(self.bytes, 6) & 0x2000 != 0
    }

    /// Time to live.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// Protocol number of what it carries.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.bytes[9]
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.bytes, 12))
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.bytes, 16))
    }

    /// Whether the checksum of the header is right.
    #[inline]
    pub fn checksum_ok(&self) -> bool {
        Sum::default().add(&self.bytes[..self.header_len()]).finish() == 0
    }

    /// All that follows the header, link-layer padding included.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.header_len()..]
    }
}

/// An IPv6 packet (RFC 8200), of which at least the fixed header is there.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6Header<'a> {
    bytes: &'a [u8],
}

impl<'a> Ipv6Header<'a> {
    /// The packet at the head of `bytes`.
    ///
    /// # Errors
    /// [`ParseError::Version`] for another version, [`ParseError::Truncated`] where the header is cut off.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        need(bytes, 40)?;
        if bytes[0] >> 4 != 6 {
            return Err(ParseError::Version(bytes[0] >> 4));
        }
        Ok(Self { bytes })
    }

    /// Traffic class: DSCP and ECN.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (be16(self.bytes, 0) >> 4) as u8
    }

    /// Bytes after the fixed header, as the header says.
    #[inline]
    pub fn payload_len(&self) -> usize {
        be16(self.bytes, 4).into()
    }

    /// Number of the header or protocol that follows.
    #[inline]
    pub fn next_header(&self) -> u8 {
        self.bytes[6]
    }

    /// Hop limit.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.bytes, 8))
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.bytes, 24))
    }

    /// All that follows the fixed header, link-layer padding included.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[40..]
    }
}

/// A TCP segment (RFC 9293), of which at least the 20 fixed bytes of the header are there.
#[derive(Clone, Copy, Debug)]
pub struct TcpHeader<'a> {
    bytes: &'a [u8],
}

impl<'a> TcpHeader<'a> {
    /// The segment that is all of `bytes`.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 20 bytes, [`ParseError::BadLength`] for a data offset below 20 bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        need(bytes, 20)?;
        let header = Self { bytes };
        if header.header_len() < 20 {
            return Err(ParseError::BadLength { field: "TCP data offset", value: header.header_len() });
        }
        Ok(header)
    }

    /// Source port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        be16(self.bytes, 0)
    }

    /// Destination port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        be16(self.bytes, 2)
    }

    /// Sequence number.
    #[inline]
    pub fn seq(&self) -> SeqNumber {
        SeqNumber(be32(self.bytes, 4))
    }

    /// Acknowledgment number.
    #[inline]
    pub fn ack(&self) -> SeqNumber {
        SeqNumber(be32(self.bytes, 8))
    }

    /// Bytes of the header, as the data offset says.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.bytes[12] >> 4) * 4
    }

    /// Control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.bytes[13])
    }

    /// Window, not scaled.
    #[inline]
    pub fn window(&self) -> u16 {
        be16(self.bytes, 14)
    }

    /// Urgent pointer.
    #[inline]
    pub fn urgent(&self) -> u16 {
        be16(self.bytes, 18)
    }

    /// Options and their padding, as many bytes of them as are there.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        &self.bytes[20..self.header_len().min(self.bytes.len())]
    }

    /// The data, as many bytes of it as are there.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.bytes.get(self.header_len()..).unwrap_or(&[])
    }
}

/// A UDP datagram (RFC 768), of which at least the header is there.
#[derive(Clone, Copy, Debug)]
pub struct UdpHeader<'a> {
    bytes: &'a [u8],
}

impl<'a> UdpHeader<'a> {
    /// The datagram at the head of `bytes`.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 bytes, [`ParseError::BadLength`] for a length below 8.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        need(bytes, 8)?;
        let header = Self { bytes };
        if header.len() < 8 {
            return Err(ParseError::BadLength { field: "UDP length", value: header.len() });
        }
        Ok(header)
    }

    /// Source port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        be16(self.bytes, 0)
    }

    /// Destination port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        be16(self.bytes, 2)
    }

    /// Bytes of the datagram, its header included, as the header says: 8 or more.
    #[expect(clippy::len_without_is_empty, reason = "a datagram has a header, so it is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        be16(self.bytes, 4).into()
    }

    /// The checksum field; zero stands for none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16(self.bytes, 6)
    }

    /// The data, as many bytes of it as are there.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[8..self.len().min(self.bytes.len())]
    }
}

/// Refuses `bytes` that are fewer than `n`.
#[inline]
pub(crate) fn need(bytes: &[u8], n: usize) -> Result<(), ParseError> {
    if bytes.len() < n { Err(ParseError::Truncated { have: bytes.len(), need: n }) } else { Ok(()) }
}

#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

#[inline]
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}
