//! Times the analysis of a capture, part by part: `analysis PART [jobs=N] [repeat=N] FILE`.
//!
//! ```text
//! analysis read FILE      records alone
//! analysis decode FILE    records and packets
//! analysis causes FILE    all but the tables of packets and samples
//! analysis tables FILE    all, with every table
//! ```
//! Prints one JSON object a line.

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use rexmit_analysis::packet::Batch;
use rexmit_analysis::rows::Tables;
use rexmit_analysis::{Decoder, Options, Run, RunOptions};
use rexmit_capture::Reader;
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: analysis read|decode|causes|tables [jobs=N] [repeat=N] FILE";

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let part = words.next().ok_or(USAGE)?;
    let (mut file, mut jobs, mut repeat) = (None, 1, 1);
    for word in words {
        match word.split_once('=') {
            Some(("jobs", value)) => jobs = value.parse()?,
            Some(("repeat", value)) => repeat = value.parse()?,
            _ => file = Some(word),
        }
    }
    let file = file.ok_or(USAGE)?;
    for _ in 0..repeat {
        let reader = Reader::new(File::open(&file)?)?;
        let start = Instant::now();
        let (packets, rows) = match part.as_str() {
            "read" => (read(reader)?, 0),
            "decode" => (decode(reader)?, 0),
            "causes" => analyse(reader, jobs, false),
            "tables" => analyse(reader, jobs, true),
            _ => return Err(format!("unknown part {part}: read, decode, causes or tables").into()),
        };
        let wall = start.elapsed().as_secs_f64();
        let line = json!({
            "program": "rexmit",
            "scenario": part,
            "jobs": jobs,
            "packets": packets,
            "rows": rows,
            "wall_s": wall,
            "packets_per_s": packets as f64 / wall,
            "ns_per_packet": wall * 1e9 / packets as f64,
            "peak_bytes": peak()?,
        });
        println!("{line}");
    }
    Ok(())
}

fn read(mut reader: Reader<File>) -> Result<u64> {
    let (mut packets, mut bytes) = (0, 0);
    while let Some(record) = reader.next_ref()? {
        packets += 1;
        bytes += record.data.len();
    }
    std::hint::black_box(bytes);
    Ok(packets)
}

fn decode(mut reader: Reader<File>) -> Result<u64> {
    let mut decoder = Decoder::new(None);
    let mut batch = Batch::default();
    while let Some(record) = reader.next_ref()? {
        decoder.push(&record, &mut batch);
        if batch.packets.len() == 1024 {
            std::hint::black_box(&batch);
            batch.clear();
        }
    }
    Ok(decoder.records())
}

/// Packets, and rows of all tables.
fn analyse(reader: Reader<File>, jobs: usize, tables: bool) -> (u64, u64) {
    let tables = Tables { segments: tables, rtt: tables, chunks: tables, held: tables };
    let analysis = Options { tables, ..Options::default() };
    let options = RunOptions { analysis, filter: None };
    let mut run = if jobs < 2 {
        Run::new(reader, &options)
    } else {
        Run::ahead(reader, &options, |work| drop(std::thread::spawn(work)))
    };
    let mut count = 0;
    while let Some(rows) = run.step(1 << 16) {
        count += rows.connections.len()
            + rows.segments.len()
            + rows.sacks.len()
            + rows.retransmissions.len()
            + rows.rtt.len()
            + rows.loss_events.len();
    }
    (run.finish().packets, count as u64)
}

/// Most memory so far; Linux only.
fn peak() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).ok_or("no such line")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib * 1024)
}
