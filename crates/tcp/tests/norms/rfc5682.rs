//! F-RTO with SACK (RFC 5682 section 3.1) and the response of Eifel (RFC 4015): ten segments out, a timeout at 1020 ms.

use serde_json::json;

use super::common::*;
use super::{MSS, at, sack, seg, server};

/// Ten out, `more` to send, and the timer has expired.
fn expired(more: u32, frto: bool) -> Script {
    let changes = json!({
        "congestion": { "algorithm": "reno", "hystart": "off" },
        "recovery": { "frto": frto, "tail_probe": false },
    });
    let mut t = server(profile("rfc", changes), Peer::default(), 10 + more, 10);
    t.expect_at_ms(1_020, seg(1)).expect_phase("loss").expect_cwnd(u64::from(MSS));
    t
}

/// RF-FRTO-1, RF-FRTO-3: the ACKs were late. New data leave instead of retransmissions, and the second ACK takes the timeout
/// back: ssthresh is what was in flight, cwnd what is out and what was acknowledged.
#[test]
fn a_late_ack_takes_the_timeout_back() {
    let mut t = expired(20, true);
    t.at_ms(1_030).recv(ack(at(2))).expect(seg(11)).expect(seg(12)).expect_phase("loss");
    t.recv(ack(at(3))).expect_phase("open").expect_ssthresh(10 * 1448);
    // Segments 3 to 12 are out, and one was acknowledged.
    t.expect_cwnd(11 * 1448).expect(seg(13));
    assert_eq!(t.conn.counters().retransmits, 1);
}

/// Without F-RTO the ACKs of the originals call for retransmissions of what has arrived.
#[test]
fn without_it_all_leaves_again_twin() {
    let mut t = expired(20, false);
    t.at_ms(1_030).recv(ack(at(2))).expect(seg(2)).expect(seg(3)).expect_phase("loss");
}

/// RF-FRTO-2: the second ACK reports new data, so the originals are lost: slow start, from three segments at most.
#[test]
fn a_report_of_new_data_confirms_the_timeout() {
    let mut t = expired(20, true);
    t.at_ms(1_040).recv(ack(at(2))).expect(seg(11)).expect(seg(12));
    t.at_ms(1_060).recv(sack(2, 11, 11)).expect(seg(2)).expect_phase("loss");
}

/// RF-FRTO-1: nothing new to send, or all acknowledged: the timeout stands.
#[test]
fn without_new_data_it_stands() {
    let mut t = expired(0, true);
    t.at_ms(1_040).recv(ack(at(2))).expect(seg(2)).expect(seg(3)).expect_phase("loss");
    let mut t = expired(5, true);
    t.at_ms(1_040).recv(ack(at(11))).expect_phase("open");
    t.drain();
    t.expect_cwnd(2 * 1448);
}
