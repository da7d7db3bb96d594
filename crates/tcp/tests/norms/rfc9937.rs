//! Fast recovery by the rate of RFC 9937, beside RFC 6937 and RFC 6675: twenty segments out, the first lost. Reno, whose
//! ssthresh is half of what is in flight.

use serde_json::{Value, json};

use super::common::*;
use super::{at, sack, server};

/// Twenty out, and forty more to send; `prr` names the rule.
fn twenty(prr: &str, changes: Value) -> Script {
    let mut all = json!({
        "initial_window": 20,
        "congestion": { "algorithm": "reno", "hystart": "off" },
        "recovery": { "prr": prr },
    });
    for (key, value) in changes.as_object().expect("a table") {
        all[key] = value.clone();
    }
    server(profile("rfc", all), Peer::default(), 60, 20)
}

/// How many segments leave for each of the reports `2..=last`, of which the third begins recovery.
fn left(t: &mut Script, reports: std::ops::RangeInclusive<u32>) -> Vec<usize> {
    t.at_ms(40);
    reports
        .map(|last| {
            t.recv(sack(1, 2, last));
            t.drain().len()
        })
        .collect()
}

/// RF-PRR-1, RF-PRR-2: while more is in flight than ssthresh, one segment leaves for two that arrive. RFC 6675 waits for half
/// of the window and then sends with every ACK.
#[test]
fn the_flight_shrinks_in_proportion_twin() {
    // Two leave by limited transmit, then recovery; ssthresh is 10, and 22 - 2 = 20 segments count.
    let of_prr = left(&mut twenty("rfc9937", json!({})), 2..=16);
    assert_eq!(of_prr[..2], [1, 1], "{of_prr:?}");
    assert_eq!(of_prr[2..], [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0], "{of_prr:?}");
    let of_pipe = left(&mut twenty("off", json!({})), 2..=16);
    assert_eq!(of_pipe[..3], [1, 1, 1], "{of_pipe:?}");
    assert!(of_pipe[3..10].iter().all(|n| *n == 0), "{of_pipe:?}");
}

/// RF-PRR-4: recovery ends with cwnd = ssthresh.
#[test]
fn recovery_ends_at_ssthresh() {
    let mut t = twenty("rfc9937", json!({}));
    left(&mut t, 2..=20);
    t.at_ms(60).recv(ack(at(23))).drain();
    t.expect_phase("open").expect_ssthresh(10 * 1448).expect_cwnd(10 * 1448);
}

/// RF-PRR-3: below ssthresh, an ACK that moves una adds a segment; one that does not adds none, which it does in RFC 6937.
#[test]
fn a_safe_ack_adds_a_segment_twin() {
    let play = |rule: &str| {
        let mut t = twenty(rule, json!({}));
        // Twelve are lost with one ACK: far below ssthresh.
        t.at_ms(40).recv(sack(1, 13, 16));
        let first = t.drain().len();
        t.recv(sack(1, 13, 20));
        let report = t.drain().len();
        t.at_ms(60).recv(sack(2, 13, 20));
        (first, report, t.drain().len())
    };
    // Four arrived, of 20 - 12 - 4 = 4 in flight: four leave, then four for four, then one more with the safe ACK.
    assert_eq!(play("rfc9937"), (4, 4, 2));
    // A segment more with each, until ssthresh ends it.
    assert_eq!(play("rfc6937"), (5, 5, 1));
}

/// RF-PRR-2: the first retransmission leaves at once, where the timer of RACK began recovery and nothing has arrived.
#[test]
fn the_first_retransmission_is_forced() {
    let mut t = twenty("rfc9937", json!({}));
    t.at_ms(40).recv(sack(1, 2, 2)).drain();
    let again = loop {
        t.advance_ms(1);
        if let Some((at, s)) = t.drain().first() {
            break (*at, s.seq.unwrap());
        }
    };
    assert_eq!(again, (45, 1));
}
