//! RFC 6675 by its steps. The initial window is ten segments.

use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, expect_segments, sack, seg, server};

fn ten(changes: Value) -> Script {
    server(profile("rfc-2014", changes), Peer::default(), 40, 10)
}

/// Ten segments and no more to send.
fn only_ten(changes: Value) -> Script {
    server(profile("rfc-2014", changes), Peer::default(), 10, 10)
}

/// Steps (1), (3), (4), (C): limited transmit by the pipe, entry at the third duplicate, ssthresh from a
/// flight without what limited transmit sent, one segment for each SACK once the pipe is below cwnd.
#[test]
fn section_5_one_loss() {
    let mut t = ten(json!({}));
    t.at_ms(40);
    t.recv(sack(1, 2, 2)).expect(seg(11)).expect_phase("disorder");
    t.recv(sack(1, 2, 3)).expect(seg(12)).expect_cwnd(10 * 1448);
    t.recv(sack(1, 2, 4)).expect(seg(1)).expect_phase("recovery");
    t.expect_ssthresh(5 * 1448).expect_cwnd(5 * 1448);
    // 12 out, 3 SACKed, 1 lost, 1 resent: a pipe of 9. It is 5 when segment 8 is reported.
    for last in 5..=8 {
        t.recv(sack(1, 2, last)).expect_nothing();
    }
    for (last, next) in [(9, 13), (10, 14), (11, 15), (12, 16)] {
        t.recv(sack(1, 2, last)).expect(seg(next));
    }
    // Step (A): all up to RecoveryPoint.
    t.at_ms(60).recv(ack(at(13))).expect(seg(17)).expect_phase("open").expect_cwnd(5 * 1448);
}

/// Step (2): more than two segments' worth SACKed above una, in one report.
#[test]
fn section_5_step_2_entry_by_is_lost() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 3)).expect(seg(11)).expect(seg(12)).expect_phase("disorder");
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 4)).expect(seg(1)).expect_phase("recovery").expect_ssthresh(5 * 1448);
    // Three discontiguous ranges do too, however short.
    let mut t = ten(json!({}));
    let three = ack(1).sack([2, 4, 6].map(|n| (at(n), at(n) + 100)));
    t.at_ms(40).recv(three).expect_phase("recovery").expect(seg(1));
}

/// Step (1): three duplicates, though less than two segments' worth is SACKed.
#[test]
fn section_5_step_1_entry_by_duplicates() {
    let mut t = ten(json!({}));
    t.at_ms(40);
    for end in [100, 200] {
        t.recv(ack(1).sack([(at(2), at(2) + end)])).expect_phase("disorder");
    }
    t.recv(ack(1).sack([(at(2), at(2) + 300)])).expect_phase("recovery").expect(seg(1));
}

/// Section 2: SACK news makes a duplicate, whatever the window; for FreeBSD a changed window is an update.
#[test]
fn section_2_a_changed_window_is_no_obstacle_twin() {
    let play = |t: &mut Script| {
        t.at_ms(40);
        for (i, last) in (2..=4).enumerate() {
            t.recv(sack(1, 2, last).win(WIN - 1 - i as u16)).drain();
        }
        t.conn.counters().fast_retransmits
    };
    assert_eq!(play(&mut ten(json!({}))), 1);
    let ten_of_freebsd = json!({ "initial_window": 10, "handshake": { "third_segment_opens_cwnd": false } });
    assert_eq!(play(&mut server(freebsd(ten_of_freebsd), Peer::default(), 40, 10)), 0);
}

/// A report without news is not a duplicate.
#[test]
fn section_2_without_news_no_duplicate() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 2)).expect(seg(11));
    for _ in 0..5 {
        t.recv(sack(1, 2, 2)).expect_nothing();
    }
    t.expect_phase("disorder");
}

/// Section 5: an ACK that moves una and brings news clears DupAcks and counts as the first.
#[test]
fn section_5_news_with_a_cumulative_acknowledgment() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(3, 5, 7)).expect(seg(3)).expect_phase("recovery");
    // cwnd grew by one segment in slow start; 8 segments were in flight.
    t.expect_ssthresh(4 * 1448);
}

/// NextSeg rule (1): lost holes before new data; rule (2): new data once none is lost.
#[test]
fn section_4_lost_holes_first() {
    let mut t = ten(json!({}));
    // 1 and 4 lost, 8 to 10 out: a pipe of 4 with the retransmission.
    let report = ack(1).sack([(at(5), at(8)), (at(2), at(4))]);
    t.at_ms(40).recv(report).expect(seg(1)).expect(seg(4)).expect_nothing();
    t.recv(ack(1).sack([(at(5), at(9)), (at(2), at(4))])).expect(seg(11));
}

/// NextSeg rule (3): without new data a hole that is not lost, once.
#[test]
fn section_4_any_hole_without_new_data() {
    let mut t = only_ten(json!({}));
    let report = ack(1).sack([(at(9), at(11)), (at(2), at(8))]);
    t.at_ms(40).recv(report).expect(seg(1)).expect(seg(8)).expect_nothing();
    // With new data that goes first: 8 stays in the pipe.
    let mut t = ten(json!({}));
    let report = ack(1).sack([(at(9), at(11)), (at(2), at(8))]);
    t.at_ms(40).recv(report).expect(seg(1));
    expect_segments(&mut t, 11..=13);
}

/// NextSeg rule (4): one rescue of the last segment, once una has passed the first retransmission.
#[test]
fn section_4_one_rescue() {
    let mut t = only_ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 9)).expect(seg(1)).expect_nothing();
    t.at_ms(60).recv(ack(at(10))).expect(seg(10));
    t.at_ms(80).recv(ack(at(10))).expect_nothing();
    // Lost too: the timer, started at the last acknowledgment of new data.
    t.expect_at_ms(1_060, seg(10)).expect_phase("loss");
}

/// The rescue takes the highest byte not SACKed, even below a SACKed one.
#[test]
fn section_4_the_rescue_may_be_a_hole_already_resent() {
    let mut t = only_ten(json!({}));
    let report = ack(1).sack([(at(10), at(11)), (at(2), at(9))]);
    t.at_ms(40).recv(report).expect(seg(1)).expect(seg(9)).expect_nothing();
    t.at_ms(60).recv(sack(9, 10, 10)).expect(seg(9));
    t.at_ms(80).recv(sack(9, 10, 10)).expect_nothing();
}

/// The retransmission timer runs on at entry (RFC 6298 section 5.3; RFC 6675 section 6).
#[test]
fn section_6_the_timer_is_not_restarted_at_entry() {
    let mut t = ten(json!({}));
    t.at_ms(500).recv(sack(1, 2, 4)).expect(seg(1));
    t.expect_at_ms(1_020, seg(1)).expect_cwnd(u64::from(MSS));
}

/// Section 5.1: after a timeout what was SACKed is sent again; where reports are kept, it is not.
#[test]
fn section_5_1_a_timeout_forgets_reports() {
    for (forgets, third) in [(true, 5), (false, 6)] {
        let mut t = only_ten(json!({ "recovery": { "forget_sack_at_timeout": forgets } }));
        t.at_ms(40).recv(sack(1, 5, 5));
        t.expect_at_ms(1_020, seg(1)).expect_cwnd(1448).expect_ssthresh(5 * 1448);
        t.at_ms(1_040).recv(ack(at(2))).expect(seg(2)).expect(seg(3));
        t.at_ms(1_060).recv(ack(at(3))).expect(seg(4)).expect(seg(third));
        t.drain();
    }
}

/// Section 5.1: no new recovery until all that the timeout found is acknowledged, but reports are used.
#[test]
fn section_5_1_no_recovery_before_recovery_point() {
    let mut t = only_ten(json!({}));
    t.expect_at_ms(1_020, seg(1));
    t.at_ms(1_040).recv(sack(2, 4, 9)).expect(seg(2)).expect(seg(3));
    t.recv(sack(2, 4, 10)).expect_nothing();
    t.expect_phase("loss");
    t.at_ms(1_060).recv(ack(at(11))).expect_phase("open");
    assert_eq!(t.conn.counters().fast_retransmits, 0);
}

/// RFC 6298 section 5.5, RFC 5681 section 3.1: the interval doubles, ssthresh falls once.
#[test]
fn a_second_timeout_leaves_ssthresh() {
    let mut t = only_ten(json!({}));
    t.expect_at_ms(1_020, seg(1)).expect_ssthresh(5 * 1448);
    t.expect_at_ms(3_020, seg(1)).expect_ssthresh(5 * 1448);
    t.expect_at_ms(7_020, seg(1));
}

/// Karn's rule holds for a segment that was timed and then resent from a hole.
#[test]
fn a_resent_segment_gives_no_sample() {
    let mut t = ten(json!({}));
    t.at_ms(40).recv(sack(1, 2, 4)).expect(seg(1));
    // 11 is the first new segment after the entry, and is timed.
    for last in 5..=10 {
        t.recv(sack(1, 2, last)).drain();
    }
    let before = t.snap().srtt;
    // It is lost and resent.
    t.at_ms(400).recv(ack(1).sack([(at(12), at(14)), (at(2), at(11))])).drain();
    t.recv(ack(1).sack([(at(12), at(16)), (at(2), at(11))])).expect(seg(11));
    t.drain();
    t.at_ms(900).recv(ack(at(16))).drain();
    assert_eq!(t.snap().srtt, before);
}

/// With CUBIC the factor is 0.7, of the flight.
#[test]
fn cubic_is_one_line_away() {
    let mut t = ten(json!({ "congestion": { "algorithm": "cubic" } }));
    t.at_ms(40).recv(sack(1, 2, 4)).expect(seg(1));
    t.expect_ssthresh(10 * 1448 * 7 / 10);
    t.drain();
}
