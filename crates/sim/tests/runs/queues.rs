//! Queues whose verdicts come late: the row, the table of verdicts and the comments of captures say the same in the end.

use crate::common::run_with;
use rexmit_capture::{Direction, Reader, Record};
use rexmit_network::LinkId;
use rexmit_network::two_hosts::{CLIENT, DOWN, SERVER, UP, peer};
use rexmit_path::Fate;
use rexmit_sim::{Outcome, Resolved, RunOptions};
use serde_json::{Value, json};

fn scenario(path: Value) -> Value {
    json!({
        "hosts": { "server": { "stack": "linux-2.6.15" }, "client": { "stack": "freebsd-6.0" } },
        "path": path,
        "transfers": [
            { "from": "server", "to": "client", "bulk": "1 MB" },
            { "from": "server", "to": "client", "bulk": "300 kB" },
        ],
    })
}

fn run(path: Value) -> Outcome {
    let options = RunOptions { captures: true, verdicts: true, transmissions: true, ..RunOptions::default() };
    run_with(scenario(path), &options)
}

fn records(capture: &[u8]) -> Vec<Record> {
    let mut reader = Reader::new(capture).unwrap();
    let mut all = Vec::new();
    while let Some(record) = reader.next_ref().unwrap() {
        let mut kept = Record::default();
        record.copy_to(&mut kept);
        all.push(kept);
    }
    all
}

/// Checks that captures, table and row agree; the texts of the verdicts on packets from the server that were dropped.
fn agree(outcome: &Outcome) -> Vec<String> {
    let mut dropped = Vec::new();
    let row = &outcome.row;
    for (host, link, packets, drops) in [
        (SERVER, DOWN, row.packets_down.unwrap(), row.drops_down.unwrap()),
        (CLIENT, UP, row.packets_up.unwrap(), row.drops_up.unwrap()),
    ] {
        let verdicts: Vec<_> =
            outcome.verdicts.iter().filter(|v| v.link == link).map(|v| v.row.verdict).collect();
        assert_eq!(verdicts.len() as u64, packets);
        assert_eq!(verdicts.iter().filter(|v| v.is_drop()).count() as u64, drops);
        assert!(verdicts.iter().enumerate().all(|(i, v)| v.position == i as u64 + 1));
        let all = records(&outcome.captures[host]);
        assert!(all.is_sorted_by_key(|r| r.time), "a record that waited is in its place");
        let sent: Vec<_> = all.iter().filter(|r| r.direction == Some(Direction::Outbound)).collect();
        assert_eq!(sent.len(), verdicts.len());
        for (record, verdict) in sent.iter().zip(&verdicts) {
            let comment = (!verdict.is_plain()).then(|| verdict.to_string());
            assert_eq!(record.comment, comment, "packet {}", verdict.position);
        }
        let arrived = records(&outcome.captures[peer(host)]);
        let arrived = arrived.iter().filter(|r| r.direction == Some(Direction::Inbound)).count();
        let delivered = verdicts.iter().filter(|v| matches!(v.fate, Fate::Delivered { .. })).count();
        assert_eq!(arrived, delivered);
        if link == DOWN {
            dropped.extend(verdicts.iter().filter(|v| v.is_drop()).map(ToString::to_string));
        }
    }
    dropped
}

#[test]
fn late_drops_are_in_the_table_the_row_and_the_capture() {
    for (aqm, text) in [
        ("codel", "dropped by codel after "),
        ("fq-codel", "dropped by fq-codel after "),
        ("pie", "dropped by pie on arrival"),
        ("red", "dropped by red on arrival"),
    ] {
        let outcome = run(json!({ "rate": "5 Mbit/s", "delay": "20 ms", "down": { "aqm": aqm } }));
        assert!(outcome.row.completed, "{aqm}: {:?}", outcome.row.error);
        let dropped = agree(&outcome);
        assert!(dropped.iter().any(|d| d.starts_with(text)), "{aqm}: {dropped:?}");
    }
}

#[test]
fn a_bucket_s_verdicts_agree() {
    for path in [
        json!({ "rate": "1 Mbit/s", "overhead": "14 bytes", "shaper": "tbf", "queue": "16 KiB", "delay": "20 ms" }),
        json!({ "rate": "1 Mbit/s", "shaper": "cisco", "queue": "20 packets", "link": "100 Mbit/s" }),
    ] {
        let outcome = run(path);
        assert!(outcome.row.completed, "{:?}", outcome.row.error);
        let dropped = agree(&outcome);
        assert!(!dropped.is_empty() && dropped.iter().all(|d| d.starts_with("dropped: queue full")));
    }
}

/// A run that is cut off leaves packets in the queue: neither delivered nor dropped, and said so.
#[test]
fn packets_in_the_queue_at_the_end() {
    let mut scenario = scenario(json!({ "rate": "100 kbit/s", "aqm": "codel", "delay": "10 ms" }));
    scenario["limit"] = json!("3 s");
    let options = RunOptions { captures: true, verdicts: true, ..RunOptions::default() };
    let outcome = run_with(scenario, &options);
    assert!(!outcome.row.completed);
    let waiting = outcome.verdicts.iter().filter(|v| v.row.verdict.fate == Fate::Undecided).count();
    assert!(waiting > 0);
    let comments = records(&outcome.captures[SERVER]).into_iter().filter_map(|r| r.comment);
    assert_eq!(comments.filter(|c| c == "still in the queue").count(), waiting);
}

/// What is written down changes nothing.
#[test]
fn looking_changes_nothing() {
    let path = json!({ "rate": "5 Mbit/s", "delay": "20 ms", "aqm": "fq-codel" });
    assert_eq!(run(path.clone()).row, run_with(scenario(path), &RunOptions::default()).row);
}

/// Each direction of a router's shaper is a router of its own, with ticks of its own.
#[test]
fn routers_have_their_own_ticks() {
    let path =
        json!({ "rate": "196 kbit/s", "shaper": "cisco", "overhead": "14 bytes", "link": "100 Mbit/s" });
    let mut scenario = scenario(path);
    scenario["transfers"] = json!([
        { "from": "server", "to": "client", "bulk": "50 kB" },
        { "from": "client", "to": "server", "bulk": "50 kB" },
    ]);
    let outcome = run_with(scenario, &RunOptions { verdicts: true, ..RunOptions::default() });
    // What waited for credit came out at a tick, and after that its time on the link; of several, the first.
    let phase = |link: LinkId| {
        let of = outcome.verdicts.iter().filter(|v| v.link == link);
        let waited = of.filter_map(|v| match v.row.verdict.fate {
            Fate::Delivered { at: Some(at) } if (at - v.row.time).as_nanos() > 8_000_000 => {
                Some((at.as_nanos() - u64::from(v.row.packet.ip_len + 14) * 80) % 4_000_000)
            }
            _ => None,
        });
        waited.collect::<Vec<u64>>()
    };
    let (down, up) = (phase(DOWN), phase(UP));
    assert!(down.len() > 20 && up.len() > 20, "{down:?} {up:?}");
    assert_ne!(down.iter().min(), up.iter().min());
    // Few packets of a tick: all within 0.3 ms.
    let spread = |all: &[u64]| all.iter().max().zip(all.iter().min()).map(|(most, least)| most - least);
    assert!(spread(&down) < Some(300_000) && spread(&up) < Some(300_000), "{down:?} {up:?}");
}

/// Hosts that send packets which no bucket lets pass are refused before anything runs.
#[test]
fn packets_longer_than_the_bucket_are_refused() {
    let path = json!({ "rate": "1 Mbit/s", "shaper": "tbf", "burst": "1 kB" });
    let error = Resolved::from_value(scenario(path)).expect_err("refused").to_string();
    assert!(error.contains("path.down.burst") && error.contains("at least 1500 bytes"), "{error}");
}
