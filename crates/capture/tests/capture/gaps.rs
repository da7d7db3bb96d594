//! What a capture says of packets that it does not hold.

use rexmit_capture::{Counts, Direction, Reader};

use crate::build::{Bytes, bytes};

const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// A section with two interfaces.
fn begun(big: bool) -> Bytes {
    let mut file = bytes(big);
    file.section();
    for _ in 0..2 {
        file.block(INTERFACE, |b| {
            b.u16(101).u16(0).u32(0);
        });
    }
    file
}

impl Bytes {
    fn u64(&mut self, n: u64, big: bool) -> &mut Self {
        self.raw(&if big { n.to_be_bytes() } else { n.to_le_bytes() })
    }
}

/// The counts of each interface after the last packet.
fn counts(file: &Bytes) -> Vec<Counts> {
    let mut reader = Reader::new(&file.out[..]).unwrap();
    while reader.next_ref().unwrap().is_some() {}
    reader.interfaces().iter().map(|interface| interface.counts).collect()
}

#[test]
fn a_capture_that_says_nothing_counts_nothing() {
    assert_eq!(counts(&begun(false)), [Counts::default(); 2]);
}

#[test]
fn the_last_statistics_of_an_interface_count() {
    for big in [false, true] {
        let mut file = begun(big);
        for (interface, received, dropped) in [(1, 10, 0), (0, 7, 1), (1, 1_000, 6)] {
            file.block(STATISTICS, |b| {
                b.u32(interface).u32(0).u32(0);
                b.u16(4).u16(8).u64(received, big).u16(5).u16(8).u64(dropped, big);
                b.u16(7).u16(8).u64(dropped / 2, big).u16(0).u16(0);
            });
        }
        let of = |received, dropped| Counts {
            received: Some(received),
            dropped_by_interface: Some(dropped),
            dropped_by_system: Some(dropped / 2),
            dropped_between: 0,
        };
        assert_eq!(counts(&file), [of(7, 1), of(1_000, 6)]);
    }
}

#[test]
fn statistics_that_say_less_keep_what_was_said_and_wrong_ones_say_nothing() {
    let mut file = begun(false);
    file.block(STATISTICS, |b| {
        b.u32(0).u32(0).u32(0).u16(5).u16(8).u64(3, false);
    });
    file.block(STATISTICS, |b| {
        // Of an interface that is not there; too short; a number of four bytes.
        b.u32(9).u32(0).u32(0).u16(5).u16(8).u64(100, false);
    });
    file.block(STATISTICS, |b| {
        b.u32(0);
    });
    file.block(STATISTICS, |b| {
        b.u32(0).u32(0).u32(0).u16(5).u16(4).u32(100);
    });
    assert_eq!(counts(&file)[0], Counts { dropped_by_interface: Some(3), ..Counts::default() });
}

#[test]
fn drops_between_packets_are_added_up() {
    let mut file = begun(false);
    for (interface, drops) in [(0, 2), (1, 5), (0, 40)] {
        file.block(ENHANCED_PACKET, |b| {
            b.u32(interface).u32(0).u32(0).u32(0).u32(0);
            b.u16(4).u16(8).u64(drops, false).u16(0).u16(0);
        });
    }
    // The older block has them in its fixed part; all ones are none known.
    for drops in [3, 0xffff] {
        file.block(OLD_PACKET, |b| {
            b.u16(1).u16(drops).u32(0).u32(0).u32(0).u32(0);
        });
    }
    let dropped: Vec<u64> = counts(&file).iter().map(|counts| counts.dropped_between).collect();
    assert_eq!(dropped, [42, 8]);
}

#[test]
fn a_lent_record_says_what_its_options_say() {
    let mut file = begun(false);
    file.block(ENHANCED_PACKET, |b| {
        b.u32(1).u32(0).u32(5).u32(3).u32(99).raw(b"abc\0");
        b.u16(1).u16(3).raw(b"one\0").u16(2).u16(4).u32(2).u16(1).u16(3).raw(b"two\0").u16(0).u16(0);
    });
    file.block(ENHANCED_PACKET, |b| {
        b.u32(0).u32(0).u32(0).u32(0).u32(0);
    });
    let mut reader = Reader::new(&file.out[..]).unwrap();
    let record = reader.next_ref().unwrap().unwrap();
    assert_eq!((record.interface, record.time.as_nanos()), (1, 5_000));
    assert_eq!((record.data, record.original_len), (&b"abc"[..], 99));
    assert_eq!(record.comment().as_deref(), Some("one\ntwo"));
    assert_eq!(record.direction(), Some(Direction::Outbound));
    let record = reader.next_ref().unwrap().unwrap();
    assert_eq!((record.comment(), record.direction()), (None, None));
    assert!(reader.next_ref().unwrap().is_none());
    assert_eq!(reader.bytes_read(), file.out.len() as u64);
}

#[test]
fn classic_pcap_with_longer_headers_is_read() {
    let mut file = bytes(false);
    file.u32(0xa1b2_cd34).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(101);
    for n in [1, 2] {
        file.u32(n).u32(7).u32(2).u32(2).u32(0).u32(0).raw(&[n as u8; 2]);
    }
    let mut reader = Reader::new(&file.out[..]).unwrap();
    for n in [1_u8, 2] {
        let record = reader.next_ref().unwrap().unwrap();
        assert_eq!(record.time.as_nanos(), u64::from(n) * 1_000_000_000 + 7_000);
        assert_eq!(record.data, [n; 2]);
    }
    assert!(reader.next_ref().unwrap().is_none());
}
