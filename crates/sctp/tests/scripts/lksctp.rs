//! The tests of the notes on lksctp 2.6.15, section 12: T-SC-1 to T-SC-9 (T-SC-10 stands beside the estimate).

use rexmit_stack::Reason;
use serde_json::json;

use crate::common::{Script, gaps, lksctp, sack};

/// A larger window of the peer's buffer than the thesis's hosts had, so that cwnd rules.
fn up() -> Script {
    Script::up(lksctp(json!({ "buffers": { "send": "1 MiB" } })))
}

/// T-SC-1 (SC-P-1, SC-S-1): 4200 < 4380 lets the fourth out, 5600 no fifth.
#[test]
fn four_thick_messages_leave_at_once() {
    let mut t = up();
    t.expect_cwnd(4380).write(1400).expect("1:1400").write(1400).expect("2:1400");
    t.write(1400).expect("3:1400").write(1400).expect("4:1400");
    t.write(1400).expect_nothing().expect_flight(5600);
    t.at_ms(100).recv(sack(2)).expect("5:1400");
}

/// T-SC-2 (SC-F-2, SC-F-4): reported missing by eight SACKs, sent by the fourth and by the eighth, cwnd lowered twice.
#[test]
fn one_chunk_is_fast_retransmitted_again() {
    let mut t = up();
    t.writes(12, 100);
    t.drain();
    for tsn in 2..5 {
        t.at_ms(100 + u64::from(tsn)).recv(gaps(0, &[(2, tsn)])).expect_nothing();
    }
    let reason = |sacked| Reason::Fast { duplicates: 4, sacked };
    t.at_ms(105).recv(gaps(0, &[(2, 5)])).expect_for("1:100", reason(4)).expect_cwnd(6000);
    for tsn in 6..9 {
        t.at_ms(100 + u64::from(tsn)).recv(gaps(0, &[(2, tsn)])).expect_nothing();
    }
    t.at_ms(109).recv(gaps(0, &[(2, 9)])).expect_for("1:100", reason(8)).expect_cwnd(6000);
    t.expect_ssthresh(6000);
    assert_eq!(t.assoc.counters().fast_retransmits, 2);
}

/// T-SC-3 (SC-C-4): a fast retransmit raises cwnd from 4380 to 6000.
#[test]
fn a_fast_retransmit_may_raise_cwnd() {
    let mut t = up();
    t.writes(6, 100);
    t.drain();
    t.expect_cwnd(4380);
    for last in 2..5 {
        t.recv(gaps(0, &[(2, last)]));
    }
    t.recv(gaps(0, &[(2, 5)])).expect("1:100").expect_cwnd(6000).expect_ssthresh(6000);
}

/// T-SC-4 (SC-T-1, SC-T-2): T3 starts anew with the old timeout, which doubles afterwards.
#[test]
fn the_second_timeout_is_not_doubled() {
    let mut t = up();
    // A sample of 0 sets the timeout to its least value.
    t.write(100).expect("1:100").recv(sack(1)).expect_rto_ms(1000);
    t.at_ms(400).write(100).expect("2:100");
    t.expect_at_ms(1400, "2:100").expect_rto_ms(2000).expect_cwnd(1500);
    t.expect_at_ms(2400, "2:100").expect_rto_ms(4000);
    // Only from now on the doubled one counts.
    t.expect_at_ms(4400, "2:100").expect_rto_ms(8000).expect_at_ms(8400, "2:100");
}

/// T-SC-5: the SACK of one chunk starts T3 anew for the next, which left 48 ms before; with SC-E-4 less its age.
#[test]
fn a_late_restart() {
    for (less_age, due) in [(false, 1400), (true, 1352)] {
        let changes = json!({ "timer": { "restart_less_age": less_age } });
        let mut t = Script::up(lksctp(changes));
        t.write(100).expect("1:100").recv(sack(1));
        t.at_ms(300).write(100).expect("2:100").at_ms(352).write(100).expect("3:100");
        t.at_ms(400).recv(sack(2)).expect_rto_ms(1000).expect_at_ms(due, "3:100");
    }
}

/// T-SC-6 (SC-T-1 (b), (c)): what gap blocks acknowledge stays.
#[test]
fn a_timeout_bundles_what_is_outstanding() {
    let mut t = up();
    t.writes(5, 100);
    t.drain();
    t.at_ms(100).recv(gaps(0, &[(2, 2), (4, 4)]));
    t.expect_at_ms(3000, "1:100 + 3:100 + 5:100");
    assert_eq!(t.assoc.counters().timeouts, 1);
}

/// T-SC-7 (SC-F-5): T3 runs on over a fast retransmit, even of the earliest chunk.
#[test]
fn a_fast_retransmit_does_not_restart_the_timer() {
    let mut t = up();
    t.writes(6, 100);
    t.drain();
    for last in 2..5 {
        t.at_ms(500).recv(gaps(0, &[(2, last)]));
    }
    t.at_ms(600).recv(gaps(0, &[(2, 5)])).expect("1:100");
    t.expect_at_ms(3000, "1:100 + 6:100");
}

/// T-SC-8 (SC-T-5): messages each 256 ms, round trip 104 ms, SACK delayed by 200 ms: the chunk after an acknowledged one
/// that is lost comes again 1040 ms after it left.
#[test]
fn a_thin_stream_waits_for_more_than_its_timeout() {
    let mut t = up();
    t.write(100).expect("1:100").at_ms(104).recv(sack(1)).expect_rto_ms(1000);
    // 2 is acknowledged by the receiver's timer, 52 ms after 3 has left.
    t.at_ms(256).write(100).expect("2:100").at_ms(512).write(100).expect("3:100");
    t.at_ms(256 + 304).recv(sack(2));
    let left = 512;
    t.at_ms(768).write(100).expect("4:100").at_ms(1024).write(100).expect("5:100");
    t.at_ms(1280).write(100).expect("6:100").at_ms(1536).write(100).expect("7:100");
    let rto = t.snap().rto.unwrap().as_nanos() / 1_000_000;
    assert!(rto == 1000, "{rto}");
    t.expect_at_ms(left + 1048, "3:100 + 4:100 + 5:100 + 6:100 + 7:100");
}

/// T-SC-9 (SC-S-3): Max.Burst lowers cwnd for good, to what is in flight and four packets; with RFC 9260 it does not.
#[test]
fn a_burst_lowers_cwnd() {
    for (rule, lowered) in [("permanent", true), ("temporary", false)] {
        let changes = json!({ "congestion": { "burst_rule": rule }, "buffers": { "send": "1 MiB" } });
        let mut t = Script::up(lksctp(changes));
        let (mut acked, mut written) = (0, 0);
        // Slow start, the window always full.
        while t.snap().cwnd < 20_000 {
            while t.snap().in_flight.unwrap() < t.snap().cwnd {
                written += 1;
                t.write(1000).drain();
            }
            acked += 2;
            t.advance_ms(1).recv(sack(acked)).drain();
        }
        t.advance_ms(1).recv(sack(written - 1)).expect_flight(1000);
        let before = t.snap().cwnd;
        t.writes(9, 1400).expect_cwnd(if lowered { 7000 } else { before });
        // The flight grows chunk by chunk, so that the lowered window is full after five more.
        assert_eq!(t.drain().len(), if lowered { 5 } else { 9 });
    }
}
