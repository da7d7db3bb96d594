//! Captures of both hosts, matched packet by packet, beside what the path did to each packet.
//!
//! The path's log is the truth. What the two captures are said to show must be that, packet by packet.

use std::collections::BTreeSet;
use std::io::Cursor;

use crate::common::run_with;
use rexmit_analysis::pair::{CrossingRow, End, Fate, Options, PairRows, PairRun, Pairing};
use rexmit_analysis::rows::Need;
use rexmit_analysis::{Decoder, packet::Batch};
use rexmit_capture::Reader;
use rexmit_network::HostId;
use rexmit_network::two_hosts::{CLIENT, DOWN, SERVER, UP, link_name};
use rexmit_path::{Duplicated, Fate as Verdict};
use rexmit_sim::{Earlier, Outcome, RunOptions, TransmissionRow, VerdictRow};
use rexmit_units::Instant;
use serde_json::{Value, json};

/// Packets of a direction by number of the sender's packet, from 1.
#[derive(Debug, Default, PartialEq, Eq)]
struct Known {
    lost: BTreeSet<u64>,
    damaged: BTreeSet<u64>,
    duplicated: BTreeSet<u64>,
}

fn scenario(n: u64) -> Value {
    let stacks = ["freebsd-6.0", "linux-2.6.15", "linux-6.1", "rfc-2014"];
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
            "server": { "stack": stacks[n as usize % stacks.len()] },
            "client": { "stack": stacks[(n / 3) as usize % stacks.len()] },
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
    let reader = |host| Reader::new(Cursor::new(outcome.captures[host].clone())).unwrap();
    let mut run = PairRun::new(reader(CLIENT), reader(SERVER), None, options);
    while run.step(100) {}
    let progress = run.progress();
    let (rows, summaries) = run.finish();
    for (progress, summary) in progress.iter().zip(&summaries) {
        assert!(summary.broken_off.is_none() && summary.tcp > 0);
        assert_eq!((progress.packets, summary.packets), (summary.tcp, summary.tcp));
    }
    rows
}

/// The capture at a host.
fn packets(outcome: &Outcome, host: HostId) -> Batch {
    let mut reader = Reader::new(outcome.captures[host].as_slice()).unwrap();
    let mut decoder = Decoder::new(None);
    let mut batch = Batch::default();
    while let Some(record) = reader.next_ref().unwrap() {
        decoder.push(&record, &mut batch);
    }
    batch
}

/// By direction, `up` first: the number of each sent packet in its sender's capture, in order.
fn numbers(outcome: &Outcome) -> [Vec<u64>; 2] {
    [CLIENT, SERVER].map(|host| {
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
        let known = &mut known[usize::from(verdict.link == DOWN)];
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

/// IPv6 hosts do not number their packets. Packets that are equal in all else are told apart by times; where they left
/// at much the same time, either may be named.
#[test]
fn without_identification_as_many_are_lost_and_only_equal_ones_are_confused() {
    let options = Options { whole: true, crossings: true, ..Options::default() };
    let mut confused = 0;
    for n in 0..120 {
        let mut scenario = scenario(n);
        scenario["hosts"]["server"]["address"] = json!("fd00::1");
        scenario["hosts"]["client"]["address"] = json!("fd00::2");
        let outcome = run(scenario);
        let rows = pair(&outcome, &options);
        let (said, truth) = (said(&rows, &numbers(&outcome)), truth(&outcome));
        for ((said, truth), link) in said.iter().zip(&truth).zip([UP, DOWN]) {
            let direction = link_name(link);
            assert_eq!(said.lost.len(), truth.lost.len(), "scenario {n} {direction}");
            assert_eq!(
                (&said.damaged, &said.duplicated),
                (&truth.damaged, &truth.duplicated),
                "scenario {n}"
            );
            let packet = |position: &u64| {
                let here = |row: &&VerdictRow| row.link == link && row.row.verdict.position == *position;
                outcome.verdicts.iter().find(here).unwrap().row.packet
            };
            for (wrong, right) in said.lost.difference(&truth.lost).zip(truth.lost.difference(&said.lost)) {
                assert_eq!(packet(wrong), packet(right), "scenario {n} {direction}: {wrong} for {right}");
                confused += 1;
            }
        }
    }
    assert!(confused < 5, "{confused}");
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
            let host = [CLIENT, SERVER][row.seen_at as usize];
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

/// A capture whose clock shows `offset` ns more at `at`, and runs faster by so many parts per million.
fn by_another_clock(mut batch: Batch, at: u64, offset: i64, skew: f64) -> Batch {
    for packet in &mut batch.packets {
        let since = packet.time.as_nanos() as i64 - at as i64;
        let gained = offset + (since as f64 * skew / 1e6).round() as i64;
        packet.time = Instant::from_nanos((packet.time.as_nanos() as i64 + gained) as u64);
    }
    batch
}

#[test]
fn another_clock_changes_nothing_but_what_is_known_of_delays() {
    let options = Options { whole: true, crossings: true, ..Options::default() };
    for n in 0..60 {
        let outcome = run(scenario(n));
        let (offset, skew) = (n as i64 * 700_000_000 - 20_000_000_000, n as f64 * 10.0 - 300.0);
        let client = packets(&outcome, CLIENT);
        let at = client.packets[0].time.as_nanos();
        let mut pairing = Pairing::new(&options);
        pairing.push(End::A, &client);
        pairing.push(End::B, &by_another_clock(packets(&outcome, SERVER), at, offset, skew));
        let rows = pairing.finish();
        let truth = truth(&outcome);
        assert_eq!(said(&rows, &numbers(&outcome)), truth, "scenario {n}");
        let clock = &rows.clock;
        let true_offset = offset + ((clock.at.as_nanos() - at) as f64 * skew / 1e6) as i64;
        let bounds = clock.offset_low.unwrap() - 2..=clock.offset_high.unwrap() + 2;
        assert!(bounds.contains(&true_offset), "scenario {n}: {true_offset} {clock:?}");
        let skews = clock.skew_low.unwrap()..=clock.skew_high.unwrap();
        assert!(skews.contains(&skew), "scenario {n}: {skew} {clock:?}");
        assert!(clock.steps.is_empty(), "scenario {n}: {clock:?}");
    }
}

#[test]
fn with_one_clock_delays_are_the_paths() {
    let options = Options { same_clock: true, crossings: true, ..Options::default() };
    let outcome = run(scenario(0));
    let rows = pair(&outcome, &options);
    let numbers = numbers(&outcome);
    let mut compared = 0;
    for verdict in &outcome.verdicts {
        let Verdict::Delivered { at: Some(at) } = verdict.row.verdict.fate else { continue };
        let side = usize::from(verdict.link == DOWN);
        let number = numbers[side][verdict.row.verdict.position as usize - 1];
        let near = [End::A, End::B][side];
        let of = |row: &&CrossingRow| {
            let mut sums = rows.summaries.iter();
            let sum = sums.find(|sum| (sum.pair, sum.side) == (row.pair, row.side)).unwrap();
            sum.near_sender == near && row.number_sent == Some(number) && !row.duplicate
        };
        let row = rows.crossings.iter().find(of).unwrap();
        assert_eq!(row.delay, Some((at - verdict.row.time).as_nanos() as i64), "{row:?}");
        compared += 1;
    }
    assert!(compared > 150, "{compared}");
}
