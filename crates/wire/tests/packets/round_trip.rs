//! Typed packets to bytes and back.

use proptest::prelude::*;
use rexmit_wire::{
    Checksum, Flags, IllegalPacket, IpFields, Ipv4Header, Packet, ParseError, Payload, SackBlocks, SeqNumber,
    TcpHeader, TcpSegment, Timestamps, Transport, UdpDatagram,
};

/// The packet as it is read: its data as bytes.
fn with_bytes(mut packet: Packet) -> Packet {
    let payload = match &mut packet.transport {
        Transport::Tcp(t) => &mut t.payload,
        Transport::Udp(u) => &mut u.payload,
        Transport::Sctp(_) => unreachable!("not made here"),
        Transport::Other { payload, .. } => payload,
    };
    *payload = match payload.bytes() {
        none if none.is_empty() => Payload::EMPTY,
        some => Payload::Bytes(some.as_ref().into()),
    };
    packet
}

fn segment() -> TcpSegment {
    TcpSegment {
        src_port: 5_000,
        dst_port: 40_000,
        seq: SeqNumber(0x0102_0304),
        ack: SeqNumber(0x0506_0708),
        flags: Flags::ACK.with(Flags::PSH),
        window: 0x0a0b,
        urgent: 0,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        sack_before_timestamps: false,
        timestamps: None,
        sack: SackBlocks::default(),
        unknown_options: None,
        payload: Payload::EMPTY,
    }
}

fn packet(segment: TcpSegment) -> Packet {
    Packet {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        ip: IpFields::default(),
        transport: Transport::Tcp(segment),
        damaged: false,
    }
}

fn is_truncated<T>(result: Result<T, ParseError>) -> bool {
    matches!(result, Err(ParseError::Truncated { .. }))
}

/// The options of a segment as bytes.
fn options(segment: TcpSegment) -> Vec<u8> {
    let bytes = packet(segment).emit();
    TcpHeader::new(&bytes[20..]).unwrap().options().to_vec()
}

proptest! {
    #[test]
    fn every_legal_packet_comes_back(packet in crate::common::packet()) {
        let bytes = packet.emit();
        prop_assert_eq!(bytes.len() as u64, packet.ip_len());
        prop_assert_eq!(Packet::parse(&bytes).unwrap(), with_bytes(packet));
    }

    #[test]
    fn padding_after_the_packet_is_passed_over(packet in crate::common::packet(), padding in 1_usize..40) {
        if packet.src.is_ipv6() && packet.ip_len() == 40 {
            // A payload length of zero may also be one that the network card was to fill in.
            return Ok(());
        }
        let mut bytes = packet.emit();
        bytes.resize(bytes.len() + padding, 0xee);
        prop_assert_eq!(Packet::parse(&bytes).unwrap(), with_bytes(packet));
    }

    #[test]
    fn one_wrong_bit_in_the_segment_is_damage(segment in crate::common::segment(), bit in any::<prop::sample::Index>()) {
        let mut bytes = packet(segment).emit();
        // Not in the data offset, which decides what a segment is.
        let bit = bit.index((bytes.len() - 20) * 8) + 160;
        if (256..264).contains(&bit) {
            return Ok(());
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Packet::parse(&bytes).unwrap().damaged);
    }

    #[test]
    fn a_cut_packet_keeps_its_headers_and_lengths(segment in crate::common::segment(), kept in any::<prop::sample::Index>()) {
        let whole = packet(segment.clone());
        let bytes = whole.emit();
        let kept = kept.index(bytes.len());
        match Packet::parse(&bytes[..kept]) {
            Err(ParseError::Truncated { have, need }) => {
                prop_assert_eq!(have, kept);
                // Of a whole IP header, the length is known.
                prop_assert!(need > kept && (kept < 20 || need == bytes.len()));
            }
            other => prop_assert!(false, "{:?}", other),
        }
        let snapped = Packet::parse_truncated(&bytes[..kept], bytes.len() as u32);
        if kept < 40 {
            prop_assert!(is_truncated(snapped));
            return Ok(());
        }
        let snapped = snapped.unwrap();
        prop_assert_eq!(snapped.payload_len, segment.payload.len());
        prop_assert_eq!(snapped.checksum, Checksum::Unknown);
        prop_assert_eq!(snapped.options_cut, kept < 20 + segment.header_len());
        let read = snapped.packet.tcp().unwrap();
        prop_assert_eq!((read.seq, read.ack, read.flags), (segment.seq, segment.ack, segment.flags));
        if !snapped.options_cut {
            let kept_data = (kept - 20 - segment.header_len()) as u32;
            let cut = with_bytes(packet(TcpSegment { payload: segment.payload.slice(0, kept_data), ..segment }));
            prop_assert_eq!(snapped.packet, cut);
        }
    }

    #[test]
    fn the_length_of_the_payload_is_known_from_the_head(packet in crate::common::packet()) {
        let bytes = packet.emit();
        let (payload, header) = match &packet.transport {
            Transport::Tcp(t) => (&t.payload, t.header_len()),
            Transport::Udp(u) => (&u.payload, 8),
            Transport::Sctp(_) => unreachable!("not made here"),
            Transport::Other { payload, .. } => (payload, 0),
        };
        let head = bytes.len() - payload.len() as usize;
        prop_assert_eq!(head, header + if packet.src.is_ipv4() { 20 } else { 40 });
        let snapped = Packet::parse_truncated(&bytes[..head], bytes.len() as u32).unwrap();
        prop_assert_eq!(snapped.payload_len, payload.len());
    }

    #[test]
    fn a_slice_is_the_same_of_a_stream_and_of_its_bytes(offset in 0_u64..1 << 40, len in 0_u32..5_000, from in 0_u32..6_000, n in 0_u32..6_000) {
        let stream = Payload::Stream { offset, len };
        let bytes = stream.bytes();
        prop_assert_eq!(bytes.len() as u32, len);
        for (i, byte) in bytes.iter().enumerate() {
            prop_assert_eq!(*byte, Payload::stream_byte(offset + i as u64));
        }
        let mut filled = vec![0; bytes.len()];
        Payload::fill(offset, &mut filled);
        prop_assert_eq!(&filled[..], &bytes[..]);
        prop_assert_eq!(Payload::wrong_bytes(offset, &filled), 0);
        if let Some(byte) = filled.get_mut(from as usize % (len.max(1) as usize)) {
            *byte = b'x';
            prop_assert_eq!(Payload::wrong_bytes(offset, &filled), 1);
        }
        let first = from.min(len) as usize;
        let last = from.saturating_add(n).min(len) as usize;
        let copied = Payload::Bytes(bytes.as_ref().into());
        for payload in [&stream, &copied] {
            let slice = payload.slice(from, n);
            prop_assert_eq!((slice.len() as usize, slice.is_empty()), (last - first, first == last));
            let slice = slice.bytes();
            prop_assert_eq!(slice.as_ref(), &bytes[first..last]);
        }
    }

    #[test]
    fn sequence_numbers_compare_across_the_wrap(a in any::<u32>(), step in 1_u32..1 << 31) {
        let (a, b) = (SeqNumber(a), SeqNumber(a) + step);
        prop_assert!(a < b);
        prop_assert!(b > a);
        prop_assert_eq!(b.diff(a), step as i32);
        prop_assert_eq!(b - step, a);
        let mut c = a;
        c += step;
        prop_assert_eq!(c, b);
        prop_assert_eq!((a.max(b), a.min(b)), (b, a));
    }
}

#[test]
fn a_packet_is_small_enough_to_pass_by_value() {
    let size = size_of::<Packet>();
    assert!(size <= 192, "{size} bytes");
}

#[test]
fn control_bits_are_asked_for_together_or_singly() {
    let both = Flags::SYN.with(Flags::ACK);
    assert!(both.has(Flags::SYN) && both.has(both) && !Flags::SYN.has(both));
    assert!(both.any(Flags::ACK.with(Flags::FIN)) && !both.any(Flags::FIN.with(Flags::RST)));
    assert_eq!((both.with(Flags::ACK), both.without(Flags::ACK.with(Flags::FIN))), (both, Flags::SYN));
}

#[test]
fn syn_and_fin_take_a_sequence_number_each() {
    let with = |flags, len| TcpSegment { flags, payload: Payload::Stream { offset: 0, len }, ..segment() };
    let both = Flags::SYN.with(Flags::FIN);
    let lengths = [(Flags::ACK, 0), (Flags::ACK, 7), (Flags::SYN, 0), (Flags::FIN, 7), (both, 7)];
    assert_eq!(lengths.map(|(flags, len)| with(flags, len).seq_len()), [0, 7, 1, 8, 9]);
}

#[test]
fn a_syn_has_the_options_of_bsd() {
    let syn = TcpSegment {
        flags: Flags::SYN,
        mss: Some(1_460),
        window_scale: Some(1),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 0x11, echo: 0 }),
        ..segment()
    };
    assert_eq!(options(syn), [2, 4, 5, 180, 1, 3, 3, 1, 1, 1, 8, 10, 0, 0, 0, 0x11, 0, 0, 0, 0, 4, 2, 0, 0]);
}

#[test]
fn a_syn_of_linux_is_four_bytes_shorter() {
    let syn = TcpSegment {
        flags: Flags::SYN,
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        sack_before_timestamps: true,
        timestamps: Some(Timestamps { value: 0x11, echo: 0 }),
        ..segment()
    };
    assert_eq!(options(syn), [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 0x11, 0, 0, 0, 0, 1, 3, 3, 7]);
}

#[test]
fn an_ack_has_its_sack_blocks_aligned() {
    let mut sack = SackBlocks::default();
    sack.push(SeqNumber(1), SeqNumber(0x0100));
    let ack = TcpSegment { sack, ..segment() };
    assert_eq!(options(ack), [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 1, 0]);
}

#[test]
fn options_that_fit_only_without_nops_have_none() {
    let mut sack = SackBlocks::default();
    for n in 0..3 {
        sack.push(SeqNumber(n), SeqNumber(n + 1));
    }
    let segment = TcpSegment {
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 2 }),
        sack,
        ..segment()
    };
    assert_eq!(segment.options_len(), 40);
    assert_eq!(options(segment.clone())[..2], [8, 10]);
    assert_eq!(Packet::parse(&packet(segment.clone()).emit()).unwrap(), packet(segment));
}

#[test]
fn wrong_repeated_and_broken_options_do_no_harm() {
    let read = |options: &[u8]| {
        let mut carrier = segment();
        carrier.unknown_options = Some(options.into());
        Packet::parse(&packet(carrier).emit()).unwrap().tcp().unwrap().clone()
    };
    // An MSS of three bytes is unknown, the first of two window scales counts.
    let segment = read(&[2, 3, 9, 1, 3, 3, 7, 3, 3, 8, 1, 1]);
    assert_eq!((segment.mss, segment.window_scale), (None, Some(7)));
    assert_eq!(segment.unknown_options.as_deref(), Some(&[2, 3, 9, 3, 3, 8][..]));
    // The same of each other kind, each again with another value.
    let segment = read(&[2, 4, 1, 1, 2, 4, 2, 2, 4, 2, 4, 2]);
    assert_eq!((segment.mss, segment.sack_permitted), (Some(0x0101), true));
    assert_eq!(segment.unknown_options.as_deref(), Some(&[2, 4, 2, 2, 4, 2][..]));
    let (first, again) = ([8, 10, 0, 0, 0, 1, 0, 0, 0, 2], [8, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
    let segment = read(&[first, again].concat());
    assert_eq!(segment.timestamps, Some(Timestamps { value: 1, echo: 2 }));
    assert_eq!(segment.unknown_options.as_deref(), Some(&again[..]));
    let (first, again) = ([5, 10, 0, 0, 0, 1, 0, 0, 0, 2], [5, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
    let segment = read(&[first, again].concat());
    assert_eq!(segment.sack.as_slice(), [(SeqNumber(1), SeqNumber(2))]);
    assert_eq!(segment.unknown_options.as_deref(), Some(&again[..]));
    // A length of zero, or beyond the header, ends the list.
    assert_eq!(read(&[3, 3, 7, 2, 0, 5, 180, 1]).window_scale, Some(7));
    assert_eq!(read(&[2, 0, 5, 180]).mss, None);
    assert_eq!(read(&[2, 40, 5, 180]).mss, None);
    assert_eq!(read(&[0, 0, 0, 0, 2, 4, 5, 180]).mss, None);
}

#[test]
fn a_header_from_elsewhere_has_a_right_checksum() {
    // The worked example of the IPv4 checksum that textbooks use: b861.
    let header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 192, 168, 0, 1, 192, 168, 0, 199];
    let header = Ipv4Header::new(&header).unwrap();
    assert!(header.checksum_ok());
    assert_eq!((header.protocol(), header.ttl(), header.total_len()), (17, 64, 115));
}

#[test]
fn a_wrong_header_checksum_is_damage() {
    let mut bytes = packet(segment()).emit();
    bytes[8] -= 1;
    assert!(Packet::parse(&bytes).unwrap().damaged);
}

#[test]
fn what_is_no_packet_says_why() {
    assert_eq!(Packet::parse(&[]), Err(ParseError::Truncated { have: 0, need: 1 }));
    assert_eq!(Packet::parse(&[0x55; 60]), Err(ParseError::Version(5)));
    let mut fragment = packet(segment()).emit();
    fragment[6] |= 0x20;
    assert_eq!(Packet::parse(&fragment), Err(ParseError::Fragment));
    let mut short = packet(segment()).emit();
    short[32] = 0x10;
    assert_eq!(Packet::parse(&short), Err(ParseError::BadLength { field: "TCP data offset", value: 4 }));
}

#[test]
fn a_datagram_longer_than_its_packet_cannot_be() {
    let datagram = UdpDatagram::new(1, 2, Payload::Stream { offset: 0, len: 4 });
    let packet = Packet { transport: Transport::Udp(datagram), ..packet(segment()) };
    let mut bytes = packet.emit();
    bytes[25] += 1;
    assert_eq!(Packet::parse(&bytes), Err(ParseError::BadLength { field: "UDP length", value: 13 }));
    // A shorter one leaves bytes over, which are not part of it.
    bytes[25] -= 2;
    assert_eq!(Packet::parse(&bytes).unwrap().ip_len(), packet.ip_len() - 1);
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let mut plain = packet(segment());
    plain.src = [1_u16; 8].into();
    plain.dst = [2_u16; 8].into();
    let mut bytes = plain.emit();
    // Hop-by-hop options of 8 bytes, then the segment.
    bytes.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    bytes[6] = 0;
    bytes[5] += 8;
    assert_eq!(Packet::parse(&bytes).unwrap(), plain);
}

#[test]
fn ipv6_fragments_are_refused_and_whole_packets_in_a_fragment_header_are_not() {
    let plain = Packet { src: [1_u16; 8].into(), dst: [2_u16; 8].into(), ..packet(segment()) };
    let read = |offset_and_flags: u16, identification: u8| {
        let mut bytes = plain.emit();
        let [high, low] = offset_and_flags.to_be_bytes();
        // Destination options of 16 bytes first, so that the fragment header is not at the start.
        bytes.splice(40..40, [6, 0, high, low, 0, 0, 0, identification]);
        bytes.splice(40..40, [[44, 1, 1, 12], [0; 4], [0; 4], [0; 4]].concat());
        bytes[6] = 60;
        bytes[5] += 24;
        Packet::parse(&bytes)
    };
    assert_eq!(read(0, 0xff), Ok(plain.clone()));
    // The two reserved bits mean nothing.
    assert_eq!(read(0b110, 0xff), Ok(plain.clone()));
    for part in [0b1, 0b1000, 1 << 15] {
        assert_eq!(read(part, 0), Err(ParseError::Fragment));
    }
}

#[test]
fn what_is_missing_is_counted_from_the_start_of_the_packet() {
    let six = Packet { src: [1_u16; 8].into(), dst: [2_u16; 8].into(), ..packet(segment()) };
    let mut bytes = six.emit();
    bytes.splice(40..40, [6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes[6] = 0;
    bytes[5] += 16;
    let need = |kept: usize| match Packet::parse_truncated(&bytes[..kept], 76) {
        Err(ParseError::Truncated { have, need }) if have == kept => need,
        other => panic!("{other:?}"),
    };
    // The fixed header, the start of the extension, all of it, the fixed part of the segment.
    assert_eq!(
        [need(39), need(40), need(47), need(48), need(55), need(56), need(75)],
        [40, 48, 48, 56, 56, 76, 76]
    );
    // An extension that is longer than the packet.
    bytes[41] = 4;
    let beyond = ParseError::BadLength { field: "IPv6 extension header", value: 40 };
    assert_eq!(Packet::parse(&bytes), Err(beyond));
    let four = packet(segment()).emit();
    assert_eq!(
        Packet::parse_truncated(&four[..30], 40).unwrap_err(),
        ParseError::Truncated { have: 30, need: 40 }
    );
}

#[test]
fn an_ipv6_packet_that_ends_with_its_header_has_no_data_in_the_padding() {
    let nothing = Packet {
        src: [1_u16; 8].into(),
        dst: [2_u16; 8].into(),
        transport: Transport::Other { protocol: 59, payload: Payload::EMPTY },
        ..packet(segment())
    };
    let mut bytes = nothing.emit();
    bytes.resize(60, 0xee);
    assert_eq!(Packet::parse(&bytes).unwrap(), nothing);
}

#[test]
fn a_segment_whose_length_the_card_was_to_fill_in_is_read() {
    let data = Payload::Stream { offset: 0, len: 100 };
    let mut bytes = packet(TcpSegment { payload: data, ..segment() }).emit();
    bytes[2..4].fill(0);
    let snapped = Packet::parse_truncated(&bytes[..60], 140).unwrap();
    assert_eq!(snapped.payload_len, 100);
}

#[test]
fn a_packet_that_cannot_be_is_refused() {
    let long = TcpSegment { payload: Payload::Stream { offset: 0, len: 65_496 }, ..segment() };
    assert_eq!(packet(long.clone()).check(), Err(IllegalPacket::TooLong(65_536)));
    let most = TcpSegment { payload: Payload::Stream { offset: 0, len: 65_495 }, ..long };
    assert_eq!(packet(most.clone()).check(), Ok(()));
    let six = Packet { src: [1_u16; 8].into(), dst: [2_u16; 8].into(), ..packet(most) };
    assert_eq!(six.check(), Ok(()));
    let mixed = Packet { dst: [2_u16; 8].into(), ..packet(segment()) };
    assert_eq!(mixed.check(), Err(IllegalPacket::MixedAddresses));
    let options = TcpSegment { unknown_options: Some(vec![0xfe; 41].into()), ..segment() };
    assert_eq!(packet(options).check(), Err(IllegalPacket::Options(44)));
}
