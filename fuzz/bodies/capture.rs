//! Bytes as a capture: no input panics, hangs or costs memory out of proportion, and nothing follows an
//! error. What was read from raw IP is written and read again as the same records.

use rexmit_capture::{LinkType, Options, Reader, Record, Writer};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(mut reader) = Reader::new(data) else { return };
    let mut records: Vec<Record> = Vec::new();
    while let Some(result) = reader.next() {
        match result {
            Ok(record) => {
                assert!(record.data.len() <= data.len());
                assert!((record.interface as usize) < reader.interfaces().len());
                // Whatever it says, it says it without a panic.
                let _ = record.packet();
                records.push(record);
            }
            Err(e) => {
                assert!(!e.to_string().contains('\n'));
                assert!(reader.next().is_none());
            }
        }
    }
    records.retain(|r| r.link == LinkType::RAW && r.data.len() == r.original_len as usize);
    assert_eq!(written_and_read(&records), records);
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
