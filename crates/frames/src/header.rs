//! Fields of IP and TCP headers, read and changed in place, and the checksums over them.

use rexmit_wire::{PROTOCOL_SCTP, PROTOCOL_TCP, PROTOCOL_UDP};
use std::net::IpAddr;

use rexmit_path::FlowKey;

/// The Internet checksum's sum over `bytes`, which begin at an even offset, folded and not inverted (RFC 1071).
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    // Eight bytes at a time in this machine's order, which gives the same sum with its bytes swapped (RFC 1071
    // section 2B); carries go round at the end.
    let mut words = bytes.chunks_exact(8);
    let mut total: u128 = 0;
    for word in &mut words {
        total += u128::from(u64::from_ne_bytes([
            word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7],
        ]));
    }
    let mut last = [0; 8];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    total += u128::from(u64::from_ne_bytes(last));
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    u16::from_be(total as u16)
}

/// Ones' complement addition.
pub(crate) fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Replaces the checksum at `start + offset`, which holds the pseudo-header's sum, by that over all bytes from
/// `start` on. UDP writes zero as its other form, since zero would say that there is none (RFC 768).
pub(crate) fn complete_checksum(bytes: &mut [u8], start: usize, offset: usize) {
    let sum = !sum(&bytes[start..]);
    put(bytes, start + offset, if sum == 0 && offset == 6 { 0xffff } else { sum });
}

/// The checksum after one of the words that it covers has changed (RFC 1624 section 3).
pub(crate) fn updated_checksum(sum: u16, before: u16, after: u16) -> u16 {
    !add(add(!sum, !before), after)
}

/// Sets the ECN field of an IP packet to "congestion experienced"; false where it is not ECN-capable.
pub(crate) fn mark(ip: &mut [u8]) -> bool {
    if ip.len() < 20 {
        return false;
    }
    if ip[0] >> 4 != 4 {
        // The traffic class lies across the first two bytes; ECN is its last two bits (RFC 8200 section 3).
        let capable = ip[1] & 0x30 != 0;
        if capable {
            ip[1] |= 0x30;
        }
        return capable;
    }
    let before = word(ip, 0);
    let capable = ip[1] & 0b11 != 0;
    if capable {
        ip[1] |= 0b11;
        let sum = updated_checksum(word(ip, 10), before, word(ip, 0));
        put(ip, 10, sum);
    }
    capable
}

/// Length of the IP packet that `bytes` begin with, as its header says; that of `bytes` where it cannot be.
pub(crate) fn ip_len(bytes: &[u8]) -> usize {
    let said = match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => usize::from(word(bytes, 2)),
        Some(6) if bytes.len() >= 40 => 40 + usize::from(word(bytes, 4)),
        _ => bytes.len(),
    };
    if (20..=bytes.len()).contains(&said) { said } else { bytes.len() }
}

/// Where the transport's checksum of an IP packet stands: the transport header's start and the offset from
/// there. `None` for what is neither TCP nor UDP, a later fragment, and IPv6 with extension headers.
pub fn checksum_place(ip: &[u8]) -> Option<(usize, usize)> {
    let (start, protocol) = match ip.first()? >> 4 {
        4 if ip.len() >= 20 && word(ip, 6) & 0x3fff == 0 => (usize::from(ip[0] & 15) * 4, ip[9]),
        6 if ip.len() >= 40 => (40, ip[6]),
        _ => return None,
    };
    let offset = match protocol {
        rexmit_wire::PROTOCOL_TCP => 16,
        rexmit_wire::PROTOCOL_UDP => 6,
        _ => return None,
    };
    (ip.len() >= start + offset + 2).then_some((start, offset))
}

/// The flow of an IP packet. Fragments have no ports: all of a datagram are of one flow. What cannot be read is of none
/// in particular.
pub(crate) fn flow(ip: &[u8]) -> FlowKey {
    let nowhere = IpAddr::from([0; 4]);
    let (source, destination) = addresses(ip).unwrap_or((nowhere, nowhere));
    let (protocol, start) = match ip.first().map(|b| b >> 4) {
        Some(4) if ip.len() >= 20 => {
            let whole = word(ip, 6) & 0x3fff == 0;
            (ip[9], whole.then_some(usize::from(ip[0] & 15) * 4))
        }
        Some(6) if ip.len() >= 40 => (ip[6], Some(40)),
        _ => (255, None),
    };
    let has_ports = matches!(protocol, PROTOCOL_TCP | PROTOCOL_UDP | PROTOCOL_SCTP);
    let (from, to) = match start.filter(|start| has_ports && ip.len() >= start + 4) {
        Some(start) => (word(ip, start), word(ip, start + 2)),
        None => (0, 0),
    };
    (source, destination, protocol, from, to)
}

/// Source and destination of a packet; `None` where its header is not whole.
#[inline]
pub(crate) fn addresses(ip: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| IpAddr::from([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
    let v6 = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&ip[at..at + 16]);
        IpAddr::from(octets)
    };
    match ip.first().map(|b| b >> 4) {
        Some(4) if ip.len() >= 20 => Some((v4(12), v4(16))),
        Some(6) if ip.len() >= 40 => Some((v6(8), v6(24))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rexmit_path::Carried;
    use rexmit_wire::{IpFields, Packet, Payload, TcpSegment, Transport, UdpDatagram};

    use super::*;

    #[test]
    fn flows_are_those_of_the_model() {
        let payload = Payload::Bytes(vec![7; 20].into());
        let tcp =
            TcpSegment { src_port: 80, dst_port: 5000, payload: payload.clone(), ..TcpSegment::default() };
        let udp = UdpDatagram::new(53, 6000, payload.clone());
        for (src, dst) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            for transport in [
                Transport::Tcp(tcp.clone()),
                Transport::Udp(udp.clone()),
                Transport::Other { protocol: 132, payload: payload.clone() },
            ] {
                let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
                let packet = Packet { src, dst, ip: IpFields::default(), transport, damaged: false };
                assert_eq!(flow(&packet.emit()), packet.flow());
            }
        }
        // A fragment has no ports; what is cut short is read as far as it goes.
        let packet = Packet {
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            ip: IpFields::default(),
            transport: Transport::Udp(udp),
            damaged: false,
        };
        let mut bytes = packet.emit();
        bytes[6] |= 0x20;
        assert_eq!((flow(&bytes).2, flow(&bytes).3), (17, 0));
        assert_eq!(flow(&bytes[..10]).2, 255);
        assert_eq!(flow(&[]).2, 255);
    }
}
