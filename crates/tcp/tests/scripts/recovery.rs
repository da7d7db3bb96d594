//! Fast retransmit and recovery (FB-FR), growth of cwnd (FB-CW).

use serde_json::{Value, json};

use crate::common::*;

const MSS: u64 = 1448;

fn merged(base: Value, over: &Value) -> Value {
    let mut base = base;
    for (key, table) in over.as_object().expect("a table") {
        for (inner, value) in table.as_object().expect("a table") {
            base[key][inner] = value.clone();
        }
    }
    base
}

/// Twelve segments are out, 1449..17377, written 33304; cwnd is 11 or 12 segments, the peer's window 66608.
fn sender(changes: Value, sack: bool) -> Script {
    let base = json!({ "initial_window": 10, "recovery": { "limited_transmit": 0 } });
    let mut t = Script::server(freebsd(merged(base, &changes))).with_peer(Peer { sack, ..Peer::default() });
    t.establish(10).expect_cwnd(11 * MSS);
    t.write(33_304);
    t.drain();
    t.at_ms(20).recv(ack(1449)).expect_cwnd(12 * MSS);
    t.drain();
    assert_eq!(t.flight(), 12 * MSS);
    t
}

/// Three duplicates of a SACK connection; the first hole is 1449..2897.
fn sack_entry(changes: Value) -> Script {
    let mut t = sender(changes, true);
    t.recv(ack(1449).sack([(2897, 4345)]));
    t.recv(ack(1449).sack([(2897, 5793)]));
    t.recv(ack(1449).sack([(2897, 7241)])).expect(data(1449..2897));
    t.expect_phase("recovery");
    t
}

/// Entry: ssthresh is half of min(wnd, cwnd) in whole segments, cwnd one segment, the first hole leaves.
#[test]
fn fb_fr_2_and_3_entry_with_sack() {
    let t = sack_entry(json!({}));
    assert_eq!((t.ssthresh(), t.snap().cwnd), (Some(6 * MSS), MSS));
    assert_eq!(t.conn.counters().fast_retransmits, 1);
    assert!(t.snap().rexmt_due.is_some());
}

/// The peer's window is the smaller one: it is halved.
#[test]
fn fb_fr_2_the_peers_window_counts() {
    let mut t =
        Script::server(freebsd(json!({ "initial_window": 10, "recovery": { "limited_transmit": 0 } })))
            .with_peer(Peer { wscale: None, win: 7240, ..Peer::default() });
    t.establish(10);
    t.write(14_480);
    t.drain();
    for _ in 0..3 {
        t.recv(ack(1).sack([(1449, 2897)]));
    }
    t.expect(data(1..1449)).expect_ssthresh(2 * MSS);
}

/// Further duplicates: cwnd grows by a segment while less than ssthresh is out, and no further.
#[test]
fn fb_fr_5_growth_to_ssthresh_by_awnd() {
    let mut t = sack_entry(json!({}));
    // awnd = (18825 - 8689) + 1448 = 11584 >= 8688: no growth.
    t.recv(ack(1449).sack([(2897, 8689)])).expect_cwnd(MSS).expect_nothing();
    t.recv(ack(1449).sack([(2897, 10_137)])).expect_cwnd(MSS).expect_nothing();
    // awnd = (18825 - 11585) + 1448 = 8688: still not below.
    t.recv(ack(1449).sack([(2897, 11_585)])).expect_cwnd(MSS).expect_nothing();
    // 7240: one segment more, new data, as no hole is left.
    t.recv(ack(1449).sack([(2897, 13_033)])).expect_cwnd(2 * MSS).expect(data(18_825..20_273));
}

/// A second hole is sent again before new data.
#[test]
fn fb_out_5_and_6_holes_before_new_data() {
    let mut t = sender(json!({}), true);
    t.recv(ack(1449).sack([(2897, 4345)]));
    t.recv(ack(1449).sack([(2897, 4345), (5793, 7241)]));
    t.recv(ack(1449).sack([(2897, 4345), (5793, 8689)])).expect(data(1449..2897)).expect_cwnd(MSS);
    t.recv(ack(1449).sack([(2897, 4345), (5793, 14_481)])).expect_cwnd(2 * MSS).expect(data(4345..5793));
    t.recv(ack(1449).sack([(2897, 4345), (5793, 15_929)])).expect_cwnd(3 * MSS).expect(data(18_825..20_273));
}

/// A partial ACK: what was resent, the new data, and one segment; two if it acknowledges more than two.
#[test]
fn fb_fr_6_partial_ack_with_sack() {
    let mut t = sender(json!({}), true);
    t.recv(ack(1449).sack([(2897, 4345)]));
    t.recv(ack(1449).sack([(2897, 4345), (8689, 10_137)]));
    t.recv(ack(1449).sack([(2897, 4345), (8689, 11_585)])).expect(data(1449..2897));
    // 2 segments acknowledged: 0 resent + 0 new + 1.
    t.recv(ack(4345).sack([(8689, 11_585)])).expect_cwnd(MSS).expect(data(4345..5793));
    t.recv(ack(5793).sack([(8689, 11_585)])).expect_cwnd(MSS).expect(data(5793..7241));
    t.recv(ack(7241).sack([(8689, 11_585)])).expect(data(7241..8689));
    // 3 segments: 2. No hole is left and less than the flight is allowed: an answer without data (FB-FR-7).
    t.recv(ack(11_585)).expect_cwnd(2 * MSS).expect(ack(1).seq(18_825));
}

/// Recovery ends with all acknowledged: cwnd is one segment, and slow start follows.
#[test]
fn t_fb_4_and_fb_fr_9_and_10_exit_through_slow_start() {
    let mut t = sack_entry(json!({}));
    t.recv(ack(18_825)).expect_phase("open").expect_cwnd(MSS).expect_ssthresh(6 * MSS);
    t.expect(data(18_825..20_273));
    t.recv(ack(20_273)).expect_cwnd(2 * MSS);
    assert_eq!(t.drain().len(), 2);
}

/// The same script, the other windows with which recovery may end.
#[test]
fn fb_fr_9_twin_exit_windows() {
    for (exit, want) in [("bsd-slow-start", MSS), ("rfc6582", 2 * MSS), ("ssthresh", 6 * MSS)] {
        let mut t = sack_entry(json!({ "recovery": { "exit": exit } }));
        t.recv(ack(18_825)).expect_phase("open").expect_cwnd(want).expect_ssthresh(6 * MSS);
        assert_eq!(t.drain().len() as u64, want / MSS);
    }
}

/// With more than ssthresh still out, cwnd = ssthresh, whichever choice.
#[test]
fn fb_fr_9_a_full_pipe_leaves_with_ssthresh() {
    for exit in ["bsd-slow-start", "rfc6582", "ssthresh"] {
        let mut t = sender(json!({ "recovery": { "exit": exit, "plain": "new-reno" } }), false);
        for _ in 0..3 {
            t.recv(ack(1449));
        }
        t.expect(data(1449..2897));
        // The window is inflated by each duplicate: eight segments of new data leave.
        for _ in 0..11 {
            t.recv_more(ack(1449));
        }
        assert_eq!(t.drain().len(), 8);
        t.recv(ack(18_825)).expect_phase("open").expect_cwnd(6 * MSS);
        t.drain();
    }
}

/// SACK connections do not compare with `recover`: duplicates of a go-back-N start an episode. With nothing
/// reported missing nothing is sent.
#[test]
fn t_fb_5_and_fb_fr_1_duplicates_after_a_timeout_with_sack() {
    let mut t = after_timeout(json!({}), true);
    for _ in 0..3 {
        t.recv(ack(2897));
    }
    t.expect_nothing().expect_phase("recovery");
}

/// With the guard of RFC 6582 section 3.2 step 1...
#[test]
fn fb_fr_1_twin_guarded() {
    let mut t = after_timeout(json!({ "recovery": { "sack_entry_guard": true } }), true);
    for _ in 0..3 {
        t.recv(ack(2897));
    }
    t.expect_nothing().expect_phase("loss");
}

/// ...which NewReno always has.
#[test]
fn t_fb_6_duplicates_after_a_timeout_without_sack() {
    let mut t = after_timeout(json!({}), false);
    for _ in 0..3 {
        t.recv(ack(2897));
    }
    t.expect_nothing().expect_phase("loss");
}

/// Plain Reno has no test at all.
#[test]
fn fb_fr_1_twin_reno() {
    let mut t = after_timeout(json!({ "recovery": { "plain": "reno" } }), false);
    for _ in 0..3 {
        t.recv(ack(2897));
    }
    t.expect(data(2897..4345)).expect_phase("recovery");
}

/// A timeout, then 1449 and 2897 acknowledged late: una = 2897, nxt = max = 5793 = recover.
fn after_timeout(changes: Value, sack: bool) -> Script {
    let mut t = Script::server(freebsd(changes)).with_peer(Peer { sack, ..Peer::default() });
    t.establish(10);
    t.write(5792);
    t.drain();
    t.expect_at_ms(243, data(1..1449));
    t.at_ms(300).recv(ack(1449)).expect(data(1449..2897)).expect(data(2897..4345));
    t.at_ms(350).recv(ack(2897)).expect(data(4345..5793));
    t
}

/// A partial ACK with nothing to send is answered by a segment without data...
#[test]
fn t_fb_7_and_fb_fr_7_a_partial_ack_is_answered() {
    let mut t = after_timeout(json!({}), true);
    for _ in 0..3 {
        t.recv(ack(2897));
    }
    t.recv(ack(4345)).expect(ack(1).seq(5793)).expect_phase("recovery");
}

/// ...or not.
#[test]
fn fb_fr_7_twin_no_answer() {
    let mut t = after_timeout(json!({ "recovery": { "partial_ack_answers": false } }), true);
    for _ in 0..3 {
        t.recv(ack(2897));
    }
    t.recv(ack(4345)).expect_nothing().expect_phase("recovery");
}

/// An empty scoreboard gives awnd no meaning: cwnd stays at one segment.
#[test]
fn fb_fr_5_no_growth_without_a_report() {
    let mut t = after_timeout(json!({}), true);
    for _ in 0..9 {
        t.recv(ack(2897));
    }
    t.expect_cwnd(MSS).expect_nothing();
}

/// Without SACK: one segment from una, then cwnd = ssthresh + 3; each further duplicate inflates it.
#[test]
fn fb_fr_4_and_5_entry_without_sack() {
    let mut t = sender(json!({}), false);
    t.recv(ack(1449)).recv(ack(1449)).recv(ack(1449)).expect(data(1449..2897));
    t.expect_ssthresh(6 * MSS).expect_cwnd(9 * MSS);
    for i in 10..=12 {
        t.recv(ack(1449)).expect_nothing().expect_cwnd(i * MSS);
    }
    t.recv(ack(1449)).expect(data(18_825..20_273)).expect_cwnd(13 * MSS);
}

/// Segments that limited transmit has sent are not counted again.
#[test]
fn fb_fr_4_twin_with_limited_transmit() {
    let mut t = sender(json!({ "recovery": { "limited_transmit": 2 } }), false);
    t.recv(ack(1449)).expect(data(18_825..20_273));
    t.recv(ack(1449)).expect(data(20_273..21_721));
    t.recv(ack(1449)).expect(data(1449..2897)).expect_ssthresh(6 * MSS).expect_cwnd(7 * MSS);
}

/// NewReno's partial ACK: the next hole, cwnd less what was acknowledged and one segment more.
#[test]
fn fb_fr_8_partial_ack_without_sack() {
    let mut t = sender(json!({}), false);
    t.recv(ack(1449)).recv(ack(1449)).recv(ack(1449)).expect(data(1449..2897));
    t.recv(ack(5793)).expect(data(5793..7241)).expect_cwnd((9 - 3 + 1) * MSS).expect_phase("recovery");
    t.recv(ack(18_825)).expect_phase("open").expect_cwnd(MSS);
    t.drain();
}

/// Reno: the first ACK of new data ends recovery with min(cwnd, ssthresh), and grows it.
#[test]
fn fb_fr_8_and_11_twin_reno() {
    let mut t = sender(json!({ "recovery": { "plain": "reno" } }), false);
    t.recv(ack(1449)).recv(ack(1449)).recv(ack(1449)).expect(data(1449..2897)).expect_cwnd(9 * MSS);
    t.recv(ack(5793)).expect_phase("open").expect_cwnd(7 * MSS).expect_nothing();
}

/// Slow start up to and at ssthresh, then MSS * MSS / cwnd.
#[test]
fn fb_cw_1_growth_per_ack() {
    let mut t = serve(json!({}));
    t.write(33_304);
    t.drain();
    t.at_ms(243).drain();
    t.expect_ssthresh(2 * MSS).expect_cwnd(MSS);
    let mut at = 400;
    for (n, want) in [(1449, 2896), (2897, 4344), (4345, 4344 + 482), (7241, 4826 + 434)] {
        at += 10;
        t.at_ms(at).recv(ack(n)).expect_cwnd(want);
        t.drain();
    }
}

/// BSD's header prediction leaves cwnd alone while it covers the peer's window...
#[test]
fn fb_cw_2_the_fast_path_skips_growth() {
    let small = Peer { wscale: None, win: 4344, ..Peer::default() };
    let mut t = Script::server(freebsd(json!({}))).with_peer(small);
    t.establish(10).expect_cwnd(5828);
    t.write(14_480);
    assert_eq!(t.drain().len(), 3);
    t.at_ms(20).recv(ack(1449)).expect(data(4345..5793)).expect_cwnd(5828);
    // Another window: the slow path, and growth.
    t.at_ms(30).recv(ack(2897).win(4300)).expect_cwnd(7276);
    t.drain();
}

/// ...or not.
#[test]
fn fb_cw_2_twin_growth_always() {
    let small = Peer { wscale: None, win: 4344, ..Peer::default() };
    let mut t =
        Script::server(freebsd(json!({ "window": { "fast_path_skips_growth": false } }))).with_peer(small);
    t.establish(10);
    t.write(14_480);
    t.drain();
    t.at_ms(20).recv(ack(1449)).expect(data(4345..5793)).expect_cwnd(7276);
}

/// An ACK of all stops the timer, one of a part starts it anew with the new timeout.
#[test]
fn fb_cw_3_and_fb_rto_9_the_timer_after_an_ack() {
    let mut t = serve(json!({}));
    t.write(2896);
    t.drain();
    t.at_ms(30).recv(ack(1449));
    let due = t.snap().rexmt_due.expect("runs").as_nanos();
    assert_eq!(due, 30_000_000 + t.rto().as_nanos());
    t.recv(ack(2897));
    assert_eq!(t.snap().rexmt_due, None);
}

/// At entry and at a partial ACK the timer starts in full with the retransmission.
#[test]
fn fb_rto_9_the_timer_in_recovery() {
    let mut t = sender(json!({}), true);
    t.at_ms(100);
    t.recv(ack(1449).sack([(2897, 4345)])).recv(ack(1449).sack([(2897, 5793)]));
    let before = t.snap().rexmt_due;
    t.recv(ack(1449).sack([(2897, 7241)])).expect(data(1449..2897));
    assert!(t.snap().rexmt_due > before);
    assert_eq!(t.snap().rexmt_due.expect("runs").as_nanos(), 100_000_000 + t.rto().as_nanos());
}
