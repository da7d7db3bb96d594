//! Writes the hard cases as captures of both hosts, with the truth:
//! `cargo run --release -p rexmit-sim --example hard_cases -- OUTDIR [--packets]`.
//!
//! For each case `NAME.server.pcapng`, `NAME.client.pcapng` and `NAME.truth.jsonl`: a line for each packet that was
//! sent again, with its number in each capture (`null` where it is not). `cases.json` lists the cases with what
//! makes each hard. With `--packets` each capture at the server is printed as well.

#[path = "../tests/causes/lab/mod.rs"]
mod lab;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use lab::ran::Place;
use lab::{Ran, hard, listing, view};
use rexmit_network::two_hosts::host_name;
use rexmit_stack::Reason;
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first().filter(|a| !a.starts_with("--")) else {
        eprintln!("hard_cases: name a folder to write to, such as `-- build/hard`");
        std::process::exit(2);
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut list = Vec::new();
    for hard in hard::all() {
        let ran = hard.run();
        for (place, host) in [(Place::Server, "server"), (Place::Client, "client")] {
            write(folder, &format!("{}.{host}.pcapng", hard.name), &ran.capture(place).unwrap_or_default());
        }
        let lines = truth(&ran);
        let text: String = lines.iter().map(|line| line.to_string() + "\n").collect();
        write(folder, &format!("{}.truth.jsonl", hard.name), text.as_bytes());
        println!("{:24} {} sent again: {}", hard.name, lines.len(), hard.about);
        list.push(json!({ "name": hard.name, "about": hard.about, "sent_again": lines.len() }));
        if args.iter().any(|a| a == "--packets") {
            println!("{}", listing::whole(&ran, &ran.capture(Place::Server).unwrap_or_default()));
        }
    }
    write(folder, "cases.json", (json!(list).to_string() + "\n").as_bytes());
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes));
    written.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// What was sent again, a value each.
fn truth(ran: &Ran) -> Vec<Value> {
    let numbers = [Place::Server, Place::Client].map(|place| {
        let mut first = HashMap::new();
        for sighting in view::view(ran, &ran.capture(place).unwrap_or_default()) {
            first.entry(sighting.row).or_insert(sighting.number);
        }
        first
    });
    let again = ran.rows().iter().enumerate().filter(|(_, row)| row.transmission > 1);
    again
        .map(|(i, row)| {
            let (duplicates, sacked, backoff) = match row.reason {
                Reason::Fast { duplicates, sacked } | Reason::ReorderingTimer { duplicates, sacked, .. } => {
                    (Some(duplicates), Some(sacked), None)
                }
                Reason::Timeout { backoff } | Reason::Syn { backoff } | Reason::SynAck { backoff } => {
                    (None, None, Some(backoff))
                }
                _ => (None, None, None),
            };
            json!({
                "packet_at_server": numbers[0].get(&i),
                "packet_at_client": numbers[1].get(&i),
                "sent_by": host_name(row.host),
                "time_ns": row.time.as_nanos(),
                "seq": row.seq,
                "len": row.len,
                "flags": row.flags.0,
                "transmission": row.transmission,
                "reason": row.reason.name(),
                "duplicates": duplicates,
                "sacked": sacked,
                "backoff": backoff,
                "earlier_copies": row.earlier.name(),
                "arrived_ns": row.arrived.map(|t| t.as_nanos()),
            })
        })
        .collect()
}
