//! The receiver of `linux-2.6.15` (LX-ACK-1 to LX-ACK-4).

use serde_json::{Value, json};

use super::common::*;
use super::{at, seg};

fn client(changes: Value) -> Script {
    let mut t = Script::client(profile("linux-2.6.15", changes));
    t.establish(20);
    t
}

/// LX-ACK-2: sixteen immediate ACKs; then two segments make one, or 40 ms.
#[test]
fn lx_ack_2_the_credit_of_immediate_acknowledgments() {
    let mut t = client(json!({}));
    for n in 1..=16 {
        t.recv(seg(n).ack(1)).expect(ack(at(n + 1)));
    }
    t.recv(seg(17)).expect_nothing();
    t.recv(seg(18)).expect(ack(at(19)));
    t.recv(seg(19)).expect_nothing();
    t.expect_at_ms(60, ack(at(20)));
}

/// The twin: FreeBSD delays the first, acknowledges the second.
#[test]
fn lx_ack_2_twin_freebsd() {
    let mut t = Script::client(freebsd(json!({})));
    t.establish(20);
    t.recv(seg(1).ack(1)).expect_nothing();
    t.recv(seg(2)).expect(ack(at(3)));
    t.recv(seg(3)).expect_nothing();
    t.expect_at_ms(120, ack(at(4)));
}

/// LX-ACK-2: out-of-order data refill the credit.
#[test]
fn lx_ack_2_trouble_refills_the_credit() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 2 } }));
    for n in 1..=2 {
        t.recv(seg(n).ack(1)).expect(ack(at(n + 1)));
    }
    t.recv(seg(4)).expect(ack(at(3)));
    t.recv(seg(3)).expect(ack(at(5)));
    // One of the two refilled has gone with each of the last ACKs.
    t.recv(seg(6)).expect(ack(at(5)));
    t.recv(seg(5)).expect(ack(at(7)));
    t.recv(seg(7)).expect_nothing();
    t.expect_at_ms(60, ack(at(8)));
}

/// LX-ACK-4: a read that empties the buffer acknowledges a short segment; FreeBSD waits for its timer.
#[test]
fn lx_ack_4_a_read_acknowledges_a_short_segment_twin() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }));
    t.at_ms(100).recv(data(1..101).ack(1).psh()).expect_nothing();
    t.read(100);
    t.expect(ack(101));
    let mut t = Script::client(freebsd(json!({})));
    t.establish(20);
    t.at_ms(100).recv(data(1..101).ack(1).psh()).expect_nothing();
    t.read(100);
    t.expect_at_ms(200, ack(101));
}

/// LX-ACK-4: a full segment is not acknowledged by its reading.
#[test]
fn lx_ack_4_a_read_leaves_a_full_segment_waiting() {
    let mut t = client(json!({ "delayed_ack": { "quick_credit": 0 } }));
    t.recv(seg(1).ack(1)).expect_nothing();
    t.read(1448);
    t.expect_nothing();
    t.expect_at_ms(60, ack(at(2)));
}
