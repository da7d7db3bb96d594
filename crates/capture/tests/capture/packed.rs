//! Captures packed with gzip and zstd, and streams that come in pieces.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use rexmit_capture::{Options, Packing, ReadError, Reader, Record, Writer};
use rexmit_units::Instant;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::common;

/// `rounds` times the connection, with comments.
fn capture(rounds: u64) -> Vec<u8> {
    let mut writer = Writer::with_options(Vec::new(), "server", &Options::default()).unwrap();
    for round in 0..rounds {
        for event in common::connection(round % 2 == 1) {
            let time = Instant::from_nanos(round * 1_000_000_007 + event.time.as_nanos());
            writer.write_packet(time, &event.packet, event.comment).unwrap();
        }
    }
    writer.finish().unwrap()
}

fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A frame that decoders pass over (RFC 8878 section 3.1.2).
fn skippable(kind: u8, len: u32) -> Vec<u8> {
    [&[0x50 | kind, 0x2a, 0x4d, 0x18][..], &len.to_le_bytes(), &vec![7; len as usize]].concat()
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, ReadError> {
    Reader::new(bytes)?.collect()
}

/// What is read, and the error at the end.
fn read_to_damage(bytes: &[u8]) -> (Vec<Record>, ReadError) {
    let mut records = Vec::new();
    let reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (records, error),
    };
    for result in reader {
        match result {
            Ok(record) => records.push(record),
            Err(error) => return (records, error),
        }
    }
    panic!("no error after {} records", records.len());
}

#[track_caller]
fn packing_error((records, error): (Vec<Record>, ReadError)) -> (usize, u64, Packing, String) {
    let text = error.to_string();
    let ReadError::Packing { offset, packing, what } = error else { panic!("{text}") };
    assert_eq!(
        text,
        format!("byte {offset} of the unpacked capture: its {packing} compression is damaged: {what}")
    );
    (records.len(), offset, packing, what)
}

#[test]
fn a_packed_capture_reads_as_the_plain_one() {
    let bytes = capture(60);
    let plain = read(&bytes).unwrap();
    for level in [0, 1, 9] {
        assert_eq!(read(&gzip(&bytes, level)).unwrap(), plain);
    }
    assert_eq!(read(&zstd(&bytes)).unwrap(), plain);
    // A classic capture that has a header alone.
    let mut empty = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        empty.extend(word.to_le_bytes());
    }
    assert_eq!(read(&gzip(&empty, 6)).unwrap(), []);
    assert_eq!(read(&zstd(&empty)).unwrap(), []);
}

#[test]
fn members_and_frames_one_after_another_are_one_capture() {
    let bytes = capture(3);
    let plain = read(&bytes).unwrap();
    for at in [0, 1, 3, 4, 100, 1_000, bytes.len()] {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(read(&[gzip(head, 6), gzip(tail, 6)].concat()).unwrap(), plain, "{at}");
        assert_eq!(read(&[zstd(head), zstd(tail)].concat()).unwrap(), plain, "{at}");
        let skipped = [skippable(0, 0), zstd(head), skippable(15, 100_000), zstd(tail), skippable(3, 5)];
        assert_eq!(read(&skipped.concat()).unwrap(), plain, "{at}");
    }
    // What fills a tape's block.
    assert_eq!(read(&[gzip(&bytes, 6), vec![0; 1_000]].concat()).unwrap(), plain);
}

#[test]
fn what_follows_a_member_or_a_frame_is_another_or_damage() {
    let bytes = capture(3);
    let count = read(&bytes).unwrap().len();
    let after =
        |packed: Vec<u8>| packing_error(read_to_damage(&[packed, b"rest of something".to_vec()].concat()));
    let (records, offset, packing, what) = after(gzip(&bytes, 6));
    assert_eq!((records, offset, packing), (count, bytes.len() as u64, Packing::Gzip));
    assert_eq!(what, "a gzip member is followed by bytes that are not one");
    let (records, offset, packing, _) = after(zstd(&bytes));
    assert_eq!((records, offset, packing), (count, bytes.len() as u64, Packing::Zstd));
    let (_, _, _, what) =
        packing_error(read_to_damage(&[zstd(&bytes), skippable(0, 9)[..12].to_vec()].concat()));
    assert_eq!(what, "it ends within a skippable frame");
}

#[test]
fn all_that_can_be_unpacked_of_a_cut_gzip_stream_is_read() {
    let bytes = capture(3);
    let plain = read(&bytes).unwrap();
    // Stored, so that each byte of the stream is a byte of the capture after a head of 15 and before a tail of 8.
    let packed = gzip(&bytes, 0);
    assert_eq!(packed.len(), bytes.len() + 23);
    for cut in 2..packed.len() {
        let (records, offset, packing, what) = packing_error(read_to_damage(&packed[..cut]));
        assert_eq!(packing, Packing::Gzip);
        assert_eq!(what, "it ends within a gzip member");
        assert_eq!(offset as usize, cut.saturating_sub(15).min(bytes.len()), "{cut}");
        let whole = Reader::new(&bytes[..offset as usize]).map_or(0, |reader| reader.flatten().count());
        assert_eq!(records, whole);
        assert!(records <= plain.len());
    }
}

#[test]
fn wrong_check_sums_are_told_after_the_last_packet() {
    let bytes = capture(20);
    let count = read(&bytes).unwrap().len();
    let mut packed = gzip(&bytes, 6);
    let at = packed.len() - 5;
    packed[at] ^= 1;
    let (records, offset, _, what) = packing_error(read_to_damage(&packed));
    assert_eq!((records, offset), (count, bytes.len() as u64));
    assert_eq!(what, "incorrect data check");
    let mut packed = zstd(&bytes);
    let at = packed.len() - 1;
    packed[at] ^= 1;
    let (records, offset, _, what) = packing_error(read_to_damage(&packed));
    assert_eq!((records, offset), (count, bytes.len() as u64));
    assert_eq!(what, "the checksum of a frame is wrong");
}

#[test]
fn damage_in_the_middle_of_gzip_gives_what_stands_before() {
    let bytes = capture(200);
    let plain = read(&bytes).unwrap();
    let packed = gzip(&bytes, 6);
    // A block type that does not exist, after half of the stream: found by trying places.
    let mut least = usize::MAX;
    for at in (packed.len() / 2..packed.len() / 2 + 40).step_by(2) {
        let mut damaged = packed.clone();
        damaged[at..at + 2].fill(0xff);
        let (records, error) = read_to_damage(&damaged);
        assert!(records.len() <= plain.len(), "{error}");
        // Before the damage nothing has changed: a third is well before it.
        let sure = plain.len() / 3;
        assert_eq!(records[..sure], plain[..sure], "{error}");
        least = least.min(records.len());
    }
    assert!(least > plain.len() / 3);
}

#[test]
fn no_whole_block_of_a_cut_zstd_frame_is_lost() {
    // Blocks of 128 KiB (RFC 8878 section 3.1.1.2), of noise that cannot be packed.
    let mut noise = capture(1);
    let mut state = 1_u64;
    let mut writer = Writer::new(Vec::new(), "server").unwrap();
    while noise.len() < 700_000 {
        let packet: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(1_000)
        .collect();
        writer.write_bytes(Instant::ZERO, &packet, None, None).unwrap();
        noise.extend(&packet);
    }
    let bytes = writer.finish().unwrap();
    let packed = zstd(&bytes);
    assert!(packed.len() > bytes.len() / 10 * 9, "it is noise");
    for cut in [packed.len() / 4, packed.len() / 2, packed.len() - 5, packed.len() - 4, packed.len() - 1] {
        let (records, offset, packing, what) = packing_error(read_to_damage(&packed[..cut]));
        assert_eq!((packing, what.as_str()), (Packing::Zstd, "it ends too soon"));
        assert!(offset + (128 << 10) + 100 >= cut as u64, "{offset} of {cut}");
        let whole = Reader::new(&bytes[..offset as usize]).unwrap().flatten().count();
        assert_eq!(records, whole);
    }
}

#[test]
fn damage_of_zstd_is_told_in_plain_words() {
    let packed = zstd(&capture(20));
    for cut in 8..packed.len() {
        let (_, error) = read_to_damage(&packed[..cut]);
        assert!(error.to_string().ends_with("damaged: it ends too soon"), "{cut}: {error}");
    }
    for at in 8..packed.len() {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x55;
        let read = Reader::new(damaged.as_slice()).and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
        if let Err(error) = read {
            assert!(!error.to_string().contains(['{', '(', '\n']), "{at}: {error}");
        }
    }
}

/// A stream that gives as many bytes at a time as `sizes` says, in turn.
struct Pieces<'a> {
    left: &'a [u8],
    sizes: &'a [usize],
    at: usize,
    /// What comes after the last byte.
    end: Option<io::ErrorKind>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left.is_empty() {
            return self.end.map_or(Ok(0), |kind| Err(kind.into()));
        }
        let size = self.sizes[self.at % self.sizes.len()];
        self.at += 1;
        let n = size.min(out.len()).min(self.left.len());
        out[..n].copy_from_slice(&self.left[..n]);
        self.left = &self.left[n..];
        Ok(n)
    }
}

/// Plain, with gzip or with zstd.
pub fn packed(form: usize, bytes: &[u8]) -> Vec<u8> {
    match form {
        0 => bytes.to_vec(),
        1 => gzip(bytes, 6),
        _ => zstd(bytes),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn how_the_stream_is_split_changes_nothing(
        sizes in prop::collection::vec(prop_oneof![Just(1), 1_usize..20, 1_usize..5_000], 1..20),
        rounds in 1_u64..5,
    ) {
        let bytes = capture(rounds);
        let plain = read(&bytes).unwrap();
        for form in 0..3 {
            let form = packed(form, &bytes);
            let stream = Pieces { left: &form, sizes: &sizes, at: 0, end: None };
            let records: Result<Vec<_>, _> = Reader::new(stream).unwrap().collect();
            prop_assert_eq!(&records.unwrap(), &plain);
        }
    }

    #[test]
    fn a_stream_that_fails_gives_what_came_before_and_its_own_error(
        sizes in prop::collection::vec(1_usize..5_000, 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = capture(2);
        let plain = read(&bytes).unwrap();
        for form in 0..3 {
            let form = packed(form, &bytes);
            let left = &form[..cut.index(form.len())];
            let stream = Pieces { left, sizes: &sizes, at: 0, end: Some(io::ErrorKind::TimedOut) };
            let error = match Reader::new(stream) {
                Err(error) => error,
                Ok(mut reader) => {
                    let (mut record, mut count) = (Record::default(), 0);
                    loop {
                        match reader.read_into(&mut record) {
                            Ok(true) => prop_assert_eq!(&record, &plain[count]),
                            Ok(false) => panic!("no error after {count} records"),
                            Err(error) => break error,
                        }
                        count += 1;
                    }
                }
            };
            let own = matches!(&error, ReadError::Io { source, .. } if source.kind() == io::ErrorKind::TimedOut);
            prop_assert!(own, "{}", error);
        }
    }

    #[test]
    fn a_record_longer_than_the_buffer_is_read_whole(len in 1_000_000_usize..3_000_000) {
        let mut writer = Writer::new(Vec::new(), "server").unwrap();
        for byte in 1..4 {
            writer.write_bytes(Instant::ZERO, &vec![byte; len], None, None).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let records = read(&bytes).unwrap();
        for (record, byte) in records.iter().zip(1..4) {
            prop_assert!(record.data.len() == len && record.data.iter().all(|b| *b == byte));
        }
        prop_assert_eq!(records.len(), 3);
    }
}
