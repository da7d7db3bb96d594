//! Files that contradict the format, and streams that fail.

use std::io::{self, Read};

use rexmit_capture::{ReadError, Reader, Record};
use rexmit_units::Instant;

use crate::build::{Bytes, bytes};

const INTERFACE: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// A section with one interface whose packets are cut to `snap_len`.
fn begun(snap_len: u32) -> Bytes {
    let mut file = bytes(false);
    file.section().block(INTERFACE, |b| {
        b.u16(101).u16(0).u32(snap_len);
    });
    file
}

fn read(file: &Bytes) -> Result<Vec<Record>, ReadError> {
    Reader::new(&file.out[..])?.collect()
}

/// What is wrong, after checking that it is told of the block at `offset`.
fn corrupt(file: &Bytes, offset: usize) -> &'static str {
    match read(file) {
        Err(ReadError::Corrupt { offset: at, what }) if at == offset as u64 => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_block_has_twelve_bytes_at_least_and_whole_words() {
    let mut smallest = begun(0);
    smallest.u32(STATISTICS).u32(12).u32(12);
    assert_eq!(read(&smallest).unwrap(), []);
    for len in [0, 4, 8, 11, 13, 14, 15, (16 << 20) + 4, u32::MAX - 3] {
        let mut file = begun(0);
        let at = file.out.len();
        file.u32(STATISTICS).u32(len).raw(&[0; 40]);
        assert_eq!(corrupt(&file, at), "an impossible block length", "{len}");
    }
    // The longest that is believed is only not there.
    let mut file = begun(0);
    file.u32(STATISTICS).u32(16 << 20).raw(&[0; 40]);
    assert!(matches!(read(&file), Err(ReadError::Truncated { .. })));
}

#[test]
fn the_longest_classic_packet_that_is_believed_is_only_not_there() {
    for (kept, is_corrupt) in [(16 << 20, false), ((16 << 20) + 1, true)] {
        let mut file = bytes(false);
        file.u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(101);
        file.u32(0).u32(0).u32(kept).u32(kept).raw(&[0; 40]);
        let error = read(&file).unwrap_err();
        assert_eq!(matches!(error, ReadError::Corrupt { offset: 24, .. }), is_corrupt, "{error}");
    }
}

#[test]
fn blocks_too_short_for_their_fields_are_damage() {
    for (block_type, words) in [(INTERFACE, 1), (ENHANCED_PACKET, 4), (SIMPLE_PACKET, 0), (2, 4)] {
        let mut file = begun(0);
        let at = file.out.len();
        file.block(block_type, |b| {
            b.raw(&vec![0; words * 4]);
        });
        assert_eq!(corrupt(&file, at), "a block that is too short");
    }
    let mut file = bytes(false);
    file.block(0x0a0d_0d0a, |b| {
        b.u32(0x1a2b_3c4d).u16(1).u16(0);
    });
    assert_eq!(corrupt(&file, 0), "a section header that is too short");
}

#[test]
fn section_headers_of_other_kinds_are_refused() {
    let mut file = bytes(false);
    file.block(0x0a0d_0d0a, |b| {
        b.u32(0x1a2b_3c4d).u16(2).u16(0).u32(u32::MAX).u32(u32::MAX);
    });
    assert_eq!(corrupt(&file, 0), "a version of pcapng that is not 1");
    let mut file = bytes(false);
    file.u32(0x0a0d_0d0a).u32(28).raw(&[0; 20]);
    assert_eq!(corrupt(&file, 0), "a section header without byte order");
}

#[test]
fn a_packet_is_no_longer_than_its_block() {
    for (kept, fits) in [(8, true), (9, false), (u32::MAX, false)] {
        let mut enhanced = begun(0);
        let at = enhanced.out.len();
        enhanced.block(ENHANCED_PACKET, |b| {
            b.u32(0).u32(0).u32(0).u32(kept).u32(kept).raw(&[7; 8]);
        });
        let mut simple = begun(0);
        simple.block(SIMPLE_PACKET, |b| {
            b.u32(kept).raw(&[7; 8]);
        });
        for file in [enhanced, simple] {
            if fits {
                assert_eq!(read(&file).unwrap()[0].data, [7; 8]);
            } else {
                assert_eq!(corrupt(&file, at), "a packet longer than its block");
            }
        }
    }
}

#[test]
fn a_simple_packet_is_cut_to_the_snap_length() {
    let mut file = begun(5);
    file.block(SIMPLE_PACKET, |b| {
        b.u32(1_000).raw(&[1, 2, 3, 4, 5, 0, 0, 0]);
    });
    let record = &read(&file).unwrap()[0];
    assert_eq!((record.original_len, &record.data[..]), (1_000, &[1, 2, 3, 4, 5][..]));
    assert_eq!(record.time, Instant::ZERO);
}

#[test]
fn options_of_a_wrong_length_say_nothing() {
    let mut file = bytes(false);
    file.section().block(INTERFACE, |b| {
        // A resolution of two bytes, an offset of four.
        b.u16(101).u16(0).u32(0).u16(9).u16(2).u32(0).u16(14).u16(4).u32(7);
    });
    file.block(ENHANCED_PACKET, |b| {
        b.u32(0).u32(1).u32(1).u32(0).u32(0);
        // Flags of two bytes, then a comment that is longer than the block.
        b.u16(2).u16(2).u32(1).u16(1).u16(50).u32(0);
    });
    // A comment that ends with the block, without an end of options.
    file.block(ENHANCED_PACKET, |b| {
        b.u32(0).u32(0).u32(0).u32(0).u32(0).u16(1).u16(4).raw(b"last");
    });
    // An empty comment, whose four bytes are the last.
    file.block(ENHANCED_PACKET, |b| {
        b.u32(0).u32(0).u32(0).u32(0).u32(0).u16(1).u16(0);
    });
    let records = read(&file).unwrap();
    // Microseconds, as where nothing is said.
    assert_eq!(records[0].time, Instant::from_nanos(((1 << 32) + 1) * 1_000));
    assert_eq!((records[0].direction, records[0].comment.as_deref()), (None, None));
    assert_eq!(records[1].comment.as_deref(), Some("last"));
    assert_eq!(records[2].comment.as_deref(), Some(""));
}

#[test]
fn interfaces_are_counted_over_all_sections() {
    let mut file = begun(0);
    file.section();
    for _ in 0..2 {
        file.block(INTERFACE, |b| {
            b.u16(101).u16(0).u32(0);
        });
    }
    file.block(ENHANCED_PACKET, |b| {
        b.u32(1).u32(0).u32(0).u32(0).u32(0);
    });
    assert_eq!(read(&file).unwrap()[0].interface, 2);
}

/// Fails with `kind` before each byte that is a multiple of ten, once.
struct Failing<'a> {
    left: &'a [u8],
    kind: io::ErrorKind,
    failed: bool,
}

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left.len().is_multiple_of(10) && !self.failed {
            self.failed = true;
            return Err(self.kind.into());
        }
        self.failed = false;
        let n = self.left.len().min(out.len()).min(1);
        out[..n].copy_from_slice(&self.left[..n]);
        self.left = &self.left[n..];
        Ok(n)
    }
}

#[test]
fn an_interrupted_read_goes_on_and_another_error_is_told() {
    let mut file = begun(0);
    file.block(ENHANCED_PACKET, |b| {
        b.u32(0).u32(0).u32(0).u32(8).u32(8).raw(&[7; 8]);
    });
    let stream = |kind| Failing { left: &file.out, kind, failed: false };
    let records: Result<Vec<_>, _> = Reader::new(stream(io::ErrorKind::Interrupted)).unwrap().collect();
    assert_eq!(records.unwrap()[0].data, [7; 8]);
    let error = match Reader::new(stream(io::ErrorKind::TimedOut)) {
        Ok(reader) => reader.collect::<Result<Vec<_>, _>>().unwrap_err(),
        Err(e) => e,
    };
    let first = (file.out.len() % 10) as u64;
    assert!(matches!(error, ReadError::Io { offset, .. } if offset == first), "{error}");
}
