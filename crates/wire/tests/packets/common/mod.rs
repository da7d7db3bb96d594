//! Arbitrary legal packets.

use std::net::IpAddr;

use proptest::option::weighted;
use proptest::prelude::*;
use rexmit_wire::{
    Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps, Transport, UdpDatagram,
};

/// Any packet that has bytes.
pub fn packet() -> impl Strategy<Value = Packet> {
    let transport = prop_oneof![
        6 => segment().prop_map(Transport::Tcp),
        2 => datagram().prop_map(Transport::Udp),
        1 => (141_u8..=255, payload()).prop_map(|(protocol, payload)| Transport::Other { protocol, payload }),
    ];
    (addresses(), any::<(u8, u8, u16)>(), transport, any::<bool>()).prop_map(
        |((src, dst), (ttl, tos, ident), transport, damaged)| Packet {
            src,
            dst,
            ip: IpFields { ttl, tos, ident: if src.is_ipv4() { ident } else { 0 } },
            // Damage shows in the checksum only.
            damaged: damaged && !matches!(transport, Transport::Other { .. }),
            transport,
        },
    )
}

/// Any segment whose options fit a header; sequence numbers are often near the wrap.
pub fn segment() -> impl Strategy<Value = TcpSegment> {
    let fields = (any::<(u16, u16)>(), seq(), seq(), any::<u8>(), any::<(u16, u16)>(), payload());
    let options = (
        weighted(0.3, any::<u16>()),
        weighted(0.3, any::<u8>()),
        prop::bool::weighted(0.3),
        weighted(0.5, any::<(u32, u32)>()),
        prop::collection::vec((seq(), seq()), 0..=4),
        prop::collection::vec((9_u8..=255, prop::collection::vec(any::<u8>(), 0..8)), 0..=2),
    );
    (fields, options)
        .prop_map(|((ports, seq, ack, flags, (window, urgent), payload), options)| {
            let (mss, window_scale, sack_permitted, timestamps, blocks, unknown) = options;
            let mut sack = SackBlocks::default();
            for (left, right) in blocks {
                assert!(sack.push(left, right));
            }
            let unknown: Vec<u8> = unknown
                .into_iter()
                .flat_map(|(kind, data)| [vec![kind, 2 + data.len() as u8], data].concat())
                .collect();
            TcpSegment {
                src_port: ports.0,
                dst_port: ports.1,
                seq,
                ack,
                flags: Flags(flags),
                window,
                urgent,
                mss,
                window_scale,
                sack_permitted,
                // What the bytes show, so only where there is something to show.
                sack_before_timestamps: sack_permitted && timestamps.is_some() && window % 2 == 1,
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                sack,
                unknown_options: (!unknown.is_empty()).then(|| unknown.into()),
                payload,
            }
        })
        .prop_filter("the options fit", |s| s.options_len() <= TcpSegment::MAX_OPTIONS_LEN)
}

fn datagram() -> impl Strategy<Value = UdpDatagram> {
    (any::<(u16, u16)>(), payload())
        .prop_map(|((src_port, dst_port), payload)| UdpDatagram::new(src_port, dst_port, payload))
}

/// Bytes or part of a stream; none at all is always [`Payload::EMPTY`].
fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        Just(Payload::EMPTY),
        (any::<u32>(), 1_u32..3_000)
            .prop_map(|(offset, len)| Payload::Stream { offset: u64::from(offset), len }),
        prop::collection::vec(any::<u8>(), 1..100).prop_map(|b| Payload::Bytes(b.into())),
    ]
}

fn seq() -> impl Strategy<Value = SeqNumber> {
    prop_oneof![any::<u32>(), 0_u32..3_000, u32::MAX - 3_000..=u32::MAX].prop_map(SeqNumber)
}

fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (a.into(), b.into())),
        any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| (a.into(), b.into())),
    ]
}
