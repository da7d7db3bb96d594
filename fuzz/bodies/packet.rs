//! Bytes as an IP packet: no input panics, and what was read is written and read again as the same packet.

use rexmit_wire::{Packet, Transport};

/// Runs one input.
pub fn run(data: &[u8]) {
    for original_len in [0, data.len() as u32, u32::MAX] {
        if let Ok(snapped) = Packet::parse_truncated(data, original_len) {
            assert!(packet_payload_len(&snapped.packet) <= snapped.payload_len);
        }
    }
    let Ok(packet) = Packet::parse(data) else { return };
    let snapped = Packet::parse_truncated(data, data.len() as u32).expect("it parsed whole");
    assert_eq!(snapped.packet, packet);
    // Aligned options may make the longest packets too long.
    if packet.check().is_err() {
        assert!(packet.ip_len() > 65_535);
        return;
    }
    let bytes = packet.emit();
    assert_eq!(bytes.len() as u64, packet.ip_len());
    let mut again = Packet::parse(&bytes).expect("it was written by us");
    if matches!(packet.transport, Transport::Other { .. }) {
        // No checksum that we know could show the damage.
        again.damaged = packet.damaged;
    }
    assert_eq!(again, packet);
}

fn packet_payload_len(packet: &Packet) -> u32 {
    match &packet.transport {
        Transport::Tcp(segment) => segment.payload.len(),
        Transport::Udp(datagram) => datagram.payload.len(),
        Transport::Sctp(_) => unreachable!("bytes of SCTP stay bytes"),
        Transport::Other { payload, .. } => payload.len(),
    }
}
