//! Checksums against the plain words of RFC 1071, on the bytes of the pseudo-header written out.

use proptest::prelude::*;
use rexmit_wire::{IpFields, Ipv6Header, Packet, Payload, Transport, UdpDatagram};

/// The ones' complement sum of 16-bit words, complemented: zero where a right checksum is within.
fn rfc1071(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
        if sum > 0xffff {
            sum -= 0xffff;
        }
    }
    !(sum as u16)
}

/// The pseudo-header and all that follows the IP header.
fn covered(packet: &Packet, bytes: &[u8]) -> Vec<u8> {
    let protocol = packet.protocol();
    if packet.src.is_ipv4() {
        let len = (bytes.len() - 20) as u16;
        [&bytes[12..20], &[0, protocol], &len.to_be_bytes(), &bytes[20..]].concat()
    } else {
        let len = (bytes.len() - 40) as u32;
        [&bytes[8..40], &len.to_be_bytes(), &[0, 0, 0, protocol], &bytes[40..]].concat()
    }
}

/// A datagram whose two bytes of data are `word`.
fn datagram(word: u16, damaged: bool) -> Packet {
    let payload = Payload::Bytes(word.to_be_bytes().as_slice().into());
    Packet {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        ip: IpFields::default(),
        transport: Transport::Udp(UdpDatagram::new(7, 9, payload)),
        damaged,
    }
}

fn checksum_field(packet: &Packet) -> u16 {
    let bytes = packet.emit();
    u16::from_be_bytes([bytes[26], bytes[27]])
}

proptest! {
    #[test]
    fn every_checksum_is_the_one_of_the_rfc(packet in crate::common::packet()) {
        if matches!(packet.transport, Transport::Other { .. }) {
            return Ok(());
        }
        let bytes = packet.emit();
        prop_assert_eq!(rfc1071(&covered(&packet, &bytes)) != 0, packet.damaged);
        if packet.src.is_ipv4() {
            prop_assert_eq!(rfc1071(&bytes[..20]), 0);
        } else {
            let header = Ipv6Header::new(&bytes).unwrap();
            prop_assert_eq!((header.traffic_class(), header.hop_limit()), (packet.ip.tos, packet.ip.ttl));
            prop_assert_eq!(bytes[0] >> 4, 6);
        }
    }
}

#[test]
fn udp_writes_all_ones_for_a_checksum_of_zero_and_damage_shows_in_every_checksum() {
    // Each word of data gives another checksum: all values come by.
    let mut fields = std::collections::BTreeSet::new();
    for word in 0..=u16::MAX {
        let field = checksum_field(&datagram(word, false));
        assert_ne!(field, 0, "zero says that there is none");
        fields.insert(field);
        let damaged = datagram(word, true);
        assert_ne!(checksum_field(&damaged), 0);
        assert!(Packet::parse(&damaged.emit()).unwrap().damaged, "{word}");
    }
    assert_eq!(fields.len(), 65_535);
    assert!(fields.contains(&0xffff));
}

#[test]
fn a_datagram_of_ipv4_may_have_no_checksum_and_one_of_ipv6_may_not() {
    let four = datagram(0x1234, false);
    let mut bytes = four.emit();
    bytes[26..28].fill(0);
    assert_eq!(Packet::parse(&bytes).unwrap(), four);
    let six = Packet { src: [1_u16; 8].into(), dst: [2_u16; 8].into(), ..four };
    let mut bytes = six.emit();
    bytes[46..48].fill(0);
    assert!(Packet::parse(&bytes).unwrap().damaged);
}
