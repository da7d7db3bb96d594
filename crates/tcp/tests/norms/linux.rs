//! The sender of `linux-2.6.15` (LX-...).

use serde_json::{Value, json};

use super::common::*;
use super::{at, expect_segments, sack, seg, server};

fn linux(changes: Value) -> std::sync::Arc<rexmit_tcp::Profile> {
    profile("linux-2.6.15", changes)
}

/// T-LX-10, LX-IW-1.
#[test]
fn t_lx_10_the_first_window_is_three_segments() {
    server(linux(json!({})), Peer::default(), 10, 3).expect_cwnd(3 * 1448);
    let small = Peer { mss: 536, ..Peer::default() };
    let mut t = Script::server(linux(json!({}))).with_peer(small);
    t.establish(20).expect_cwnd(4 * 524);
}

/// Three acknowledgments of a segment each: cwnd 6, segments 4 to 9 out, of which the first is lost.
fn six_out(profile: std::sync::Arc<rexmit_tcp::Profile>) -> Script {
    let mut t = server(profile, Peer::default(), 40, 3);
    t.at_ms(40);
    for n in 2..=4 {
        t.recv(ack(at(n)));
        expect_segments(&mut t, 2 * n..=2 * n + 1);
    }
    t.expect_cwnd(6 * 1448);
    t
}

/// What leaves for each report of one more segment.
fn reports(t: &mut Script) -> Vec<Vec<u32>> {
    t.at_ms(60);
    (5..=11)
        .map(|last| {
            t.recv(sack(4, 5, last));
            t.drain().iter().map(|(_, s)| (s.seq.unwrap() - 1) / 1448 + 1).collect()
        })
        .collect()
}

/// T-LX-7, LX-ST-4 to LX-ST-8, LX-ST-10, LX-ST-14: two new segments in Disorder, the retransmission on the
/// third report, then one segment for every second ACK while cwnd falls to its half.
#[test]
fn t_lx_7_one_loss_and_rate_halving() {
    let mut t = six_out(linux(json!({})));
    let sent = reports(&mut t);
    assert_eq!(sent, [vec![10], vec![11], vec![4], vec![], vec![12], vec![], vec![13]]);
    t.expect_phase("recovery").expect_ssthresh(3 * 1448).expect_cwnd(3 * 1448);
    t.at_ms(80).recv(ack(at(12))).expect(seg(14)).expect_phase("disorder").expect_cwnd(3 * 1448);
    // LX-ST-14: at ssthresh it is slow start once more.
    t.recv(ack(at(13))).expect_cwnd(4 * 1448).expect(seg(15)).expect(seg(16));
}

/// The twin: FreeBSD falls to one segment and opens again only when less than ssthresh is out.
#[test]
fn t_lx_7_twin_freebsd() {
    let same_start = json!({ "initial_window": 3, "handshake": { "third_segment_opens_cwnd": false } });
    let mut t = six_out(freebsd(same_start));
    let sent = reports(&mut t);
    assert_eq!(sent, [vec![10], vec![11], vec![4], vec![], vec![], vec![12], vec![13]]);
    t.expect_phase("recovery").expect_ssthresh(3 * 1448);
}

/// LX-ST-5 (b): with two adjacent losses the distance to the highest report counts, not the reports.
#[test]
fn lx_st_5_recovery_begins_by_distance() {
    let mut t = six_out(linux(json!({})));
    t.at_ms(60).recv(sack(4, 6, 6)).expect(seg(10)).expect_phase("disorder");
    t.recv(sack(4, 6, 7)).expect(seg(4)).expect_phase("recovery");
    // FreeBSD waits for the third.
    let same_start = json!({ "initial_window": 3, "handshake": { "third_segment_opens_cwnd": false } });
    let mut t = six_out(freebsd(same_start));
    t.at_ms(60).recv(sack(4, 6, 6)).expect(seg(10));
    t.recv(sack(4, 6, 7)).expect(seg(11)).expect_phase("disorder");
}

/// T-LX-9, LX-BIC-2: BIC takes 819/1024, Reno half.
#[test]
fn t_lx_9_the_threshold_after_a_loss() {
    for (algorithm, ssthresh) in [("bic", 15), ("reno", 10)] {
        let changes = json!({ "initial_window": 20, "congestion": { "algorithm": algorithm } });
        let mut t = server(linux(changes), Peer::default(), 40, 20);
        t.at_ms(40).recv(sack(1, 2, 4)).expect(seg(1)).expect_ssthresh(ssthresh * 1448);
        t.drain();
    }
}

/// T-LX-5, LX-RTO-5: with a constant round trip of 104 ms the RTO settles above 304 ms by at most three jiffies.
#[test]
fn t_lx_5_the_rto_settles_at_the_round_trip_and_200_ms() {
    let mut t = Script::server(linux(json!({})));
    t.establish(104);
    for n in 1..=60 {
        t.write(1448);
        t.expect(seg(n)).advance_ms(104).recv(ack(at(n + 1)));
    }
    let rto = t.rto().as_nanos() / 1_000_000;
    assert!((304..=316).contains(&rto), "{rto}");
}

/// T-LX-6, LX-RTO-7: rto, 2 rto, 4 rto.
#[test]
fn t_lx_6_the_interval_doubles() {
    let mut t = server(linux(json!({})), Peer::default(), 1, 1);
    t.expect_rto_ms(220);
    t.expect_at_ms(20 + 220, seg(1));
    t.expect_at_ms(20 + 220 + 440, seg(1));
    t.expect_at_ms(20 + 220 + 440 + 880, seg(1));
}

/// T-LX-8, LX-ABC-2: cwnd stays at one segment until all that the timeout found is acknowledged.
#[test]
fn t_lx_8_no_growth_while_a_timeout_is_repaired() {
    let mut t = server(linux(json!({ "initial_window": 5 })), Peer::default(), 20, 5);
    t.expect_at_ms(240, seg(1)).expect_phase("loss");
    for n in 2..=6 {
        t.advance_ms(20).recv(ack(at(n))).expect(seg(n)).expect_nothing().expect_cwnd(1448);
    }
    t.advance_ms(20).recv(ack(at(7))).expect(seg(7)).expect(seg(8)).expect_cwnd(2 * 1448);
    // The twin grows in slow start at once.
    let mut t = server(profile("rfc-2014", json!({ "initial_window": 5 })), Peer::default(), 20, 5);
    t.expect_at_ms(1_020, seg(1));
    t.advance_ms(20).recv(ack(at(2))).expect(seg(2)).expect(seg(3)).expect_cwnd(2 * 1448);
}

/// LX-LOSS-1: SACKed segments are not sent again, and no fast retransmit before high_seq.
#[test]
fn lx_loss_1_reports_survive_a_timeout() {
    let mut t = server(linux(json!({ "initial_window": 5 })), Peer::default(), 5, 5);
    t.at_ms(40).recv(sack(1, 3, 3)).expect_nothing();
    t.expect_at_ms(240, seg(1));
    t.advance_ms(20).recv(sack(2, 3, 3)).expect(seg(2)).expect_nothing();
    t.advance_ms(20).recv(ack(at(4))).expect(seg(4)).expect_nothing();
    t.advance_ms(20).recv(ack(at(5))).expect(seg(5));
}

/// LX-NAGLE-1, LX-NAGLE-2: only an outstanding short segment holds a short one back.
#[test]
fn lx_nagle_1_minshall_twin() {
    let play = |t: &mut Script| {
        t.write(1448);
        t.expect(seg(1));
        t.write(100);
        let at_once = t.drain().len();
        t.write(100);
        (at_once, t.drain().len())
    };
    assert_eq!(play(Script::server(linux(json!({}))).establish(20)), (1, 0));
    assert_eq!(play(Script::server(freebsd(json!({}))).establish(20)), (0, 0));
}

/// LX-ST-3: a sender that does not fill its window does not widen it.
#[test]
fn lx_st_3_no_growth_below_the_window() {
    let mut t = server(linux(json!({})), Peer::default(), 2, 2);
    t.at_ms(40).recv(ack(at(2))).expect_cwnd(3 * 1448);
    t.recv(ack(at(3))).expect_cwnd(3 * 1448);
}

/// LX-IDLE-1: half for each RTO of idleness, not below the initial window.
#[test]
fn lx_idle_1_the_window_decays() {
    let mut t = server(linux(json!({ "initial_window": 20 })), Peer::default(), 20, 20);
    t.at_ms(40).recv(ack(at(21)));
    let (rto, cwnd) = (t.rto().as_nanos() / 1_000_000, t.snap().cwnd);
    // Data left at 20 ms; two whole RTOs and a little have passed.
    t.at_ms(20 + 2 * rto + 4).write(1);
    t.expect(data(at(21)..at(21) + 1)).expect_cwnd((cwnd / 4).max(3 * 1448));
}
