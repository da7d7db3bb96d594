//! RACK-TLP as RFC 8985 has it, packets in, packets out. The initial window is ten segments, the round trip 20 ms; what
//! decides how much leaves is RFC 9937's, whose own rules are in `rfc9937.rs`.

use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, expect_segments, sack, seg, server};

fn ten(changes: Value) -> Script {
    server(profile("rfc", changes), Peer::default(), 10, 10)
}

/// RF-RACK-2: the third reported segment ends the wait where no reordering was ever seen: what left before it is lost.
#[test]
fn section_6_2_step_4_three_reports_end_the_wait() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 2)).expect_nothing().expect_phase("disorder");
    t.recv(sack(1, 2, 3)).expect_nothing();
    t.recv(sack(1, 2, 4)).expect(seg(1)).expect_phase("recovery");
}

/// RF-RACK-5: with fewer reports the timer waits a quarter of the least round trip.
#[test]
fn section_6_2_step_5_the_reordering_timer() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 2)).expect_nothing();
    // RACK.rtt is 20 ms, the window 5 ms.
    t.expect_at_ms(45, seg(1)).expect_phase("recovery");
    assert_eq!(t.conn.counters().timeouts, 0);
    // The twin waits for the timeout.
    let mut t = ten(json!({ "recovery": { "rack": false, "tail_probe": false } }));
    t.at_ms(40).recv(sack(1, 2, 2)).expect_nothing_until_ms(200);
}

/// RF-RACK-1: a segment that comes late by less than the window makes no retransmission, and from there on reports alone
/// end no wait.
#[test]
fn section_6_2_step_3_reordering_that_was_seen() {
    let mut t = server(profile("rfc", json!({})), Peer::default(), 30, 10);
    t.at_ms(40).recv(sack(1, 2, 2)).expect(seg(11)).expect_phase("disorder");
    t.at_ms(43).recv(ack(at(3))).expect_phase("open");
    t.drain();
    // Segment 3 is overtaken by four: nothing leaves again before the window has passed.
    t.recv(sack(3, 4, 7)).expect_phase("disorder");
    assert!(t.drain().iter().all(|(_, s)| s.seq.unwrap() > at(10)));
    // What came last took 23 ms, and the window is 5 ms.
    t.expect_at_ms(48, seg(3)).expect_phase("recovery");
}

/// RF-RACK-3: a report of a duplicate widens the window by a quarter of the least round trip, once a round trip.
#[test]
fn section_6_2_step_4_a_duplicate_widens_the_window() {
    let due = |reports: u32| {
        let mut t = server(profile("rfc", json!({})), Peer::default(), 40, 10);
        t.at_ms(40).recv(ack(at(3)));
        t.drain();
        for _ in 0..reports {
            t.recv(ack(at(3)).sack([(at(1), at(2))]));
            t.drain();
        }
        t.recv(sack(3, 4, 4));
        t.drain();
        t.advance_ms(18);
        let again: Vec<_> =
            t.drain().iter().filter(|(_, s)| s.seq == Some(at(3))).map(|(at, _)| *at).collect();
        again[0]
    };
    assert_eq!(due(0), 45);
    assert_eq!(due(1), 50);
    assert_eq!(due(2), 50); // Within the same round trip.
}

/// RF-RACK-4: a retransmission that is lost is found by what left after it.
#[test]
fn section_6_2_a_lost_retransmission_is_found() {
    let mut t = server(profile("rfc", json!({})), Peer::default(), 60, 10);
    t.at_ms(40).recv(sack(1, 2, 4));
    let first: Vec<_> = t.drain();
    assert_eq!(first[0].1.seq, Some(at(1)));
    let mut new = Vec::new();
    for last in 5..=10 {
        t.recv(sack(1, 2, last));
        new.extend(t.drain());
    }
    assert_eq!(new[0].1.seq, Some(at(11)));
    // What left at 40 ms, after the retransmission, arrives: the retransmission did not.
    t.at_ms(60).recv(sack(1, 2, 11)).expect(seg(1)).drain();
    assert_eq!(t.conn.counters().timeouts, 0);
    // By counting, as RFC 6675 does, that is left to the timer.
    let mut t = server(profile("rfc", json!({ "recovery": { "rack": false } })), Peer::default(), 60, 10);
    t.at_ms(40).recv(sack(1, 2, 4)).drain();
    t.recv(sack(1, 2, 10)).drain();
    t.at_ms(60).recv(sack(1, 2, 11));
    assert!(t.drain().iter().all(|(_, s)| s.seq != Some(at(1))));
}

/// RF-RACK-4: without PRR a lost retransmission lowers the window once more (section 9.3); with it the rate does.
#[test]
fn section_9_3_a_lost_retransmission_is_a_congestion_event_twin() {
    let play = |prr: &str| {
        let changes = json!({
            "recovery": { "prr": prr },
            "congestion": { "algorithm": "reno", "hystart": "off" },
        });
        let mut t = server(profile("rfc", changes), Peer::default(), 60, 10);
        t.at_ms(40).recv(sack(1, 2, 4)).drain();
        t.expect_ssthresh(5 * 1448);
        t.recv(sack(1, 2, 10)).drain();
        // It leaves again, with PRR at once, else when the smaller window has room for it.
        t.at_ms(60);
        let seen: Vec<_> = (11..=14)
            .filter(|last| {
                t.recv(sack(1, 2, *last));
                t.drain().iter().any(|s| s.1.seq == Some(1))
            })
            .collect();
        (t.ssthresh().unwrap() / 1448, seen)
    };
    assert_eq!(play("off"), (2, vec![13]));
    assert_eq!(play("rfc9937"), (5, vec![11]));
}

/// RF-RACK-6: an ACK that echoes what the first copy carried says nothing of when the retransmission arrived.
#[test]
fn section_6_2_step_2_an_earlier_copy_says_nothing() {
    // The probe repeats segment 10 at 60 ms; its original, which left at 20 ms, arrives late.
    let mut t = ten(json!({}));
    t.expect_at_ms(60, seg(10));
    t.at_ms(81).recv(sack(1, 10, 10).ts_val(100_081, 20)).expect_nothing().expect_phase("disorder");
    t.at_ms(82).drain();
    // The twin: the probe itself arrives, so all that left before it is lost.
    let mut t = ten(json!({}));
    t.expect_at_ms(60, seg(10));
    t.at_ms(81).recv(sack(1, 10, 10)).expect(seg(1)).expect_phase("recovery");
    t.drain();
}

/// RF-RACK-7: a timeout loses what left a round trip ago, and not what has just left.
#[test]
fn section_6_3_a_timeout_spares_what_is_young() {
    let changes = json!({ "recovery": { "frto": false, "tail_probe": false } });
    let mut t = server(profile("rfc", changes), Peer::default(), 3, 3);
    t.at_ms(40).recv(ack(at(2)));
    // Two more a moment before the timer expires.
    t.at_ms(1_030).write(u64::from(2 * MSS));
    expect_segments(&mut t, 4..=5);
    t.expect_at_ms(1_040, seg(2)).expect_phase("loss");
    // cwnd is two segments, and the young ones are in flight: the other old one waits for them.
    t.at_ms(1_045).recv(ack(at(3))).expect_cwnd(u64::from(2 * MSS)).expect_nothing();
    t.at_ms(1_050).recv(sack(3, 4, 5)).expect(seg(3)).expect_nothing();
    t.at_ms(1_070).recv(ack(at(6))).expect_phase("open");
}

/// RF-TLP-1 to RF-TLP-3: two round trips of silence send the last segment again; what its report shows to be lost is
/// repaired in recovery, without a timeout.
#[test]
fn section_7_a_lost_tail_is_probed_for_and_repaired() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(ack(at(8))).expect_nothing();
    // Segments 8 to 10 are lost.
    let probe = 40 + 2 * t.snap().srtt.unwrap().as_nanos() / 1_000_000;
    t.expect_at_ms(probe, seg(10));
    t.at_ms(probe + 20).recv(sack(8, 10, 10)).expect(seg(8)).expect_phase("recovery");
    t.at_ms(probe + 40).recv(sack(9, 10, 10)).expect(seg(9));
    t.at_ms(probe + 60).recv(ack(at(11))).expect_phase("open");
    assert_eq!(t.conn.counters().timeouts, 0);
}
