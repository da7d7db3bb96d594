//! The sender of Linux 6.1 without RACK and probes (LK-...).

use serde_json::{Value, json};

use super::common::*;
use super::{at, sack, seg, server};

const MSS: u64 = 1448;

fn linux(changes: Value) -> std::sync::Arc<rexmit_tcp::Profile> {
    profile("linux-6.1-no-rack", changes)
}

fn reno(mut changes: Value) -> std::sync::Arc<rexmit_tcp::Profile> {
    changes["congestion"] = json!({ "algorithm": "reno" });
    linux(changes)
}

/// Segments that leave now, by number.
fn numbers(t: &mut Script) -> Vec<u32> {
    t.drain().iter().map(|(_, s)| (s.seq.unwrap() - 1) / 1448 + 1).collect()
}

/// Wide enough for all that is sent here.
fn peer() -> Peer {
    Peer { wscale: Some(7), win: 4_000, ..Peer::default() }
}

fn ten_out(profile: std::sync::Arc<rexmit_tcp::Profile>, segments: u32) -> Script {
    server(profile, peer(), segments, 10)
}

/// LK-IW-1, LK-RTO-1: ten segments; the timeout is the round trip and 200 ms, its tick that of the wheel.
#[test]
fn lk_iw_1_and_lk_rto_1_the_start() {
    let mut t = ten_out(linux(json!({})), 20);
    t.expect_cwnd(10 * MSS).expect_rto_ms(220);
    // 220 ms from tick 20 is tick 240, which lies in a bucket of eight that ends at 248.
    t.expect_at_ms(248, seg(1)).expect_rto_ms(440);
    // 248 + 440 = 688: on the edge, so the next bucket.
    t.expect_at_ms(696, seg(1));
}

/// LK-TIMER-1: the twin without the wheel fires on the tick.
#[test]
fn lk_timer_1_twin_without_the_wheel() {
    let mut t = ten_out(linux(json!({ "clock": { "timers": "ticks" } })), 20);
    t.expect_at_ms(240, seg(1));
    t.expect_at_ms(680, seg(1));
}

/// LK-REC-1, LK-REC-2, LK-REC-3: two new segments, the retransmission on the third report, then one segment
/// for about every second report while more than ssthresh is in flight.
#[test]
fn lk_rec_3_proportional_rate_reduction() {
    let mut t = ten_out(reno(json!({})), 40);
    t.at_ms(40);
    let sent: Vec<_> = (2..=10)
        .map(|last| {
            t.advance_ms(2);
            t.recv(sack(1, 2, last));
            numbers(&mut t)
        })
        .collect();
    let one = |n: u32| vec![n];
    let none = Vec::new();
    // Above ssthresh (5) in flight, ceil(5 n / 10) packets have left after n arrivals; the last report finds 5.
    let expected =
        [one(11), one(12), one(1), none.clone(), one(13), none.clone(), one(14), none.clone(), none];
    assert_eq!(sent, expected);
    t.expect_phase("recovery").expect_ssthresh(5 * MSS);
    t.at_ms(60).recv(ack(at(13))).expect_phase("open").expect_cwnd(5 * MSS);
    t.drain();
}

/// The twin: rate halving lets out one for every second acknowledgment, so here the packets are the same.
#[test]
fn lk_rec_3_twin_linux_2_6() {
    let changes = json!({ "initial_window": 10, "congestion": { "algorithm": "reno" } });
    let mut t = ten_out(profile("linux-2.6.15", changes), 40);
    t.at_ms(40);
    let sent: Vec<_> = (2..=6)
        .map(|last| {
            t.recv(sack(1, 2, last));
            numbers(&mut t)
        })
        .collect();
    // FACK: recovery begins by distance, on the same report here.
    assert_eq!(sent, [vec![11], vec![12], vec![1], vec![], vec![13]]);
    // The reduction may still be taken back (LX-ST-10).
    t.at_ms(60).recv(ack(at(13))).expect_phase("disorder");
    t.drain();
}

/// LK-REC-1: reports are counted in packets; distance alone does not begin recovery (FACK is gone).
#[test]
fn lk_rec_1_three_packets_are_needed_twin() {
    let mut t = ten_out(reno(json!({})), 40);
    t.at_ms(40).recv(sack(1, 5, 5));
    assert_eq!(numbers(&mut t), [11]);
    t.at_ms(42).recv(sack(1, 5, 6));
    assert_eq!(numbers(&mut t), [12]);
    t.expect_phase("disorder");
    // 2.6 takes the distance for three losses.
    let changes = json!({ "initial_window": 10, "congestion": { "algorithm": "reno" } });
    let mut t = ten_out(profile("linux-2.6.15", changes), 40);
    t.at_ms(40).recv(sack(1, 5, 5)).expect_phase("recovery");
    t.drain();
}

/// LK-REC-5: without SACK duplicates count as packets that have arrived; a partial acknowledgment proves one
/// more loss.
#[test]
fn lk_rec_5_duplicates_without_sack() {
    let plain = Peer { sack: false, ..peer() };
    let mut t = server(reno(json!({})), plain, 40, 10);
    t.at_ms(40);
    t.recv(ack(1));
    assert_eq!(numbers(&mut t), [11]);
    t.at_ms(42).recv(ack(1));
    assert_eq!(numbers(&mut t), [12]);
    t.at_ms(44).recv(ack(1));
    assert_eq!(numbers(&mut t), [1]);
    t.expect_phase("recovery").expect_ssthresh(5 * MSS);
    t.at_ms(60).recv(ack(at(5)));
    // Seven are in flight and two have arrived in recovery: ceil(5 * 2 / 10) less the one sent is none.
    t.expect_nothing();
    t.recv(ack(at(5)));
    assert_eq!(numbers(&mut t), [5]);
    // All acknowledged: the state stays until something above is, against false fast retransmits.
    t.at_ms(80).recv(ack(at(13))).expect_phase("recovery");
    t.drain();
}

/// LK-REC-8: after a timeout two new segments are the question; when the first of them is reported, the loss
/// was real.
#[test]
fn lk_rec_8_frto_asks_with_new_data() {
    let mut t = ten_out(reno(json!({})), 40);
    t.expect_at_ms(248, seg(1)).expect_phase("loss");
    t.at_ms(270).recv(ack(at(2)));
    assert_eq!(numbers(&mut t), [11, 12]);
    t.at_ms(290).recv(sack(2, 11, 11));
    assert_eq!(numbers(&mut t), [2]);
    t.expect_phase("loss").expect_ssthresh(5 * MSS);
}

/// LK-REC-8: where the originals were late only, what was lowered is raised again.
#[test]
fn lk_rec_8_frto_undoes_a_needless_timeout() {
    let mut t = ten_out(reno(json!({})), 40);
    t.expect_at_ms(248, seg(1));
    let late = |n: u32| ack(at(n)).ts_val(100_270, 21);
    t.at_ms(270).recv(late(2)).expect_phase("open");
    assert!(
        t.ssthresh().is_none_or(|ssthresh| ssthresh > 10 * MSS) && t.snap().cwnd >= 10 * MSS,
        "{:?}",
        t.snap()
    );
    t.drain();
}

/// The twin without F-RTO and without timestamps goes on to send again.
#[test]
fn lk_rec_8_twin_without_frto() {
    let mut t = ten_out(reno(json!({ "recovery": { "frto": false } })), 40);
    t.expect_at_ms(248, seg(1));
    t.at_ms(270).recv(ack(at(2)));
    assert_eq!(numbers(&mut t), [2, 3]);
}

/// LK-REC-6: a D-SACK of all that was sent again restores the window.
#[test]
fn lk_rec_6_duplicates_undo_the_reduction() {
    let mut t = ten_out(reno(json!({})), 40);
    t.at_ms(40);
    let sent: Vec<_> = (2..=4)
        .flat_map(|last| {
            t.advance_ms(2);
            t.recv(sack(1, 2, last));
            numbers(&mut t)
        })
        .collect();
    assert_eq!(sent, [11, 12, 1]);
    t.expect_ssthresh(5 * MSS);
    t.at_ms(60).recv(ack(at(11)).sack([(1, at(2))]));
    assert!(t.snap().cwnd >= 10 * MSS, "{:?}", t.snap());
    t.drain();
}

/// LK-REC-9: a hole that fills by itself raises the threshold of duplicates.
#[test]
fn lk_rec_9_reordering_raises_the_threshold() {
    let mut t = ten_out(reno(json!({})), 60);
    t.at_ms(40).recv(sack(1, 6, 7));
    t.drain();
    t.recv(ack(at(8)));
    t.drain();
    let una = 8;
    for last in una + 1..=una + 3 {
        t.recv(sack(una, una + 1, last));
        t.drain();
    }
    // Six packets lay between the late one and the highest report.
    t.expect_phase("disorder");
    t.drain();
}

/// LK-CW-1: slow start counts packets, whatever an acknowledgment covers; the rest of a step that reaches
/// ssthresh counts for congestion avoidance.
#[test]
fn lk_cw_1_an_acknowledgment_counts_its_packets() {
    let mut t = ten_out(linux(json!({})), 60);
    t.at_ms(40).recv(ack(at(5))).expect_cwnd(14 * MSS);
    assert_eq!(numbers(&mut t).len(), 8);
    // RFC 5681 adds one.
    let mut t = ten_out(profile("rfc-2014", json!({})), 60);
    t.at_ms(40).recv(ack(at(5))).expect_cwnd(11 * MSS);
    t.drain();
}

/// LK-CW-2: in slow start a half-used window may grow, one that is used less may not.
#[test]
fn lk_cw_2_growth_while_half_used() {
    let mut t = server(linux(json!({})), peer(), 6, 6);
    t.at_ms(40).recv(ack(at(3))).expect_cwnd(12 * MSS);
    let mut t = server(linux(json!({})), peer(), 5, 5);
    t.at_ms(40).recv(ack(at(3))).expect_cwnd(10 * MSS);
}

/// LK-IDLE-1: half for each RTO of silence, not below ten; ACKs in between change nothing.
#[test]
fn lk_idle_1_the_window_decays() {
    let mut t = server(linux(json!({ "initial_window": 40 })), peer(), 40, 40);
    t.at_ms(40).recv(ack(at(41)));
    let cwnd = t.snap().cwnd;
    let rto = t.rto().as_nanos() / 1_000_000;
    t.at_ms(20 + 2 * rto + 4).write(1);
    t.expect(data(at(41)..at(41) + 1)).expect_cwnd((cwnd / MSS / 4).max(10) * MSS);
}

/// LK-CUBIC-3: the factor 717/1024, and Reno's half.
#[test]
fn lk_cubic_3_the_threshold_after_a_loss() {
    for (algorithm, ssthresh) in [("cubic", 7), ("reno", 5)] {
        let mut t = ten_out(linux(json!({ "congestion": { "algorithm": algorithm } })), 40);
        t.at_ms(40).recv(sack(1, 2, 4)).expect_ssthresh(ssthresh * MSS);
        t.drain();
    }
}

/// LK-CUBIC-5: ACKs in a train as long as half the round trip end slow start at once.
#[test]
fn lk_cubic_5_a_train_ends_slow_start() {
    let run = |changes: Value| {
        let mut t = server(linux(changes), peer(), 200, 10);
        t.at_ms(40);
        for n in 2..=11 {
            t.recv(ack(at(n)));
            t.drain();
        }
        for n in 12..=31 {
            t.advance_ms(if n == 12 { 19 } else { 1 }).recv(ack(at(n)));
            t.drain();
        }
        t.ssthresh()
    };
    let found = run(json!({}));
    assert!(found.is_some_and(|found| (16 * MSS..60 * MSS).contains(&found)), "{found:?}");
    let off = json!({ "train": false, "delay": false, "low_window": 16, "spacing": "2 ms" });
    assert_eq!(run(json!({ "congestion": { "cubic": { "hystart": off } } })), None);
}

/// LK-PROBE-1: a probe of a closed window is an old ACK; RFC 9293's is a byte.
#[test]
fn lk_probe_1_the_probe_carries_no_data() {
    let mut t = server(linux(json!({})), peer(), 1, 1);
    t.at_ms(40).recv(ack(at(2)).win(0));
    t.write(1000);
    t.expect_nothing();
    t.at_ms(320);
    let sent = t.drain();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!((sent[0].1.seq, sent[0].1.len.unwrap_or(0)), (Some(at(2) - 1), 0));
}

/// LK-DEFER-1: room for one segment is not used at once where something was sent just now; its twin uses it.
#[test]
fn lk_defer_1_a_pair_is_waited_for_twin() {
    let play = |push: &str, gap: u64| {
        let mut t = ten_out(reno(json!({ "output": { "push": push } })), 40);
        t.at_ms(40).recv(sack(1, 2, 2));
        let first = numbers(&mut t);
        t.at_ms(40 + gap).recv(sack(1, 2, 3));
        (first, numbers(&mut t))
    };
    assert_eq!(play("device", 0), (vec![11], vec![]));
    assert_eq!(play("device", 2), (vec![11], vec![12]));
    assert_eq!(play("end-of-buffer", 0), (vec![11], vec![12]));
}

/// LK-PACE-2, LK-PACE-4: where a rate is allowed, pairs leave at it, the first one that is late with half the pause; the twin
/// sends all at once.
#[test]
fn lk_pace_4_a_rate_that_is_allowed_twin() {
    let play = |output: Value| {
        let mut t = ten_out(reno(json!({ "output": output })), 40);
        t.at_ms(40).recv(ack(at(11)));
        let mut sent = vec![numbers(&mut t)];
        for ms in 41..=45 {
            t.at_ms(ms);
            sent.push(numbers(&mut t));
        }
        sent
    };
    let none = Vec::new;
    // 1,448,000 bytes a second; the window of 20 in 20 ms, twice, would be four times that.
    let paced = [vec![11, 12], vec![13, 14], none(), vec![15, 16], none(), vec![17, 18]];
    assert_eq!(play(json!({ "pacing_rate": "11584 kbit/s" })), paced);
    assert_eq!(play(json!({})), [(11..=30).collect(), none(), none(), none(), none(), none()]);
}

/// LK-PACE-3: the timer that an acknowledgment restarts waits for the packet that is due next, here 269 ms more; the one that a timeout
/// starts does not.
#[test]
fn lk_pace_3_only_the_first_timer_is_extended() {
    let mut t = ten_out(reno(json!({ "output": { "pacing_rate": "80 kbit/s" } })), 10);
    t.at_ms(40).recv(ack(at(3)));
    t.expect_at_ms(536, seg(3));
    t.expect_at_ms(984, seg(3));
}

/// LK-PACE-3: and by no more than the longest RTO.
#[test]
fn lk_pace_3_two_minutes_at_most() {
    let mut t = ten_out(reno(json!({ "output": { "pacing_rate": "80 bit/s" } })), 10);
    t.at_ms(40).recv(ack(at(3)));
    t.expect_at_ms(122_880, seg(3));
}

/// LK-PACE-4: the window, not the allowed rate, is what paces a sender below it.
#[test]
fn lk_pace_4_the_usual_rate() {
    let mut t = ten_out(reno(json!({ "output": { "pacing_rate": "1 Gbit/s" } })), 40);
    t.at_ms(40).recv(ack(at(11)));
    assert_eq!(numbers(&mut t).len(), 2);
    // 2,896 bytes at 2,896,000 a second: half of a millisecond late, then a whole one each.
    t.at_ms(44);
    assert_eq!(numbers(&mut t), (13..=20).collect::<Vec<_>>());
}

/// LK-PUSH-1: a packet for the device is larger where the round trip is short.
#[test]
fn lk_push_1_more_at_high_rates() {
    let mut t = Script::server(linux(json!({}))).with_peer(peer());
    t.establish(2);
    t.write(20 * MSS);
    // 14140 bytes a 1.024 ms at twice the rate of the round trip, and 65279 over 2 to the power of 2000 >> 9: room for 15.
    for n in 1..=9 {
        t.expect(seg(n));
    }
    t.expect(seg(10).psh()).expect_nothing();
}

/// LK-PUSH-1: the second of each pair is pushed.
#[test]
fn lk_push_1_pairs() {
    let mut t = Script::server(linux(json!({}))).with_peer(peer());
    t.establish(20);
    t.write(20 * MSS);
    for n in 1..=10 {
        let s = if n % 2 == 0 { seg(n).psh() } else { seg(n) };
        t.expect(s);
    }
    t.expect_nothing();
}
