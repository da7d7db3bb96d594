//! An IP packet as a value.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use crate::header::be16;
use crate::{PROTOCOL_SCTP, QuicContent, TcpSegment, sctp};

/// Data carried by a packet.
///
/// Models carry [`Payload::Stream`]: which bytes of the sending application's stream these are. Their
/// content is a function of the offset (the digits `0` to `9` in turn, as the server of hurtig-2006 sends),
/// so that reassembly can be checked to the byte and captures hold real data, and nothing is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// `len` bytes of a stream from `offset`.
    Stream {
        /// Offset of the first byte in the stream.
        offset: u64,
        /// Number of bytes.
        len: u32,
    },
    /// Bytes of their own.
    Bytes(Arc<[u8]>),
}

impl Default for Payload {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Payload {
    /// No data.
    pub const EMPTY: Self = Self::Stream { offset: 0, len: 0 };

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Stream { len, .. } => *len,
            Self::Bytes(b) => b.len() as u32,
        }
    }

    /// True for no data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The byte that a stream has at `offset`.
    #[inline]
    pub fn stream_byte(offset: u64) -> u8 {
        b'0' + (offset % 10) as u8
    }

    /// Writes what a stream has from `offset` on.
    pub fn fill(offset: u64, into: &mut [u8]) {
        let mut rest = into;
        for piece in stream_pieces(offset, rest.len()) {
            let (head, tail) = rest.split_at_mut(piece.len());
            head.copy_from_slice(piece);
            rest = tail;
        }
    }

    /// How many of these bytes are not those that a stream has from `offset` on.
    pub fn wrong_bytes(offset: u64, bytes: &[u8]) -> u64 {
        let mut rest = bytes;
        let mut wrong = 0;
        for piece in stream_pieces(offset, bytes.len()) {
            let (head, tail) = rest.split_at(piece.len());
            if head != piece {
                wrong += head.iter().zip(piece).filter(|(got, expected)| got != expected).count() as u64;
            }
            rest = tail;
        }
        wrong
    }

    /// The bytes themselves; a stream's are made.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes(b) => Cow::Borrowed(b),
            Self::Stream { .. } => {
                let mut out = Vec::with_capacity(self.len() as usize);
                self.append_to(&mut out);
                Cow::Owned(out)
            }
        }
    }

    /// Appends the bytes to `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(b) => out.extend_from_slice(b),
            Self::Stream { offset, len } => {
                stream_pieces(*offset, *len as usize).for_each(|piece| out.extend_from_slice(piece));
            }
        }
    }

    /// The `len` bytes from the byte at `from` on, as far as there are that many. A stream's slice costs
    /// nothing; of bytes, the part is copied.
    #[must_use]
    pub fn slice(&self, from: u32, len: u32) -> Self {
        let from = from.min(self.len());
        let len = len.min(self.len() - from);
        match self {
            Self::Stream { offset, .. } => Self::Stream { offset: offset + u64::from(from), len },
            Self::Bytes(_) if len == 0 => Self::EMPTY,
            Self::Bytes(_) if len == self.len() => self.clone(),
            Self::Bytes(b) => Self::Bytes(b[from as usize..(from + len) as usize].into()),
        }
    }
}

/// What a stream has from `offset` on, `len` bytes in pieces.
fn stream_pieces(offset: u64, len: usize) -> impl Iterator<Item = &'static [u8]> {
    let (mut start, mut left) = ((offset % 10) as usize, len);
    std::iter::from_fn(move || {
        let n = left.min(DIGITS.len() - start);
        let piece = &DIGITS[start..start + n];
        (start, left) = (0, left - n);
        (n > 0).then_some(piece)
    })
}

/// What a stream holds, from an offset that is a multiple of ten.
static DIGITS: [u8; 1_000] = {
    let mut digits = [0; 1_000];
    let mut i = 0;
    while i < digits.len() {
        digits[i] = b'0' + (i % 10) as u8;
        i += 1;
    }
    digits
};

/// The fields of an IP header that matter to a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpFields {
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Type of service, or traffic class: DSCP and ECN.
    pub tos: u8,
    /// IPv4 identification; IPv6 has none.
    pub ident: u16,
}

impl Default for IpFields {
    fn default() -> Self {
        Self { ttl: 64, tos: 0, ident: 0 }
    }
}

/// A UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpDatagram {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// The data.
    pub payload: Payload,
    /// Of QUIC, what whoever sealed it says of its content; a capture does not show it.
    pub sealed: Option<QuicContent>,
}

impl UdpDatagram {
    /// A datagram between these ports.
    pub fn new(src_port: u16, dst_port: u16, payload: Payload) -> Self {
        Self { src_port, dst_port, payload, sealed: None }
    }
}

/// What an IP packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpSegment),
    /// A UDP datagram.
    Udp(UdpDatagram),
    /// An SCTP packet as a value. [`Packet::parse`] never gives one: bytes of SCTP stay bytes, and
    /// [`sctp::Packet::parse`] reads them.
    Sctp(sctp::Packet),
    /// Anything else, by its IP protocol number.
    Other {
        /// IP protocol number.
        protocol: u8,
        /// All after the IP header.
        payload: Payload,
    },
}

/// An IP packet, version 4 or 6 by its addresses (both of the same family).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Other header fields.
    pub ip: IpFields,
    /// What it carries.
    pub transport: Transport,
    /// True after a bit error on the path: the transport checksum is wrong, and a receiver drops it.
    pub damaged: bool,
}

impl Packet {
    /// Length of the IP packet in bytes, header included.
    #[inline]
    pub fn ip_len(&self) -> u64 {
        let header = if self.src.is_ipv4() { 20 } else { 40 };
        let body = match &self.transport {
            Transport::Tcp(t) => t.header_len() + t.payload.len() as usize,
            Transport::Udp(u) => 8 + u.payload.len() as usize,
            Transport::Sctp(s) => s.len(),
            Transport::Other { payload, .. } => payload.len() as usize,
        };
        (header + body) as u64
    }

    /// Source and destination port; `None` where its protocol has none. Those of SCTP that is not a value are read from
    /// its bytes.
    #[inline]
    pub fn ports(&self) -> Option<(u16, u16)> {
        match &self.transport {
            Transport::Tcp(t) => Some((t.src_port, t.dst_port)),
            Transport::Sctp(s) => Some((s.src_port, s.dst_port)),
            Transport::Udp(u) => Some((u.src_port, u.dst_port)),
            Transport::Other { protocol: PROTOCOL_SCTP, payload } => {
                let bytes = payload.bytes();
                (bytes.len() >= 4).then(|| (be16(&bytes, 0), be16(&bytes, 2)))
            }
            Transport::Other { .. } => None,
        }
    }

    /// Bytes of data that it carries: the payload of TCP and UDP, the user data of SCTP's DATA chunks, and all of what is
    /// not read.
    pub fn data_len(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(t) => t.payload.len(),
            Transport::Udp(u) => u.payload.len(),
            Transport::Sctp(s) => s.user_len(),
            Transport::Other { protocol: PROTOCOL_SCTP, payload } => {
                let bytes = payload.bytes();
                sctp::Header::new(&bytes, bytes.len()).map_or(0, |header| header.user_len())
            }
            Transport::Other { payload, .. } => payload.len(),
        }
    }

    /// The SCTP packet that it carries as a value, if it does.
    #[inline]
    pub fn sctp(&self) -> Option<&sctp::Packet> {
        match &self.transport {
            Transport::Sctp(s) => Some(s),
            _ => None,
        }
    }

    /// The TCP segment that it carries, if it carries one.
    #[inline]
    pub fn tcp(&self) -> Option<&TcpSegment> {
        match &self.transport {
            Transport::Tcp(t) => Some(t),
            _ => None,
        }
    }
}
