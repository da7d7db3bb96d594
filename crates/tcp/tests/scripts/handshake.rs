//! SYN and SYN-ACK (FB-SYN), the first window (FB-IW), what both leave behind.

use rexmit_tcp::State;
use serde_json::json;

use crate::common::*;

/// The client's SYN: intervals of 3.0 s, then 3.0 s times the backoff and 200 ms; plain from the third expiry.
#[test]
fn fb_syn_1_the_syn_timer() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect();
    t.expect(syn().mss(1460).wscale(1).sack_ok().ts().win(65_535));
    t.expect_at_ms(3_000, syn().wscale(1).ts());
    t.expect_at_ms(6_200, syn().wscale(1).ts());
    t.expect_at_ms(9_400, syn().no_wscale().no_ts().sack_ok());
    t.expect_at_ms(12_600, syn().no_wscale().no_ts());
    t.expect_at_ms(15_800, syn().no_wscale().no_ts());
    t.expect_at_ms(22_000, syn().no_wscale().no_ts());
    t.expect_at_ms(34_200, syn().no_wscale().no_ts());
}

/// A plain SYN makes a plain connection: no scaling, no timestamps, whatever the answer offers.
#[test]
fn fb_syn_1_a_plain_syn_makes_a_plain_connection() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect();
    t.at_ms(9_500).drain();
    t.recv(syn_ack().mss(1460).wscale(1).sack_ok().win(30_000)).expect(ack(1).no_ts().win(65_535));
    t.expect_snd_wnd(30_000);
}

/// The server's SYN-ACK: 3, 6, 12 s, three times; then it is forgotten, and a new SYN is welcome.
#[test]
fn fb_syn_2_the_syn_ack_timer_doubles_three_times() {
    let mut t = Script::server(freebsd(json!({})));
    t.recv(syn().mss(1460).wscale(1).sack_ok());
    t.expect(syn_ack().mss(1460).wscale(1).sack_ok().ts().win(65_535));
    t.expect_at_ms(3_000, syn_ack().wscale(1).sack_ok().ts());
    t.expect_at_ms(9_000, syn_ack());
    t.expect_at_ms(21_000, syn_ack());
    t.expect_nothing_until_ms(45_000);
    t.expect_state(State::Listen);
    t.recv(syn().mss(1460)).expect(syn_ack().no_wscale());
    t.expect_at_ms(48_000, syn_ack());
}

/// A repeated SYN is answered at once and is not a step of the timer, which starts anew or goes on.
#[test]
fn fb_syn_2_a_repeated_syn_is_answered_at_once() {
    for (restarts, next) in [(true, 4_000), (false, 3_000)] {
        let mut t =
            Script::server(freebsd(json!({ "handshake": { "repeated_syn_restarts_timer": restarts } })));
        t.recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
        t.at_ms(1_000).recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
        t.expect_at_ms(next, syn_ack());
        t.expect_at_ms(next + 6_000, syn_ack());
    }
}

/// A SYN-ACK resent by its timer leaves one segment of initial window...
#[test]
fn fb_syn_4_after_a_syn_ack_timeout_one_segment() {
    let mut t = Script::server(freebsd(json!({ "handshake": { "third_segment_opens_cwnd": false } })));
    t.recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.expect_at_ms(3_000, syn_ack());
    t.at_ms(3_010).recv(ack(1)).expect_cwnd(1448);
}

/// ...one repeated for a repeated SYN does not.
#[test]
fn fb_syn_4_twin_after_a_repeated_syn_the_normal_window() {
    let mut t = Script::server(freebsd(json!({ "handshake": { "third_segment_opens_cwnd": false } })));
    t.recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.at_ms(2_500).recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.at_ms(2_510).recv(ack(1)).expect_cwnd(4380);
}

/// min(4 MSS, max(2 MSS, 4380)): 4380 for 1448.
#[test]
fn fb_iw_1_rfc3390() {
    for (mss, want) in [(1460, 4380), (536 + 12, 4 * 536), (1072, 4 * 1060), (9000, 4380)] {
        let mut t = Script::server(freebsd(json!({ "handshake": { "third_segment_opens_cwnd": false } })))
            .with_peer(Peer { mss, ..Peer::default() });
        t.establish(10).expect_cwnd(want);
    }
}

/// rfc3390=0: so many segments.
#[test]
fn fb_iw_1_twin_a_number_of_segments() {
    let mut t = Script::server(freebsd(
        json!({ "initial_window": 1, "handshake": { "third_segment_opens_cwnd": false } }),
    ));
    t.establish(10).expect_cwnd(1448);
}

/// The third segment opens the passive side's window: four segments leave at once.
#[test]
fn fb_iw_2_four_segments_leave_at_once() {
    let mut t = Script::server(freebsd(json!({})));
    t.establish(10).expect_cwnd(4380 + 1448);
    t.write(10_000);
    t.expect(data(1..1449)).expect(data(1449..2897)).expect(data(2897..4345)).expect(data(4345..5793));
}

/// Without that rule: three.
#[test]
fn fb_iw_2_twin_third_segment_opens_nothing() {
    let mut t = Script::server(freebsd(json!({ "handshake": { "third_segment_opens_cwnd": false } })));
    t.establish(10).expect_cwnd(4380);
    t.write(10_000);
    t.expect(data(1..1449)).expect(data(1449..2897)).expect(data(2897..4345));
}

/// The active opener starts with the bare value: three segments, the remaining 36 bytes are held.
#[test]
fn fb_iw_2_the_active_opener_sends_three() {
    let mut t = Script::client(freebsd(json!({})));
    t.establish(10).expect_cwnd(4380);
    t.write(10_000);
    t.expect(data(1..1449)).expect(data(1449..2897)).expect(data(2897..4345));
}

/// The handshake's sample is now - echo + 1; 3 r + 200 with it.
#[test]
fn fb_iw_3_the_handshake_gives_a_sample() {
    let mut t = Script::server(freebsd(json!({})));
    t.establish(28).expect_rto_ms(3 * 29 + 200);
}

#[test]
fn t_fb_2_a_sample_of_29_ticks_gives_an_rto_of_287_ms() {
    let mut t = Script::server(freebsd(json!({})));
    t.establish(28).expect_rto_ms(287);
    t.write(100);
    t.expect(data(1..101)).expect_at_ms(28 + 287, data(1..101));
}

/// ssthresh starts without limit.
#[test]
fn fb_iw_4_ssthresh_is_unlimited() {
    let mut t = Script::server(freebsd(json!({})));
    t.establish(10).expect_no_ssthresh();
}

/// IP lengths of a SYN, a pure ACK, ACKs with blocks, a full segment.
#[test]
fn fb_seg_options_are_agreed_on() {
    for (peer, mss) in [
        (Peer::default(), 1448),
        (Peer { ts: false, ..Peer::default() }, 1460),
        (Peer { ts: false, wscale: None, sack: false, ..Peer::default() }, 1460),
    ] {
        let mut t = Script::server(freebsd(json!({}))).with_peer(peer);
        t.establish(10);
        t.write(5000);
        let first = &t.drain()[0].1;
        assert_eq!((first.len, first.has_ts), (Some(mss), Some(peer.ts)));
    }
}
