//! `linux-2.6.15`: packets are counted, with SACK and without, with FACK and without; undo; thin streams (LX-...).

use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, expect_segments, sack, seg, server};

fn linux(changes: Value) -> std::sync::Arc<rexmit_tcp::Profile> {
    profile("linux-2.6.15", changes)
}

fn without_sack() -> Peer {
    Peer { sack: false, ..Peer::default() }
}

/// Three acknowledgments of a segment each: cwnd 6, segments 4 to 9 out, of which the first is lost.
fn six_out(changes: Value, peer: Peer) -> Script {
    let mut t = server(linux(changes), peer, 60, 3);
    t.at_ms(40);
    for n in 2..=4 {
        t.recv(ack(at(n)));
        expect_segments(&mut t, 2 * n..=2 * n + 1);
    }
    t.expect_cwnd(6 * 1448);
    t.at_ms(60);
    t
}

/// What left, as numbers of segments.
fn numbers(t: &mut Script) -> Vec<u32> {
    t.drain().iter().map(|(_, s)| (s.seq.unwrap() - 1) / MSS + 1).collect()
}

/// LX-ST-4 to LX-ST-8 without SACK: duplicates count as packets that have arrived, and all goes as with SACK.
#[test]
fn lx_st_5_duplicates_are_counted_without_sack() {
    let mut t = six_out(json!({}), without_sack());
    let sent: Vec<_> = (0..7)
        .map(|_| {
            t.recv(ack(at(4)));
            numbers(&mut t)
        })
        .collect();
    // As T-LX-7, but three duplicates and one make four: on the third.
    assert_eq!(sent, [vec![10], vec![11], vec![4], vec![], vec![12], vec![], vec![13]]);
    t.expect_phase("recovery").expect_ssthresh(3 * 1448).expect_cwnd(3 * 1448);
    // LX-ST-10: the state lasts until something above what was out at the entry (11) is acknowledged.
    t.at_ms(80).recv(ack(at(12))).expect_phase("recovery");
    numbers(&mut t);
    t.recv(ack(at(13))).expect_phase("disorder").expect_ssthresh(3 * 1448);
    numbers(&mut t);
}

/// The twin: RFC 6582 inflates cwnd by a segment for each duplicate instead.
#[test]
fn lx_st_5_twin_rfc6582() {
    let changes = json!({ "initial_window": 3, "handshake": { "third_segment_opens_cwnd": false } });
    let mut t = server(profile("rfc-2014", changes), without_sack(), 60, 3);
    t.at_ms(40);
    for n in 2..=4 {
        t.recv(ack(at(n)));
        expect_segments(&mut t, 2 * n..=2 * n + 1);
    }
    let sent: Vec<_> = (0..7)
        .map(|_| {
            t.recv(ack(at(4)));
            numbers(&mut t)
        })
        .collect();
    assert_eq!(sent, [vec![10], vec![11], vec![4], vec![], vec![], vec![12], vec![13]]);
}

/// LX-ST-9 without SACK: a partial acknowledgment proves the next segment lost.
#[test]
fn lx_st_9_a_partial_acknowledgment_without_sack() {
    let mut t = six_out(json!({}), without_sack());
    for _ in 0..3 {
        t.recv(ack(at(4)));
        numbers(&mut t);
    }
    t.at_ms(80).recv(ack(at(6)));
    assert_eq!(numbers(&mut t), [6]);
    t.expect_phase("recovery");
}

/// LX-FR-1, LX-ST-9: recovery begins by distance either way. With FACK all that lies more than three below the highest
/// report is lost at once, without it the head alone.
#[test]
fn lx_fr_1_what_is_lost_with_and_without_fack() {
    let play = |fack: bool| {
        let mut t = six_out(json!({ "recovery": { "fack": fack } }), Peer::default());
        // 4, 5 and 6 are lost.
        t.recv(sack(4, 7, 7)).expect_phase("recovery");
        let first = numbers(&mut t);
        let rest: Vec<_> = [8, 9]
            .map(|last| {
                t.recv(sack(4, 7, last));
                numbers(&mut t)
            })
            .to_vec();
        (first, rest)
    };
    let (with, without) = (play(true), play(false));
    assert_eq!((with.0.clone(), without.0.clone()), (vec![4], vec![4]));
    // With 5 and 6 lost as well they leave, as rate halving allows; without FACK, with them in flight, new data do.
    let sent = |x: &(Vec<u32>, Vec<Vec<u32>>)| x.1.concat();
    assert_eq!((sent(&with), sent(&without)), (vec![5, 6], vec![10]));
}

/// Event C of the kernel: a retransmission is lost if data that left after it are reported.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let play = |fack: bool| {
        let mut t = six_out(json!({ "recovery": { "fack": fack } }), Peer::default());
        for last in 5..=9 {
            t.recv(sack(4, 5, last));
            t.drain();
        }
        // 4 left after 11; 12 left after it.
        t.at_ms(80).recv(sack(4, 5, 12));
        numbers(&mut t)
    };
    assert_eq!(play(true), [4]);
    // Without FACK three segments must lie between.
    assert_eq!(play(false), [13]);
    // The twin: RFC 6675 waits for its timer.
    let changes = json!({ "initial_window": 3, "handshake": { "third_segment_opens_cwnd": false } });
    let mut t = server(profile("rfc-2014", changes), Peer::default(), 60, 3);
    t.at_ms(40);
    for n in 2..=4 {
        t.recv(ack(at(n)));
        t.drain();
    }
    for last in 5..=12 {
        t.recv(sack(4, 5, last));
        t.drain();
    }
    t.at_ms(80).recv(sack(4, 5, 13));
    assert!(!numbers(&mut t).contains(&4));
}

/// LX-ST-5 (c): an acknowledgment that is not plain finds the head older than the timeout, which each acknowledgment
/// of new data had pushed back.
#[test]
fn lx_st_5_recovery_begins_by_the_age_of_the_head() {
    let mut t = six_out(json!({}), Peer::default());
    // 4 and 5 left at 40 ms. The acknowledgment of 4 starts the timer again, at 200 ms.
    t.at_ms(200).recv(ack(at(5)));
    t.drain();
    let rto = t.rto().as_nanos() / 1_000_000;
    t.at_ms(40 + rto + 8).recv(sack(5, 6, 6)).expect(seg(5)).expect_phase("recovery");
    t.drain();
}

/// LX-ST-1: a short segment is a packet. Where bytes are counted, many fit in the same window.
#[test]
fn a_short_segment_is_a_packet_twin() {
    let sent = |changes: Value| {
        let mut t = Script::server(profile("linux-2.6.15", changes));
        t.establish(20);
        for _ in 0..8 {
            t.write(100);
        }
        t.drain().len()
    };
    assert_eq!(sent(json!({ "output": { "nagle": "off" } })), 3);
    let by_bytes = json!({
        "output": { "nagle": "off", "probe": "next-byte" },
        "recovery": { "sack": "rate-halving", "plain": "rfc6582" },
    });
    assert_eq!(sent(by_bytes), 8);
}

/// LX-NAGLE-2: while a short segment is out the next messages wait, and then leave as one.
#[test]
fn lx_nagle_2_messages_are_joined() {
    let mut t = Script::server(linux(json!({})));
    t.establish(20);
    t.write(100);
    t.expect(data(1..101)).expect_nothing();
    for _ in 0..3 {
        t.advance_ms(10).write(100);
        t.expect_nothing();
    }
    t.recv(ack(101)).expect(data(101..401).psh());
    // Nothing can make duplicates: what is lost waits for its timer, with more joined behind it.
    t.write(100);
    let due = t.snap().rexmt_due.unwrap().as_nanos() / 1_000_000;
    t.expect_nothing();
    t.expect_at_ms(due, data(101..401));
    t.advance_ms(20).recv(ack(401)).expect(data(401..501));
}

/// LX-ABC-3: after a timeout cwnd stays at one packet for fifteen acknowledged messages of 100 bytes.
#[test]
fn lx_abc_3_the_window_of_a_thin_stream_after_a_timeout() {
    let mut t = Script::server(linux(json!({})));
    t.establish(20);
    t.write(100);
    t.expect(data(1..101));
    let due = t.snap().rexmt_due.unwrap().as_nanos() / 1_000_000;
    t.expect_at_ms(due, data(1..101)).expect_cwnd(1448);
    t.advance_ms(20).recv(ack(101));
    let mut acked = 0;
    while t.snap().cwnd == 1448 {
        let next = 101 + 100 * acked;
        t.write(100);
        t.expect(data(next..next + 100)).advance_ms(20).recv(ack(next + 100));
        acked += 1;
    }
    assert_eq!(acked, 15);
}

/// T-LX-11, LX-ST-11: a duplicate reported after recovery restores ssthresh, and cwnd as the algorithm knows it: BIC
/// the window of the loss, Reno twice the lowered threshold.
#[test]
fn t_lx_11_a_duplicate_report_takes_the_reduction_back() {
    for (algorithm, cwnd) in [("bic", 7), ("reno", 6)] {
        let changes = |undo: bool| {
            json!({
                "initial_window": 7, "congestion": { "algorithm": algorithm },
                "recovery": { "reduction_undo": undo },
            })
        };
        let play = |undo: bool| {
            let mut t = server(linux(changes(undo)), Peer::default(), 60, 7);
            t.at_ms(40).recv(sack(1, 2, 2)).recv_more(sack(1, 2, 3)).recv_more(sack(1, 2, 4));
            t.expect_phase("recovery").expect_ssthresh(3 * 1448);
            t.drain();
            t.at_ms(60).recv(ack(at(10))).expect_cwnd(3 * 1448);
            t.drain();
            t.recv(ack(at(10)).sack([(at(1), at(2))]));
            t.drain();
            t
        };
        let t = play(true);
        assert!(t.ssthresh().is_none_or(|ssthresh| ssthresh >= 5 * 1448), "{:?}", t.ssthresh());
        // Three are out, and a burst of three more is allowed: `tcp_moderate_cwnd`.
        t.expect_window(cwnd.min(6));
        play(false).expect_window(3);
    }
}

/// LX-ST-11, LX-BIC-4: a timeout that came too early is taken back; but BIC has forgotten its window, so cwnd stays at
/// one packet, where Reno has twice ssthresh.
#[test]
fn lx_st_11_a_timeout_is_taken_back() {
    for (algorithm, cwnd) in [("bic", 1), ("reno", 4)] {
        let changes = json!({ "initial_window": 5, "congestion": { "algorithm": algorithm } });
        let mut t = server(linux(changes), Peer::default(), 40, 5);
        t.expect_at_ms(240, seg(1)).expect_phase("loss").expect_cwnd(1448);
        // The echo is that of the first transmission, at 20 ms.
        t.at_ms(250).recv(ack(at(2)).ts_val(100_250, 6)).expect_phase("open");
        t.drain();
        t.expect_window(cwnd);
    }
}

/// LX-LOSS-1, LX-ST-1: SACKed packets do not count as in flight after a timeout.
#[test]
fn lx_loss_1_what_was_reported_is_not_sent_again() {
    let mut t = server(linux(json!({ "initial_window": 5 })), Peer::default(), 5, 5);
    t.at_ms(40).recv(sack(1, 2, 3)).expect_nothing();
    t.expect_at_ms(240, seg(1)).expect_phase("loss");
    t.advance_ms(20).recv(ack(at(4))).expect(seg(4)).expect_nothing();
    t.advance_ms(20).recv(ack(at(5))).expect(seg(5));
}

/// LX-FR-5: a packet that was reported late though it was sent once raises the threshold, and FACK ends: what lies
/// beyond three reports is not lost any more. With `max_reordering` of 0 nothing is learned.
#[test]
fn lx_fr_5_reordering_is_learned() {
    let play = |most: u32| {
        let changes = json!({ "initial_window": 12, "recovery": { "max_reordering": most } });
        let mut t = server(linux(changes), Peer::default(), 60, 12);
        t.at_ms(40).recv(sack(1, 4, 12)).expect(seg(1)).expect_phase("recovery");
        // 2 and 3 count as lost as well; 3 is only late.
        t.recv(sack(1, 3, 12));
        t.drain();
        let mut una = 13;
        t.at_ms(80).recv(ack(at(una)));
        while t.flight() < 6 * 1448 {
            t.drain();
            una += 1;
            t.advance_ms(1).recv(ack(at(una)));
        }
        t.drain();
        t.recv(sack(una, una + 4, una + 4));
        t.drain();
        t.snap().phase
    };
    assert_eq!((play(127), play(0)), ("disorder", "recovery"));
}
