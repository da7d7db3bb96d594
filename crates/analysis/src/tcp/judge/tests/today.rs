//! Senders of today: losses by time, probes for lost tails, pacing (RFC 8985; Linux with BBR).

use super::*;

/// The server's SYN-ACK looks like that of Linux, and the round trip takes 50 ms.
const LINUX: &str = "
    0 c S 0+0 sackok ws 0
    0.1 s S 0+0 ack 1 sackok ws 0 win 29200
    50 c . 1+0 ack 1";

/// Six segments at once, of which the first is missing and the second is reported at 110 ms.
const ONE_REPORT: &str = "
    60 s . 1+1000 ack 1
    60 s . 1001+1000 ack 1
    60 s . 2001+1000 ack 1
    110 c . 1+0 ack 1 sack 1001-2001";

#[test]
fn what_leaves_a_quarter_of_a_round_trip_after_a_report_does_so_by_the_timer_for_reordering() {
    // Sent at 60 ms, a round trip of 50 ms and a quarter of that: due at 122.5 ms.
    let again = |ms: f64| {
        let answer = ms + 50.0;
        let lines = format!("{ms} s . 1+1000 ack 1\n {answer} c . 1+0 ack 3001");
        causes(&[LINUX, ONE_REPORT, &lines])
    };
    assert_eq!(again(122.6), [(8, ReorderingTimer, Likely)]);
    assert_eq!(again(126.0), [(8, ReorderingTimer, Likely)]);
    // By the acknowledgment itself, and before the timer: another threshold, or a sender that waits for its turn.
    assert_eq!(again(110.1), [(8, Fast, Likely)]);
    assert_eq!(again(117.0), [(8, Fast, Likely)]);
    // By the retransmission timer.
    assert_eq!(again(400.0)[0].1, Timeout);
}

#[test]
fn an_overdue_segment_goes_again_when_what_was_sent_later_is_acknowledged() {
    // The first copy of the third segment and what follows it are lost; the second recovery begins with no report.
    let found = causes(&[
        LINUX,
        "60 s . 1+1000 ack 1
         61 s . 1001+1000 ack 1
         62 s . 2001+1000 ack 1
         111 c . 1+0 ack 1 sack 1001-2001
         111.1 s . 1+1000 ack 1
         161.1 c . 1+0 ack 2001
         161.2 s . 2001+1000 ack 1
         211.2 c . 1+0 ack 3001",
    ]);
    assert_eq!(found[1].1, SackRecovery, "what was sent before the recovery belongs to it: {found:?}");
    let found = causes(&[
        LINUX,
        "60 s . 1+1000 ack 1
         61 s . 1001+1000 ack 1
         111 c . 1+0 ack 1 sack 1001-2001
         111.1 s . 1+1000 ack 1
         130 s . 2001+1000 ack 1
         150 s . 3001+1000 ack 1
         161.1 c . 1+0 ack 2001
         200 c . 1+0 ack 2001 sack 3001-4001
         200.1 s . 2001+1000 ack 1
         250 c . 1+0 ack 4001",
    ]);
    assert_eq!(found[1].1, Fast, "it was sent after the recovery began: {found:?}");
}

#[test]
fn a_copy_that_waits_for_its_turn_is_no_timeout() {
    // The repair is lost too: what was sent after it is reported, and the next copy leaves 12 ms later, at its turn.
    let found = causes(&[
        LINUX,
        "60 s . 1+1000 ack 1
         60 s . 1001+1000 ack 1
         60 s . 2001+1000 ack 1
         60 s . 3001+1000 ack 1
         60 s . 4001+1000 ack 1
         110 c . 1+0 ack 1 sack 1001-2001
         111 c . 1+0 ack 1 sack 1001-3001
         112 c . 1+0 ack 1 sack 1001-4001
         112.01 s . 1+1000 ack 1
         114 s . 5001+1000 ack 1
         164 c . 1+0 ack 1 sack 5001-6001,1001-4001
         176 s . 1+1000 ack 1
         226 c . 1+0 ack 4001",
    ]);
    assert_eq!(found.iter().map(|row| row.1).collect::<Vec<_>>(), [Fast, SackRecovery]);
}

#[test]
fn a_probe_may_leave_when_the_timer_of_what_was_sent_before_is_due() {
    // The last of three, sent each 50 ms, goes again 8 ms after it left, and the first is missing as well.
    let found = causes(&[
        LINUX,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001
         150 s . 1001+1000 ack 1
         200 s . 2001+1000 ack 1
         250 s . 3001+1000 ack 1
         258 s . 3001+1000 ack 1
         300 c . 1+0 ack 1001 sack 3001-4001",
    ]);
    assert_eq!(found, [(9, TailProbe, Likely)]);
}

#[test]
fn an_answer_to_what_the_sender_had_known_for_a_round_trip_goes_on_with_a_recovery() {
    // At the receiver, 60 ms from its sender: the fast retransmit was lost on its way, the next copy comes a round trip
    // later, and echoes what came last.
    let found = causes(&["0 s S 0+0 sackok ws 0 win 29200 ts 1000/0
         0.1 c S 0+0 ack 1 sackok ws 0 ts 1/1000
         60 s . 1+0 ack 1 ts 1060/1
         60 s . 1+1000 ack 1 ts 1060/1
         60.1 c . 1+0 ack 1001 ts 61/1060
         120 s . 2001+1000 ack 1 ts 1120/61
         120.1 c . 1+0 ack 1001 sack 2001-3001 ts 121/1060
         121 s . 3001+1000 ack 1 ts 1120/61
         121.1 c . 1+0 ack 1001 sack 2001-4001 ts 122/1060
         122 s . 4001+1000 ack 1 ts 1120/61
         122.1 c . 1+0 ack 1001 sack 2001-5001 ts 123/1060
         181 s . 5001+1000 ack 1 ts 1182/122
         181.1 c . 1+0 ack 1001 sack 2001-6001 ts 182/1060
         182.3 s . 6001+1000 ack 1 ts 1183/123
         182.4 c . 1+0 ack 1001 sack 2001-7001 ts 183/1060
         242.5 s . 1001+1000 ack 1 ts 1243/183
         242.6 c . 1+0 ack 7001 ts 243/1243"]);
    assert_eq!(found, [(16, SackRecovery, Likely)]);
}
