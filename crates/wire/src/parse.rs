//! Bytes to packets.

use crate::ip::IpPacket;
use crate::{PROTOCOL_TCP, PROTOCOL_UDP, Packet, Payload, TcpOptions, TcpSegment, Transport, UdpDatagram};

/// Why bytes are not a packet. Lengths are in bytes.
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
    /// Headers within headers, beyond the limit of [`crate::limits::LAYERS`].
    #[error("more than {layers} headers within each other")]
    TooDeep {
        /// The limit.
        layers: usize,
    },
    /// A fragment of a packet, which holds no whole transport header or data.
    #[error("fragment of an ip packet")]
    Fragment,
}

impl ParseError {
    /// The same, told of bytes that begin `n` bytes earlier.
    pub(crate) fn after(self, n: usize) -> Self {
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

/// A packet of which a capture may have kept only the head.
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
        let ip = IpPacket::parse(bytes, bytes.len())?;
        if ip.body.len() < ip.body_len {
            let cut_off = ip.body_len - ip.body.len();
            return Err(ParseError::Truncated { have: bytes.len(), need: bytes.len() + cut_off });
        }
        snapped(&ip).map(|snapped| snapped.packet)
    }

    /// The packet whose first bytes are `bytes` and which had `original_len` bytes on the wire (used only
    /// where the IP header gives no length, as offloading network cards have it).
    ///
    /// # Errors
    /// A [`ParseError`]; [`ParseError::Truncated`] where the IP header or the fixed part of the TCP or UDP
    /// header is not whole.
    pub fn parse_truncated(bytes: &[u8], original_len: u32) -> Result<Snapped, ParseError> {
        snapped(&IpPacket::parse(bytes, original_len as usize)?)
    }
}

fn snapped(ip: &IpPacket<'_>) -> Result<Snapped, ParseError> {
    if ip.fragment.is_some() {
        return Err(ParseError::Fragment);
    }
    match ip.protocol {
        PROTOCOL_TCP => tcp(ip),
        PROTOCOL_UDP => udp(ip),
        protocol => {
            let transport = Transport::Other { protocol, payload: payload(ip.body) };
            let checksum = if ip.header_ok { Checksum::Good } else { Checksum::Bad };
            Ok(with(ip, transport, ip.body_len, checksum))
        }
    }
}

fn tcp(ip: &IpPacket<'_>) -> Result<Snapped, ParseError> {
    let view = ip.tcp()?;
    let header = view.header;
    let mut unknown = Vec::new();
    let options = TcpOptions::parse_all(header.options(), &mut |option| unknown.extend_from_slice(option));
    let segment = TcpSegment {
        src_port: header.src_port(),
        dst_port: header.dst_port(),
        seq: header.seq(),
        ack: header.ack(),
        flags: header.flags(),
        window: header.window(),
        urgent: header.urgent(),
        mss: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        sack_before_timestamps: options.sack_before_timestamps,
        timestamps: options.timestamps,
        sack: options.sack,
        unknown_options: if unknown.is_empty() { None } else { Some(unknown.into()) },
        payload: payload(header.payload()),
    };
    let snapped = with(ip, Transport::Tcp(segment), view.payload_len, view.checksum);
    Ok(Snapped { options_cut: view.options_cut, ..snapped })
}

fn udp(ip: &IpPacket<'_>) -> Result<Snapped, ParseError> {
    let view = ip.udp()?;
    let header = view.header;
    let datagram = UdpDatagram {
        src_port: header.src_port(),
        dst_port: header.dst_port(),
        payload: payload(header.payload()),
        sealed: None,
    };
    Ok(with(ip, Transport::Udp(datagram), view.payload_len, view.checksum))
}

fn with(ip: &IpPacket<'_>, transport: Transport, payload_len: usize, checksum: Checksum) -> Snapped {
    let damaged = checksum == Checksum::Bad;
    Snapped {
        packet: Packet { src: ip.src, dst: ip.dst, ip: ip.fields, transport, damaged },
        payload_len: payload_len as u32,
        checksum,
        options_cut: false,
    }
}

fn payload(bytes: &[u8]) -> Payload {
    if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(bytes.into()) }
}
