//! What counts as a duplicate ACK, and what leaves before the third (FB-DUP).

use serde_json::json;

use crate::common::*;

/// A server with `n` segments of initial window, which has sent them and `extra` more on the first ACK, so
/// that the peer's window stands at 66608.
fn sender(changes: serde_json::Value, n: u32) -> Script {
    let mut profile = json!({ "initial_window": n, "handshake": { "third_segment_opens_cwnd": false } });
    for (key, value) in changes.as_object().expect("a table") {
        for (inner, value) in value.as_object().expect("a table") {
            profile[key][inner] = value.clone();
        }
    }
    let mut t = serve(profile);
    t.write(33_304);
    t.drain();
    t.at_ms(20).recv(ack(1449));
    t.drain();
    t
}

/// The first of three comes with a larger window: the fourth triggers.
#[test]
fn t_fb_3_and_fb_dup_1_a_changed_window_is_no_duplicate() {
    let mut t = serve(json!({}));
    t.write(5792);
    t.drain();
    t.at_ms(30);
    t.recv(ack(1)).recv(ack(1)).recv(ack(1)).expect_nothing();
    t.expect_phase("disorder");
    t.recv(ack(1).sack([(1449, 5793)])).expect(data(1..1449)).expect_phase("recovery");
}

/// Without rule (e) of RFC 5681 section 2 the third triggers.
#[test]
fn fb_dup_1_twin_a_changed_window_is_a_duplicate() {
    let mut t = serve(json!({ "recovery": { "changed_window_is_no_duplicate": false } }));
    t.write(5792);
    t.drain();
    t.at_ms(30);
    t.recv(ack(1)).recv(ack(1));
    t.recv(ack(1).sack([(1449, 5793)])).expect(data(1..1449)).expect_phase("recovery");
}

/// FreeBSD asks for data alone: a FIN is counted, and dropped with the duplicate that it is taken for.
#[test]
fn fb_dup_1_a_bare_fin_is_a_duplicate() {
    let mut t = sender(json!({}), 10);
    t.recv(fin(1).ack(1449)).expect(data(17_377..18_825).ack(1)).expect_phase("disorder");
}

/// RFC 5681 section 2 (c): the FIN is taken, and no duplicate.
#[test]
fn fb_dup_1_twin_a_bare_fin_is_no_duplicate() {
    let mut t = sender(json!({ "recovery": { "bare_fin_is_duplicate": false } }), 10);
    t.recv(fin(1).ack(1449)).expect(ack(2)).expect_phase("open");
}

/// Data, or a window that changes, start the count anew.
#[test]
fn fb_dup_1_data_and_windows_start_the_count_anew() {
    let mut t = sender(json!({ "recovery": { "limited_transmit": 0 } }), 10);
    t.recv(ack(1449)).recv(ack(1449));
    t.recv(data(1..11).ack(1449));
    t.recv(ack(1449)).recv(ack(1449)).expect_nothing();
    t.recv(ack(1449).win(33_305));
    t.recv(ack(1449).win(33_305)).recv(ack(1449).win(33_305)).expect_phase("open");
    t.recv(ack(1449).win(33_305).sack([(2897, 4345)]))
        .expect_phase("recovery")
        .expect(data(1449..2897).ack(11));
}

/// An ACK below una is not a duplicate, and nothing is one while nothing is outstanding.
#[test]
fn fb_dup_2_old_acks_and_idle_senders() {
    let mut t = sender(json!({ "recovery": { "limited_transmit": 0 } }), 10);
    t.recv(ack(1449)).recv(ack(1449)).recv(ack(1)).recv(ack(1449)).recv(ack(1449));
    t.expect_phase("open").expect_nothing();
    let mut t = serve(json!({}));
    for _ in 0..5 {
        t.recv(ack(1));
    }
    t.expect_phase("open");
    assert_eq!(t.snap().counters.dup_acks, 0);
}

/// One new segment for each of the first two duplicates; cwnd stays.
#[test]
fn fb_dup_3_limited_transmit() {
    let mut t = sender(json!({}), 10);
    let cwnd = t.snap().cwnd;
    t.recv(ack(1449).sack([(2897, 4345)])).expect(data(17_377..18_825)).expect_cwnd(cwnd);
    t.recv(ack(1449).sack([(2897, 5793)])).expect(data(18_825..20_273)).expect_cwnd(cwnd);
    t.recv(ack(1449).sack([(2897, 7241)])).expect(data(1449..2897)).expect_phase("recovery");
}

/// Off: nothing leaves before the third.
#[test]
fn fb_dup_3_twin_no_limited_transmit() {
    let mut t = sender(json!({ "recovery": { "limited_transmit": 0 } }), 10);
    t.recv(ack(1449).sack([(2897, 4345)])).expect_nothing();
    t.recv(ack(1449).sack([(2897, 5793)])).expect_nothing();
    t.recv(ack(1449).sack([(2897, 7241)])).expect(data(1449..2897)).expect_phase("recovery");
}

/// Nagle and the end of the data still apply.
#[test]
fn fb_dup_3_nothing_more_to_send() {
    let mut t = serve(json!({ "window": { "third_segment_unscaled": false } }));
    t.write(5792);
    t.drain();
    t.at_ms(30).recv(ack(1)).expect_nothing();
    t.recv(ack(1)).expect_nothing();
}

/// The threshold is a number of the profile.
#[test]
fn fb_dup_4_the_threshold() {
    for threshold in [2, 3, 5] {
        let recovery = json!({ "dupack_threshold": threshold, "limited_transmit": 0 });
        let mut t = sender(json!({ "recovery": recovery }), 10);
        for _ in 1..threshold {
            t.recv(ack(1449).sack([(2897, 4345)])).expect_nothing();
        }
        t.recv(ack(1449).sack([(2897, 4345)])).expect(data(1449..2897));
    }
}
