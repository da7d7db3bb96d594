//! The bodies of the fuzz targets, run on a bounded number of inputs.

#[path = "../../../fuzz/bodies/analysis.rs"]
mod analysis;
#[path = "../../../fuzz/bodies/filter.rs"]
mod filter;
#[path = "../../../fuzz/bodies/frames.rs"]
mod frames;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use rexmit_capture::Writer;
use rexmit_units::Instant;
use rexmit_wire::{
    Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps, Transport,
};

/// Words of the language, right and nearly right.
const WORDS: [&str; 22] = [
    "tcp",
    "sctp",
    "ip",
    "ipv6",
    "tcp.port",
    "ip.addr",
    "ipv6.src",
    "frame.number",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "{",
    "}",
    "(",
    ")",
    "not",
    "and",
    "||",
    "80",
    "10.0.0.0/8",
];

/// A segment of one connection, its numbers close together so that they meet.
fn segment() -> impl Strategy<Value = (u64, Packet)> {
    let numbers = (0_u32..12, 0_u32..12, 0_u32..5, any::<u8>());
    let options = (0_u16..4, prop::option::of((0_u32..40, 0_u32..40)), 0_u32..12, 0_u32..5);
    (any::<bool>(), numbers, options, 0_u64..400).prop_map(
        |(up, (seq, ack, len, flags), (window, stamps, left, blocks), wait)| {
            let (mut src, mut dst) = (([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 80));
            if !up {
                std::mem::swap(&mut src, &mut dst);
            }
            let mut sack = SackBlocks::default();
            if blocks > 1 {
                sack.push(SeqNumber(left * 1_000), SeqNumber((left + blocks - 1) * 1_000));
            }
            let tcp = TcpSegment {
                src_port: src.1,
                dst_port: dst.1,
                seq: SeqNumber(seq * 1_000),
                ack: SeqNumber(ack * 1_000),
                // Mostly what data and acknowledgments have.
                flags: if flags < 200 { Flags::ACK } else { Flags(flags) },
                window: window * 1_000,
                window_scale: (flags == 202).then_some(3),
                sack_permitted: flags % 2 == 0,
                timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                sack,
                payload: Payload::Stream { offset: 0, len: len * 500 },
                ..TcpSegment::default()
            };
            let ip = IpFields { ident: if wait % 3 == 0 { seq as u16 } else { 0 }, ..IpFields::default() };
            let packet = Packet {
                src: src.0.into(),
                dst: dst.0.into(),
                ip,
                transport: Transport::Tcp(tcp),
                damaged: false,
            };
            (wait * wait * 10_000, packet)
        },
    )
}

fn capture(segments: &[(u64, Packet)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "fuzz").unwrap();
    let mut time = 0;
    for (wait, packet) in segments {
        time = u64::wrapping_add(time, *wait);
        writer.write_packet(Instant::from_nanos(time), packet, None).unwrap();
    }
    writer.finish().unwrap()
}

/// A packet of the handshake of the same connection.
fn handshake(up: bool, seq: u32, ack: u32, flags: Flags) -> Packet {
    let (mut src, mut dst) = (([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 80));
    if !up {
        std::mem::swap(&mut src, &mut dst);
    }
    let tcp = TcpSegment {
        src_port: src.1,
        dst_port: dst.1,
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 60_000,
        sack_permitted: true,
        mss: Some(1000),
        ..TcpSegment::default()
    };
    Packet {
        src: src.0.into(),
        dst: dst.0.into(),
        ip: IpFields::default(),
        transport: Transport::Tcp(tcp),
        damaged: false,
    }
}

/// Waits of all sizes, also so long that the time wraps.
fn wait() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(wait, shift)| wait >> shift)
}

/// A frame as the target reads it: link layer, length kept, bytes cut off.
fn frame(link: u8, ip: &[u8]) -> Vec<u8> {
    let header: &[u8] = match link % 12 {
        0 => &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0],
        1 | 9 | 10 => &[],
        2 | 3 => &[2, 0, 0, 0],
        4 => &[0, 0x21],
        5 => &[0xff, 3, 0, 0x21],
        6 => &[0x0f, 0, 8, 0],
        7 => &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0],
        _ => &[8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    };
    let data = [header, ip].concat();
    [&[link, data.len().min(255) as u8, 0][..], &data[..data.len().min(255)]].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn filters_of_right_words(words in prop::collection::vec(select(&WORDS[..]), 0..12)) {
        filter::run(words.join(" ").as_bytes());
        filter::run(words.concat().as_bytes());
    }

    #[test]
    fn filters_of_any_text(text in any::<String>()) {
        filter::run(text.as_bytes());
    }

    #[test]
    fn frames_of_any_bytes(data in prop::collection::vec(any::<u8>(), 0..600)) {
        frames::run(&data);
    }

    #[test]
    fn real_frames_with_some_bytes_changed(
        segments in prop::collection::vec((any::<u8>(), segment()), 1..6),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..12),
    ) {
        let mut data: Vec<u8> = segments.iter().flat_map(|(link, (_, packet))| frame(*link, &packet.emit())).collect();
        for (at, value) in changes {
            let at = at.index(data.len());
            data[at] = value;
        }
        frames::run(&data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_segments_of_a_connection(segments in prop::collection::vec(segment(), 0..60)) {
        analysis::run(&capture(&segments));
    }

    #[test]
    fn segments_at_any_times(
        waits in (wait(), wait()),
        segments in prop::collection::vec(
            (segment(), prop_oneof![10 => 0_u64..100_000_000, 3 => wait()], 1_u16..5),
            0..60,
        ),
    ) {
        let mut all = vec![
            (0, handshake(true, 0, 0, Flags::SYN)),
            (waits.0, handshake(false, 0, 1, Flags::SYN.with(Flags::ACK))),
            (waits.1, handshake(true, 1, 1, Flags::ACK)),
        ];
        let mut ident = 0_u16;
        for ((_, mut packet), wait, step) in segments {
            // Mostly one after another, so that a leap tells of packets that are missing.
            ident = ident.wrapping_add(step.saturating_sub(2).max(1));
            packet.ip.ident = ident;
            all.push((wait, packet));
        }
        analysis::run(&capture(&all));
    }

    #[test]
    fn captures_with_some_bytes_changed(
        segments in prop::collection::vec(segment(), 1..20),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..12),
    ) {
        let mut bytes = capture(&segments);
        for (at, value) in changes {
            let n = bytes.len();
            bytes[at.index(n)] = value;
        }
        analysis::run(&bytes);
    }
}
