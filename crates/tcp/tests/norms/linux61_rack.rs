//! RACK and probes for a lost tail of `linux-6.1` (LK-RACK-..., LK-TLP-...).

use std::sync::Arc;

use rexmit_tcp::Profile;
use serde_json::json;

use super::common::*;
use super::{MSS, at, sack, seg, server};

/// The kernel with its defaults but Reno.
fn as_it_comes() -> Arc<Profile> {
    profile("linux-6.1", json!({ "congestion": { "algorithm": "reno" } }))
}

/// Without RACK and probes.
fn plain() -> Arc<Profile> {
    profile("linux-6.1-no-rack", json!({ "congestion": { "algorithm": "reno" } }))
}

/// `sent` of `segments` have left at 20 ms, the round trip.
fn out(profile: Arc<Profile>, segments: u32, sent: u32) -> Script {
    let peer = Peer { wscale: Some(7), win: 4_000, ..Peer::default() };
    server(profile, peer, segments, sent)
}

/// LK-TLP-1, LK-TLP-2: two round trips and two ticks after the data left, new data go though cwnd is full; the timeout runs from
/// there. The twin without a probe is `lk_iw_1_and_lk_rto_1_the_start`.
#[test]
fn lk_tlp_2_a_probe_of_new_data() {
    let mut t = out(as_it_comes(), 20, 10);
    // Tick 20 and 42 more, and one since the tick that is under way does not count.
    t.expect_at_ms(63, seg(11));
    t.expect_nothing_until_ms(287);
    t.expect_at_ms(288, seg(1));
}

/// LK-TLP-2: where nothing new waits, the last segment leaves again.
#[test]
fn lk_tlp_2_the_last_segment_again() {
    let mut t = out(as_it_comes(), 10, 10);
    t.expect_at_ms(63, seg(10));
    t.expect_at_ms(288, seg(1));
}

/// LK-TLP-1: a single packet waits for its delayed acknowledgment as well, though no longer than the timeout.
#[test]
fn lk_tlp_1_a_single_packet() {
    let mut t = out(as_it_comes(), 1, 1);
    t.expect_at_ms(248, seg(1));
    t.expect_rto_ms(220);
    t.expect_at_ms(472, seg(1));
    t.expect_rto_ms(440);
}

/// LK-TLP-3: an acknowledgment beyond the probe shows that it repaired a loss; one that reports the probe as a duplicate shows
/// that there was none.
#[test]
fn lk_tlp_3_a_repair_lowers_the_window_once() {
    let reported = |report: bool| {
        let mut t = out(as_it_comes(), 10, 10);
        t.expect_at_ms(63, seg(10));
        t.at_ms(83);
        let whole = ack(at(11));
        t.recv(if report { whole.sack([(at(10), at(11))]) } else { whole });
        t.expect_no_ssthresh();
        t.write(u64::from(2 * MSS));
        t.drain();
        t.at_ms(103).recv(ack(at(13)));
        t.ssthresh()
    };
    assert!(reported(false).is_some());
    assert_eq!(reported(true), None);
}

/// LK-RACK-2 to LK-RACK-4: one report, and a quarter of the round trip for what was overtaken; with two ticks that is when the
/// timer takes the segment for lost.
#[test]
fn lk_rack_4_a_single_report_and_a_timer() {
    let mut t = out(as_it_comes(), 40, 10);
    t.at_ms(40).recv(sack(1, 2, 2)).expect_phase("disorder");
    t.expect(seg(11));
    // 5 ms and 2 ms, and the tick that is under way.
    t.expect_nothing_until_ms(47);
    t.expect_at_ms(48, seg(1)).expect_phase("recovery");
    // The twin waits for the third report.
    let mut t = out(plain(), 40, 10);
    t.at_ms(40).recv(sack(1, 2, 2)).expect_phase("disorder");
    t.expect(seg(11));
    t.expect_nothing_until_ms(200);
}

/// LK-RACK-3: with as many reports as the threshold, what was overtaken has no more time.
#[test]
fn lk_rack_3_three_reports_at_once() {
    let mut t = out(as_it_comes(), 40, 10);
    t.at_ms(40).recv(sack(1, 2, 4)).expect_phase("recovery");
    t.expect(seg(1));
    t.expect(seg(11));
}

/// LK-RACK-2: a copy is lost as soon as something arrives that left after it. Without RACK it waits for the timeout.
#[test]
fn lk_rack_2_a_lost_retransmission() {
    let again = |profile: Arc<Profile>| {
        let mut t = out(profile, 60, 10);
        t.at_ms(40).recv(sack(1, 2, 4));
        t.expect(seg(1));
        // Two of three may leave, so new data follow the copy.
        t.expect(seg(11));
        for last in 5..=10 {
            t.advance_ms(1);
            t.recv(sack(1, 2, last));
            t.drain();
        }
        t.at_ms(62).recv(sack(1, 2, 11));
        t.drain().iter().any(|(_, s)| s.seq == Some(1))
    };
    assert!(again(as_it_comes()));
    assert!(!again(plain()));
}

/// A segment leaves again as it was: a FIN that left by itself does not join it (`__tcp_retransmit_skb`), unless it fits in behind
/// the only segment that leaves (`tcp_retrans_try_collapse`).
#[test]
fn a_fin_that_left_alone_joins_a_short_segment_alone() {
    let mut t = Script::server(plain()).with_peer(Peer { wscale: Some(7), win: 4_000, ..Peer::default() });
    t.establish(20);
    t.write(500);
    t.expect(data(1..501).psh());
    t.close();
    t.expect(fin(501));
    // The timeout sends both as one.
    t.expect_at_ms(248, data(1..501).fin());
}
