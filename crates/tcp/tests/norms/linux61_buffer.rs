//! The receive buffer of `linux-6.1` and what its state decides (LK-ACK-2, LK-ACK-9 to LK-ACK-11, LK-PAWS-2, LK-WIN-8,
//! LK-WIN-9, LK-CW-3).

use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, seg};

fn client(changes: Value, rtt: u64) -> Script {
    let mut t =
        Script::client(profile("linux-6.1", changes)).with_peer(Peer { wscale: Some(7), ..Peer::default() });
    t.establish(rtt);
    t
}

/// LK-ACK-10: gaps and delays are whole ticks: half of 41 ms is 20.
#[test]
fn lk_ack_10_delays_are_whole_ticks_twin() {
    let play = |counts: bool| {
        let mut t = client(json!({ "delayed_ack": { "quick_credit": 0, "counts_ticks": counts } }), 100);
        t.recv_more(seg(1).ack(1));
        for n in [2, 3] {
            t.advance_ms(21);
            t.recv_more(seg(n));
            t.read(1448);
        }
        t.drain();
        let held = t.now_ms();
        t.advance_ms(60);
        t.drain().first().map(|(at, _)| at - held)
    };
    assert_eq!((play(true), play(false)), (Some(42), Some(43)));
}

/// LK-ACK-9: a FIN does not hurry the acknowledgment of what waits for a read.
#[test]
fn lk_ack_9_a_fin_waits_for_the_read_too() {
    let tuning = json!({ "first": "20000 bytes", "most": "20000 bytes" });
    let changes = json!({ "window": { "tuning": tuning }, "delayed_ack": { "quick_credit": 0 } });
    let mut t = client(changes, 20);
    t.recv(seg(1).ack(1)).expect_nothing();
    t.recv(seg(2)).expect_nothing();
    t.recv(data(at(3)..at(3) + 7).fin()).expect_nothing();
    t.read(u64::from(2 * MSS));
    t.expect(ack(at(3) + 8));
}

/// LK-WIN-9: a window that was closed opens again with what is read, however much is left unread.
#[test]
fn lk_win_9_the_window_opens_while_much_is_unread() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }), 20);
    for n in 1..=44 {
        t.recv_more(seg(n).ack(1));
    }
    t.advance_ms(50);
    t.drain();
    for n in 45..=56 {
        t.recv_more(seg(n));
        t.advance_ms(50);
    }
    t.drain();
    t.read(10 * u64::from(MSS));
    let updates = t.drain();
    assert_eq!(updates.len(), 1, "{updates:?}");
    assert!(updates[0].1.win.is_some_and(|field| field > 30), "{updates:?}");
}

/// LK-WIN-8: without scaling the receiver remembers a window larger than the field can say, and waits for a read when that
/// one would shrink.
#[test]
fn lk_win_8_a_window_beyond_the_field_is_remembered() {
    let tuning = json!({ "first": "400000 bytes", "most": "400000 bytes" });
    let changes = json!({ "window": { "tuning": tuning }, "delayed_ack": { "quick_credit": 0 } });
    let mut t =
        Script::client(profile("linux-6.1", changes)).with_peer(Peer { wscale: None, ..Peer::default() });
    t.establish(20);
    for n in 1..=80 {
        t.recv_more(seg(n).ack(1));
        t.read(u64::from(MSS));
    }
    t.advance_ms(60);
    assert_eq!(t.drain().pop().and_then(|(_, ack)| ack.win), Some(65_535));
    t.recv_more(seg(81)).recv_more(seg(82)).recv_more(seg(83));
    assert_eq!(t.drain().len(), 0);
}

/// LK-ACK-2: what a window's growth adds comes behind what the first data give.
#[test]
fn lk_ack_2_growth_adds_to_a_new_credit_twin() {
    let play = |credit: u32| {
        let tuning = json!({ "first": "400000 bytes", "most": "400000 bytes" });
        let changes = json!({ "window": { "tuning": tuning }, "delayed_ack": { "quick_credit": credit } });
        let mut t = client(changes, 20);
        for n in 1..=80 {
            t.recv_more(seg(n).ack(1));
            t.read(u64::from(MSS));
        }
        t.drain().len()
    };
    assert!(play(4) > play(0), "{} {}", play(4), play(0));
}

/// LK-ACK-11: the timer of an ACK that has left is not stopped, and lets out one that is held back for data out of order.
#[test]
fn lk_ack_11_the_timer_of_another_ack_lets_it_go() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }), 20);
    // All echo the SYN, 20 ms old: a twentieth of that is the longest wait.
    let late = |n: u32| seg(n).ack(1).ts_val(100_020 + n, 1);
    t.recv_more(late(1));
    t.advance_ms(1);
    t.recv_more(late(2));
    for n in 4..=6 {
        t.recv_more(late(n));
    }
    t.at_ms(60);
    t.drain();
    t.recv_more(late(7));
    t.expect_at_ms(61, ack(at(3)));
}

/// LK-PAWS-2: the timestamp of data that come again before they are acknowledged is the one that is echoed.
#[test]
fn lk_paws_2_a_copy_of_what_waits_gives_its_timestamp() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }), 20);
    t.recv(seg(1).ack(1).ts_val(100_050, 1)).expect_nothing();
    t.recv_more(seg(1).ts_val(100_070, 1));
    let (_, answer) = t.drain().pop().expect("an answer");
    assert_eq!(answer.ts.flatten().map(|(_, echo)| echo), Some(100_070));
}

/// LK-CW-3: without scaling cwnd still grows beyond 65,535 bytes.
#[test]
fn lk_cw_3_cwnd_grows_beyond_the_field_of_the_window() {
    let mut t = Script::server(profile("linux-6.1", json!({ "initial_window": 40 }))).with_peer(Peer {
        wscale: None,
        win: 65_535,
        ..Peer::default()
    });
    t.establish(20);
    t.write(200_000);
    t.advance_ms(20);
    for n in 1..=8 {
        t.recv_more(ack(at(n + 1)));
    }
    t.drain();
    assert!(t.snap().cwnd > 65_535, "{}", t.snap().cwnd);
}
