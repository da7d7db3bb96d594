//! Bytes to packets.

use std::net::IpAddr;

use crate::checksum::Sum;
use crate::header::need;
use crate::{
    IpFields, Ipv4Header, Ipv6Header, PROTOCOL_TCP, PROTOCOL_UDP, Packet, Payload, SackBlocks, TcpHeader,
    TcpSegment, Transport, UdpDatagram, UdpHeader, options,
};

/// Why bytes are no packet. Lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Neither IPv4 nor IPv6.
    #[error("ip version {0}, not 4 or 6")]
    Version(u8),
    /// The bytes end before the packet or a header does.
    #[error("cut off: {have} bytes of at least {need}")]
    Truncated {
        /// Bytes there.
        have: usize,
        /// Bytes that must be there.
        need: usize,
    },
    /// A length field contradicts the header that it is in, or the one before.
    #[error("{field} of {value} bytes cannot be")]
    BadLength {
        /// Which length.
        field: &'static str,
        /// What it says.
        value: usize,
    },
    /// A fragment of a packet, which holds no whole transport header or data.
    #[error("fragment of an ip packet")]
    Fragment,
}

impl ParseError {
    /// The same, told of bytes that begin `n` bytes earlier.
    fn after(self, n: usize) -> Self {
        match self {
            Self::Truncated { have, need } => Self::Truncated { have: have + n, need: need + n },
            other => other,
        }
    }
}

/// What the checksums of a packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Right, or the transport carries none.
    Good,
    /// The IPv4 header's or the transport's is wrong. In a capture made at the sender, this also comes from
    /// a checksum that the network card was to fill in.
    Bad,
    /// The part of the packet that is there does not tell.
    Unknown,
}

/// A packet of which a capture kept perhaps the head only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapped {
    /// The packet; its payload holds the bytes that were kept. Damaged where the checksum is bad.
    pub packet: Packet,
    /// Bytes of payload on the wire: those kept and those cut off.
    pub payload_len: u32,
    /// What the checksums say.
    pub checksum: Checksum,
    /// True where the cut went through the TCP options, so that some may be missing.
    pub options_cut: bool,
}

impl Packet {
    /// The packet that `bytes` are, from the IP header on; bytes after its end (link-layer padding) are
    /// passed over. `damaged` says that the IPv4 header's or the transport's checksum is wrong.
    ///
    /// # Errors
    /// A [`ParseError`], also where the packet is longer than `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let ip = Ip::parse(bytes, bytes.len())?;
        if ip.body.len() < ip.body_len {
            let cut_off = ip.body_len - ip.body.len();
            return Err(ParseError::Truncated { have: bytes.len(), need: bytes.len() + cut_off });
        }
        ip.snapped().map(|snapped| snapped.packet)
    }

    /// The packet whose first bytes are `bytes` and which had `original_len` bytes on the wire (used only
    /// where the IP header gives no length, as offloading network cards have it).
    ///
    /// # Errors
    /// A [`ParseError`]; [`ParseError::Truncated`] where the IP header or the fixed part of the TCP or UDP
    /// header is not whole.
    pub fn parse_truncated(bytes: &[u8], original_len: u32) -> Result<Snapped, ParseError> {
        Ip::parse(bytes, bytes.len().max(original_len as usize))?.snapped()
    }
}

/// A packet whose IP header is read.
struct Ip<'a> {
    src: IpAddr,
    dst: IpAddr,
    fields: IpFields,
    protocol: u8,
    /// All after the headers of IP, as far as it is there.
    body: &'a [u8],
    /// Bytes of the body on the wire.
    body_len: usize,
    /// Bytes before the body.
    body_at: usize,
    header_ok: bool,
}

impl<'a> Ip<'a> {
    /// `original_len` is the length on the wire, for packets whose length field is zero.
    fn parse(bytes: &'a [u8], original_len: usize) -> Result<Self, ParseError> {
        need(bytes, 1)?;
        match bytes[0] >> 4 {
            4 => Self::parse_v4(Ipv4Header::new(bytes)?, original_len),
            6 => Self::parse_v6(Ipv6Header::new(bytes)?, original_len),
            version => Err(ParseError::Version(version)),
        }
    }

    fn parse_v4(header: Ipv4Header<'a>, original_len: usize) -> Result<Self, ParseError> {
        let total = if header.total_len() == 0 { original_len } else { header.total_len() };
        let body_len = total
            .checked_sub(header.header_len())
            .ok_or(ParseError::BadLength { field: "IPv4 total length", value: total })?;
        if header.is_fragment() {
            return Err(ParseError::Fragment);
        }
        let body = header.rest();
        Ok(Self {
            src: header.src().into(),
            dst: header.dst().into(),
            fields: IpFields { ttl: header.ttl(), tos: header.tos(), ident: header.ident() },
            protocol: header.protocol(),
            body: &body[..body_len.min(body.len())],
            body_len,
            body_at: header.header_len(),
            header_ok: header.checksum_ok(),
        })
    }

    fn parse_v6(header: Ipv6Header<'a>, original_len: usize) -> Result<Self, ParseError> {
        let len = if header.payload_len() == 0 && header.next_header() != NO_NEXT_HEADER {
            original_len - 40
        } else {
            header.payload_len()
        };
        let rest = &header.rest()[..len.min(header.rest().len())];
        let (protocol, skipped) =
            skip_extensions(header.next_header(), rest, len).map_err(|e| e.after(40))?;
        Ok(Self {
            src: header.src().into(),
            dst: header.dst().into(),
            fields: IpFields { ttl: header.hop_limit(), tos: header.traffic_class(), ident: 0 },
            protocol,
            body: &rest[skipped..],
            body_len: len - skipped,
            body_at: 40 + skipped,
            header_ok: true,
        })
    }

    fn snapped(self) -> Result<Snapped, ParseError> {
        match self.protocol {
            PROTOCOL_TCP => self.tcp(),
            PROTOCOL_UDP => self.udp(),
            protocol => {
                let transport = Transport::Other { protocol, payload: payload(self.body) };
                Ok(self.with(transport, self.body_len, Checksum::Good))
            }
        }
        .map_err(|e| e.after(self.body_at))
    }

    fn tcp(&self) -> Result<Snapped, ParseError> {
        if self.body_len < 20 {
            return Err(ParseError::BadLength { field: "TCP segment", value: self.body_len });
        }
        let header = TcpHeader::new(self.body)?;
        let payload_len = self
            .body_len
            .checked_sub(header.header_len())
            .ok_or(ParseError::BadLength { field: "TCP data offset", value: header.header_len() })?;
        let mut segment = TcpSegment {
            src_port: header.src_port(),
            dst_port: header.dst_port(),
            seq: header.seq(),
            ack: header.ack(),
            flags: header.flags(),
            window: header.window(),
            urgent: header.urgent(),
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps: None,
            sack: SackBlocks::default(),
            unknown_options: None,
            payload: payload(header.payload()),
        };
        options::parse(header.options(), &mut segment);
        let checksum = self.checksum(self.body, self.body_len);
        let options_cut = self.body.len() < header.header_len();
        Ok(Snapped { options_cut, ..self.with(Transport::Tcp(segment), payload_len, checksum) })
    }

    fn udp(&self) -> Result<Snapped, ParseError> {
        if self.body_len < 8 {
            return Err(ParseError::BadLength { field: "UDP datagram", value: self.body_len });
        }
        let header = UdpHeader::new(self.body)?;
        if header.len() > self.body_len {
            return Err(ParseError::BadLength { field: "UDP length", value: header.len() });
        }
        // RFC 768: zero stands for no checksum. RFC 8200 section 8.1 refuses that.
        let checksum = if header.checksum() != 0 {
            self.checksum(&self.body[..header.len().min(self.body.len())], header.len())
        } else if self.src.is_ipv4() {
            Checksum::Good
        } else {
            Checksum::Bad
        };
        let datagram = UdpDatagram {
            src_port: header.src_port(),
            dst_port: header.dst_port(),
            payload: payload(header.payload()),
        };
        Ok(self.with(Transport::Udp(datagram), header.len() - 8, checksum))
    }

    /// The verdict on the transport's checksum, where all of its `len` bytes are there.
    fn checksum(&self, body: &[u8], len: usize) -> Checksum {
        if body.len() < len {
            return Checksum::Unknown;
        }
        let sum = Sum::default().add_pseudo_header(self.src, self.dst, self.protocol, len).add(body);
        if sum.finish() == 0 { Checksum::Good } else { Checksum::Bad }
    }

    fn with(&self, transport: Transport, payload_len: usize, checksum: Checksum) -> Snapped {
        let checksum = if self.header_ok { checksum } else { Checksum::Bad };
        let damaged = checksum == Checksum::Bad;
        Snapped {
            packet: Packet { src: self.src, dst: self.dst, ip: self.fields, transport, damaged },
            payload_len: payload_len as u32,
            checksum,
            options_cut: false,
        }
    }
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION_OPTIONS: u8 = 60;

/// The protocol after the extension headers at the head of `rest`, and their bytes. `len` is the length of
/// the whole on the wire.
fn skip_extensions(mut next: u8, rest: &[u8], len: usize) -> Result<(u8, usize), ParseError> {
    let mut at = 0;
    while let HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS = next {
        need(rest, at + 8)?;
        let size = if next == FRAGMENT {
            // A fragment that is the whole packet (RFC 6946) has no offset, and none that follows.
            if u16::from_be_bytes([rest[at + 2], rest[at + 3]]) & 0xfff9 != 0 {
                return Err(ParseError::Fragment);
            }
            8
        } else {
            8 + usize::from(rest[at + 1]) * 8
        };
        if at + size > len {
            return Err(ParseError::BadLength { field: "IPv6 extension header", value: size });
        }
        need(rest, at + size)?;
        next = rest[at];
        at += size;
    }
    Ok((next, at))
}

fn payload(bytes: &[u8]) -> Payload {
    if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(bytes.into()) }
}
