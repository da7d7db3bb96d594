//! The receiver of `linux-6.1` (LK-ACK-1 to LK-ACK-6, LK-WIN-1 to LK-WIN-4, LK-SACK-1, LK-SACK-3).

use serde_json::{Value, json};

use super::common::*;
use super::{at, seg};

fn client(changes: Value) -> Script {
    let mut t =
        Script::client(profile("linux-6.1", changes)).with_peer(Peer { wscale: Some(7), ..Peer::default() });
    t.establish(20);
    t
}

/// LK-WIN-1, LK-WIN-2: whole segments of half the memory at first, scale 7; then one segment is kept back.
#[test]
fn lk_win_2_the_first_windows() {
    let mut t = Script::client(profile("linux-6.1", json!({})));
    t.connect();
    t.expect(syn().win(64_240).wscale(7));
    let mut t = client(json!({}));
    t.recv(seg(1).ack(1)).expect(ack(at(2)).win(501));
}

/// LK-WIN-3, LK-WIN-4: what is read in a round trip lets the buffer grow, and each segment the window.
#[test]
fn lk_win_4_the_window_grows_with_what_is_read() {
    let mut t = client(json!({}));
    let mut n = 1;
    for _ in 0..6 {
        for _ in 0..30 {
            t.recv_more(seg(n).ack(1));
            t.read(1448);
            n += 1;
        }
        t.advance_ms(20);
    }
    let last = t.drain().last().map(|(_, s)| s.win.unwrap_or(0)).unwrap_or(0);
    assert!(last > 1_000, "{last}");
}

/// LK-ACK-2: sixteen immediate ACKs, then two segments make one, or 40 ms and a tick.
#[test]
fn lk_ack_2_the_credit_of_immediate_acknowledgments() {
    let mut t = client(json!({}));
    for n in 1..=16 {
        t.recv(seg(n).ack(1)).expect(ack(at(n + 1)));
        t.read(1448);
    }
    t.recv(seg(17)).expect_nothing();
    t.read(1448);
    t.recv(seg(18)).expect(ack(at(19)));
    t.recv(seg(19)).expect_nothing();
    t.expect_at_ms(61, ack(at(20)));
}

/// LK-ACK-2: data out of order leave the credit as it is; 2.6 fills it again.
#[test]
fn lk_ack_2_trouble_leaves_the_credit_twin() {
    let play = |name: &str| {
        let mut t = Script::client(profile(name, json!({ "delayed_ack": { "quick_credit": 4 } })));
        t.establish(20);
        for n in 1..=4 {
            t.recv(seg(n).ack(1)).expect(ack(at(n + 1)));
        }
        t.recv(seg(6)).expect(ack(at(5)));
        t.recv(seg(5)).expect(ack(at(7)));
        t.recv(seg(7));
        t.drain().len()
    };
    assert_eq!((play("linux-6.1"), play("linux-2.6.15")), (0, 1));
}

/// LK-ACK-5: three at once, then a twentieth of the round trip, at most 1.1 ms; the next in order ends it.
#[test]
fn lk_ack_5_compression() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }));
    t.recv(seg(1).ack(1));
    t.advance_ms(50);
    t.drain();
    for n in 3..=5 {
        t.recv(seg(n)).expect(ack(at(2)));
    }
    t.recv(seg(6)).expect_nothing();
    t.recv(seg(7)).expect_nothing();
    t.advance_ms(3);
    let sent = t.drain();
    assert_eq!(sent.len(), 1, "{sent:?}");
    // What fills the hole is acknowledged at once.
    t.recv(seg(8)).expect_nothing();
    t.recv(seg(2)).expect(ack(at(9)));
}

/// LK-ACK-5: what is held back leaves before a third block is begun, for the segment that begins it, too: nothing waits then, and the
/// next block sends nothing ahead.
#[test]
fn lk_ack_5_what_begins_a_block_is_acknowledged_by_what_was_held_back() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }));
    t.recv(seg(1).ack(1));
    t.advance_ms(50);
    t.drain();
    for n in [3, 5, 6] {
        t.recv(seg(n)).expect(ack(at(2)));
    }
    t.recv(seg(7)).expect_nothing();
    t.recv(seg(9)).expect(ack(at(2)));
    t.advance_ms(3).expect_nothing();
    t.recv(seg(11)).expect_nothing();
    t.advance_ms(3);
    assert_eq!(t.drain().len(), 1);
}

/// LK-ACK-7: an ACK that was held back has the timestamp of the segment that it is for, not of when it leaves.
#[test]
fn lk_ack_7_a_held_back_ack_has_the_time_of_its_segment() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }));
    t.recv(seg(1).ack(1));
    t.advance_ms(50);
    t.drain();
    let stamp = |t: &mut Script| t.drain().last().and_then(|(_, ack)| ack.ts.flatten()).map(|ts| ts.0);
    t.recv(seg(3)).recv_more(seg(4)).recv_more(seg(5));
    let at_once = stamp(&mut t);
    t.recv(seg(6)).expect_nothing();
    t.advance_ms(3);
    assert!(at_once.is_some());
    assert_eq!(stamp(&mut t), at_once);
}

/// The twin without compression acknowledges each.
#[test]
fn lk_ack_5_twin_linux_2_6() {
    let mut t = Script::client(profile("linux-2.6.15", json!({ "delayed_ack": { "quick_credit": 0 } })));
    t.establish(20);
    t.recv(seg(1).ack(1));
    t.advance_ms(50);
    t.drain();
    for n in 3..=7 {
        t.recv(seg(n)).expect(ack(at(2)));
    }
}

/// LK-ACK-4: a FIN waits for an answer to ride on; 2.6's model acknowledges it at once.
#[test]
fn lk_ack_4_a_fin_waits_twin() {
    let play = |name: &str| {
        let mut t = Script::client(profile(name, json!({})));
        t.establish(20);
        t.at_ms(100).recv(fin(1).ack(1));
        let at_once = t.drain().len();
        t.at_ms(200);
        (at_once, t.drain().len())
    };
    assert_eq!((play("linux-6.1"), play("linux-2.6.15")), ((0, 1), (1, 0)));
}

/// LK-ACK-6: a full segment with PSH is acknowledged when it is read.
#[test]
fn lk_ack_6_a_pushed_segment_is_acknowledged_when_read_twin() {
    let play = |changes: Value| {
        let mut t = client(changes);
        t.recv(seg(1).ack(1).psh()).expect_nothing();
        t.read(1448);
        t.drain().len()
    };
    let config = |push: bool| json!({ "delayed_ack": { "quick_credit": 0, "push_is_short": push } });
    assert_eq!((play(config(true)), play(config(false))), (1, 0));
}

/// LK-SACK-3: a FIN that waits out of order and comes again is reported as a duplicate, alone or with its data.
#[test]
fn lk_sack_3_a_fin_again_is_a_duplicate() {
    let mut t = Script::client(profile("linux-6.1", json!({})));
    t.establish(20);
    t.recv(data(at(2)..at(3)).ack(1).fin());
    t.drain();
    t.recv(data(at(3)..at(3)).ack(1).fin()).expect(ack(1).sack([(at(3), at(3) + 1), (at(2), at(3) + 1)]));
    t.recv(data(at(2)..at(3)).ack(1).fin()).expect(ack(1).sack([(at(2), at(3) + 1), (at(2), at(3) + 1)]));
}

/// LK-SACK-1: the report covers the FIN.
#[test]
fn lk_sack_1_a_report_covers_the_fin_twin() {
    for (name, end) in [("linux-6.1", at(3) + 1), ("linux-2.6.15", at(3))] {
        let mut t = Script::client(profile(name, json!({})));
        t.establish(20);
        t.recv(data(at(2)..at(3)).ack(1).fin()).expect(ack(1).sack([(at(2), end)]));
        t.recv(seg(1));
        t.drain();
    }
}
