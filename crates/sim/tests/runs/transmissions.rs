//! The log of transmissions: why each packet left, and what had become of what it repeats.

use crate::common::{hurtig, modelled_profiles, run_with};
use rexmit_network::two_hosts::{CLIENT, DOWN, SERVER, UP};
use rexmit_sim::{Earlier, Outcome, RunOptions, TransmissionRow, resolve_profile};
use rexmit_stack::Reason;
use rexmit_wire::Flags;
use serde_json::{Value, json};

fn told(scenario: Value) -> Outcome {
    run_with(scenario, &RunOptions { transmissions: true, verdicts: true, ..RunOptions::default() })
}

fn again(outcome: &Outcome) -> Vec<&TransmissionRow> {
    outcome.transmissions.iter().filter(|row| row.transmission > 1).collect()
}

/// With `stack` on both hosts, and what happens down.
fn with(stack: Value, down: Value) -> Value {
    let mut scenario = hurtig("1 Mbit/s", "20 ms", 0);
    scenario["hosts"]["server"]["stack"] = stack.clone();
    scenario["hosts"]["client"]["stack"] = stack;
    scenario["path"]["down"] = down;
    scenario
}

#[test]
fn a_flow_without_loss_sends_nothing_again() {
    let outcome = told(hurtig("1 Mbit/s", "20 ms", 0));
    assert!(again(&outcome).is_empty());
    let rows = &outcome.transmissions;
    assert_eq!(rows.len() as u64, outcome.row.packets_down.unwrap() + outcome.row.packets_up.unwrap());
    assert_eq!((rows[0].reason, rows[1].reason), (Reason::Syn { backoff: 0 }, Reason::SynAck { backoff: 0 }));
    assert!(rows.iter().all(|row| row.earlier == Earlier::None && row.arrived.is_some()));
    let data = rows.iter().filter(|row| row.len > 0);
    assert!(data.clone().all(|row| row.reason == Reason::New && row.host == SERVER));
    assert_eq!(data.map(|row| u64::from(row.len)).sum::<u64>(), outcome.row.bytes);
    assert!(
        rows.iter().filter(|row| row.len == 0 && row.end() == row.seq).all(|row| row.reason == Reason::Ack)
    );
}

#[test]
fn a_loss_in_the_middle_is_repaired_by_one_fast_retransmission() {
    let outcome = told(hurtig("1 Mbit/s", "20 ms", 9));
    let lost = outcome.transmissions.iter().find(|row| row.arrived.is_none()).expect("one is lost");
    assert_eq!((lost.host, lost.position, lost.reason), (SERVER, 9, Reason::New));
    let [fast] = again(&outcome)[..] else { panic!("one packet is sent again") };
    assert_eq!((fast.seq, fast.len, fast.transmission), (lost.seq, lost.len, 2));
    // The first report came with the delayed ACK of what lies before the hole, which is not a duplicate.
    assert_eq!((fast.reason, fast.earlier), (Reason::Fast { duplicates: 3, sacked: 4 }, Earlier::Lost));
}

#[test]
fn the_timer_s_steps_are_counted() {
    let segment = |nth: &str| json!({ "retransmission": { "segment": 8, "nth": nth } });
    let outcome = told(with(json!("rfc-2014"), json!({ "drop": [9, segment("1-3")] })));
    let reasons: Vec<Reason> = again(&outcome).iter().map(|row| row.reason).collect();
    let timeout = |backoff| Reason::Timeout { backoff };
    assert_eq!(reasons, [Reason::Fast { duplicates: 3, sacked: 3 }, timeout(1), timeout(2), timeout(3)]);
    assert!(again(&outcome).iter().map(|row| row.transmission).eq(2..=5));
    assert!(again(&outcome).iter().all(|row| row.earlier == Earlier::Lost));
}

#[test]
fn without_sack_a_partial_ack_and_with_sack_a_further_hole() {
    let plain = json!({ "inherits": "rfc-2014", "options": { "sack": false } });
    for (stack, second) in [(plain, Reason::PartialAck), (json!("rfc-2014"), Reason::SackRecovery)] {
        let outcome = told(with(stack, json!({ "drop": "9,11" })));
        let rows = again(&outcome);
        assert!(matches!(rows[0].reason, Reason::Fast { duplicates: 3, .. }), "{rows:?}");
        assert_eq!((rows[1].reason, rows[1].earlier), (second, Earlier::Lost));
    }
}

#[test]
fn what_was_overtaken_was_not_needed_again() {
    let outcome =
        told(with(json!("rfc-2014"), json!({ "reorder": { "position": 9, "past": 5, "within": "2 s" } })));
    let rows = again(&outcome);
    assert!(matches!(rows[0].reason, Reason::Fast { duplicates: 3, .. }));
    // RFC 6675 then sends its one rescue, for want of anything else.
    assert!(rows.len() == 2 && rows[1].reason == Reason::Rescue, "{rows:#?}");
    assert!(rows.iter().all(|row| row.earlier == Earlier::OnItsWay), "{rows:#?}");
    let stall = json!({ "hold": { "position": 9, "by": "3 s", "keep_order": true } });
    let outcome = told(with(json!("rfc-2014"), stall));
    let first = again(&outcome)[0];
    assert_eq!((first.reason, first.earlier), (Reason::Timeout { backoff: 1 }, Earlier::OnItsWay));
}

#[test]
fn a_probe_that_a_closed_window_refused_was_not_taken() {
    let mut scenario = hurtig("1 Mbit/s", "20 ms", 0);
    scenario["hosts"]["client"]["stack"] =
        json!({ "inherits": "rfc-2014", "buffers": { "receive": "8000 bytes" } });
    scenario["transfers"][0]["read"] = json!({ "size": "8000 bytes", "rate": "2 kbit/s" });
    let outcome = told(scenario);
    let probes: Vec<_> = outcome.transmissions.iter().filter(|r| r.reason == Reason::WindowProbe).collect();
    assert!(probes.len() > 2 && probes.iter().all(|row| row.len == 1), "{probes:?}");
    assert!(probes.iter().filter(|row| row.transmission > 1).all(|row| row.earlier == Earlier::Lost));
    let opened = again(&outcome).into_iter().find(|row| row.reason == Reason::New).expect("the window opens");
    assert!(opened.len > 1 && opened.earlier == Earlier::Lost);
}

#[test]
fn the_log_agrees_with_the_path_s_and_the_counters_in_every_profile() {
    for profile in modelled_profiles() {
        if resolve_profile(&json!(profile)).unwrap().protocol() == "sctp" {
            continue; // Below: its rows are chunks.
        }
        let mut scenario = with(json!(profile), json!({ "loss": "8 %", "duplicate": "5,9" }));
        scenario["path"]["up"] = json!({ "loss": "8 %" });
        scenario["transfers"][0]["connections"] = json!(3);
        let outcome = told(scenario);
        let rows = &outcome.transmissions;
        for (link, host) in [(DOWN, SERVER), (UP, CLIENT)] {
            let sent = rows.iter().filter(|row| row.host == host);
            let judged = outcome.verdicts.iter().filter(|v| v.link == link);
            let mut pairs = 0;
            for (row, verdict) in sent.zip(judged) {
                let packet = &verdict.row.packet;
                assert_eq!((row.position, row.time), (verdict.row.verdict.position, verdict.row.time));
                assert_eq!((row.len, row.flags.0), (packet.payload, packet.flags.0), "{profile}");
                assert_eq!(row.arrived.is_none(), verdict.row.verdict.is_drop(), "{profile} {row:?}");
                pairs += 1;
            }
            assert!(pairs > 50, "{profile}: {pairs}");
        }
        let repeats = again(&outcome).iter().filter(|row| row.len > 0).count() as u64;
        assert_eq!(repeats, outcome.row.retransmits, "{profile}");
        let timers = |row: &&TransmissionRow| match row.reason {
            Reason::Timeout { .. } => true,
            Reason::Syn { backoff } | Reason::SynAck { backoff } => backoff > 0,
            _ => false,
        };
        assert_eq!(rows.iter().filter(timers).count() as u64, outcome.row.timeouts, "{profile}");
        let first = rows.iter().filter(|row| row.flags.has(Flags::SYN) && row.transmission == 1).count();
        assert_eq!(first, 6, "{profile}: a SYN and a SYN-ACK for each connection");
    }
}

#[test]
fn captures_in_memory_are_those_of_files_and_hold_no_trace_of_the_log() {
    let dir = std::env::temp_dir().join(format!("rexmit-transmissions-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let files = ["server", "client"].map(|host| dir.join(host));
    let on_disk =
        RunOptions { capture_files: files.iter().cloned().map(Some).collect(), ..RunOptions::default() };
    run_with(hurtig("1 Mbit/s", "20 ms", 9), &on_disk);
    let in_memory = RunOptions { captures: true, transmissions: true, ..RunOptions::default() };
    let outcome = run_with(hurtig("1 Mbit/s", "20 ms", 9), &in_memory);
    for (file, bytes) in files.iter().zip(outcome.captures.values()) {
        assert!(std::fs::read(file).unwrap() == *bytes && bytes.len() > 5_000);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Chunks of SCTP in a run with losses both ways: each has its row, tells its packet's reason, and what became of it.
#[test]
fn chunks_of_sctp_agree_with_the_path_and_the_counters() {
    for profile in ["rfc9260", "lksctp-2.6.15"] {
        // Behind the handshake: before its COOKIE-ACK an opener takes no data (RFC 9260 section 5.1).
        let mut scenario = with(json!(profile), json!({ "drop": "30,45,46,80-84,120-123,200,230,300-303" }));
        scenario["path"]["up"] = json!({ "drop": "40,60-63,90-99" });
        scenario["transfers"] = json!([{ "from": "server", "to": "client", "writes": "400 x 300 bytes",
            "pause": "20 ms" }]);
        let outcome = told(scenario);
        let rows: Vec<_> = outcome.transmissions.iter().filter(|row| row.host == SERVER).collect();
        let mut positions: Vec<u64> = rows.iter().map(|row| row.position).collect();
        positions.dedup();
        let sent = outcome.verdicts.iter().filter(|v| v.link == DOWN);
        assert_eq!(positions, sent.map(|v| v.row.verdict.position).collect::<Vec<_>>(), "{profile}");
        let chunks: Vec<_> = rows.iter().filter(|row| row.chunk.is_some()).collect();
        let firsts: Vec<i64> = chunks.iter().filter(|r| r.transmission == 1).map(|row| row.seq).collect();
        assert_eq!(firsts, (0..400).collect::<Vec<_>>(), "{profile}");
        let repeats = chunks.iter().filter(|row| row.transmission > 1);
        assert_eq!(repeats.clone().count() as u64, outcome.row.retransmits, "{profile}");
        assert!(repeats.clone().any(|row| matches!(row.reason, Reason::Timeout { .. })), "{profile}");
        assert!(repeats.clone().any(|row| matches!(row.reason, Reason::Fast { .. })), "{profile}");
        assert!(repeats.clone().all(|row| row.earlier != Earlier::None), "{profile}");
        // Every chunk arrives in the end, and one whose copies were all lost was needed.
        for seq in 0..400 {
            let copies: Vec<_> = chunks.iter().filter(|row| row.seq == seq).collect();
            assert!(copies.iter().any(|row| row.arrived.is_some()), "{profile} {seq}");
            for pair in copies.windows(2) {
                let there = copies.iter().any(|c| c.arrived.is_some_and(|at| at <= pair[1].time));
                assert_eq!(pair[1].earlier == Earlier::There, there, "{profile} {pair:?}");
            }
        }
    }
}
