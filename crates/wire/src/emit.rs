//! Packets to bytes.

use std::net::IpAddr;

use crate::checksum::Sum;
use crate::{PROTOCOL_SCTP, PROTOCOL_TCP, PROTOCOL_UDP};
use crate::{Packet, TcpSegment, Transport, UdpDatagram, options, sctp};

/// Why a packet has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IllegalPacket {
    /// One address is of IPv4, the other of IPv6.
    #[error("source and destination address are of different IP versions")]
    MixedAddresses,
    /// The options need more than the 40 bytes that a TCP header has for them.
    #[error("tcp options of {0} bytes: a header has room for 40")]
    Options(usize),
    /// The packet is longer than its length field can say.
    #[error("packet of {0} bytes: an ip packet has at most 65,535 (65,575 in version 6)")]
    TooLong(u64),
}

impl Packet {
    /// The packet as bytes, from the IP header on.
    ///
    /// IPv4 is sent with Don't Fragment for TCP and SCTP, as hosts do that discover the path MTU. Checksums are
    /// right, except the transport's in a `damaged` packet; where the transport is neither TCP nor UDP,
    /// damage does not show.
    ///
    /// # Panics
    /// For a packet that [`Packet::check`] refuses.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.ip_len() as usize);
        self.emit_into(&mut out);
        out
    }

    /// Appends the bytes of [`Packet::emit`] to `out`.
    ///
    /// # Panics
    /// For a packet that [`Packet::check`] refuses.
    pub fn emit_into(&self, out: &mut Vec<u8>) {
        if let Err(e) = self.check() {
            panic!("{e}");
        }
        self.emit_ip_header(out);
        let start = out.len();
        let checksum_at = match &self.transport {
            Transport::Tcp(segment) => {
                emit_tcp(segment, out);
                start + 16
            }
            Transport::Udp(datagram) => {
                emit_udp(datagram, out);
                start + 6
            }
            Transport::Sctp(packet) => return self.emit_sctp(packet, out),
            Transport::Other { payload, .. } => return payload.append_to(out),
        };
        let protocol = self.protocol();
        let sum = Sum::default().add_pseudo_header(self.src, self.dst, protocol, out.len() - start);
        let mut checksum = sum.add(&out[start..]).finish();
        if self.damaged {
            checksum = damage(checksum);
        }
        // A UDP checksum of zero would say that there is none.
        if checksum == 0 && protocol == PROTOCOL_UDP {
            checksum = 0xffff;
        }
        out[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Whether the packet can be written as bytes.
    ///
    /// # Errors
    /// An [`IllegalPacket`] that says why not.
    pub fn check(&self) -> Result<(), IllegalPacket> {
        if self.src.is_ipv4() != self.dst.is_ipv4() {
            return Err(IllegalPacket::MixedAddresses);
        }
        if let Some(tcp) = self.tcp()
            && tcp.options_len() > TcpSegment::MAX_OPTIONS_LEN
        {
            return Err(IllegalPacket::Options(tcp.options_len()));
        }
        let most = if self.src.is_ipv4() { 65_535 } else { 65_575 };
        if self.ip_len() > most { Err(IllegalPacket::TooLong(self.ip_len())) } else { Ok(()) }
    }

    /// The IP protocol number of what it carries.
    #[inline]
    pub fn protocol(&self) -> u8 {
        match &self.transport {
            Transport::Tcp(_) => PROTOCOL_TCP,
            Transport::Udp(_) => PROTOCOL_UDP,
            Transport::Sctp(_) => PROTOCOL_SCTP,
            Transport::Other { protocol, .. } => *protocol,
        }
    }

    fn emit_sctp(&self, packet: &sctp::Packet, out: &mut Vec<u8>) {
        let start = out.len();
        packet.emit_into(out);
        if self.damaged {
            out[start + 8] ^= 1;
        }
    }

    fn emit_ip_header(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let discovers = matches!(self.transport, Transport::Tcp(_) | Transport::Sctp(_));
                let flags = if discovers { 0x40 } else { 0 };
                out.extend([0x45, self.ip.tos]);
                out.extend((self.ip_len() as u16).to_be_bytes());
                out.extend(self.ip.ident.to_be_bytes());
                out.extend([flags, 0, self.ip.ttl, self.protocol(), 0, 0]);
                out.extend(src.octets());
                out.extend(dst.octets());
                let checksum = Sum::default().add(&out[start..]).finish();
                out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                out.extend((6 << 28 | u32::from(self.ip.tos) << 20).to_be_bytes());
                out.extend(((self.ip_len() - 40) as u16).to_be_bytes());
                out.extend([self.protocol(), self.ip.ttl]);
                out.extend(src.octets());
                out.extend(dst.octets());
            }
            _ => unreachable!("checked: both addresses are of one family"),
        }
    }
}

/// The checksum is left at zero.
fn emit_tcp(segment: &TcpSegment, out: &mut Vec<u8>) {
    out.extend(segment.src_port.to_be_bytes());
    out.extend(segment.dst_port.to_be_bytes());
    out.extend(segment.seq.0.to_be_bytes());
    out.extend(segment.ack.0.to_be_bytes());
    out.extend([((segment.header_len() / 4) as u8) << 4, segment.flags.0]);
    out.extend(segment.window.to_be_bytes());
    out.extend([0, 0]);
    out.extend(segment.urgent.to_be_bytes());
    options::emit(segment, out);
    segment.payload.append_to(out);
}

/// The checksum is left at zero.
fn emit_udp(datagram: &UdpDatagram, out: &mut Vec<u8>) {
    out.extend(datagram.src_port.to_be_bytes());
    out.extend(datagram.dst_port.to_be_bytes());
    out.extend((8 + datagram.payload.len() as u16).to_be_bytes());
    out.extend([0, 0]);
    datagram.payload.append_to(out);
}

/// A checksum that does not match: one bit differs, and the result is not zero, which UDP reads as none.
fn damage(checksum: u16) -> u16 {
    if checksum == 0x0001 { 0x0003 } else { checksum ^ 0x0001 }
}
