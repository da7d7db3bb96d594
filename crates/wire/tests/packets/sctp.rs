//! SCTP: bytes that others wrote, round trips, packets that a capture cut, and the body of the fuzz target.

#[path = "../../../../fuzz/bodies/sctp.rs"]
mod body;

use proptest::collection::vec;
use proptest::prelude::*;
use rexmit_wire::sctp::{
    Body, Chunk, DataChunk, End, Extension, Gap, Header, InitChunk, Packet, SackChunk, kind,
};
use rexmit_wire::{IpFields, Payload, Transport};

fn boxed(max: usize) -> impl Strategy<Value = Box<[u8]>> {
    vec(any::<u8>(), 0..max).prop_map(Vec::into_boxed_slice)
}

fn payload() -> impl Strategy<Value = Payload> {
    vec(any::<u8>(), 0..40).prop_map(|bytes| match bytes.is_empty() {
        true => Payload::EMPTY,
        false => Payload::Bytes(bytes.into()),
    })
}

prop_compose! {
    fn data()(
        (tsn, stream, message, protocol) in any::<(u32, u16, u16, u32)>(),
        fragment in any::<Option<u32>>(),
        (begin, end, unordered, immediate) in any::<(bool, bool, bool, bool)>(),
        payload in payload(),
    ) -> DataChunk {
        // Only a first fragment of I-DATA carries a protocol, and its number is 0.
        let protocol = if fragment.is_some() && !begin { 0 } else { protocol };
        let fragment = fragment.map(|number| if begin { 0 } else { number });
        DataChunk { tsn, stream, message: message.into(), fragment, protocol, begin, end, unordered, immediate, payload }
    }
}

prop_compose! {
    fn init()(
        (initiate_tag, window, outbound_streams, inbound_streams, initial_tsn) in any::<(u32, u32, u16, u16, u32)>(),
        addresses in vec(any::<std::net::IpAddr>(), 0..4),
        cookie in proptest::option::of(boxed(30)),
        extensions in vec(extension(), 0..4),
    ) -> InitChunk {
        InitChunk { initiate_tag, window, outbound_streams, inbound_streams, initial_tsn, addresses, cookie, extensions }
    }
}

fn extension() -> impl Strategy<Value = Extension> {
    prop_oneof![
        boxed(6).prop_map(Extension::Chunks),
        Just(Extension::ForwardTsn),
        Just(Extension::Ecn),
        (100..0x7fff_u16, boxed(9)).prop_map(|(kind, value)| Extension::Other(kind, value)),
    ]
}

fn sack() -> impl Strategy<Value = SackChunk> {
    let gap = any::<(u16, u16)>().prop_map(|(start, end)| Gap { start, end });
    (any::<u32>(), any::<u32>(), vec(gap, 0..5), vec(any::<u32>(), 0..4))
        .prop_map(|(cumulative, window, gaps, duplicates)| SackChunk { cumulative, window, gaps, duplicates })
}

fn chunk() -> impl Strategy<Value = Chunk> {
    prop_oneof![
        data().prop_map(Chunk::Data),
        init().prop_map(|init| Chunk::Init(Box::new(init))),
        init().prop_map(|init| Chunk::InitAck(Box::new(init))),
        sack().prop_map(Chunk::Sack),
        boxed(20).prop_map(Chunk::Heartbeat),
        boxed(20).prop_map(Chunk::HeartbeatAck),
        (any::<bool>(), vec(any::<u16>(), 0..3))
            .prop_map(|(reflected, causes)| Chunk::Abort { reflected, causes }),
        any::<u32>().prop_map(|cumulative| Chunk::Shutdown { cumulative }),
        Just(Chunk::ShutdownAck),
        vec(any::<u16>(), 0..3).prop_map(|causes| Chunk::Error { causes }),
        boxed(30).prop_map(Chunk::CookieEcho),
        Just(Chunk::CookieAck),
        any::<bool>().prop_map(|reflected| Chunk::ShutdownComplete { reflected }),
        (any::<u32>(), vec(any::<(u16, u16)>(), 0..3))
            .prop_map(|(cumulative, skipped)| Chunk::ForwardTsn { cumulative, skipped }),
        (0x80..0xb0_u8, any::<u8>(), boxed(9)).prop_map(|(kind, flags, value)| Chunk::Other {
            kind,
            flags,
            value
        }),
    ]
}

prop_compose! {
    fn packet()((src_port, dst_port, tag) in any::<(u16, u16, u32)>(), chunks in vec(chunk(), 0..5)) -> Packet {
        Packet { src_port, dst_port, tag, chunks }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn what_is_written_is_read_again(packet in packet()) {
        let bytes = packet.emit();
        prop_assert_eq!(bytes.len() % 4, 0);
        prop_assert_eq!(bytes.len(), packet.len());
        prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
        prop_assert_eq!(Header::new(&bytes, bytes.len()).unwrap().checksum_ok(), Some(true));
    }

    #[test]
    fn an_ip_packet_carries_it(packet in packet(), v6 in any::<bool>(), damaged in any::<bool>()) {
        let address = |n: u8| -> std::net::IpAddr {
            if v6 { [n; 16].into() } else { [n; 4].into() }
        };
        let ip = rexmit_wire::Packet {
            src: address(1),
            dst: address(2),
            ip: IpFields::default(),
            transport: Transport::Sctp(packet.clone()),
            damaged,
        };
        let bytes = ip.emit();
        prop_assert_eq!(bytes.len() as u64, ip.ip_len());
        let body = &bytes[if v6 { 40 } else { 20 }..];
        prop_assert_eq!(Header::new(body, body.len()).unwrap().checksum_ok(), Some(!damaged));
        prop_assert_eq!(Packet::parse(body), Ok(packet));
    }

    #[test]
    fn one_changed_bit_shows(packet in packet(), bit in any::<prop::sample::Index>()) {
        let mut bytes = packet.emit();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(Header::new(&bytes, bytes.len()).unwrap().checksum_ok(), Some(false));
    }

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..200)) {
        body::run(&bytes);
    }

    #[test]
    fn a_packet_with_some_bytes_changed(
        packet in packet(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = packet.emit();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        body::run(&bytes);
    }

    /// Each cut gives the chunks that are there whole, and a view of the one that it goes through.
    #[test]
    fn a_cut_packet_gives_what_is_there(packet in packet(), cut in any::<prop::sample::Index>()) {
        let bytes = packet.emit();
        let kept = 12 + cut.index(bytes.len() - 11);
        let header = Header::new(&bytes[..kept], bytes.len()).unwrap();
        let mut chunks = header.chunks();
        let seen: Vec<_> = chunks.by_ref().collect();
        prop_assert!(seen.len() <= packet.chunks.len());
        for (at, raw) in seen.iter().enumerate() {
            prop_assert!(!raw.is_cut() || at + 1 == seen.len());
        }
        let ended_early = seen.len() < packet.chunks.len();
        prop_assert_eq!(chunks.end() == Some(End::Cut), ended_early);
    }
}

/// The example of RFC 3309's CRC: 32 zero bytes give 0x8a9136aa, here with the header's own checksum field among them.
#[test]
fn the_checksum_is_crc32c_with_its_lowest_byte_first() {
    let mut bytes = [0_u8; 32];
    bytes[8..12].copy_from_slice(&[0xaa, 0x36, 0x91, 0x8a]);
    assert_eq!(Header::new(&bytes, 32).unwrap().checksum_ok(), Some(true));
    assert_eq!(Header::new(&bytes, 33).unwrap().checksum_ok(), None);
}

#[test]
fn data_of_which_the_user_data_are_cut_keeps_its_length() {
    let data = DataChunk {
        tsn: 7,
        begin: true,
        end: true,
        payload: Payload::Stream { offset: 0, len: 1400 },
        ..DataChunk::default()
    };
    let bytes = Packet { chunks: vec![Chunk::Data(data)], ..Packet::default() }.emit();
    let header = Header::new(&bytes[..12 + 16 + 3], bytes.len()).unwrap();
    let mut chunks = header.chunks();
    let Body::Data(data) = chunks.next().unwrap().body() else { panic!("it is DATA") };
    assert_eq!((data.tsn(), data.user_len(), data.user_data()), (7, 1400, &b"012"[..]));
    assert!(chunks.next().is_none());
    // One byte fewer than the fixed fields, and nothing can be said of it.
    let header = Header::new(&bytes[..12 + 15], bytes.len()).unwrap();
    assert!(matches!(header.chunks().next().unwrap().body(), Body::Cut));
}

#[test]
fn a_cut_sack_gives_the_blocks_that_are_there() {
    let gaps = vec![Gap { start: 2, end: 3 }, Gap { start: 5, end: 5 }];
    let sack = SackChunk { cumulative: 9, window: 1, gaps, duplicates: vec![4, 5] };
    let bytes = Packet { chunks: vec![Chunk::Sack(sack)], ..Packet::default() }.emit();
    for (kept, blocks, duplicates) in [(28, 0, 0), (32, 1, 0), (35, 1, 0), (36, 2, 0), (43, 2, 1), (44, 2, 2)]
    {
        let header = Header::new(&bytes[..kept], bytes.len()).unwrap();
        let Body::Sack(sack) = header.chunks().next().unwrap().body() else { panic!("it is a SACK") };
        assert_eq!((sack.gaps().count(), sack.duplicates().count()), (blocks, duplicates), "{kept}");
        assert_eq!(sack.is_cut(), kept < 44);
    }
}

#[test]
fn lengths_that_cannot_be_end_the_walk() {
    for (length, end) in [(0, End::Bad), (3, End::Bad), (4, End::Whole), (8, End::Bad)] {
        let mut bytes = [0_u8; 16];
        (bytes[12], bytes[15]) = (kind::COOKIE_ACK, length);
        let header = Header::new(&bytes, 16).unwrap();
        let mut chunks = header.chunks();
        assert_eq!(chunks.by_ref().count(), usize::from(end == End::Whole), "{length}");
        assert_eq!(chunks.end(), Some(end), "{length}");
    }
    // DATA that is too short for its own fields is told of, not read.
    let bytes = [&[0_u8; 12][..], &[kind::DATA, 3, 0, 12], &[0; 8]].concat();
    assert!(matches!(Header::new(&bytes, 24).unwrap().chunks().next().unwrap().body(), Body::Short));
    assert!(Packet::parse(&[0; 11]).is_err());
}
