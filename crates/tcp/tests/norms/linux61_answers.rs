//! What `linux-6.1` answers to what is late, repeated or not read yet (LK-ACK-5, LK-ACK-8, LK-ACK-9, LK-IW-2, LK-PAWS-1,
//! LK-SACK-2, LK-SYN-2). Each twin has the rule's key off, or is 2.6.15.

use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, seg};

fn client(changes: Value) -> Script {
    let mut t =
        Script::client(profile("linux-6.1", changes)).with_peer(Peer { wscale: Some(7), ..Peer::default() });
    t.establish(20);
    t
}

/// LK-ACK-9: while the application does not read, a second segment waits; what is read lets its acknowledgment go.
#[test]
fn lk_ack_9_a_shrinking_window_waits_for_a_read() {
    let tuning = json!({ "first": "20000 bytes", "most": "20000 bytes" });
    let mut t = client(json!({ "window": { "tuning": tuning }, "delayed_ack": { "quick_credit": 0 } }));
    t.recv(seg(1).ack(1)).expect_nothing();
    t.recv(seg(2)).expect_nothing();
    t.read(u64::from(2 * MSS));
    t.expect(ack(at(3)));
}

/// LK-ACK-9: with less than half of the window free, no credit is left.
#[test]
fn lk_ack_9_little_memory_spends_the_credit() {
    let tuning = json!({ "first": "20000 bytes", "most": "20000 bytes" });
    let mut t = client(json!({ "window": { "tuning": tuning } }));
    let mut answered = 0;
    for n in 1..=5 {
        t.recv_more(seg(n).ack(1));
        answered = t.drain().len();
    }
    assert_eq!(answered, 0, "the fifth segment has to wait");
}

/// LK-ACK-8: two short segments of one size in a row are full ones from there on.
#[test]
fn lk_ack_8_the_estimate_of_a_segment_shrinks_twin() {
    let play = |measures: bool| {
        let mut t = client(json!({ "delayed_ack": { "quick_credit": 0, "measures_short": measures } }));
        t.recv_more(seg(1).ack(1)).recv_more(seg(2));
        t.read(2 * 1448);
        t.drain();
        t.recv(data(at(3)..at(3) + 700)).recv(data(at(3) + 700..at(3) + 1400));
        t.read(100);
        t.drain().len()
    };
    assert_eq!((play(true), play(false)), (1, 0));
}

/// LK-ACK-5: a held report leaves before a third block is begun.
#[test]
fn lk_ack_5_a_third_block_lets_the_held_one_leave_twin() {
    let play = |blocks: u32| {
        let compression =
            json!({ "first": 2, "delay": "1 ms", "slack": "100 us", "most": 44, "blocks": blocks });
        let mut t = client(json!({ "delayed_ack": { "quick_credit": 0, "compression": compression } }));
        t.recv(seg(3).ack(1)).expect(ack(1).sack([(at(3), at(4))]));
        t.recv(seg(5)).expect(ack(1).sack([(at(5), at(6)), (at(3), at(4))]));
        t.recv(seg(6)).expect_nothing();
        t.recv_more(seg(8));
        t.drain().into_iter().map(|(_, got)| got.sack.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(play(2), [vec![(at(5), at(7)), (at(3), at(4))]]);
    assert!(play(9).is_empty());
}

/// LK-SACK-2: four blocks are remembered.
#[test]
fn lk_sack_2_four_blocks_are_remembered_twin() {
    let play = |blocks: u32| {
        let mut t = client(json!({ "options": { "sack_blocks": blocks } }));
        for n in [3, 5, 7, 9, 11] {
            t.recv_more(seg(n).ack(1));
        }
        // The four newest join up, and the oldest is told of again if it was kept.
        for n in [10, 8, 6] {
            t.recv_more(seg(n));
        }
        t.advance_ms(3);
        let (_, last) = t.drain().pop().expect("an acknowledgment");
        last.sack.unwrap_or_default().len()
    };
    assert_eq!((play(4), play(6)), (1, 2));
}

/// LK-SYN-2: a SYN in an established connection is answered, once in half a second, and its timestamp is not taken.
#[test]
fn lk_syn_2_a_late_syn_ack_changes_nothing_twin() {
    let play = |name: &str| {
        let mut t = Script::client(profile(name, json!({})));
        t.establish(20);
        let late = || syn().ack(1).seq(0).ts_val(100_900, 1);
        t.recv_more(late());
        t.recv_more(late());
        t.drain()
            .into_iter()
            .filter_map(|(_, got)| got.ts.flatten())
            .map(|(_, echo)| echo)
            .collect::<Vec<_>>()
    };
    let (linux, other) = (play("linux-6.1"), play("linux-2.6.15"));
    assert_eq!(linux.len(), 1);
    assert_ne!(linux[0], 100_900);
    assert_eq!(other, [100_900, 100_900]);
}

/// LK-PAWS-1: data that were overtaken by their copy are reported as a duplicate.
#[test]
fn lk_paws_1_data_with_an_old_timestamp_are_reported_twin() {
    let play = |name: &str| {
        let mut t = Script::client(profile(name, json!({})));
        t.establish(20);
        t.recv_more(seg(1).ack(1).ts_val(100_050, 1));
        t.drain();
        t.recv_more(seg(1).ts_val(100_020, 1));
        let (_, answer) = t.drain().pop().expect("an answer");
        answer.sack.unwrap_or_default()
    };
    assert_eq!((play("linux-6.1"), play("linux-2.6.15")), (vec![(1, at(2))], vec![]));
}

/// LK-IW-2: where the peer has the first SYN-ACK, the timeouts were needless and the first window is whole.
#[test]
fn lk_iw_2_an_echo_of_the_first_syn_ack_keeps_the_window_twin() {
    let play = |needless: bool| {
        let handshake = json!({ "timeouts_may_be_needless": needless });
        let mut t = Script::server(profile("linux-6.1", json!({ "handshake": handshake })));
        t.recv(syn().mss(1460).win(65_535).wscale(7).sack_ok()).expect(syn_ack());
        t.at_ms(4_000);
        let first = t.drain();
        assert!(first.len() >= 2, "{first:?}");
        t.recv_more(ack(1).ts_val(104_000, 1));
        t.write(u64::from(10 * MSS));
        t.drain().len()
    };
    assert_eq!((play(true), play(false)), (10, 1));
}

/// LK-PAWS-1: an ACK that was overtaken a moment ago counts as a duplicate and is not answered; its timestamp stays old. One
/// that moves the window is answered, once in half a second.
#[test]
fn lk_paws_1_an_overtaken_acknowledgment() {
    let mut t = Script::server(profile("linux-6.1", json!({})));
    t.establish(20);
    t.write(10 * u64::from(MSS));
    t.drain();
    t.advance_ms(20).recv_more(ack(at(2)).ts_val(100_050, 1));
    t.drain();
    t.recv(ack(at(2)).ts_val(100_045, 1)).expect_nothing();
    t.recv(ack(1).ts_val(100_044, 1)).expect(ack(1));
    t.recv(ack(1).ts_val(100_043, 1)).expect_nothing();
    t.write(u64::from(MSS));
    t.recv_more(ack(at(4)).ts_val(100_060, 1));
    assert!(t.drain().iter().all(|(_, got)| got.ts.flatten().is_none_or(|(_, echo)| echo >= 100_050)));
}
