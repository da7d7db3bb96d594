//! An IP packet whose headers are read and whose body is left where it is.

use std::net::IpAddr;

use crate::checksum::Sum;
use crate::header::need;
use crate::limits::LAYERS;
use crate::{Checksum, IpFields, Ipv4Header, Ipv6Header, ParseError, TcpHeader, UdpHeader};

/// An IP packet, or a fragment of one, of which a capture may have kept only the head. Nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct IpPacket<'a> {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Other fields of the header.
    pub fields: IpFields,
    /// Protocol number of the body: of a fragment of IPv6, what follows the fragment header.
    pub protocol: u8,
    /// All after the headers of IP (of a fragment: its part of that), as far as it is there. Link-layer padding is
    /// cut off.
    pub body: &'a [u8],
    /// Bytes of the body on the wire.
    pub body_len: usize,
    /// Where it belongs, if it is a fragment.
    pub fragment: Option<Fragment>,
    /// False where the checksum of an IPv4 header is wrong.
    pub header_ok: bool,
    /// Bytes before the body.
    pub(crate) body_at: usize,
}

/// A fragment's place in its datagram (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub ident: u32,
    /// Where its body begins in the datagram's, bytes.
    pub offset: u32,
    /// True if others follow.
    pub more: bool,
}

impl<'a> IpPacket<'a> {
    /// The packet that `bytes` begin with. `original_len` is what it had on the wire; it counts where the IP header
    /// gives no length, as offloading network cards have it.
    ///
    /// # Errors
    /// A [`ParseError`]; [`ParseError::Truncated`] where the headers of IP are not whole.
    #[inline]
    pub fn parse(bytes: &'a [u8], original_len: usize) -> Result<Self, ParseError> {
        need(bytes, 1)?;
        let original_len = original_len.max(bytes.len());
        match bytes[0] >> 4 {
            4 => Self::parse_v4(Ipv4Header::new(bytes)?, original_len),
            6 => Self::parse_v6(Ipv6Header::new(bytes)?, original_len),
            version => Err(ParseError::Version(version)),
        }
    }

    #[inline]
    fn parse_v4(header: Ipv4Header<'a>, original_len: usize) -> Result<Self, ParseError> {
        let total = if header.total_len() == 0 { original_len } else { header.total_len() };
        let body_len = total
            .checked_sub(header.header_len())
            .ok_or(ParseError::BadLength { field: "IPv4 total length", value: total })?;
        let body = header.rest();
        let ip = Self {
            src: header.src().into(),
            dst: header.dst().into(),
            fields: IpFields { ttl: header.ttl(), tos: header.tos(), ident: header.ident() },
            protocol: header.protocol(),
            body: &body[..body_len.min(body.len())],
            body_len,
            fragment: header.is_fragment().then(|| Fragment {
                ident: header.ident().into(),
                offset: header.fragment_offset(),
                more: header.more_fragments(),
            }),
            header_ok: header.checksum_ok(),
            body_at: header.header_len(),
        };
        // The one extension header that IPv4 has too.
        if ip.protocol != AUTHENTICATION || ip.fragment.is_some() { Ok(ip) } else { ip.without_extensions() }
    }

    fn parse_v6(header: Ipv6Header<'a>, original_len: usize) -> Result<Self, ParseError> {
        let len = if header.payload_len() == 0 && header.next_header() != NO_NEXT_HEADER {
            original_len - 40
        } else {
            header.payload_len()
        };
        let rest = &header.rest()[..len.min(header.rest().len())];
        Self {
            src: header.src().into(),
            dst: header.dst().into(),
            fields: IpFields { ttl: header.hop_limit(), tos: header.traffic_class(), ident: 0 },
            protocol: header.next_header(),
            body: rest,
            body_len: len,
            fragment: None,
            header_ok: true,
            body_at: 40,
        }
        .without_extensions()
    }

    /// Takes IPv6 extension headers off the head of the body, up to a fragment's (RFC 8200 section 4; RFC 4302 for
    /// the authentication header). Of IPv4, that one alone.
    pub(crate) fn without_extensions(mut self) -> Result<Self, ParseError> {
        let mut layers = 0;
        while is_extension(self.protocol) && (self.src.is_ipv6() || self.protocol == AUTHENTICATION) {
            layers += 1;
            if layers > LAYERS {
                return Err(ParseError::TooDeep { layers: LAYERS });
            }
            let told = |e: ParseError| e.after(self.body_at);
            need(self.body, 8).map_err(told)?;
            let (next, words) = (self.body[0], usize::from(self.body[1]));
            let size = match self.protocol {
                FRAGMENT => 8,
                AUTHENTICATION => 8 + words * 4,
                _ => 8 + words * 8,
            };
            if size > self.body_len {
                return Err(ParseError::BadLength { field: "IPv6 extension header", value: size });
            }
            need(self.body, size).map_err(told)?;
            let fragment = (self.protocol == FRAGMENT).then(|| fragment_header(self.body)).flatten();
            self.protocol = next;
            self.body = &self.body[size..];
            self.body_len -= size;
            self.body_at += size;
            if fragment.is_some() {
                self.fragment = fragment;
                break;
            }
        }
        Ok(self)
    }

    /// The TCP segment that is the body.
    ///
    /// # Errors
    /// A [`ParseError`]; [`ParseError::Truncated`] where its first 20 bytes are not there.
    #[inline]
    pub fn tcp(&self) -> Result<TcpView<'a>, ParseError> {
        if self.body_len < 20 {
            return Err(ParseError::BadLength { field: "TCP segment", value: self.body_len });
        }
        let header = TcpHeader::new(self.body).map_err(|e| e.after(self.body_at))?;
        let payload_len = self
            .body_len
            .checked_sub(header.header_len())
            .ok_or(ParseError::BadLength { field: "TCP data offset", value: header.header_len() })?;
        let options_cut = self.body.len() < header.header_len();
        Ok(TcpView { header, payload_len, options_cut, checksum: self.checksum(self.body_len) })
    }

    /// The UDP datagram that is the body.
    ///
    /// # Errors
    /// A [`ParseError`]; [`ParseError::Truncated`] where its header is not whole.
    pub fn udp(&self) -> Result<UdpView<'a>, ParseError> {
        if self.body_len < 8 {
            return Err(ParseError::BadLength { field: "UDP datagram", value: self.body_len });
        }
        let header = UdpHeader::new(self.body).map_err(|e| e.after(self.body_at))?;
        if header.len() > self.body_len {
            return Err(ParseError::BadLength { field: "UDP length", value: header.len() });
        }
        // RFC 768: zero stands for no checksum. RFC 8200 section 8.1 refuses that.
        let checksum = match (header.checksum(), self.src) {
            (0, IpAddr::V4(_)) if self.header_ok => Checksum::Good,
            (0, _) => Checksum::Bad,
            _ => self.checksum(header.len()),
        };
        Ok(UdpView { header, payload_len: header.len() - 8, checksum })
    }

    /// The verdict on a transport's checksum that is the Internet checksum of a pseudo-header and the first `len`
    /// bytes of the body, the checksum's own field within; and on the header's.
    #[inline]
    pub fn checksum(&self, len: usize) -> Checksum {
        if !self.header_ok {
            return Checksum::Bad;
        }
        match self.body.get(..len) {
            None => Checksum::Unknown,
            Some(bytes) => {
                let sum = Sum::default().add_pseudo_header(self.src, self.dst, self.protocol, len).add(bytes);
                if sum.finish() == 0 { Checksum::Good } else { Checksum::Bad }
            }
        }
    }
}

/// A TCP segment of which at least the fixed part of the header is there.
#[derive(Clone, Copy, Debug)]
pub struct TcpView<'a> {
    /// The header, with as many bytes of options and data as there are.
    pub header: TcpHeader<'a>,
    /// Bytes of data on the wire.
    pub payload_len: usize,
    /// True where the capture cuts through the options.
    pub options_cut: bool,
    /// What the checksums of IP and TCP say.
    pub checksum: Checksum,
}

/// A UDP datagram of which at least the header is there.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a> {
    /// The header, with as many bytes of data as there are.
    pub header: UdpHeader<'a>,
    /// Bytes of data on the wire.
    pub payload_len: usize,
    /// What the checksums of IP and UDP say.
    pub checksum: Checksum,
}

/// What the header of 8 bytes at the head of `bytes` says; `None` for a fragment that is the whole datagram
/// (RFC 6946): it has no offset, and none follows.
fn fragment_header(bytes: &[u8]) -> Option<Fragment> {
    let place = u16::from_be_bytes([bytes[2], bytes[3]]);
    let ident = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    (place & 0xfff9 != 0).then(|| Fragment { ident, offset: u32::from(place & 0xfff8), more: place & 1 == 1 })
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const NO_NEXT_HEADER: u8 = 59;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// The list of IANA, less what is encrypted (50), experimental, or nothing.
#[inline]
fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        HOP_BY_HOP
            | ROUTING
            | FRAGMENT
            | AUTHENTICATION
            | DESTINATION_OPTIONS
            | MOBILITY
            | HOST_IDENTITY
            | SHIM6
    )
}
