//! RFC 6582: the same profile without SACK.

use serde_json::{Value, json};

use super::common::*;
use super::{at, expect_segments, seg, server};

fn ten(changes: Value) -> Script {
    let peer = Peer { sack: false, ..Peer::default() };
    server(profile("rfc-2014", changes), peer, 40, 10)
}

/// Duplicates, the first two of which let out one new segment each.
fn three_duplicates(t: &mut Script) {
    t.at_ms(40);
    t.recv(ack(1)).expect(seg(11));
    t.recv(ack(1)).expect(seg(12));
    t.recv(ack(1)).expect(seg(1)).expect_phase("recovery");
}

/// Step 2 and RFC 5681 section 3.2: ssthresh from the flight without limited transmit; three segments of
/// inflation, one for each further duplicate; full acknowledgment, first choice.
#[test]
fn step_2_one_loss() {
    let mut t = ten(json!({}));
    three_duplicates(&mut t);
    t.expect_ssthresh(5 * 1448).expect_cwnd(8 * 1448);
    for _ in 4..=7 {
        t.recv(ack(1)).expect_nothing();
    }
    for n in 13..=16 {
        t.recv(ack(1)).expect(seg(n));
    }
    // min(5, 4 in flight + 1).
    t.at_ms(60).recv(ack(at(13))).expect(seg(17)).expect_cwnd(5 * 1448).expect_phase("open");
}

/// BSD's accounting subtracts what limited transmit sent from the inflation (FB-FR-4).
#[test]
fn step_2_twin_bsd_inflates_less() {
    let mut t = ten(json!({ "recovery": { "plain": "new-reno" } }));
    three_duplicates(&mut t);
    t.expect_ssthresh(5 * 1448).expect_cwnd(6 * 1448);
}

/// Step 3, both choices for a full acknowledgment with nothing in flight.
#[test]
fn step_3_full_acknowledgment_both_choices() {
    for (exit, last) in [("rfc6582", 14), ("ssthresh", 17)] {
        let mut t = ten(json!({ "recovery": { "exit": exit } }));
        three_duplicates(&mut t);
        t.at_ms(60).recv(ack(at(13)));
        expect_segments(&mut t, 13..=last);
    }
}

/// Step 3: a partial acknowledgment resends the next hole and deflates; only the first restarts the timer.
#[test]
fn step_3_partial_acknowledgments() {
    for (plain, due) in [("rfc6582", 1_060), ("new-reno", 1_080)] {
        let mut t = ten(json!({ "recovery": { "plain": plain } }));
        three_duplicates(&mut t);
        let cwnd = t.snap().cwnd;
        t.at_ms(60).recv(ack(at(5))).expect(seg(5)).expect_cwnd(cwnd - 3 * 1448);
        t.at_ms(80).recv(ack(at(8))).expect(seg(8)).expect_cwnd(cwnd - 5 * 1448);
        t.expect_phase("recovery");
        t.expect_at_ms(due, seg(8)).expect_phase("loss");
    }
}

/// Step 3: less than a segment acknowledged adds nothing back.
#[test]
fn step_3_a_small_partial_acknowledgment() {
    for (plain, back) in [("rfc6582", 0), ("new-reno", 1448)] {
        let mut t = ten(json!({ "recovery": { "plain": plain } }));
        three_duplicates(&mut t);
        let cwnd = t.snap().cwnd;
        t.at_ms(60).recv(ack(1001)).expect(data(1001..2449)).expect_cwnd(cwnd - 1000 + back);
    }
}

/// Step 2 and 4: duplicates of what a timeout found outstanding start nothing.
#[test]
fn step_4_no_fast_retransmit_after_a_timeout() {
    let mut t = ten(json!({}));
    t.expect_at_ms(1_020, seg(1));
    t.at_ms(1_040);
    for _ in 0..5 {
        t.recv(ack(1)).drain();
    }
    assert_eq!(t.conn.counters().fast_retransmits, 0);
}
