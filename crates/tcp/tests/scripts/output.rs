//! When a segment may leave (FB-OUT).

use serde_json::json;

use crate::common::*;

/// The "idle" mark lasts until the last piece of a write: its short end leaves at once...
#[test]
fn fb_out_1_idle_lasts_until_the_last_piece() {
    let mut t = serve(json!({}));
    t.write(2100);
    t.expect(data(1..1449)).expect(data(1449..2101).psh());
}

/// ...the same bytes in two writes: Nagle holds the second.
#[test]
fn fb_out_1_twin_two_writes() {
    let mut t = serve(json!({}));
    t.write(1448);
    t.expect(data(1..1449));
    t.write(652);
    t.expect_nothing();
    t.at_ms(20).recv(ack(1449)).expect(data(1449..2101));
}

/// After an idle time of one RTO: one segment.
#[test]
fn fb_out_2_restart_after_idle() {
    let mut t = serve(json!({}));
    t.write(1448);
    t.expect(data(1..1449)).at_ms(20).recv(ack(1449)).expect_cwnd(7276);
    t.at_ms(1_020);
    t.write(5792);
    t.expect(data(1449..2897)).expect_cwnd(1448);
}

/// A larger restart window, and an idle time shorter than the RTO.
#[test]
fn fb_out_2_twins() {
    let mut t = serve(json!({ "output": { "idle_restart": 4 } }));
    t.at_ms(5_000);
    t.write(14_480);
    assert_eq!(t.drain().len(), 4);
    let mut t = serve(json!({}));
    let rto = t.rto().as_nanos() / 1_000_000;
    t.advance_ms(rto - 1);
    t.write(5792);
    assert_eq!(t.drain().len(), 4);
}

/// A SYN that had to be resent is not idle time: the client sends its initial window.
#[test]
fn fb_out_2_a_slow_handshake_is_not_idle() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect();
    t.expect(syn()).expect_at_ms(3_000, syn());
    t.at_ms(3_010).recv(syn_ack().mss(1460).wscale(1).sack_ok()).expect(ack(1));
    t.write(5792);
    assert_eq!(t.drain().len(), 3);
}

/// After a timeout nxt passes over what was SACKed.
#[test]
fn fb_out_3_sacked_ranges_are_skipped_after_a_timeout() {
    let mut t = serve(json!({}));
    t.write(5792);
    t.drain();
    t.at_ms(20).recv(ack(1).sack([(2897, 4345)]));
    t.expect_at_ms(10 + 233, data(1..1449));
    t.at_ms(300).recv(ack(1449)).expect(data(1449..2897));
    t.at_ms(350).recv(ack(4345)).expect(data(4345..5793));
}

/// The reports are forgotten with the RFC's choice: all is sent again.
#[test]
fn fb_out_3_twin_reports_forgotten() {
    let mut t = serve(json!({ "recovery": { "forget_sack_at_timeout": true } }));
    t.write(5792);
    t.drain();
    t.at_ms(20).recv(ack(1).sack([(2897, 4345)]));
    t.expect_at_ms(10 + 233, data(1..1449));
    t.at_ms(300).recv(ack(1449)).expect(data(1449..2897)).expect(data(2897..4345));
    t.at_ms(350).recv(ack(4345)).expect(data(4345..5793));
}

/// The smaller of the peer's window and cwnd.
#[test]
fn fb_out_4_the_smaller_window() {
    let mut t =
        Script::server(freebsd(json!({}))).with_peer(Peer { wscale: None, win: 2896, ..Peer::default() });
    t.establish(10);
    t.write(10_000);
    t.expect(data(1..1449)).expect(data(1449..2897));
    let mut t = serve(json!({}));
    t.write(10_000);
    assert_eq!(t.drain().len(), 4);
}

/// Half of the largest window ever offered is worth a segment, Nagle or not.
#[test]
fn fb_out_7_half_the_largest_window() {
    let mut t =
        Script::server(freebsd(json!({}))).with_peer(Peer { wscale: None, win: 1000, ..Peer::default() });
    t.establish(10);
    t.write(100);
    t.expect(data(1..101));
    t.write(499);
    t.expect_nothing();
    t.write(1);
    t.expect(data(101..601));
}

/// NODELAY: at once. Minshall: one short segment may be outstanding.
#[test]
fn fb_out_7_twin_nagle_rules() {
    let writes = [100, 1448, 200];
    for (rule, leave) in [("on", vec![1..101, 101..1549]), ("off", vec![1..101, 101..1549, 1549..1749])] {
        let mut t = serve(json!({ "output": { "nagle": rule } }));
        let _ = writes.map(|n| t.write(n));
        for range in leave {
            t.expect(data(range));
        }
    }
    // Full segments are no obstacle to Minshall's rule, short ones are.
    let mut t = serve(json!({ "output": { "nagle": "minshall" } }));
    t.write(1448);
    t.write(100);
    t.write(200);
    t.expect(data(1..1449)).expect(data(1449..1549));
    t.recv(ack(1449));
    t.recv(ack(1549)).expect(data(1549..1749));
    let mut t = serve(json!({}));
    t.write(1448);
    t.write(100);
    t.expect(data(1..1449));
}

/// The FIN rides on the last data and is not held back by Nagle.
#[test]
fn fb_out_8_the_fin_takes_the_rest_along() {
    let mut t = serve(json!({}));
    t.write(1448);
    t.expect(data(1..1449));
    t.write(500);
    t.expect_nothing();
    t.close().expect(data(1449..1949).fin().psh());
}

/// Sent data start the timer; so does an ACK alone while data are outstanding and none runs.
#[test]
fn fb_out_9_the_retransmission_timer_starts() {
    let mut t = serve(json!({}));
    assert_eq!(t.snap().rexmt_due, None);
    t.write(100);
    t.expect(data(1..101));
    assert_eq!(t.snap().rexmt_due.map(|i| i.as_nanos()), Some((10 + 233) * 1_000_000));
    t.expect_at_ms(243, data(1..101));
}

/// SACK blocks shorten the data beside them.
#[test]
fn fb_seg_3_blocks_take_their_room() {
    let mut t = serve(json!({}));
    t.recv(data(1449..2897)).expect(ack(1).sack([(1449, 2897)]));
    t.write(1448);
    t.expect(data(1..1437).sack([(1449, 2897)])).expect(data(1437..1449).sack([(1449, 2897)]));
}

/// The ACK above all that was sent is answered and dropped.
#[test]
fn fb_ackp_1_an_ack_above_max_is_answered() {
    let mut t = serve(json!({}));
    t.write(1448);
    t.expect(data(1..1449));
    t.recv(ack(1450)).expect(ack(1).seq(1449));
    assert_eq!(t.flight(), 1448);
}
