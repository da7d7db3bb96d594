//! The enhancements of study 002, chapter 4: one switch at a time on lksctp 2.6.15 (SC-E-0 to SC-E-7).

use rexmit_stack::Reason;
use serde_json::{Value, json};

use crate::common::{Script, data, gaps, lksctp, sack};

fn up(thin: Value) -> Script {
    Script::up(lksctp(json!({ "thin": thin })))
}

/// SC-E-0: three packets, two SACKs with gaps, one without that covers all.
#[test]
fn packets_in_flight() {
    let mut t = up(json!({ "backoff": false }));
    t.writes(3, 100).drain();
    assert_eq!(t.assoc.packets_in_flight(), 3);
    t.recv(gaps(0, &[(2, 2)]));
    assert_eq!(t.assoc.packets_in_flight(), 2);
    t.recv(gaps(0, &[(2, 3)]));
    assert_eq!(t.assoc.packets_in_flight(), 1);
    t.recv(sack(3));
    assert_eq!(t.assoc.packets_in_flight(), 0);
}

/// SC-E-1: one report is enough while thin; else four.
#[test]
fn fast_retransmit_after_one_report() {
    let mut t = up(json!({ "fast_retransmit_reports": 1 }));
    t.writes(3, 100).drain();
    t.recv(gaps(0, &[(2, 2)])).expect_for("1:100", Reason::Fast { duplicates: 1, sacked: 1 });
    let mut t = up(json!({ "fast_retransmit_reports": 1 }));
    t.writes(7, 100).drain();
    t.recv(gaps(0, &[(2, 2)])).expect_nothing().recv(gaps(0, &[(2, 3)])).expect_nothing();
    // 7 - 3 = 4 < 5: thin from here on, and the third report is more than enough.
    t.recv(gaps(0, &[(2, 4)])).expect("1:100");
    let mut t = up(json!({ "fast_retransmit_reports": 1, "threshold": 0 }));
    t.writes(3, 100).drain();
    t.recv(gaps(0, &[(2, 2)])).expect_nothing();
}

/// SC-E-2: a fast retransmit takes along what is outstanding, reported missing or not.
#[test]
fn bundling_in_fast_retransmit() {
    for (on, packet) in [(false, "1:100"), (true, "1:100 + 3:100 + 4:100")] {
        let mut t = up(json!({ "fast_retransmit_reports": 1, "bundle_in_fast_retransmit": on }));
        t.writes(4, 100).drain();
        t.recv(gaps(0, &[(2, 2)])).expect(packet).expect_flight(300);
    }
}

/// SC-E-3: the least timeout where one is computed while thin.
#[test]
fn a_smaller_least_timeout() {
    let mut t = up(json!({ "min_rto": "200 ms" }));
    t.write(100).expect("1:100").at_ms(8).recv(sack(1)).expect_rto_ms(200);
    // Not thin: 6 packets, of which one is acknowledged.
    let mut t = up(json!({ "min_rto": "200 ms" }));
    t.writes(6, 100).drain();
    t.at_ms(8).recv(sack(1)).expect_rto_ms(1000);
    t.recv(sack(6)).write(100).expect("7:100").recv(sack(7)).expect_rto_ms(200);
}

/// SC-E-4 for thick streams too, and where the age is more than the timeout.
#[test]
fn a_restart_less_the_age() {
    let changes = json!({ "timer": { "restart_less_age": true }, "rto": { "min": "100 ms" } });
    let mut t = Script::up(lksctp(changes));
    t.write(100).expect("1:100").at_ms(40).recv(sack(1)).expect_rto_ms(120);
    t.writes(8, 100).drain();
    // The chunk after the one that is acknowledged left 80 ms ago.
    t.at_ms(120).recv(sack(2));
    let rto = t.snap().rto.unwrap().as_nanos() / 1_000_000;
    t.expect_at_ms(40 + rto, "3:100 + 4:100 + 5:100 + 6:100 + 7:100 + 8:100 + 9:100");
}

/// SC-E-5: no backoff while thin.
#[test]
fn no_backoff() {
    let mut t = up(json!({ "backoff": false }));
    t.write(100).expect("1:100").recv(sack(1)).at_ms(400).write(100).expect("2:100");
    t.expect_at_ms(1400, "2:100").expect_rto_ms(1000).expect_at_ms(2400, "2:100");
    t.expect_at_ms(3400, "2:100").expect_rto_ms(1000);
    // With the fifth packet five are in flight, and that is not thin.
    t.expect_at_ms(4400, "2:100").expect_rto_ms(2000);
}

/// SC-E-6: outstanding chunks in front of new ones; they are timed no more, and are not a retransmission for cwnd.
#[test]
fn bundling_with_new_data() {
    let mut t = up(json!({ "bundle_with_new": "outstanding" }));
    t.write(100).expect("1:100");
    t.at_ms(100).write(100).expect_for("1:100 + 2:100", Reason::New).expect_flight(200).expect_cwnd(4380);
    // Of what has left twice there is no sample (SC-K-2); of what leaves next there is.
    t.at_ms(204).recv(sack(2)).expect_rto_ms(3000).write(100).expect("3:100");
    t.at_ms(300).recv(sack(3)).expect_rto_ms(1000);
}

/// SC-E-6: what gap blocks acknowledge is not outstanding; as the appendix lists it, it goes along.
#[test]
fn bundling_with_new_data_as_listed() {
    for (rule, packet) in [
        ("off", "4:100"),
        ("outstanding", "1:100 + 3:100 + 4:100"),
        ("listing", "1:100 + 2:100 + 3:100 + 4:100"),
    ] {
        let mut t = up(json!({ "bundle_with_new": rule }));
        t.writes(3, 100).drain();
        t.recv(gaps(0, &[(2, 2)])).write(100).expect(packet);
    }
}

/// SC-E-6: oldest first, until one does not fit; nothing where a new chunk fills the packet.
#[test]
fn bundling_with_new_data_as_far_as_there_is_room() {
    let mut t = up(json!({ "bundle_with_new": "outstanding" }));
    t.write(600).expect("1:600").write(600).expect("1:600 + 2:600");
    t.write(200).expect("1:600 + 2:600 + 3:200").write(100).expect("1:600 + 2:600 + 4:100");
}

/// SC-E-7: a receiver without delay.
#[test]
fn no_sack_delay() {
    let mut t = Script::up(lksctp(json!({ "sack": { "delay": "0 ns" } })));
    for tsn in 1..5 {
        t.recv(data(tsn, 100)).expect(&format!("SACK {tsn}"));
        t.read(100);
    }
}

/// SC-E-1: the threshold is asked for anew at each SACK, of chunks that it does not strike too.
#[test]
fn a_stream_becomes_thin_while_reports_wait() {
    let mut t = up(json!({ "fast_retransmit_reports": 1 }));
    t.writes(6, 100).drain();
    // Five in flight after it: not thin, one report.
    t.recv(gaps(0, &[(2, 2)])).expect_nothing();
    // The same again, which newly acknowledges nothing: four.
    t.recv(gaps(0, &[(2, 2)])).expect_for("1:100", Reason::Fast { duplicates: 1, sacked: 1 });
}
