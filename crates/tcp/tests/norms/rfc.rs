//! The profile `rfc-2014` outside loss recovery.

use serde_json::json;

use super::common::*;
use super::{MSS, at, expect_segments, seg, server};

fn rfc() -> std::sync::Arc<rexmit_tcp::Profile> {
    profile("rfc-2014", json!({}))
}

/// RFC 6298 sections 2.1, 5.5 and 5.7: 1 s, doubled; 3 s for data after a lost SYN, as nothing was measured.
#[test]
fn rfc6298_the_syn() {
    let mut t = Script::client(rfc());
    t.connect().expect(syn().wscale(7));
    t.expect_at_ms(1_000, syn());
    t.expect_at_ms(3_000, syn());
    t.at_ms(3_020).recv(syn_ack().mss(1460).wscale(1).sack_ok()).expect(ack(1));
    t.expect_rto_ms(3_000);
    // RFC 6928 section 2: two SYNs resent leave one segment.
    t.expect_cwnd(u64::from(MSS));
}

/// RFC 6928 section 2: one SYN resent leaves the initial window; RFC 5681 section 3.1 would not.
#[test]
fn rfc6928_one_lost_syn_is_forgiven() {
    for (limit, cwnd) in [(2, 10 * 1448), (1, 1448)] {
        let mut t = Script::client(profile(
            "rfc-2014",
            json!({ "handshake": { "one_segment_after_timeouts": limit } }),
        ));
        t.connect().expect(syn());
        t.expect_at_ms(1_000, syn());
        t.at_ms(1_020).recv(syn_ack().mss(1460).wscale(1).sack_ok()).expect(ack(1)).expect_cwnd(cwnd);
    }
}

/// RFC 6298 section 2.4: the least RTO is a second.
#[test]
fn rfc6298_a_second_at_least() {
    let mut t = server(rfc(), Peer::default(), 1, 1);
    t.expect_rto_ms(1_000);
    t.at_ms(40).recv(ack(at(2))).expect_rto_ms(1_000);
}

/// RFC 6928, RFC 5681 equation 2: ten segments, then min(N, SMSS) an ACK.
#[test]
fn rfc5681_slow_start_counts_bytes_up_to_a_segment() {
    let mut t = server(rfc(), Peer::default(), 40, 10);
    t.at_ms(40).recv(ack(at(3))).expect_cwnd(11 * 1448);
    expect_segments(&mut t, 11..=13);
    t.recv(ack(at(3) + 100)).expect_cwnd(11 * 1448 + 100);
    t.recv(ack(at(5))).expect_cwnd(12 * 1448 + 100);
    t.drain();
}

/// RFC 5681 section 4.1: after an RTO without sending the window is the initial one again.
#[test]
fn rfc5681_restart_after_idle() {
    let mut t = server(rfc(), Peer::default(), 10, 10);
    t.at_ms(40);
    for n in 2..=11 {
        t.recv(ack(at(n)));
    }
    let grown = t.snap().cwnd;
    assert!(grown > 14_480, "{grown}");
    t.at_ms(1_019).write(1);
    t.expect(data(at(11)..at(11) + 1)).expect_cwnd(grown);
    t.at_ms(1_030).recv(ack(at(11) + 1));
    t.at_ms(2_020).write(1);
    t.expect(data(at(11) + 1..at(11) + 2)).expect_cwnd(14_480);
}

/// RFC 5681 section 4.2: every second full segment, else within 200 ms; at once where a gap is filled.
#[test]
fn rfc5681_delayed_acknowledgments() {
    let mut t = Script::client(rfc());
    t.establish(20);
    t.recv(seg(1).ack(1)).expect_nothing();
    // A read that frees a segment does not undo it.
    t.read(1448);
    t.expect_nothing();
    t.at_ms(50).recv(seg(2)).expect(ack(at(3)));
    t.recv(seg(3)).expect_nothing();
    t.expect_at_ms(250, ack(at(4)));
    t.recv(seg(5)).expect(ack(at(4)).sack([(at(5), at(6))]));
    t.recv(seg(4)).expect(ack(at(6)).no_sack());
}

/// RFC 2883 section 4: a repeated segment is reported first.
#[test]
fn rfc2883_duplicates_are_reported() {
    let mut t = Script::client(rfc());
    t.establish(20);
    t.recv(seg(1).ack(1));
    t.recv(seg(2)).expect(ack(at(3)));
    t.recv(seg(2)).expect(ack(at(3)).sack([(at(2), at(3))]));
}
