//! Bytes as a capture, plain or packed: no input panics, hangs or costs memory out of proportion, nothing follows an
//! error, and it does not matter in which pieces the bytes come. What was read from raw IP is written and read again
//! as the same records.

use std::io::{self, Read};

use rexmit_capture::{LinkType, Options, Reader, Record, Writer};

/// Reads one input and keeps nothing: the bytes of its packets.
fn pass(data: &[u8]) -> usize {
    let Ok(mut reader) = Reader::new(data) else { return 0 };
    let mut bytes = 0;
    while let Ok(Some(record)) = reader.next_ref() {
        bytes += record.data.len() + size_of::<Record>();
    }
    bytes
}

/// Runs one input.
pub fn run(data: &[u8]) {
    if pass(data) > MOST {
        return;
    }
    let (records, error) = read(data);
    let first = data.first().map_or(1, |byte| usize::from(*byte) % 61 + 1);
    let (in_pieces, same_error) = read(Pieces { left: data, size: first });
    assert_eq!(records, in_pieces);
    assert_eq!(error, same_error);
    if records.iter().any(|record| record.data.len() > data.len()) {
        // Only what was packed is longer than what it came in.
        assert!(matches!(data[0], 0x1f | 0x28 | 0x50..=0x5f));
    }
    let written: Vec<Record> = records
        .into_iter()
        .filter(|r| r.link == LinkType::RAW && r.data.len() == r.original_len as usize)
        .collect();
    assert_eq!(written_and_read(&written), written);
}

/// The records, and the error at the end in words.
fn read(stream: impl Read) -> (Vec<Record>, Option<String>) {
    let mut reader = match Reader::new(stream) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut records: Vec<Record> = Vec::new();
    let mut error = None;
    while let Some(result) = reader.next() {
        match result {
            Ok(record) => {
                assert!(error.is_none());
                assert!((record.interface as usize) < reader.interfaces().len());
                // Whatever it says, it says it without a panic.
                let _ = record.packet();
                records.push(record);
            }
            Err(e) => error = Some(e.to_string()),
        }
    }
    assert!(error.iter().all(|error| !error.contains('\n')));
    (records, error)
}

/// Gives `size` bytes at a time.
struct Pieces<'a> {
    left: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.size.min(out.len()).min(self.left.len());
        out[..n].copy_from_slice(&self.left[..n]);
        self.left = &self.left[n..];
        Ok(n)
    }
}

fn written_and_read(records: &[Record]) -> Vec<Record> {
    let options = Options { epoch_ns: 0, ..Options::default() };
    let mut writer = Writer::with_options(Vec::new(), "fuzz", &options).expect("memory takes all");
    for record in records {
        let comment = record.comment.as_deref();
        writer.write_bytes(record.time, &record.data, record.direction, comment).expect("memory takes all");
    }
    let bytes = writer.finish().expect("memory takes all");
    let read = Reader::new(&bytes[..]).expect("it was written by us");
    read.zip(records)
        .map(|(record, original)| {
            let record = record.expect("it was written by us");
            // Ours has one interface.
            Record { interface: original.interface, ..record }
        })
        .collect()
}

/// Bytes of records that are kept.
const MOST: usize = 4 << 20;
