//! Captures of both hosts, matched packet by packet, beside what the path did to each packet.
//!
//! The path's log is the truth. What the two captures are said to show must be that, packet by packet.

mod common;

use std::collections::BTreeSet;

use common::run_with;
use rexmit_analysis::pair::{End, Fate, Options, PairRows, Pairing};
use rexmit_analysis::rows::Need;
use rexmit_analysis::{Decoder, packet::Batch};
use rexmit_capture::Reader;
use rexmit_path::{Duplicated, Fate as Verdict};
use rexmit_sim::{Earlier, Outcome, RunOptions, TransmissionRow};
use serde_json::{Value, json};

/// Packets of a direction by number of the sender's packet, from 1.
#[derive(Debug, Default, PartialEq, Eq)]
struct Known {
    lost: BTreeSet<u64>,
    damaged: BTreeSet<u64>,
    duplicated: BTreeSet<u64>,
}

fn scenario(n: u64) -> Value {
    let stacks = ["freebsd-6.0", "linux-2.6.15", "rfc"];
    let pick = |list: &[Value], by: u64| list[(n / by) as usize % list.len()].clone();
    let down = [
        json!({ "loss": "2 %" }),
        json!({ "loss": "1 %", "duplicate": "12,20-23", "corrupt": "9,31" }),
        json!({ "drop": "1,7,8,9", "reorder": { "position": "15,40", "past": 3 } }),
        json!({ "jitter": { "spread": "8 ms", "reorder": true }, "loss": "1 %" }),
        json!({ "corrupt": "5,25", "drop": "4,26-28" }),
    ];
    let up = [
        json!({}),
        json!({ "loss": "3 %", "duplicate": "4,5,6" }),
        json!({ "drop": "1,2,9", "corrupt": "6,7" }),
        json!({ "jitter": { "spread": "5 ms", "reorder": true }, "duplicate": "8,9,10" }),
    ];
    let rates = [json!("400 kbit/s"), json!("10 Mbit/s")];
    json!({
        "hosts": {
            "server": { "stack": stacks[n as usize % 3] },
            "client": { "stack": stacks[(n / 3) as usize % 3] },
        },
        "path": {
            "rate": pick(&rates, 5), "delay": "20 ms", "queue": "30 packets",
            "down": pick(&down, 1), "up": pick(&up, 2),
        },
        "transfers": [
            { "from": "server", "to": "client", "writes": "40 x 3000 bytes" },
            { "from": "client", "to": "server", "writes": "10 x 2500 bytes", "start": "50 ms" },
        ],
    })
}

fn run(scenario: Value) -> Outcome {
    let options = RunOptions { verdicts: true, captures: true, transmissions: true, ..RunOptions::default() };
    run_with(scenario, &options)
}

/// A is the client's capture, B the server's.
fn pair(outcome: &Outcome, options: &Options) -> PairRows {
    let mut pairing = Pairing::new(options);
    for (end, bytes) in [(End::A, &outcome.captures[1]), (End::B, &outcome.captures[0])] {
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let mut decoder = Decoder::new(None);
        let mut batch = Batch::default();
        while let Some(record) = reader.next_ref().unwrap() {
            decoder.push(&record, &mut batch);
        }
        pairing.push(end, &batch);
    }
    pairing.finish()
}

/// By direction, `up` first: the number of each sent packet in its sender's capture, in order.
fn numbers(outcome: &Outcome) -> [Vec<u64>; 2] {
    [1, 0].map(|host| {
        let mut reader = Reader::new(outcome.captures[host].as_slice()).unwrap();
        let mut sent = Vec::new();
        let mut number = 0;
        while let Some(record) = reader.next_ref().unwrap() {
            number += 1;
            if record.direction() == Some(rexmit_capture::Direction::Outbound) {
                sent.push(number);
            }
        }
        sent
    })
}

fn truth(outcome: &Outcome) -> [Known; 2] {
    let mut known = [Known::default(), Known::default()];
    for verdict in &outcome.verdicts {
        let known = &mut known[usize::from(verdict.direction == "down")];
        let verdict = &verdict.row.verdict;
        match verdict.fate {
            Verdict::Delivered { .. } => {
                if verdict.effects.corrupted {
                    known.damaged.insert(verdict.position);
                }
                if verdict.effects.duplicated == Duplicated::Delivered {
                    known.duplicated.insert(verdict.position);
                }
            }
            _ => {
                known.lost.insert(verdict.position);
            }
        }
    }
    known
}

fn said(rows: &PairRows, numbers: &[Vec<u64>; 2]) -> [Known; 2] {
    let mut known = [Known::default(), Known::default()];
    for row in &rows.crossings {
        let summary = rows.summaries.iter().find(|sum| (sum.pair, sum.side) == (row.pair, row.side)).unwrap();
        let side = summary.near_sender as usize;
        let Some(number) = row.number_sent else { panic!("nothing appears on the way: {row:?}") };
        let position = numbers[side].binary_search(&number).unwrap() as u64 + 1;
        let known = &mut known[side];
        match row.fate {
            _ if row.duplicate => known.duplicated.insert(position),
            Fate::Lost => known.lost.insert(position),
            Fate::Damaged => known.damaged.insert(position),
            Fate::Arrived => true,
            Fate::NotSent | Fate::NotComparable => panic!("it is known of each packet: {row:?}"),
        };
    }
    known
}

#[test]
fn the_packets_called_lost_are_those_that_the_path_dropped() {
    let options = Options { whole: true, crossings: true, ..Options::default() };
    let mut losses = 0;
    for n in 0..120 {
        let outcome = run(scenario(n));
        let rows = pair(&outcome, &options);
        let truth = truth(&outcome);
        assert_eq!(said(&rows, &numbers(&outcome)), truth, "scenario {n}");
        losses += truth.iter().map(|known| known.lost.len()).sum::<usize>();
        assert!(rows.unpaired.iter().all(Vec::is_empty), "scenario {n}");
    }
    assert!(losses > 500, "{losses}");
}

/// Of each retransmission that both hosts' captures show it is known whether it was needed.
#[test]
fn need_is_known_for_sure() {
    let options = Options { whole: true, ..Options::default() };
    let (mut needed, mut not) = (0, 0);
    for n in 0..120 {
        let outcome = run(scenario(n));
        let rows = pair(&outcome, &options);
        let numbers = numbers(&outcome);
        for row in &rows.retransmissions {
            let host = ["client", "server"][row.seen_at as usize];
            let position =
                numbers[row.seen_at as usize].binary_search(&row.judged.number).unwrap() as u64 + 1;
            let sent = |sent: &&TransmissionRow| sent.host == host && sent.position == position;
            let truth = outcome.transmissions.iter().find(sent).unwrap().earlier;
            let said = match row.judged.need {
                Need::Needed => Earlier::Lost,
                Need::Spurious | Need::Unnecessary if truth == Earlier::OnItsWay => truth,
                Need::Spurious | Need::Unnecessary => Earlier::There,
                Need::Unknown => Earlier::None,
            };
            assert_eq!(said, truth, "scenario {n}: {row:#?}");
            if truth == Earlier::Lost { needed += 1 } else { not += 1 }
        }
    }
    assert!(needed > 400 && not > 100, "{needed} {not}");
}
