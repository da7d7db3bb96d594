//! Rules for few segments out, on several profiles: Linux's for thin streams, RFC 5827, RFC 7765, probes of RFC 8985.

use serde_json::{Value, json};

use super::common::*;
use super::{at, sack, seg, server};

/// Profiles that recover each in a way of its own.
const STACKS: [&str; 4] = ["rfc-2014", "linux-2.6.9", "linux-2.6.15", "linux-6.1-no-rack"];

/// `n` messages of 100 bytes are out, each in a segment of its own; the first slow start is over.
fn thin(stack: &str, changes: Value, n: u32) -> Script {
    let mut base = json!({
        "output": { "nagle": "off" }, "initial_window": 10, "congestion": { "initial_ssthresh": 20 },
    });
    for (key, value) in changes.as_object().unwrap() {
        base[key] = value.clone();
    }
    let mut t = Script::server(profile(stack, base));
    t.establish(20);
    for i in 0..n {
        t.write(100);
        t.expect(message(i));
    }
    t
}

/// Message `i`, counted from 0.
fn message(i: u32) -> Seg {
    data(1 + 100 * i..101 + 100 * i)
}

/// A report of message `i`, with the one before it the first that is missing.
fn report(una: u32, from: u32, to: u32) -> Seg {
    ack(1 + 100 * una).sack([(1 + 100 * from, 1 + 100 * to)])
}

/// `tcp_thin_linear_timeouts`: six equal intervals, then they grow (FreeBSD's slop is not doubled).
#[test]
fn thin_streams_do_not_double_six_intervals() {
    for stack in STACKS.into_iter().chain(["freebsd-6.0"]) {
        let mut t = thin(stack, json!({ "thin": { "linear_timeouts": true } }), 1);
        let mut left = Vec::new();
        while left.len() < 8 {
            t.advance_ms(1);
            left.extend(t.drain().iter().map(|(at, _)| *at));
        }
        let gaps: Vec<u64> = left.windows(2).map(|w| w[1] - w[0]).collect();
        let rto = left[0] - 20;
        assert!(gaps[..6].iter().all(|gap| gap.abs_diff(rto) <= 8), "{stack}: {rto} {gaps:?}");
        assert!(gaps[6] > rto + 50, "{stack}: {rto} {gaps:?}");
    }
}

/// The twins: as the rule is off, or four packets are out.
#[test]
fn thin_streams_twins_double() {
    for (on, n) in [(false, 1), (true, 4)] {
        let mut t = thin("rfc-2014", json!({ "thin": { "linear_timeouts": on } }), n);
        t.expect_at_ms(1_020, if n == 1 { message(0) } else { data(1..401) });
        t.expect_at_ms(3_020, if n == 1 { message(0) } else { data(1..401) });
    }
}

/// The former `tcp_thin_dupack`: one report is enough, if nothing waits to be sent and the stream is thin.
#[test]
fn thin_streams_begin_recovery_at_the_first_report() {
    for stack in STACKS {
        let play = |after: u32, n: u32| {
            let mut t = thin(stack, json!({ "thin": { "fast_retransmit_after": after } }), n);
            t.at_ms(40).recv(report(0, 1, 2));
            t.drain().iter().map(|(_, s)| s.seq.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(play(1, 2), [1], "{stack}");
        assert_eq!(play(1, 3), [1], "{stack}");
        assert_eq!(play(1, 4), [0; 0], "{stack}");
        assert_eq!(play(0, 3), [0; 0], "{stack}");
    }
}

/// RFC 5827 section 3.2: with three out two duplicates are enough, with two out one.
#[test]
fn rfc_5827_early_retransmit() {
    let early = |on: bool| json!({ "recovery": { "early_retransmit": on } });
    for stack in STACKS {
        let mut t = thin(stack, early(true), 2);
        t.at_ms(40).recv(report(0, 1, 2));
        assert_eq!(t.drain()[0].1.seq, Some(1), "{stack}");

        let mut t = thin(stack, early(true), 3);
        t.at_ms(40).recv(report(0, 1, 2)).expect_nothing();
        t.recv(report(0, 1, 3));
        assert_eq!(t.drain()[0].1.seq, Some(1), "{stack}");

        let mut t = thin(stack, early(false), 3);
        t.at_ms(40).recv(report(0, 1, 3)).expect_nothing();
    }
    // Without SACK, by duplicates; not while data wait.
    let plain = Peer { sack: false, ..Peer::default() };
    let mut t = server(profile("rfc-2014", early(true)), plain, 3, 3);
    t.at_ms(40).recv(ack(1)).expect_nothing().recv(ack(1)).expect(seg(1));
    let changes =
        json!({ "initial_window": 3, "recovery": { "early_retransmit": true, "limited_transmit": 0 } });
    let mut t = server(profile("rfc-2014", changes), plain, 4, 3);
    t.at_ms(40).recv(ack(1)).expect_nothing().recv(ack(1)).expect_nothing();
}

/// When the next packet leaves, and its first number.
fn next(t: &mut Script) -> (u64, u32) {
    loop {
        t.advance_ms(1);
        if let Some((at, s)) = t.drain().first() {
            return (*at, s.seq.unwrap());
        }
    }
}

/// RFC 8985 section 7.2 and 7.3: after two round trips of silence the last segment leaves again, and the timer runs
/// from there.
#[test]
fn rfc_8985_a_probe_for_the_tail() {
    for stack in STACKS {
        let mut t = thin(stack, json!({ "recovery": { "tail_probe": true } }), 2);
        let rto = t.snd_rto();
        let probe = next(&mut t);
        assert!((60..=68).contains(&probe.0) && probe.1 == 101, "{stack}: {probe:?}");
        // Then the timer, for the head, a timeout later.
        let head = next(&mut t);
        assert!(head.0.abs_diff(probe.0 + rto) <= 8 && head.1 == 1, "{stack}: {probe:?} {head:?}");
        // A single segment may wait for its delayed ACK, but no longer than the timer: the probe leaves in its place.
        let mut t = thin(stack, json!({ "recovery": { "tail_probe": true } }), 1);
        let due = (40 + 200).min(t.snd_rto());
        let probe = next(&mut t);
        assert!(probe.0.abs_diff(20 + due) <= 8 && probe.1 == 1, "{stack}: {due} {probe:?}");
        assert_eq!(t.conn.counters().timeouts, 0, "{stack}");
        // Then the timer, not doubled.
        let head = next(&mut t);
        assert!(head.0.abs_diff(probe.0 + rto) <= 8 && head.1 == 1, "{stack}: {probe:?} {head:?}");
        assert_eq!(t.conn.counters().timeouts, 1, "{stack}");
    }
}

/// Section 7.3: new data first, whatever cwnd; section 7.4: nothing was lost then.
#[test]
fn rfc_8985_a_probe_of_new_data() {
    let changes = json!({ "initial_window": 2, "recovery": { "tail_probe": true } });
    let mut t = server(profile("rfc-2014", changes), Peer::default(), 4, 2);
    t.expect_at_ms(60, seg(3)).expect_nothing();
    t.at_ms(80).recv(ack(at(4))).expect(seg(4));
    assert!(t.snap().cwnd >= 2 * 1448);
}

/// Section 7.4: the ACK of more than the probe, without a report of a duplicate, tells that it repaired a loss; with
/// one it did not.
#[test]
fn rfc_8985_a_probe_that_repaired_a_loss() {
    for (duplicate, cwnd) in [(false, 5), (true, 10)] {
        let changes = json!({
            "initial_window": 10, "recovery": { "tail_probe": true }, "congestion": { "ssthresh": "cwnd-half" },
        });
        let mut t = server(profile("rfc-2014", changes), Peer::default(), 2, 2);
        t.expect_at_ms(60, seg(2));
        t.at_ms(80);
        if duplicate {
            t.recv(ack(at(3))).recv(ack(at(3)).sack([(at(2), at(3))]));
        } else {
            t.recv(ack(at(3)));
        }
        t.write(1448);
        t.expect(seg(3)).at_ms(100).recv(ack(at(4)));
        t.expect_window(cwnd);
    }
}

/// RFC 7765 section 4: the timer that an ACK restarts runs from when the earliest segment left.
#[test]
fn rfc_7765_the_timer_runs_from_the_earliest_segment() {
    for stack in STACKS {
        let due = |on: bool, n: u32| {
            let mut t = thin(stack, json!({ "recovery": { "rto_restart": on } }), 1);
            for i in 1..n {
                t.at_ms(20 + 8 * u64::from(i)).write(100);
                t.expect(message(i));
            }
            t.at_ms(60).recv(ack(101));
            let rto = t.snd_rto();
            (t.snap().rexmt_due.unwrap().as_nanos() / 1_000_000).abs_diff(60 + rto)
        };
        // The second left at 28 ms: 32 ms ago.
        assert!((24..=36).contains(&due(true, 3)), "{stack}: {}", due(true, 3));
        assert!(due(false, 3) <= 8, "{stack}");
        // Five out, of which four stay: not few.
        assert!(due(true, 5) <= 8, "{stack}");
    }
}

/// A report beyond the head, with full segments, still needs three where nothing is on.
#[test]
fn without_the_rules_three_reports_are_needed() {
    for stack in STACKS {
        let mut t = thin(stack, json!({}), 5);
        t.at_ms(40).recv(report(0, 1, 3)).expect_nothing();
        t.drain();
    }
    let mut t = server(profile("rfc-2014", json!({})), Peer::default(), 4, 4);
    t.at_ms(40).recv(sack(1, 2, 3)).expect_nothing();
    t.recv(sack(1, 2, 4)).expect(seg(1));
}
