//! Files of other writers: classic pcap, other byte orders, resolutions and link layers.

use crate::build::bytes;
use crate::common;
use rexmit_capture::{LinkType, ReadError, Reader, Record, RecordError};
use rexmit_units::Instant;
use rexmit_wire::ParseError;

fn pcap(big: bool, magic: u32, link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = bytes(big);
    file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(link);
    for (seconds, fraction, data) in packets {
        file.u32(*seconds).u32(*fraction).u32(data.len() as u32).u32(data.len() as u32).raw(data);
    }
    file.out
}

fn ethernet_header(ethertype: u16) -> Vec<u8> {
    [&[0; 12][..], &ethertype.to_be_bytes()].concat()
}

fn read(bytes: &[u8]) -> Vec<Record> {
    Reader::new(bytes).unwrap().map(Result::unwrap).collect()
}

#[test]
fn classic_pcap_of_both_byte_orders_and_resolutions() {
    let packet = &common::connection(false)[0].packet;
    let data = packet.emit();
    for big in [false, true] {
        for (magic, fraction_ns) in [(0xa1b2_c3d4, 1_000), (0xa1b2_3c4d, 1)] {
            let file = pcap(big, magic, 101, &[(1_139_270_400, 999_999, &data), (1_139_270_401, 0, &data)]);
            let records = read(&file);
            assert_eq!(records.len(), 2);
            let ns = 1_139_270_400_000_000_000 + 999_999 * fraction_ns;
            assert_eq!(records[0].time, Instant::from_nanos(ns));
            assert_eq!(records[0].packet().unwrap().packet, *packet);
        }
    }
}

#[test]
fn a_cut_or_impossible_pcap_gives_what_is_there() {
    let data = common::connection(false)[0].packet.emit();
    let file = pcap(false, 0xa1b2_c3d4, 101, &[(1, 0, &data), (2, 0, &data)]);
    for cut in 1..16 + data.len() {
        let results: Vec<_> = Reader::new(&file[..file.len() - cut]).unwrap().collect();
        assert_eq!(results.len(), 2);
        assert!(results[0].is_ok());
        let second = (24 + 16 + data.len()) as u64;
        assert!(matches!(results[1], Err(ReadError::Truncated { offset }) if offset == second));
    }
    let mut file = pcap(false, 0xa1b2_c3d4, 101, &[(1, 0, &data)]);
    file[24 + 8..24 + 12].fill(0xff);
    let results: Vec<_> = Reader::new(&file[..]).unwrap().collect();
    assert!(matches!(results[..], [Err(ReadError::Corrupt { offset: 24, .. })]));
}

#[test]
fn pcapng_sections_of_both_byte_orders_in_one_file() {
    let data = common::connection(false)[0].packet.emit();
    let mut file = Vec::new();
    for big in [false, true] {
        let mut section = bytes(big);
        section.section();
        // Binary resolution, 2^-10 s, and 100 s to add.
        section.block(1, |b| {
            b.u16(101).u16(0).u32(0);
            b.u16(9).u16(1).raw(&[0x8a, 0, 0, 0]);
            b.u16(14).u16(8);
            if big {
                b.u32(0).u32(100)
            } else {
                b.u32(100).u32(0)
            };
            b.u16(0).u16(0);
        });
        // Name resolution: passed over.
        section.block(4, |b| {
            b.u32(0);
        });
        section.block(6, |b| {
            let len = data.len() as u32;
            b.u32(0).u32(0).u32(1_536).u32(len).u32(len).raw(&data);
            b.u16(1).u16(3).raw(b"one\0").u16(1).u16(3).raw(b"two\0");
        });
        // The obsolete packet block and the simple one.
        section.block(2, |b| {
            let len = data.len() as u32;
            b.u16(0).u16(9).u32(0).u32(1_024).u32(len).u32(len).raw(&data);
        });
        section.block(3, |b| {
            b.u32(data.len() as u32).raw(&data);
        });
        file.extend(section.out);
    }
    let records = read(&file);
    assert_eq!(records.len(), 6);
    for (i, record) in records.iter().enumerate() {
        let ns = [101_500_000_000, 101_000_000_000, 0][i % 3];
        assert_eq!((record.time, record.interface), (Instant::from_nanos(ns), i as u32 / 3));
        assert_eq!(record.data, data);
    }
    assert_eq!(records[0].comment.as_deref(), Some("one\ntwo"));
}

#[test]
fn a_packet_of_no_interface_is_damage() {
    let mut file = bytes(false);
    file.section().block(6, |b| {
        b.u32(3).u32(0).u32(0).u32(0).u32(0);
    });
    let results: Vec<_> = Reader::new(&file.out[..]).unwrap().collect();
    assert!(matches!(results[..], [Err(ReadError::Corrupt { offset: 28, .. })]));
}

#[test]
fn time_stamps_of_every_resolution_are_nanoseconds() {
    // The resolution as the option says it, a stamp, seconds to add, and nanoseconds since 1970.
    let cases: [(u8, u64, i64, u64); 8] = [
        (0, 3, 0, 3_000_000_000),
        (3, 1_500, 0, 1_500_000_000),
        (9, 1_139_270_400_000_000_001, 0, 1_139_270_400_000_000_001),
        (12, 5_999, 0, 5),
        (60, u64::MAX, 0, 0),
        (0x80 | 32, 3 << 31, 0, 1_500_000_000),
        (6, 1, 2, 2_000_001_000),
        (6, 1, -2, 0),
    ];
    for (resolution, stamp, offset, ns) in cases {
        let mut file = bytes(false);
        file.section()
            .block(1, |b| {
                b.u16(101).u16(0).u32(0).u16(9).u16(1).raw(&[resolution, 0, 0, 0]);
                b.u16(14).u16(8).raw(&offset.to_le_bytes());
            })
            .block(6, |b| {
                b.u32(0).u32((stamp >> 32) as u32).u32(stamp as u32).u32(0).u32(0);
            });
        assert_eq!(read(&file.out)[0].time.as_nanos(), ns, "{resolution}");
    }
}

#[test]
fn link_layers_are_taken_off() {
    let packet = &common::connection(false)[4].packet;
    let ip = packet.emit();
    let ethernet = ethernet_header(0x0800);
    let vlan = [&[0; 12][..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x08, 0x00]].concat();
    let cooked = [&[0; 14][..], &[0x08, 0x00]].concat();
    let cooked2 = [&[0x08, 0x00][..], &[0; 18]].concat();
    for (link, header) in [
        (LinkType::RAW, vec![]),
        (LinkType::IPV4, vec![]),
        (LinkType(12), vec![]),
        (LinkType::NULL, vec![2, 0, 0, 0]),
        (LinkType::LOOP, vec![0, 0, 0, 2]),
        (LinkType::ETHERNET, ethernet),
        (LinkType::ETHERNET, vlan),
        (LinkType::LINUX_SLL, cooked),
        (LinkType::LINUX_SLL2, cooked2),
        (LinkType::LINUX_SLL2, [&[0x81, 0x00][..], &[0; 18], &[0, 5, 0x08, 0x00]].concat()),
        // Length, 802.2 with SNAP.
        (LinkType::ETHERNET, [&[0; 12][..], &[5, 0xdc, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00]].concat()),
        // Two labels, the second with the bottom bit.
        (LinkType::ETHERNET, [&[0; 12][..], &[0x88, 0x47, 0, 1, 0x20, 64, 0, 1, 0x31, 64]].concat()),
        (
            LinkType::ETHERNET,
            [&[0; 12][..], &[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 9, 5, 0xde, 0, 0x21]].concat(),
        ),
        (LinkType::PPP, vec![0x00, 0x21]),
        (LinkType::PPP_HDLC, vec![0xff, 0x03, 0x00, 0x21]),
        (LinkType::CHDLC, vec![0x0f, 0, 0x08, 0x00]),
    ] {
        let frame = [&header[..], &ip].concat();
        // The upper half says that frames end in a check sequence.
        let file = pcap(false, 0xa1b2_c3d4, 0x2400_0000 | u32::from(link.0), &[(0, 0, &frame)]);
        let record = &read(&file)[0];
        assert_eq!(record.link, link);
        assert_eq!(record.ip().unwrap(), ip);
        let snapped = record.packet().unwrap();
        assert_eq!(snapped.packet.tcp().unwrap().seq, packet.tcp().unwrap().seq);
        assert_eq!(snapped.payload_len, 1_448);
        for cut in 0..header.len() {
            let short = link.ip_offset(&frame[..cut]);
            assert!(matches!(short, Err(RecordError::Parse(ParseError::Truncated { .. }))), "{cut}");
        }
    }
    // The header alone is enough to know where the packet begins, where it names the protocol.
    assert_eq!(LinkType::ETHERNET.ip_offset(&ethernet_header(0x86dd)), Ok(14));
    assert_eq!(LinkType::LINUX_SLL2.ip_offset(&[&[0x86, 0xdd][..], &[0; 18]].concat()), Ok(20));
    let need = ParseError::Truncated { have: 4, need: 5 };
    assert_eq!(LinkType::NULL.ip_offset(&[2, 0, 0, 0]), Err(RecordError::Parse(need)));
    let need = ParseError::Truncated { have: 13, need: 14 };
    assert_eq!(LinkType::ETHERNET.ip_offset(&[0; 13]), Err(RecordError::Parse(need)));
    let arp = ethernet_header(0x0806);
    assert_eq!(LinkType::ETHERNET.ip_offset(&arp), Err(RecordError::NotIp(0x0806)));
    assert_eq!(LinkType(147).ip_offset(&arp), Err(RecordError::LinkType(147)));
}
