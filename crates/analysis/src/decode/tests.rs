use rexmit_capture::{LinkType, Record};
use rexmit_units::Instant;
use rexmit_wire::{
    Checksum, Flags, IpFields, Packet as WirePacket, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps,
    Transport as WireTransport, UdpDatagram,
};

use super::Decoder;
use crate::Filter;
use crate::packet::{Batch, Packet, Tcp, Transport};

/// A segment with every option but the opening ones, and 1,000 bytes of data.
fn segment() -> TcpSegment {
    let mut sack = SackBlocks::default();
    assert!(sack.push(SeqNumber(10), SeqNumber(20)));
    TcpSegment {
        src_port: 5001,
        dst_port: 40_000,
        seq: SeqNumber(77),
        ack: SeqNumber(88),
        flags: Flags::ACK.with(Flags::PSH),
        window: 1_234,
        urgent: 9,
        timestamps: Some(Timestamps { value: 3, echo: 4 }),
        sack,
        payload: Payload::Stream { offset: 0, len: 1_000 },
        ..TcpSegment::default()
    }
}

fn ip(ipv6: bool, transport: WireTransport) -> WirePacket {
    let (src, dst) = if ipv6 {
        ([1_u16; 8].into(), [2_u16; 8].into())
    } else {
        ([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
    };
    let ip = IpFields { ttl: 60, tos: 4, ident: if ipv6 { 0 } else { 99 } };
    WirePacket { src, dst, ip, transport, damaged: false }
}

fn record(link: LinkType, data: Vec<u8>) -> Record {
    let original_len = data.len() as u32;
    Record { link, data, original_len, time: Instant::from_nanos(5), interface: 3, ..Record::default() }
}

/// Decodes the records in one batch.
fn decode(records: &[Record]) -> (Decoder, Batch) {
    let (mut decoder, mut batch) = (Decoder::new(None), Batch::default());
    for record in records {
        decoder.push(&record.as_ref(), &mut batch);
    }
    assert_eq!(decoder.records(), records.len() as u64);
    assert_eq!(decoder.skipped().records() + batch.packets.len() as u64, decoder.records());
    (decoder, batch)
}

/// The only packet that the bytes of raw IP give.
fn one(data: Vec<u8>) -> Packet {
    let (_, batch) = decode(&[record(LinkType::RAW, data)]);
    assert_eq!(batch.packets.len(), 1);
    batch.packets[0].clone()
}

fn tcp(packet: &Packet) -> &Tcp {
    match &packet.transport {
        Transport::Tcp(tcp) => tcp,
        Transport::Sctp { .. } => panic!("tcp"),
    }
}

#[test]
fn a_segment_is_told_with_all_that_is_judged() {
    for ipv6 in [false, true] {
        let seen = one(ip(ipv6, WireTransport::Tcp(segment())).emit());
        assert_eq!((seen.number, seen.time.as_nanos(), seen.interface), (1, 5, 3));
        let (src, dst) = if ipv6 {
            ("[1:1:1:1:1:1:1:1]:5001", "[2:2:2:2:2:2:2:2]:40000")
        } else {
            ("10.0.0.1:5001", "10.0.0.2:40000")
        };
        assert_eq!((seen.src.to_string(), seen.dst.to_string()), (src.into(), dst.into()));
        assert_eq!((seen.ttl, seen.tos, seen.ident), (60, 4, if ipv6 { 0 } else { 99 }));
        assert_eq!((seen.checksum, seen.note), (Checksum::Good, None));
        let tcp = tcp(&seen);
        assert_eq!((tcp.seq.0, tcp.ack.0, tcp.window, tcp.urgent, tcp.len), (77, 88, 1_234, 9, 1_000));
        assert_eq!(tcp.flags, Flags::ACK.with(Flags::PSH));
        assert_eq!(tcp.timestamps, Some(Timestamps { value: 3, echo: 4 }));
        assert_eq!(tcp.sack.as_slice(), [(SeqNumber(10), SeqNumber(20))]);
        assert_eq!(
            (tcp.mss, tcp.window_scale, tcp.sack_permitted, tcp.options_cut),
            (None, None, false, false)
        );
    }
}

#[test]
fn the_options_of_an_opening_are_told() {
    let syn = TcpSegment {
        flags: Flags::SYN,
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        payload: Payload::EMPTY,
        ..segment()
    };
    let seen = one(ip(false, WireTransport::Tcp(syn)).emit());
    let tcp = tcp(&seen);
    assert_eq!((tcp.mss, tcp.window_scale, tcp.sack_permitted, tcp.len), (Some(1_460), Some(7), true, 0));
}

#[test]
fn a_cut_packet_keeps_its_length_and_says_what_is_not_known() {
    let whole = ip(false, WireTransport::Tcp(segment())).emit();
    // IP 20, TCP 20, options 24: timestamps and SACK.
    for (kept, timestamps, blocks, cut) in
        [(64, true, 1, false), (63, true, 0, true), (52, true, 0, true), (40, false, 0, true)]
    {
        let mut cut_record = record(LinkType::RAW, whole[..kept].to_vec());
        cut_record.original_len = whole.len() as u32;
        let (_, batch) = decode(&[cut_record]);
        let (packet, tcp) = (&batch.packets[0], tcp(&batch.packets[0]));
        assert_eq!((packet.checksum, tcp.len, tcp.options_cut), (Checksum::Unknown, 1_000, cut), "{kept}");
        assert_eq!((tcp.timestamps.is_some(), tcp.sack.len()), (timestamps, blocks), "{kept}");
    }
    let (decoder, batch) = decode(&[record(LinkType::RAW, whole[..39].to_vec())]);
    assert_eq!((decoder.skipped().cut, batch.packets.len()), (1, 0));
}

#[test]
fn super_packets_without_a_length_have_that_of_the_wire() {
    let whole = ip(false, WireTransport::Tcp(segment())).emit();
    for (ipv6, length_at) in [(false, 2), (true, 4)] {
        let mut data = ip(ipv6, WireTransport::Tcp(segment())).emit();
        data[length_at..length_at + 2].fill(0);
        data.truncate(96);
        let mut seen = record(LinkType::ETHERNET, Vec::new());
        seen.data.extend([0; 12]);
        seen.data.extend(if ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        seen.data.extend(data);
        let headers = 14 + if ipv6 { 40 } else { 20 } + 44;
        seen.original_len = headers + 100_000;
        let (_, batch) = decode(&[seen]);
        assert_eq!(tcp(&batch.packets[0]).len, 100_000);
    }
    assert_eq!(tcp(&one(whole)).len, 1_000);
}

#[test]
fn padding_of_ethernet_is_no_data() {
    let bare =
        TcpSegment { payload: Payload::EMPTY, timestamps: None, sack: SackBlocks::default(), ..segment() };
    let mut data = vec![0; 12];
    data.extend([0x08, 0x00]);
    data.extend(ip(false, WireTransport::Tcp(bare)).emit());
    data.resize(60, 0xee);
    let (_, batch) = decode(&[record(LinkType::ETHERNET, data)]);
    assert_eq!((tcp(&batch.packets[0]).len, batch.packets[0].checksum), (0, Checksum::Good));
}

#[test]
fn what_is_not_judged_is_counted_by_its_reason() {
    let datagram = UdpDatagram::new(1, 2, Payload::EMPTY);
    let udp = ip(false, WireTransport::Udp(datagram)).emit();
    let icmp = ip(false, WireTransport::Other { protocol: 1, payload: Payload::EMPTY }).emit();
    let mut arp = vec![0; 14];
    arp[12..].copy_from_slice(&[0x08, 0x06]);
    let mut bad = ip(false, WireTransport::Tcp(segment())).emit();
    bad[32] = 0x10;
    let mut version = udp.clone();
    version[0] = 0x55;
    let raw = |data: Vec<u8>| record(LinkType::RAW, data);
    let (decoder, batch) = decode(&[
        raw(udp),
        raw(icmp),
        record(LinkType::ETHERNET, arp.clone()),
        record(LinkType::ETHERNET, arp[..13].to_vec()),
        record(LinkType(147), arp.clone()),
        record(LinkType(147), arp.clone()),
        record(LinkType(105), arp),
        raw(bad),
        raw(version),
        raw(Vec::new()),
    ]);
    assert!(batch.packets.is_empty());
    let skipped = decoder.skipped();
    assert_eq!((skipped.other_transport, skipped.not_ip, skipped.cut, skipped.malformed), (2, 1, 2, 2));
    assert_eq!(skipped.links.iter().collect::<Vec<_>>(), [(&105, &1), (&147, &2)]);
}

/// A short header is one of QUIC where long ones have passed between the same ends, in whatever direction.
#[test]
fn datagrams_of_quic_are_counted_by_themselves() {
    let long = [&[0xc3, 0, 0, 0, 1, 0, 0, 0, 4][..], &[9; 4]].concat();
    let datagram = |ports: (u16, u16), bytes: &[u8]| {
        let datagram = UdpDatagram::new(ports.0, ports.1, Payload::Bytes(bytes.into()));
        record(LinkType::RAW, ip(false, WireTransport::Udp(datagram)).emit())
    };
    let short = [0x41; 30];
    let (decoder, batch) = decode(&[
        datagram((5_001, 10_000), &short),
        datagram((10_000, 5_001), &long),
        datagram((10_000, 5_001), &short),
        datagram((10_000, 53), &short),
        datagram((10_000, 5_001), b""),
    ]);
    assert!(batch.packets.is_empty());
    let skipped = decoder.skipped();
    assert_eq!((skipped.quic, skipped.other_transport, skipped.records()), (2, 3, 5));
}

/// The record of a fragment of `packet`, bytes `from..to` of its body.
fn fragment(packet: &[u8], from: usize, to: usize) -> Record {
    let mut data = packet[..20].to_vec();
    let more = if 20 + to < packet.len() { 0x2000 } else { 0 };
    data[2..4].copy_from_slice(&((20 + to - from) as u16).to_be_bytes());
    data[6..8].copy_from_slice(&((from as u16 / 8) | more).to_be_bytes());
    data.extend(&packet[20 + from..20 + to]);
    record(LinkType::RAW, data)
}

#[test]
fn fragments_become_the_datagram_that_they_are_parts_of() {
    let packet = ip(false, WireTransport::Tcp(segment())).emit();
    let parts = [fragment(&packet, 0, 512), fragment(&packet, 512, 800), fragment(&packet, 800, 1_044)];
    let (decoder, batch) = decode(&parts);
    assert_eq!((decoder.skipped().fragments, decoder.skipped().incomplete_datagrams), (2, 0));
    let seen = &batch.packets[0];
    assert_eq!((seen.number, tcp(seen).seq.0, tcp(seen).len), (3, 77, 1_000));
    // The changed lengths make the headers' checksums wrong.
    assert_eq!(seen.checksum, Checksum::Bad);
}

#[test]
fn of_a_datagram_that_is_not_whole_nothing_is_told() {
    let packet = ip(false, WireTransport::Tcp(segment())).emit();
    let (decoder, batch) = decode(&[fragment(&packet, 0, 512), fragment(&packet, 800, 1_044)]);
    assert!(batch.packets.is_empty());
    assert_eq!((decoder.skipped().fragments, decoder.skipped().incomplete_datagrams), (2, 1));
}

/// An SCTP packet with one chunk that nobody knows.
const SCTP: [u8; 16] = [0x13, 0x89, 0x9c, 0x40, 1, 2, 3, 4, 0, 0, 0, 0, 0xc1, 0, 0, 4];

#[test]
fn sctp_packets_lie_in_the_batch_one_after_another() {
    let sctp =
        ip(false, WireTransport::Other { protocol: 132, payload: Payload::Bytes(SCTP.as_slice().into()) });
    let inner = UdpDatagram::new(9_899, 1, Payload::Bytes(SCTP.as_slice().into()));
    let in_udp = ip(true, WireTransport::Udp(inner)).emit();
    let mut cut = record(LinkType::RAW, sctp.emit()[..32].to_vec());
    cut.original_len = 36;
    let (_, batch) = decode(&[record(LinkType::RAW, sctp.emit()), record(LinkType::RAW, in_udp), cut]);
    let seen: Vec<_> = batch
        .packets
        .iter()
        .map(|packet| match &packet.transport {
            Transport::Sctp { bytes, wire_len } => {
                let kept = &batch.bytes[bytes.start as usize..bytes.end as usize];
                assert_eq!((packet.src.port(), packet.dst.port()), (5001, 40_000));
                (kept, *wire_len, packet.checksum)
            }
            Transport::Tcp(_) => panic!("sctp"),
        })
        .collect();
    let expected = [
        (&SCTP[..], 16, Checksum::Bad),
        (&SCTP[..], 16, Checksum::Bad),
        (&SCTP[..12], 16, Checksum::Unknown),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_else_uses_the_port_of_sctp_in_udp_is_no_sctp() {
    let inner = |bytes: &[u8]| UdpDatagram::new(9_899, 1, Payload::Bytes(bytes.into()));
    let records = [&SCTP[..11], &SCTP[..12], b"GET / HTTP/1"]
        .map(|bytes| record(LinkType::RAW, ip(false, WireTransport::Udp(inner(bytes))).emit()));
    let (decoder, batch) = decode(&records);
    assert_eq!((decoder.skipped().other_transport, batch.packets.len()), (3, 0));
    let short =
        ip(false, WireTransport::Other { protocol: 132, payload: Payload::Bytes([0; 11].as_slice().into()) });
    let (decoder, _) = decode(&[record(LinkType::RAW, short.emit())]);
    assert_eq!(decoder.skipped().malformed, 1);
}

#[test]
fn what_does_not_pass_the_filter_is_counted_and_leaves_nothing() {
    let filter = Filter::parse("tcp").expect("a filter");
    let (mut decoder, mut batch) = (Decoder::new(Some(filter)), Batch::default());
    let sctp =
        ip(false, WireTransport::Other { protocol: 132, payload: Payload::Bytes(SCTP.as_slice().into()) });
    decoder.push(&record(LinkType::RAW, sctp.emit()).as_ref(), &mut batch);
    decoder
        .push(&record(LinkType::RAW, ip(false, WireTransport::Tcp(segment())).emit()).as_ref(), &mut batch);
    assert_eq!((decoder.skipped().filtered, batch.packets.len(), batch.bytes.len()), (1, 1, 0));
    assert_eq!(batch.packets[0].number, 2);
}
