//! IP packets and UDP datagrams around what an end sends.

use std::net::IpAddr;

use crate::Opening;

const UDP: u8 = 17;

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// Adds 16-bit words to a checksum (RFC 1071); an odd byte counts as the first of a word.
pub fn sum(total: u64, data: &[u8]) -> u64 {
    let (words, odd) = data.as_chunks::<2>();
    let total = words.iter().fold(total, |total, word| total + u64::from(u16::from_be_bytes(*word)));
    total + odd.first().map_or(0, |byte| u64::from(*byte) << 8)
}

/// The checksum of a sum.
pub fn folded(mut total: u64) -> u16 {
    while total >> 16 > 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// Puts the payload of an IP packet behind a header between the addresses of an end.
pub fn wrap(opening: &Opening, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let addresses = [octets(opening.local.ip()), octets(opening.remote.ip())].concat();
    let mut packet = Vec::with_capacity(40 + payload.len());
    if opening.local.is_ipv4() {
        packet.extend([0x45, 0]);
        packet.extend((20 + payload.len() as u16).to_be_bytes());
        // Not to be cut up: RFC 6864 leaves the identification open then.
        packet.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
        packet.extend(addresses);
        let checksum = folded(sum(0, &packet));
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        packet.extend([0x60, 0, 0, 0]);
        packet.extend((payload.len() as u16).to_be_bytes());
        packet.extend([protocol, 64]);
        packet.extend(addresses);
    }
    packet.extend_from_slice(payload);
    packet
}

/// What stands behind the header of an IP packet; `None` of anything else.
pub fn unwrap(packet: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(usize::from(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?])));
    let (from, to) = match packet.first()? >> 4 {
        4 if packet.len() >= 20 => (usize::from(packet[0] & 15) * 4, word(2)?),
        6 if packet.len() >= 40 => (40, 40 + word(4)?),
        _ => return None,
    };
    packet.get(from..to)
}

/// The packet of a UDP datagram between the addresses and ports of an end.
pub fn wrap_udp(opening: &Opening, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let mut datagram = Vec::with_capacity(usize::from(length));
    for word in [opening.local.port(), opening.remote.port(), length, 0] {
        datagram.extend(word.to_be_bytes());
    }
    datagram.extend_from_slice(payload);
    let pseudo = u64::from(UDP) + u64::from(length);
    let total = sum(sum(pseudo, &octets(opening.local.ip())), &octets(opening.remote.ip()));
    let checksum = match folded(sum(total, &datagram)) {
        // Zero says that there is none (RFC 768).
        0 => 0xffff,
        other => other,
    };
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
    wrap(opening, UDP, &datagram)
}

/// The payload of the datagram in an IP packet; `None` of anything else.
pub fn unwrap_udp(packet: &[u8]) -> Option<&[u8]> {
    unwrap(packet)?.get(8..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_comes_out_as_it_went_in() {
        for (local, remote) in [("10.0.0.1:1", "10.0.0.2:65535"), ("[fd00::1]:1", "[fd00::2]:2")] {
            let opening = Opening {
                active: true,
                streams: 1,
                local: local.parse().unwrap(),
                remote: remote.parse().unwrap(),
                datagrams: false,
            };
            for payload in [&b""[..], b"odd", b"even"] {
                assert_eq!(unwrap_udp(&wrap_udp(&opening, payload)), Some(payload));
            }
        }
    }

    #[test]
    fn garbage_is_no_packet() {
        for len in 0..60 {
            for first in [0x00, 0x45, 0x4f, 0x60, 0xff] {
                let mut bytes = vec![0xff; len];
                bytes.iter_mut().take(1).for_each(|byte| *byte = first);
                assert_eq!(unwrap_udp(&bytes), None);
            }
        }
    }
}
