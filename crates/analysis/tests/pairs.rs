//! Captures of both ends of real connections (see `tests/captures/README.md`), joined with what the relay between them
//! did and with what the kernel says of its retransmissions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use rexmit_analysis::pair::{End, Fate, LostAt, Options, PairRetransmissionRow, PairRows, PairRun};
use rexmit_analysis::rows::{Confidence, Need};
use rexmit_capture::Reader;
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/linux")
}

fn scenarios() -> Vec<String> {
    let name = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
        Some(name.to_owned())
    };
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files.filter_map(|path| name(&path)).collect();
    names.sort();
    names
}

/// A is the client's capture, B the server's.
fn pair(scenario: &str, options: &Options) -> PairRows {
    let reader = |side: &str| {
        let file = File::open(folder().join(format!("{scenario}.{side}.pcap.gz"))).unwrap();
        Reader::new(BufReader::new(file)).unwrap()
    };
    let mut run = PairRun::new(reader("client"), reader("server"), None, options);
    while run.step(10_000) {}
    run.finish().0
}

fn truth(scenario: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(format!("{scenario}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// By capture near the sender, the numbers there of packets that were lost.
fn said(rows: &PairRows) -> [BTreeSet<u64>; 2] {
    let mut lost = [BTreeSet::new(), BTreeSet::new()];
    for row in rows.crossings.iter().filter(|row| row.fate == Fate::Lost) {
        let mut sums = rows.summaries.iter();
        let sum = sums.find(|sum| (sum.pair, sum.side) == (row.pair, row.side)).unwrap();
        lost[sum.near_sender as usize].extend(row.number_sent);
    }
    lost
}

fn dropped(truth: &Value) -> [BTreeSet<u64>; 2] {
    let rows = truth["relay"].as_array().unwrap();
    ["up", "down"].map(|direction| {
        let dropped = |row: &&Value| {
            row["direction"] == direction && (row["verdict"] == "dropped" || row["verdict"] == "queue full")
        };
        rows.iter().filter(dropped).map(|row| row["packet"].as_u64().unwrap()).collect()
    })
}

fn segments_dropped(truth: &Value) -> u64 {
    let rows = truth["relay"].as_array().unwrap();
    rows.iter().filter(|row| row["verdict"] == "dropped" || row["verdict"] == "queue full").count() as u64
}

#[test]
fn lost_packets_are_those_that_the_relay_dropped() {
    let options = Options { whole: true, crossings: true, ..Options::default() };
    let mut losses = 0;
    for scenario in scenarios() {
        let rows = pair(&scenario, &options);
        let truth = truth(&scenario);
        let dropped = dropped(&truth);
        assert_eq!(said(&rows), dropped, "{scenario}");
        // Of a super-packet several segments may be lost.
        let lost: u64 = rows.summaries.iter().map(|row| row.lost).sum();
        assert_eq!(lost, segments_dropped(&truth), "{scenario}");
        losses += dropped[0].len() + dropped[1].len();
    }
    assert!(losses > 300, "{losses}");
}

#[test]
fn need_and_arrival_of_each_retransmission() {
    let options = Options { whole: true, ..Options::default() };
    let mut count = 0;
    for scenario in scenarios() {
        let rows = pair(&scenario, &options);
        let key = |row: &PairRetransmissionRow| (row.seen_at as usize, row.judged.number);
        let judged: BTreeMap<_, _> = rows.retransmissions.iter().map(|row| (key(row), row)).collect();
        for known in truth(&scenario)["retransmissions"].as_array().unwrap() {
            let end = if known["side"] == "client" { End::A } else { End::B };
            let number = known["packet"].as_u64().unwrap();
            let Some(row) = judged.get(&(end as usize, number)) else { panic!("{scenario}: {known}") };
            let needed = known["needed"].as_bool().unwrap();
            assert_eq!(row.judged.need == Need::Needed, needed, "{scenario}: {known} {row:?}");
            assert_eq!(row.lost_at == LostAt::Between, needed, "{scenario}: {known} {row:?}");
            let arrivals = known["arrivals"].as_array().unwrap();
            assert_eq!(
                row.number_received,
                arrivals.first().and_then(Value::as_u64),
                "{scenario}: {known} {row:?}"
            );
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn causes_are_those_that_the_kernel_tells() {
    let options = Options { whole: true, ..Options::default() };
    let (mut probes, mut wrong) = (0, Vec::new());
    for scenario in scenarios() {
        let rows = pair(&scenario, &options);
        for known in truth(&scenario)["retransmissions"].as_array().unwrap() {
            let end = if known["side"] == "client" { End::A } else { End::B };
            let here = |row: &&PairRetransmissionRow| {
                row.seen_at as usize == end as usize && Some(row.judged.number) == known["packet"].as_u64()
            };
            let judged = &rows.retransmissions.iter().find(here).unwrap().judged;
            let cause = known["cause"].as_str().unwrap();
            probes += usize::from(cause == "tail-probe");
            // A FIN without data that probes is called a FIN.
            let fin = judged.cause.name() == "fin" && cause == "tail-probe";
            // The kernel's account says that a recovery began, not whether an acknowledgment or RACK's timer did it.
            let began = judged.cause.name() == "reordering-timer" && cause == "fast";
            if judged.cause.name() != cause && !fin && !began {
                assert_eq!(judged.confidence, Confidence::Likely, "{scenario}: {known} {judged:?}");
                wrong.push(scenario.clone());
            }
        }
    }
    assert!(probes > 15, "{probes}");
    // A timer that sends what a probe in its place would, at the same time: the SYN is that of a system that probes.
    assert_eq!(wrong, ["tail-1-noprobe"]);
}

#[test]
fn one_clock_is_found_to_be_one() {
    for scenario in scenarios() {
        let clock = pair(&scenario, &Options::default()).clock;
        let bounds = clock.offset_low.unwrap()..=clock.offset_high.unwrap();
        assert!(bounds.contains(&0), "{scenario}: {clock:?}");
        assert!(clock.steps.is_empty(), "{scenario}: {clock:?}");
        assert!(clock.skew_low.unwrap() <= 0.0 && clock.skew_high.unwrap() >= 0.0, "{scenario}: {clock:?}");
    }
}
