//! What is written is read again, and damage is told with its place.

use crate::common;
use proptest::prelude::*;
use rexmit_capture::{DEFAULT_EPOCH_NS, Direction, LinkType, Options, ReadError, Reader, Writer};
use rexmit_units::Instant;
use rexmit_wire::Checksum;

fn written(options: &Options) -> Vec<u8> {
    let mut writer = Writer::with_options(Vec::new(), "server", options).unwrap();
    for event in common::connection(false) {
        writer.write_packet(event.time, &event.packet, event.comment).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_capture_comes_back_whole() {
    let bytes = written(&Options::default());
    let mut reader = Reader::new(&bytes[..]).unwrap();
    for event in common::connection(false) {
        let record = reader.next().unwrap().unwrap();
        assert_eq!(record.time.as_nanos(), DEFAULT_EPOCH_NS + event.time.as_nanos());
        assert_eq!(u64::from(record.original_len), event.packet.ip_len());
        assert_eq!(record.comment.as_deref(), event.comment);
        assert_eq!(record.data, event.packet.emit());
        assert_eq!(record.packet().unwrap().packet.damaged, event.packet.damaged);
    }
    assert!(reader.next().is_none());
    let interface = &reader.interfaces()[0];
    assert_eq!((interface.name.as_deref(), interface.link), (Some("server"), LinkType::RAW));
}

#[test]
fn the_same_packets_make_the_same_bytes() {
    assert_eq!(written(&Options::default()), written(&Options::default()));
}

#[test]
fn a_snap_length_keeps_the_heads() {
    let options = Options { snap_len: Some(68), ..Options::default() };
    let bytes = written(&options);
    for (record, event) in Reader::new(&bytes[..]).unwrap().zip(common::connection(false)) {
        let record = record.unwrap();
        assert_eq!(record.data.len(), 68.min(event.packet.ip_len() as usize));
        assert_eq!(u64::from(record.original_len), event.packet.ip_len());
        let snapped = record.packet().unwrap();
        if let (Some(read), Some(sent)) = (snapped.packet.tcp(), event.packet.tcp()) {
            assert_eq!(snapped.payload_len, sent.payload.len());
            assert_eq!((read.seq, read.sack), (sent.seq, sent.sack));
            assert_eq!(snapped.checksum == Checksum::Unknown, event.packet.ip_len() > 68);
        }
    }
}

#[test]
fn directions_and_the_epoch_are_kept() {
    let event = &common::connection(true)[0];
    let options =
        Options { epoch_ns: 7, comment: Some("ein Kommentar, äöü".into()), ..Options::default() };
    let mut writer = Writer::with_options(Vec::new(), "client", &options).unwrap();
    for direction in [None, Some(Direction::Inbound), Some(Direction::Outbound)] {
        writer.write_directed(Instant::from_nanos(5), &event.packet, direction, Some("x")).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let records: Vec<_> = Reader::new(&bytes[..]).unwrap().map(Result::unwrap).collect();
    assert_eq!(records[0].time, Instant::from_nanos(12));
    let directions: Vec<_> = records.iter().map(|r| r.direction).collect();
    assert_eq!(directions, [None, Some(Direction::Inbound), Some(Direction::Outbound)]);
    assert!(records.iter().all(|r| r.comment.as_deref() == Some("x")));
}

#[test]
fn a_packet_without_bytes_is_refused_and_the_capture_stays_whole() {
    let events = common::connection(false);
    let mut writer = Writer::new(Vec::new(), "server").unwrap();
    writer.write_packet(Instant::ZERO, &events[0].packet, None).unwrap();
    let mut mixed = events[1].packet.clone();
    mixed.dst = [1_u16; 8].into();
    let error = writer.write_packet(Instant::ZERO, &mixed, None).unwrap_err();
    assert_eq!(error.to_string(), "source and destination address are of different IP versions");
    let bytes = writer.finish().unwrap();
    assert_eq!(Reader::new(&bytes[..]).unwrap().count(), 1);
}

#[test]
fn a_wrong_length_is_told_with_its_place() {
    let mut bytes = written(&Options::default());
    // The third packet's block: after two headers and two packets.
    let mut at = 0;
    for _ in 0..4 {
        at += u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    }
    bytes[at + 4] ^= 4;
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert!(reader.next().unwrap().is_ok());
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert!(matches!(error, ReadError::Corrupt { offset, .. } if offset == at as u64), "{error}");
    assert!(error.to_string().starts_with(&format!("byte {at}: the capture is damaged")), "{error}");
    assert!(reader.next().is_none());
}

#[test]
fn what_is_no_capture_says_so() {
    let message = |bytes: &[u8]| Reader::new(bytes).unwrap_err().to_string();
    assert_eq!(message(b""), "not a pcapng or pcap file: it is empty");
    assert_eq!(message(b"PK\x03\x04"), "not a pcapng or pcap file: it begins with 50 4b 03 04");
    assert!(message(b"\x1f\x8b\x08\x00").contains("gzip"));
}

proptest! {
    #[test]
    fn a_file_cut_anywhere_gives_its_whole_packets_and_one_error(cut in any::<prop::sample::Index>()) {
        let bytes = written(&Options::default());
        let cut = cut.index(bytes.len());
        // Where blocks end: the headers' two, then one a packet.
        let mut ends = vec![0];
        while *ends.last().unwrap() < bytes.len() {
            let at = *ends.last().unwrap();
            ends.push(at + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize);
        }
        let whole_blocks = ends.iter().filter(|end| **end <= cut).count() - 1;
        let reader = Reader::new(&bytes[..cut]);
        if whole_blocks == 0 {
            prop_assert!(reader.is_err());
            return Ok(());
        }
        let results: Vec<_> = reader.unwrap().collect();
        let packets = results.iter().filter(|r| r.is_ok()).count();
        prop_assert_eq!(packets, whole_blocks.saturating_sub(2));
        if ends.contains(&cut) {
            prop_assert_eq!(results.len(), packets);
        } else {
            prop_assert_eq!(results.len(), packets + 1);
            let Some(Err(ReadError::Truncated { offset })) = results.last() else {
                return Err(TestCaseError::fail(format!("{:?}", results.last())));
            };
            prop_assert_eq!(*offset as usize, ends[whole_blocks]);
        }
    }
}
