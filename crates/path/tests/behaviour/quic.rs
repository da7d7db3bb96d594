//! Patterns that name datagrams of QUIC, by their headers and by what whoever sealed them says.

use crate::common::{down, ms, udp};
use rexmit_path::Fate;
use rexmit_wire::{Packet, Payload, QuicContent, Transport};

/// A datagram with these packets of QUIC, of which `sealed` is said.
fn datagram(packets: &[Vec<u8>], sealed: Option<QuicContent>) -> Packet {
    let mut packet = udp(100, 0);
    if let Transport::Udp(datagram) = &mut packet.transport {
        datagram.payload = Payload::Bytes(packets.concat().into());
        datagram.sealed = sealed;
    }
    packet
}

/// A packet with a long header of version 1: its kind, and whether a token is there.
fn long(first: u8, token: bool) -> Vec<u8> {
    let mut packet = vec![first, 0, 0, 0, 1, 0, 0];
    packet.extend(token.then_some(0));
    packet.push(4);
    packet.extend([9; 4]);
    packet
}

fn initial() -> Vec<u8> {
    long(0xc0, true)
}

fn early() -> Vec<u8> {
    long(0xd0, false)
}

fn handshake() -> Vec<u8> {
    long(0xe0, false)
}

fn short() -> Vec<u8> {
    vec![0x40; 30]
}

/// The connection's datagrams from one side, and one that is not QUIC's.
fn flow(sealed: bool) -> Vec<Packet> {
    let content = |new_data, repeats, ack_only| {
        sealed.then_some(QuicContent { new_data, repeats, ack_only, datagram: false })
    };
    vec![
        datagram(&[initial(), early()], content(true, false, false)),
        datagram(&[initial(), handshake()], content(false, false, false)),
        datagram(&[handshake(), short()], content(true, false, false)),
        datagram(&[short()], content(false, false, true)),
        datagram(&[short()], content(false, true, false)),
        datagram(&[short()], content(true, true, false)),
    ]
}

fn named(pattern: &str, packets: &[Packet]) -> Vec<usize> {
    let mut direction = down(&format!("down.drop = {pattern}"));
    let dropped = packets.iter().enumerate().filter_map(|(n, packet)| {
        let verdict = direction.send(ms(0), packet.clone());
        matches!(verdict.fate, Fate::DroppedByPattern { .. }).then_some(n + 1)
    });
    dropped.collect()
}

#[test]
fn datagrams_are_named_by_their_headers_whoever_sealed_them() {
    for (pattern, expected) in [
        ("{ match = \"initial\" }", vec![1, 2]),
        ("{ match = \"initial\", nth = 2 }", vec![2]),
        ("{ match = \"0-rtt\" }", vec![1]),
        ("{ match = \"handshake\" }", vec![2, 3]),
        ("{ match = \"1-rtt\" }", vec![3, 4, 5, 6]),
        ("{ match = \"1-rtt\", nth = \"2-3\" }", vec![4, 5]),
        ("{ match = \"syn\" }", vec![]),
    ] {
        assert_eq!(named(pattern, &flow(true)), expected, "{pattern}");
        assert_eq!(named(pattern, &flow(false)), expected, "{pattern}");
    }
}

#[test]
fn datagrams_are_named_by_their_content_where_it_is_told() {
    for (pattern, expected) in [
        ("{ match = \"stream\" }", vec![1, 3, 5, 6]),
        ("{ match = \"data\", nth = 2 }", vec![3]),
        ("{ match = \"data\", nth = 3 }", vec![6]),
        ("{ match = \"ack-only\" }", vec![4]),
        ("{ match = \"pure-ack\" }", vec![4]),
        ("{ match = \"retransmission\" }", vec![5, 6]),
    ] {
        assert_eq!(named(pattern, &flow(true)), expected, "{pattern}");
        assert_eq!(named(pattern, &flow(false)), [0_usize; 0], "{pattern}");
    }
}

#[test]
fn datagram_frames_are_named_where_they_are_told() {
    let content = |datagram, new_data| Some(QuicContent { datagram, new_data, ..QuicContent::default() });
    let flow = vec![
        datagram(&[initial()], content(false, false)),
        datagram(&[short()], content(true, false)),
        datagram(&[short()], content(false, true)),
        datagram(&[short()], content(true, true)),
    ];
    assert_eq!(named("{ match = \"datagram\" }", &flow), [2, 4]);
    assert_eq!(named("{ match = \"datagram\", nth = 2 }", &flow), [4]);
    assert_eq!(named("{ match = \"stream\" }", &flow), [3, 4]);
    let flow: Vec<Packet> = flow
        .into_iter()
        .map(|mut packet| {
            if let Transport::Udp(datagram) = &mut packet.transport {
                datagram.sealed = None;
            }
            packet
        })
        .collect();
    assert_eq!(named("{ match = \"datagram\" }", &flow), [0_usize; 0]);
}

#[test]
fn a_datagram_that_only_looks_like_a_short_header_is_no_quic() {
    let plain = vec![datagram(&[short()], None), datagram(&[vec![0x41; 20]], None)];
    assert_eq!(named("{ match = \"1-rtt\" }", &plain), [0_usize; 0]);
}
