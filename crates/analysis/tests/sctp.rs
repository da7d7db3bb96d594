//! SCTP that our own model did not make: FreeBSD's stack over lossy paths (see `tests/captures/README.md`), joined with
//! what its counters say.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use rexmit_analysis::rows::{Confidence, Need, Tables};
use rexmit_analysis::sctp::{SctpCause, SctpProof, SctpRetransmissionRow, SctpRows};
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::Reader;
use serde_json::Value;

const SCENARIOS: [&str; 6] =
    ["thin", "thin-heavy-loss", "bursts-of-four", "thick", "small-messages", "reordering"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/usrsctp")
}

fn analyse(scenario: &str, side: &str) -> SctpRows {
    let file = File::open(folder().join(format!("{scenario}.{side}.pcap.gz"))).unwrap();
    play(Reader::new(BufReader::new(file)).unwrap())
}

fn play(reader: Reader<BufReader<File>>) -> SctpRows {
    let tables = Tables { segments: false, rtt: false, chunks: true, held: false };
    let options = RunOptions { analysis: Options { tables, ..Options::default() }, ..RunOptions::default() };
    let mut run = Run::new(reader, &options);
    let mut all = SctpRows::default();
    while let Some(rows) = run.step(10_000) {
        all.associations.extend(rows.sctp.associations);
        all.retransmissions.extend(rows.sctp.retransmissions);
        all.chunks.extend(rows.sctp.chunks);
    }
    all
}

/// What made the sender send a packet with retransmitted chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Timer,
    Reports,
    /// Neither counter rose: it was marked before, and sent when the window allowed.
    Later,
}

/// The truth of a scenario.
struct Truth {
    /// By number at the sender: why, and the TSNs that had been sent before.
    again: BTreeMap<u64, (Reason, Vec<u32>)>,
    /// By number at the sender and TSN: whether the receiver had not got it.
    needed: HashMap<(u64, u32), bool>,
    /// By number at the receiver: the number at the sender.
    sent: HashMap<u64, u64>,
    first: u32,
}

fn truth(scenario: &str) -> Truth {
    let text = std::fs::read_to_string(folder().join(format!("{scenario}.json"))).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut truth = Truth { again: BTreeMap::new(), needed: HashMap::new(), sent: HashMap::new(), first: 0 };
    let (mut seen, mut got) = (HashMap::new(), HashMap::new());
    for packet in json["packets"].as_array().unwrap() {
        let number = packet["packet"].as_u64().unwrap();
        let tsns: Vec<u32> =
            packet["tsns"].as_array().unwrap().iter().map(|tsn| tsn.as_u64().unwrap() as u32).collect();
        if seen.is_empty() {
            truth.first = tsns[0];
        }
        let again: Vec<u32> = tsns.iter().copied().filter(|tsn| seen.insert(*tsn, ()).is_some()).collect();
        for tsn in &tsns {
            truth.needed.insert((number, *tsn), !got.contains_key(tsn));
            if packet.get("lost").is_none() {
                got.insert(*tsn, ());
            }
        }
        let reason = if packet.get("t3_expired").is_some() {
            Reason::Timer
        } else if packet.get("fast_retransmits").is_some() {
            Reason::Reports
        } else {
            Reason::Later
        };
        if !again.is_empty() {
            truth.again.insert(number, (reason, again));
        }
    }
    for (sent, arrived) in json["arrivals"].as_object().unwrap() {
        truth.sent.insert(arrived.as_u64().unwrap(), sent.parse().unwrap());
    }
    truth
}

/// Whether a judgement says what the counters say of the packet.
fn is_right(cause: SctpCause, reason: Reason) -> bool {
    match cause {
        SctpCause::Timeout => reason == Reason::Timer,
        SctpCause::Fast | SctpCause::FastAgain => reason == Reason::Reports,
        SctpCause::AfterTimeout => reason == Reason::Later,
        // They rode with whatever sent the packet.
        SctpCause::BundledMissing | SctpCause::BundledInFlight => reason != Reason::Later,
        _ => false,
    }
}

#[derive(Debug, Default)]
struct Score {
    right: u32,
    wrong: u32,
    certain: u32,
    certain_wrong: u32,
}

fn score(side: &str, number: impl Fn(&Truth, &SctpRetransmissionRow) -> u64) -> Score {
    let mut score = Score::default();
    for scenario in SCENARIOS {
        let truth = truth(scenario);
        for row in &analyse(scenario, side).retransmissions {
            let Some((reason, _)) = truth.again.get(&number(&truth, row)) else { continue };
            let right = is_right(row.cause, *reason);
            if right {
                score.right += 1
            } else {
                score.wrong += 1
            }
            if row.confidence == Confidence::Certain {
                score.certain += 1;
                score.certain_wrong += u32::from(!right);
            }
        }
    }
    println!("{side}: {score:?}");
    score
}

/// At the sender every retransmission is found, none is invented, and TSNs fit.
#[test]
fn every_retransmission_is_found() {
    for scenario in SCENARIOS {
        let truth = truth(scenario);
        let rows = analyse(scenario, "sender");
        assert_eq!(rows.associations.len(), 1);
        let mut found: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for row in &rows.retransmissions {
            found.entry(row.number).or_default().push(truth.first.wrapping_add(row.tsn as u32));
        }
        let wanted: BTreeMap<u64, Vec<u32>> =
            truth.again.iter().map(|(number, (_, tsns))| (*number, tsns.clone())).collect();
        assert_eq!(found, wanted, "{scenario}");
    }
}

#[test]
fn causes_at_the_sender() {
    let score = score("sender", |_, row| row.number);
    assert_eq!(score.certain_wrong, 0);
    assert!(score.certain * 3 > score.right + score.wrong, "a third at least is certain");
    assert!(f64::from(score.right) >= 0.99 * f64::from(score.right + score.wrong), "{score:?}");
}

#[test]
fn causes_at_the_receiver() {
    let score = score("receiver", |truth, row| truth.sent.get(&row.number).copied().unwrap_or(0));
    assert_eq!(score.certain_wrong, 0);
    assert!(f64::from(score.right) >= 0.95 * f64::from(score.right + score.wrong), "{score:?}");
}

/// What is said to be needed or not is so; a SACK that told of a duplicate may have been lost, so some of what was not
/// needed passes for needed.
#[test]
fn needs_at_the_sender() {
    let (mut told, mut missed) = (0, 0);
    for scenario in SCENARIOS {
        let truth = truth(scenario);
        for row in &analyse(scenario, "sender").retransmissions {
            let needed = truth.needed[&(row.number, truth.first.wrapping_add(row.tsn as u32))];
            match row.need {
                Need::Spurious | Need::Unnecessary => {
                    assert!(!needed, "{scenario} {}", row.number);
                    assert_ne!(row.proof, SctpProof::None);
                    told += 1;
                }
                _ => missed += u32::from(!needed),
            }
        }
    }
    assert!(told > 3 * missed, "{told} were told, {missed} not");
}

/// Of each chunk the first number, the count and the delays follow from the packets alone.
#[test]
fn delays_add_up() {
    for scenario in SCENARIOS {
        let rows = analyse(scenario, "sender");
        let mut times: HashMap<i64, Vec<(u64, u64)>> = HashMap::new();
        for chunk in &rows.chunks {
            times.entry(chunk.tsn).or_default().push((chunk.number, chunk.time.as_nanos()));
        }
        for row in &rows.retransmissions {
            let sent = &times[&row.tsn];
            let at = row.retransmission as usize;
            assert_eq!(sent[at].0, row.number);
            assert_eq!(row.first_number, Some(sent[0].0));
            assert_eq!(row.delay_first, Some(sent[at].1 - sent[0].1));
            assert_eq!(row.delay_previous, Some(sent[at].1 - sent[at - 1].1));
        }
    }
}

/// Captures of other implementations: associations, and the DATA, SACK, HEARTBEAT and HEARTBEAT-ACK chunks that tshark
/// 4 counts in them (`-e sctp.chunk_type`); tshark finds no retransmission either.
#[test]
fn public_captures_count_as_tshark_counts_them() {
    let counts = [
        ("forces1", 2, [10, 6, 2, 2]),
        ("forces2", 6, [17, 17, 4, 4]),
        ("forces3", 6, [31, 31, 30, 30]),
        ("isup", 1, [6, 0, 0, 0]),
    ];
    for (name, associations, wanted) in counts {
        let file = File::open(folder().join(format!("../public/{name}.pcap"))).unwrap();
        let rows = play(Reader::new(BufReader::new(file)).unwrap());
        assert_eq!(rows.associations.len(), associations, "{name}");
        let mut found = [0; 4];
        for side in rows.associations.iter().flat_map(|row| [&row.client, &row.server]) {
            for (sum, count) in
                found.iter_mut().zip([side.chunks, side.sacks, side.heartbeats, side.heartbeat_acks])
            {
                *sum += count;
            }
        }
        assert_eq!(found, wanted, "{name}");
        assert!(
            rows.retransmissions.is_empty() && rows.associations.iter().all(|row| row.client.copies == 0)
        );
    }
}
