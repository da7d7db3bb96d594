use proptest::prelude::*;

use super::*;
use crate::{Checksum, Flags, Packet, Payload, SeqNumber, TcpSegment, Transport};

fn segment(len: u32, ipv6: bool) -> Packet {
    let tcp = TcpSegment {
        src_port: 5001,
        dst_port: 40_000,
        seq: SeqNumber(77),
        flags: Flags::ACK,
        payload: Payload::Stream { offset: 0, len },
        ..TcpSegment::default()
    };
    let (src, dst) = if ipv6 {
        ([1_u16; 8].into(), [2_u16; 8].into())
    } else {
        ([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
    };
    let ip = IpFields { ttl: 60, tos: 4, ident: if ipv6 { 0 } else { 99 } };
    Packet { src, dst, ip, transport: Transport::Tcp(tcp), damaged: false }
}

/// The fragment of `packet` with the bytes `from..to` of its body; lengths and checksum are right.
fn fragment(packet: &Packet, from: usize, to: usize) -> Vec<u8> {
    let bytes = packet.emit();
    let ipv6 = packet.src.is_ipv6();
    let (header, body) = bytes.split_at(if ipv6 { 40 } else { 20 });
    let more = to < body.len();
    let mut out = header.to_vec();
    if ipv6 {
        let place = from as u16 | u16::from(more);
        out[4..6].copy_from_slice(&((8 + to - from) as u16).to_be_bytes());
        out[6] = 44;
        out.extend([6, 0, (place >> 8) as u8, place as u8, 0, 0, 0, 99]);
    } else {
        let place = (from as u16 / 8) | if more { 0x2000 } else { 0 };
        out[2..4].copy_from_slice(&((20 + to - from) as u16).to_be_bytes());
        out[6..8].copy_from_slice(&place.to_be_bytes());
        out[10..12].fill(0);
        let checksum = crate::checksum::Sum::default().add(&out).finish();
        out[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    out.extend(&body[from..to]);
    out
}

/// Pushes the fragment and says what came of it: sequence number, bytes of data, and what the checksum says.
fn push(to: &mut Reassembler, seconds: u64, bytes: &[u8]) -> Option<(u32, usize, Checksum)> {
    let now = Instant::ZERO + Duration::from_secs(seconds);
    let packet = IpPacket::parse(bytes, bytes.len()).expect("a packet");
    let whole = to.push(now, 0, &packet).expect("a fragment")?;
    let tcp = whole.tcp().expect("a segment");
    assert_eq!((whole.fields.ttl, whole.fields.tos), (60, 4));
    Some((tcp.header.seq().0, tcp.payload_len, tcp.checksum))
}

const WHOLE: Option<(u32, usize, Checksum)> = Some((77, 3_000, Checksum::Good));
/// Of a segment with 3,000 bytes of data.
const BODY: usize = 3_020;

#[test]
fn a_datagram_is_whole_with_its_last_piece_whichever_that_is() {
    for ipv6 in [false, true] {
        let packet = segment(3_000, ipv6);
        let parts = [(0, 1_480), (1_480, 2_960), (2_960, BODY)].map(|(from, to)| fragment(&packet, from, to));
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut to = Reassembler::new();
            let [first, second, third] = order.map(|at| push(&mut to, 0, &parts[at]));
            assert_eq!((first, second, third), (None, None, WHOLE), "{order:?}");
            assert_eq!(to.incomplete(), 0);
        }
    }
}

#[test]
fn a_piece_that_comes_again_changes_nothing() {
    let packet = segment(3_000, false);
    let (first, second) = (fragment(&packet, 0, 1_480), fragment(&packet, 1_480, BODY));
    let mut to = Reassembler::new();
    assert_eq!(push(&mut to, 0, &first), None);
    assert_eq!(push(&mut to, 0, &first), None);
    assert_eq!(push(&mut to, 0, &second), WHOLE);
    assert_eq!(to.incomplete(), 0);
}

#[test]
fn a_tcp_header_may_lie_in_two_pieces() {
    let packet = segment(3_000, false);
    let mut to = Reassembler::new();
    assert_eq!(push(&mut to, 0, &fragment(&packet, 8, BODY)), None);
    assert_eq!(push(&mut to, 0, &fragment(&packet, 0, 8)), WHOLE);
}

#[test]
fn a_piece_that_overlaps_others_ends_the_datagram() {
    for ipv6 in [false, true] {
        let packet = segment(3_000, ipv6);
        let mut to = Reassembler::new();
        assert_eq!(push(&mut to, 0, &fragment(&packet, 0, 1_480)), None);
        assert_eq!(push(&mut to, 0, &fragment(&packet, 1_472, BODY)), None);
        assert_eq!(to.incomplete(), 2, "one ended, one that begins at 1472");
        // The same datagram sent again is another.
        assert_eq!(push(&mut to, 0, &fragment(&packet, 0, 1_472)), WHOLE);
        assert_eq!(to.incomplete(), 1);
    }
}

#[test]
fn another_datagram_of_the_same_number_is_not_mixed_with_the_first() {
    let (one, other) = (segment(3_000, false), segment(2_000, false));
    let mut to = Reassembler::new();
    push(&mut to, 0, &fragment(&one, 1_480, BODY));
    // It ends below what is there; and the other way round, it has bytes past the end.
    assert_eq!(push(&mut to, 0, &fragment(&other, 1_480, 2_020)), None);
    assert_eq!(push(&mut to, 0, &fragment(&one, 2_024, BODY)), None);
    assert_eq!(to.incomplete(), 3);
    let mut changed = fragment(&one, 0, 1_480);
    let mut to = Reassembler::new();
    push(&mut to, 0, &changed);
    changed[100] ^= 1;
    push(&mut to, 0, &changed);
    assert_eq!(to.incomplete(), 2);
    let seen = push(&mut to, 0, &fragment(&one, 1_480, BODY));
    assert_eq!(seen, Some((77, 3_000, Checksum::Bad)), "the later one, which is damaged");
}

#[test]
fn addresses_numbers_places_and_protocols_tell_datagrams_apart() {
    let packet = segment(3_000, false);
    let first = fragment(&packet, 0, 1_480);
    let second = fragment(&packet, 1_480, BODY);
    for at in [5, 9, 13, 17] {
        let mut to = Reassembler::new();
        let mut other = second.clone();
        other[at] ^= 0x40;
        push(&mut to, 0, &first);
        let other = IpPacket::parse(&other, 0).expect("a packet");
        assert!(to.push(Instant::ZERO, 0, &other).expect("a fragment").is_none(), "{at}");
        assert_eq!(to.incomplete(), 2);
    }
    let mut to = Reassembler::new();
    push(&mut to, 0, &first);
    let elsewhere = IpPacket::parse(&second, 0).expect("a packet");
    assert!(to.push(Instant::ZERO, 1, &elsewhere).expect("a fragment").is_none());
    assert!(to.push(Instant::ZERO, 0, &elsewhere).expect("a fragment").is_some());
}

#[test]
fn a_datagram_is_given_up_after_thirty_seconds() {
    let packet = segment(3_000, false);
    for (seconds, whole) in [(30, WHOLE), (31, None)] {
        let mut to = Reassembler::new();
        push(&mut to, 0, &fragment(&packet, 0, 1_480));
        assert_eq!(push(&mut to, seconds, &fragment(&packet, 1_480, BODY)), whole);
        assert_eq!(to.incomplete(), if whole.is_some() { 0 } else { 2 });
    }
}

#[test]
fn of_a_cut_capture_there_is_what_stands_before_the_first_missing_byte() {
    let packet = segment(3_000, false);
    let parts = [(0, 1_480), (1_480, 2_960), (2_960, BODY)].map(|(from, to)| fragment(&packet, from, to));
    let mut to = Reassembler::new();
    for part in &parts[..2] {
        let kept = IpPacket::parse(&part[..96], part.len()).expect("a packet");
        assert!(to.push(Instant::ZERO, 0, &kept).expect("a fragment").is_none());
    }
    let last = IpPacket::parse(&parts[2], 0).expect("a packet");
    let whole = to.push(Instant::ZERO, 0, &last).expect("a fragment").expect("it is whole");
    assert_eq!((whole.body.len(), whole.body_len), (76, BODY));
    let tcp = whole.tcp().expect("a segment");
    assert_eq!((tcp.payload_len, tcp.checksum, tcp.options_cut), (3_000, Checksum::Unknown, false));
}

#[test]
fn extension_headers_after_the_fragment_header_are_passed_over() {
    let packet = segment(100, true);
    let bytes = packet.emit();
    // Destination options of 8 bytes in the fragmentable part.
    let body = [&[6, 0, 1, 4, 0, 0, 0, 0][..], &bytes[40..]].concat();
    let mut to = Reassembler::new();
    for (from, until) in [(0, 64), (64, body.len())] {
        let place = from as u16 | u16::from(until < body.len());
        let mut part = bytes[..40].to_vec();
        part[4..6].copy_from_slice(&((8 + until - from) as u16).to_be_bytes());
        part[6] = 44;
        part.extend([60, 0, (place >> 8) as u8, place as u8, 0, 0, 0, 1]);
        part.extend(&body[from..until]);
        let seen = push(&mut to, 0, &part);
        assert_eq!(seen.is_some(), from > 0);
        if let Some(seen) = seen {
            assert_eq!(seen, (77, 100, Checksum::Good));
        }
    }
}

#[test]
fn what_cannot_be_a_fragment_is_refused() {
    let packet = segment(3_000, false);
    let mut to = Reassembler::new();
    let mut refused = |from: usize, until: usize, change: fn(&mut Vec<u8>)| {
        let mut bytes = fragment(&packet, from, until);
        change(&mut bytes);
        let packet = IpPacket::parse(&bytes, 0).expect("a packet");
        to.push(Instant::ZERO, 0, &packet).is_err()
    };
    assert!(refused(0, 1_481, |_| {}), "others follow, and it is not a multiple of 8");
    assert!(refused(1_480, 1_480, |_| {}), "it is empty");
    assert!(refused(1_480, BODY, |bytes| bytes[6..8].copy_from_slice(&[0x1f, 0xff])), "it ends past 65,535");
    assert!(!refused(1_480, BODY, |_| {}));
}

#[test]
fn memory_is_bounded_and_the_oldest_go_first() {
    let mut packet = segment(3_000, false);
    let mut to = Reassembler::new();
    for ident in 0..20_000 {
        packet.ip.ident = ident;
        assert_eq!(push(&mut to, 0, &fragment(&packet, 0, 1_480)), None);
        assert!(to.bytes <= FRAGMENT_BYTES);
        assert!(to.order.len() <= 2 * to.waiting.len() + 66);
    }
    assert_eq!(to.incomplete(), 20_000);
    assert!((2_000..8_000).contains(&to.waiting.len()), "{}", to.waiting.len());
    assert_eq!(push(&mut to, 0, &fragment(&packet, 1_480, BODY)), WHOLE);
    assert_eq!(to.bytes, to.waiting.values().map(Partial::size).sum::<usize>());
}

#[test]
fn the_order_of_those_that_went_is_forgotten() {
    let mut packet = segment(3_000, false);
    let mut to = Reassembler::new();
    push(&mut to, 0, &fragment(&packet, 0, 1_480));
    for ident in 100..10_000 {
        packet.ip.ident = ident;
        push(&mut to, 0, &fragment(&packet, 0, 1_480));
        assert_eq!(push(&mut to, 0, &fragment(&packet, 1_480, BODY)), WHOLE);
        assert!(to.order.len() <= 70, "{}", to.order.len());
    }
    assert_eq!(to.incomplete(), 1);
}

proptest! {
    #[test]
    fn any_split_in_any_order_gives_the_datagram(
        len in 0_u32..6_000,
        ipv6 in any::<bool>(),
        cuts in prop::collection::btree_set(1_usize..750, 1..12),
        swaps in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..20),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let packet = segment(len, ipv6);
        let body = packet.emit().len() - if ipv6 { 40 } else { 20 };
        let mut ends: Vec<usize> = cuts.into_iter().map(|cut| cut * 8).filter(|cut| *cut < body).collect();
        prop_assume!(!ends.is_empty());
        ends.push(body);
        let mut from = 0;
        let mut parts = Vec::new();
        for end in ends {
            parts.push(fragment(&packet, from, end));
            from = end;
        }
        for (one, other) in swaps {
            let (one, other) = (one.index(parts.len()), other.index(parts.len()));
            parts.swap(one, other);
        }
        // All but the last may come again.
        let mut order: Vec<usize> = (0..parts.len() - 1).collect();
        for index in again {
            order.push(index.index(parts.len() - 1));
        }
        let mut to = Reassembler::new();
        for at in order {
            prop_assert_eq!(push(&mut to, 0, &parts[at]), None);
        }
        let seen = push(&mut to, 0, &parts[parts.len() - 1]);
        prop_assert_eq!(seen, Some((77, len as usize, Checksum::Good)));
        prop_assert_eq!(to.incomplete(), 0);
    }
}
