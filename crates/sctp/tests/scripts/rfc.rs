//! Losses, windows and timers of RFC 9260.

use rexmit_stack::Reason;
use serde_json::json;

use crate::common::{Script, gaps, rfc, sack};

fn up() -> Script {
    Script::up(rfc(json!({})))
}

/// RFC 9260 section 7.2.1: min(4 x 1468, max(2 x 1468, 4404)).
#[test]
fn the_first_window() {
    let mut t = up();
    t.expect_cwnd(4404).expect_no_ssthresh();
    t.writes(5, 1452);
    assert_eq!(t.drain().len(), 4, "4356 < 4404 lets out one more");
    t.at_ms(10).recv(sack(2)).expect_cwnd(4404 + 1468).drain();
}

/// RFC 9260 section 7.2.4: the third report; once a chunk; the window lowered once until the exit point.
#[test]
fn fast_recovery() {
    let mut t = up();
    t.writes(40, 100).drain();
    t.recv(gaps(0, &[(2, 2)])).recv(gaps(0, &[(2, 3)])).expect_nothing();
    let reason = Reason::Fast { duplicates: 3, sacked: 3 };
    t.recv(gaps(0, &[(2, 4)])).expect_for("1:100", reason).expect_cwnd(4 * 1468).expect_ssthresh(4 * 1468);
    assert_eq!(t.snap().phase, "recovery");
    // 5 is lost too, and 1 again: it is not sent a second time by reports.
    for last in 6..12 {
        t.recv(gaps(0, &[(2, 4), (6, last)]));
        if last == 8 {
            t.expect_for("5:100", Reason::RetransmitQueue);
        }
    }
    t.expect_cwnd(4 * 1468);
    assert_eq!(t.assoc.counters().fast_retransmits, 1);
    t.recv(sack(39)).expect_cwnd(4 * 1468);
    assert_eq!(t.snap().phase, "recovery");
    t.recv(sack(40));
    assert_eq!(t.snap().phase, "open");
}

/// RFC 9260 section 7.2.4: only what lies below the highest TSN newly acknowledged is struck.
#[test]
fn the_highest_newly_acknowledged() {
    let mut t = up();
    t.writes(10, 100).drain();
    // 9 is acknowledged first; each later SACK newly acknowledges TSNs below 5.
    t.recv(gaps(0, &[(9, 9)])).recv(gaps(0, &[(2, 2), (9, 9)])).recv(gaps(0, &[(2, 3), (9, 9)]));
    t.expect_for("1:100", Reason::Fast { duplicates: 3, sacked: 3 });
    // 5 to 8 have one report each, by the first SACK.
    t.recv(gaps(0, &[(2, 4), (9, 9)])).expect_nothing();
}

/// RFC 9260 section 7.2.4: in fast recovery, a SACK that moves the cumulative TSN strikes all that it reports missing.
#[test]
fn in_recovery_all_are_struck() {
    for (all, packets) in [(true, 1), (false, 0)] {
        let mut t = Script::up(rfc(json!({ "recovery": { "strike_all_in_recovery": all } })));
        t.writes(20, 100).drain();
        // 1 and 8 are lost; 8 has two reports when recovery has begun.
        t.recv(gaps(0, &[(2, 5)])).recv(gaps(0, &[(2, 7), (9, 9)])).recv(gaps(0, &[(2, 7), (9, 10)])).drain();
        // The retransmission of 1 arrives: nothing above 8 is newly acknowledged.
        t.recv(gaps(7, &[(9, 10)]));
        assert_eq!(t.drain().len(), packets);
    }
}

/// RFC 9260 section 7.2.4 item 4: T3 starts anew for the earliest chunk.
#[test]
fn a_fast_retransmit_restarts_the_timer() {
    let mut t = up();
    t.writes(6, 100).drain();
    t.at_ms(500).recv(gaps(0, &[(2, 2)])).recv(gaps(0, &[(2, 3)]));
    t.at_ms(600).recv(gaps(0, &[(2, 4)])).expect("1:100");
    let rto = t.snap().rto.unwrap().as_nanos() / 1_000_000;
    t.expect_at_ms(600 + rto, "1:100 + 5:100 + 6:100");
}

/// RFC 9260 section 6.3.3: the doubled timeout counts at once; cwnd is one chunk.
#[test]
fn timeouts_double() {
    let mut t = up();
    t.write(100).expect("1:100");
    let backoff = |backoff| Reason::Timeout { backoff };
    t.at_ms(999).expect_nothing().at_ms(1000).expect_for("1:100", backoff(1)).expect_cwnd(1468);
    t.at_ms(3000).expect_for("1:100", backoff(2)).at_ms(7000).expect_for("1:100", backoff(3));
    t.expect_ssthresh(4 * 1468).at_ms(8000).recv(sack(1)).expect_rto_ms(8000);
    // Karn: no sample of what has left twice; the next one ends the backoff.
    t.write(100).expect("2:100").at_ms(8010).recv(sack(2)).expect_rto_ms(1000);
}

/// RFC 9260 section 6.3.3 E3: one packet of the earliest chunks; the rest as the window allows.
#[test]
fn one_packet_after_a_timeout() {
    let mut t = up();
    t.writes(4, 1000).drain();
    t.at_ms(1000).expect_for("1:1000", Reason::Timeout { backoff: 1 });
    t.at_ms(1010).recv(sack(1)).expect_for("2:1000", Reason::RetransmitQueue);
    t.expect_for("3:1000", Reason::RetransmitQueue);
}

/// RFC 9260 section 7.2.2: a step for each window's worth of bytes.
#[test]
fn congestion_avoidance() {
    let mut t = up();
    t.writes(4, 1452).drain();
    t.at_ms(1000).expect("1:1452").recv(sack(4)).expect_cwnd(1468).expect_ssthresh(4 * 1468);
    let mut written = 4;
    let mut acked = 4;
    let mut seen = Vec::new();
    for _ in 0..40 {
        while t.snap().in_flight.unwrap() < t.snap().cwnd {
            t.write(1452).drain();
            written += 1;
        }
        acked += 1;
        t.advance_ms(1).recv(sack(acked)).drain();
        seen.push(t.snap().cwnd / 1468);
    }
    assert!(written > 40);
    let steps: Vec<usize> = (4..9).map(|n| seen.iter().filter(|cwnd| **cwnd == n).count()).collect();
    // A chunk's bytes a SACK up to the threshold (1468, 2920, 4372, 5824, 7276); then a unit for each window's worth:
    // 7276 bytes are five chunks and a bit, and what is left over counts for the next step.
    assert_eq!((&seen[..4], &steps[..4]), (&[1, 2, 3, 4][..], &[6, 6, 7, 8][..]), "{seen:?}");
}

/// RFC 9260 section 7.2.1: over a pause of some timeouts the window falls by half for each, to four chunks at least.
#[test]
fn a_pause_halves_the_window() {
    let mut t = up();
    let mut acked = 0;
    while t.snap().cwnd < 40_000 {
        t.writes(40, 1452).drain();
        while t.snap().in_flight.unwrap() > 0 {
            acked += 1;
            t.recv(sack(acked)).drain();
        }
    }
    let cwnd = t.snap().cwnd;
    t.advance_ms(2_500).write(100).drain();
    t.expect_cwnd(cwnd / 4).expect_ssthresh(cwnd);
    t.recv(sack(acked + 1)).advance_ms(60_000).write(100).expect_cwnd(4 * 1468).drain();
}

/// Nagle (RFC 9260 section 6.1): a packet that is not full waits while data are in flight.
#[test]
fn nagle() {
    let mut t = Script::up(rfc(json!({ "output": { "nagle": true } })));
    t.write(100).expect("1:100").write(100).write(100).expect_nothing();
    t.recv(sack(1)).expect("2:100 + 3:100");
}
