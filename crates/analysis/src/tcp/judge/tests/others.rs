//! Senders that we did not write: ns-3 and smoltcp do what these scripts show, and judgements of it that were called
//! certain were wrong.

use super::*;

/// Six full segments at 60 ms, none acknowledged yet.
pub(super) const SIX: &str = "
    60 s . 1+1000 ack 1
    60 s . 1001+1000 ack 1
    60 s . 2001+1000 ack 1
    60 s . 3001+1000 ack 1
    60 s . 4001+1000 ack 1
    60 s . 5001+1000 ack 1";

/// Three reports of the first of six, and its fast retransmit.
pub(super) const REPORTED: &str = "
    110 c . 1+0 ack 1 sack 1001-2001
    111 c . 1+0 ack 1 sack 1001-3001
    112 c . 1+0 ack 1 sack 1001-4001
    112.01 s . 1+1000 ack 1";

pub(super) fn certain(found: &[(u64, Cause, Confidence)]) -> Vec<u64> {
    found.iter().filter(|row| row.2 == Certain).map(|row| row.0).collect()
}

#[test]
fn a_third_transmission_some_time_after_an_ack_is_the_timers() {
    // A timer shorter than our estimate: 200 ms are the usual lower bound, which this sender does not have.
    let found = causes(&[
        SACK_OPENING,
        "52 s . 1+1000 ack 1
         102 c . 1+0 ack 1001",
        "110 s . 1001+1000 ack 1
         110 s . 2001+1000 ack 1
         110 s . 3001+1000 ack 1
         110 s . 4001+1000 ack 1
         110 s . 5001+1000 ack 1
         160 c . 1+0 ack 1001 sack 2001-3001
         161 c . 1+0 ack 1001 sack 2001-4001
         162 c . 1+0 ack 1001 sack 2001-5001
         162.01 s . 1001+1000 ack 1
         210 c . 1+0 ack 1001 sack 2001-6001
         212 s . 1001+1000 ack 1
         262 c . 1+0 ack 6001",
    ]);
    assert_eq!(found, [(14, Fast, Certain), (16, Timeout, Likely)]);
}

#[test]
fn what_follows_an_expiry_is_no_surer_than_that() {
    // The expiry comes sooner than the timeout that the packets let one estimate.
    let found = causes(&[
        PLAIN_OPENING,
        FOUR,
        "200 s . 1001+1000 ack 1
         250 c . 1+0 ack 2001
         250.01 s . 2001+1000 ack 1
         250.02 s . 3001+1000 ack 1
         300 c . 1+0 ack 4001",
    ]);
    assert_eq!(found, [(9, Timeout, Likely), (11, GoBackN, Likely), (12, GoBackN, Likely)]);
}

#[test]
fn what_follows_a_fast_retransmit_is_no_surer_than_that() {
    // One report is too few, and may have come just when a timer ran out.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        "110 c . 1+0 ack 1 sack 1001-2001
         110.01 s . 1+1000 ack 1
         111 c . 1+0 ack 1 sack 1001-2001,3001-4001
         111.01 s . 2001+1000 ack 1
         165 c . 1+0 ack 6001",
    ]);
    assert_eq!(found, [(11, Fast, Likely), (13, SackRecovery, Likely)]);
}

#[test]
fn duplicates_while_a_sender_goes_back_start_no_certain_sack_recovery() {
    // What it sends again had arrived, and each is answered by a duplicate without a block.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        "410 s . 1+1000 ack 1
         460 c . 1+0 ack 1001
         460.01 s . 1001+1000 ack 1
         460.02 s . 2001+1000 ack 1
         510 c . 1+0 ack 1001
         510.1 c . 1+0 ack 1001
         510.2 c . 1+0 ack 1001
         510.21 s . 1001+1000 ack 1
         511 c . 1+0 ack 1001
         511.01 s . 2001+1000 ack 1
         512 c . 1+0 ack 1001
         512.01 s . 3001+1000 ack 1
         560 c . 1+0 ack 6001",
    ]);
    assert_eq!(certain(&found), [10, 12, 13], "{found:?}");
    assert!(found[4..].iter().all(|row| row.1 == GoBackN), "{found:?}");
}

#[test]
fn behind_a_queue_a_fast_retransmit_is_no_certain_timeout() {
    // The handshake met no queue. Later, what is sent in answer waits 180 ms before it comes here.
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         260 c . 1+0 ack 1001
         260 s . 1001+1000 ack 1
         260 s . 2001+1000 ack 1
         260 s . 3001+1000 ack 1
         260 s . 4001+1000 ack 1
         310 c . 1+0 ack 1001
         311 c . 1+0 ack 1001
         312 c . 1+0 ack 1001
         313 c . 1+0 ack 1001
         780 s . 1001+1000 ack 1
         830 c . 1+0 ack 5001",
    ]);
    assert_eq!(found, [(14, Timeout, Likely)]);
}

#[test]
fn a_sender_that_ignores_sack_makes_no_certain_sack_recovery() {
    // It sends all of it again, what is reported by SACK as well.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        REPORTED,
        "113 c . 1+0 ack 1 sack 1001-5001
         113.01 s . 1001+1000 ack 1
         113.02 s . 2001+1000 ack 1
         114 c . 1+0 ack 1 sack 1001-6001
         114.01 s . 3001+1000 ack 1
         165 c . 1+0 ack 6001",
    ]);
    assert_eq!(certain(&found), [13], "{found:?}");
}

#[test]
fn once_it_skipped_what_was_reported_a_sender_is_known_to_use_sack() {
    let found = causes(&[
        SACK_OPENING,
        SIX,
        "60 s . 6001+1000 ack 1
         60 s . 7001+1000 ack 1
         110 c . 1+0 ack 1 sack 1001-2001
         111 c . 1+0 ack 1 sack 1001-2001,3001-4001
         112 c . 1+0 ack 1 sack 1001-2001,3001-4001,5001-6001
         112.01 s . 1+1000 ack 1
         113 c . 1+0 ack 1 sack 1001-2001,3001-4001,5001-7001
         113.01 s . 2001+1000 ack 1
         165 c . 1+0 ack 2001 sack 3001-4001,5001-7001
         165.01 s . 4001+1000 ack 1
         220 c . 1+0 ack 8001",
    ]);
    assert_eq!(found, [(15, Fast, Certain), (17, SackRecovery, Certain), (19, SackRecovery, Certain)]);
}

#[test]
fn a_whole_segment_once_the_window_has_opened_is_no_certain_probe() {
    let found = rows(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001 win 0
         500 s . 1001+1 ack 1
         550 c . 1+0 ack 1001 win 0
         700 c . 1+0 ack 1001 win 8000
         700.01 s . 1001+1000 ack 1
         750 c . 1+0 ack 2001 win 8000",
    ]);
    let last = found.last().unwrap();
    assert_eq!((last.number, last.cause, last.confidence), (9, WindowProbe, Likely));
}

#[test]
fn a_byte_before_what_a_closed_window_refused_is_its_probe() {
    // The window had closed before the data came that it was to take: they stay outstanding. The probe has a byte that
    // was acknowledged long ago.
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         60 s . 1001+1000 ack 1
         110 c . 1+0 ack 1001 win 0
         111 c . 1+0 ack 1001 win 0
         400 s . 1000+1 ack 1
         900 s . 1000+1 ack 1
         950 c . 1+0 ack 1001 win 8000
         950.01 s . 1001+1000 ack 1
         1000 c . 1+0 ack 2001 win 7000",
    ]);
    assert_eq!(found[..2], [(8, WindowProbe, Certain), (9, WindowProbe, Certain)]);
    // The byte before the first one is the SYN's.
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1 ack 1
         110 c . 1+0 ack 1 win 0
         310 s . 0+1 ack 1
         360 c . 1+0 ack 1 win 0",
    ]);
    assert_eq!(found, [(6, WindowProbe, Certain)]);
    // The FIN was sent before the window closed.
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         60 s F 1001+500 ack 1
         110 c . 1+0 ack 1001 win 0
         400 s . 1000+1 ack 1
         450 c . 1+0 ack 1001 win 0",
    ]);
    assert_eq!(found, [(7, WindowProbe, Certain)]);
}

#[test]
fn a_hole_just_after_a_recovery_may_belong_to_it() {
    // The recovery is over by the numbers; its sender goes on with what the same reports have shown.
    let found = causes(&[
        SACK_OPENING,
        "52 s . 1+1000 ack 1
         102 c . 1+0 ack 1001
         110 s . 1001+1000 ack 1
         110 s . 2001+1000 ack 1
         110 s . 3001+1000 ack 1
         110 s . 4001+1000 ack 1
         160 c . 1+0 ack 1001 sack 2001-3001
         161 c . 1+0 ack 1001 sack 2001-4001
         162 c . 1+0 ack 1001 sack 2001-5001
         162.01 s . 1001+1000 ack 1
         162.02 s . 5001+1000 ack 1
         162.03 s . 6001+1000 ack 1
         162.04 s . 7001+1000 ack 1
         162.05 s . 8001+1000 ack 1
         210 c . 1+0 ack 1001 sack 6001-7001,2001-5001
         211 c . 1+0 ack 1001 sack 6001-8001,2001-5001
         211.5 c . 1+0 ack 1001 sack 6001-9001,2001-5001
         212 c . 1+0 ack 5001 sack 6001-9001
         212.01 s . 5001+1000 ack 1
         265 c . 1+0 ack 9001",
    ]);
    assert_eq!(found, [(13, Fast, Certain), (22, Fast, Likely)]);
}

/// Three reports of the second segment, the first of which comes with this window, which was 1000 before; the last one
/// comes at `last`, and the segment again `after` ms later.
fn reported(window: u32, last: f64, after: f64) -> Vec<(u64, Cause, Confidence)> {
    causes(&[&format!(
        "0 c S 0+0 sackok
         0.1 s S 0+0 ack 1 sackok
         80 c . 1+0 ack 1
         81 s . 1+1000 ack 1
         161 c . 1+0 ack 1001
         170 s . 1001+1000 ack 1
         172 s . 2001+1000 ack 1
         174 s . 3001+1000 ack 1
         {} s . 4001+1000 ack 1
         252 c . 1+0 ack 1001 win {window} sack 2001-3001
         254 c . 1+0 ack 1001 win {window} sack 2001-4001
         {last} c . 1+0 ack 1001 win {window} sack 2001-5001
         {} s . 1001+1000 ack 1
         {} c . 1+0 ack 5001",
        last - 80.0,
        last + after,
        last + after + 80.0
    )])
}

#[test]
fn a_timer_that_expires_soon_after_the_third_report_makes_no_certain_fast_retransmit() {
    assert_eq!(reported(1000, 265.0, 0.1), [(13, Fast, Certain)]);
    assert_eq!(reported(1000, 265.0, 1.6), [(13, Fast, Likely)]);
}

#[test]
fn a_report_that_moves_the_window_is_no_duplicate_to_all_senders() {
    // To one that counts duplicates as RFC 5681 section 2 has them there were two, so its timer may have run out.
    assert_eq!(reported(1100, 265.0, 0.1), [(13, Fast, Likely)]);
}

#[test]
fn an_answer_is_not_certain_once_the_timer_has_run_its_time() {
    // It may expire at any moment, also at that of the third report.
    assert_eq!(reported(1000, 1000.0, 0.1), [(13, Fast, Likely)]);
}

#[test]
fn what_may_have_been_an_expiry_leaves_doubt_of_a_later_fast_retransmit() {
    // The timer expires just after an ACK of a recovery, which looks like more of that. What was outstanding then goes
    // again as the window allows, and that may be just when three reports have come.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        "110 c . 1+0 ack 1 sack 1001-2001
         111 c . 1+0 ack 1 sack 1001-3001
         112 c . 1+0 ack 1 sack 4001-5001,1001-3001
         112.01 s . 1+1000 ack 1
         113 c . 1+0 ack 1 sack 4001-6001,1001-3001
         113.01 s . 3001+1000 ack 1
         114.01 s . 6001+1000 ack 1
         114.01 s . 7001+1000 ack 1
         114.01 s . 8001+1000 ack 1
         114.01 s . 9001+1000 ack 1
         114.01 s . 10001+1000 ack 1
         164 c . 1+0 ack 1 sack 1001-7001
         400 c . 1+0 ack 1 sack 1001-7001
         400.1 s . 1+1000 ack 1
         450 c . 1+0 ack 7001
         450.1 c . 1+0 ack 7001 sack 8001-9001
         450.2 c . 1+0 ack 7001 sack 8001-10001
         450.3 c . 1+0 ack 7001 sack 8001-11001
         450.31 s . 7001+1000 ack 1
         500 c . 1+0 ack 11001",
    ]);
    assert_eq!(certain(&found), [13, 15], "{found:?}");
    assert_eq!(found.last().map(|row| row.0), Some(28), "{found:?}");
}

#[test]
fn passing_over_reports_after_what_may_have_been_an_expiry_is_no_use_of_sack() {
    // In a recovery the timer expires just after an ACK. Going back, its sender passes over what arrived since.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        REPORTED,
        "165 c . 1+0 ack 4001
         165.01 s . 6001+1000 ack 1
         165.01 s . 7001+1000 ack 1
         165.01 s . 8001+1000 ack 1
         215 c . 1+0 ack 4001 sack 6001-7001
         399 c . 1+0 ack 4001 sack 8001-9001,6001-7001
         400 s . 4001+1000 ack 1
         450 c . 1+0 ack 5001 sack 8001-9001,6001-7001
         450.01 s . 5001+500 ack 1
         450.02 s . 5501+500 ack 1
         500 c . 1+0 ack 5501 sack 8001-9001,6001-7001
         500.01 s . 7001+1000 ack 1
         550 c . 1+0 ack 9001",
    ]);
    assert_eq!(certain(&found), [13], "{found:?}");
    assert_eq!(found.last().map(|row| row.0), Some(25), "{found:?}");
}

#[test]
fn a_second_expiry_just_after_an_update_of_the_window_is_no_certain_go_back_n() {
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001 win 900
         110.01 s . 1001+900 ack 1
         400 s . 1001+900 ack 1
         979 c . 1+0 ack 1001 win 4000
         979.2 c . 1+0 ack 1001 win 8000
         980 s . 1001+900 ack 1
         1030 c . 1+0 ack 1901 win 8000",
    ]);
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].1, found[0].2), (Timeout, Certain));
    assert_eq!((found[1].0, found[1].2), (10, Likely));
}

#[test]
fn going_on_behind_a_fast_retransmit_is_no_use_of_sack() {
    // After a timeout the sender goes back, up to 3001. Three duplicates make it send the first segment, and what it
    // goes on with lies after reported data, which it ignores. So its next recovery is a plain one.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        "110 c . 1+0 ack 1 sack 4001-5001
         410 s . 1+1000 ack 1
         460 c . 1+0 ack 1001 sack 4001-5001
         460.01 s . 1001+1000 ack 1
         460.02 s . 2001+1000 ack 1
         461 c . 1+0 ack 1001 sack 2001-3001,4001-5001
         462 c . 1+0 ack 1001 sack 2001-4001,4001-5001
         463 c . 1+0 ack 1001 sack 2001-5001
         463.01 s . 1001+1000 ack 1
         463.02 s . 5001+1000 ack 1
         520 c . 1+0 ack 6001
         530 s . 6001+1000 ack 1
         530 s . 7001+1000 ack 1
         530 s . 8001+1000 ack 1
         530 s . 9001+1000 ack 1
         530 s . 10001+1000 ack 1
         530 s . 11001+1000 ack 1
         580 c . 1+0 ack 6001 sack 7001-8001
         581 c . 1+0 ack 6001 sack 7001-9001
         582 c . 1+0 ack 6001 sack 7001-10001
         582.01 s . 6001+1000 ack 1
         632 c . 1+0 ack 10001 sack 11001-12001
         632.01 s . 10001+1000 ack 1
         690 c . 1+0 ack 12001",
    ]);
    assert!(found.iter().all(|row| row.1 != SackRecovery || row.2 == Likely), "{found:?}");
}

#[test]
fn a_capture_that_misses_a_first_transmission_is_not_its_senders() {
    // By the handshake the capture is 0.5 ms from the sender. In between is a queue: the first segment was lost in it,
    // and its fast retransmit waits there for 2 ms, so that it seems to answer nothing.
    let found = causes(&["0 s S 0+0 sackok
         4 c S 0+0 ack 1 sackok
         4.9 s . 1+0 ack 1
         10 s . 1+1000 ack 1
         14 c . 1+0 ack 1001
         20 s . 2001+1000 ack 1
         24 c . 1+0 ack 1001 sack 2001-3001
         27 s . 3001+1000 ack 1
         30 s . 4001+1000 ack 1
         31 c . 1+0 ack 1001 sack 2001-4001
         34 c . 1+0 ack 1001 sack 2001-5001
         1020 s . 2001+1000 ack 1
         1023 s . 4001+1000 ack 1
         1024 c . 1+0 ack 1001 sack 2001-5001
         1027 c . 1+0 ack 1001 sack 2001-5001
         1029.3 s . 1001+1000 ack 1
         1034 c . 1+0 ack 5001"]);
    assert!(found.iter().all(|row| row.2 == Likely), "{found:?}");
    assert_eq!(found.last().map(|row| row.0), Some(16), "{found:?}");
}

#[test]
fn behind_a_queue_a_fast_retransmit_in_a_recovery_is_no_certain_timeout() {
    // By the handshake the capture is 0.25 ms from the sender; what is sent waits for 1.5 ms in between. The sender
    // begins another fast retransmit before the first one has repaired all.
    let found = causes(&["0 s S 0+0 sackok
         4 c S 0+0 ack 1 sackok
         4.5 s . 1+0 ack 1
         10 s . 1+1000 ack 1
         14 c . 1+0 ack 1001
         20 s . 1001+1000 ack 1
         20 s . 2001+1000 ack 1
         20 s . 3001+1000 ack 1
         20 s . 4001+1000 ack 1
         20 s . 5001+1000 ack 1
         24 c . 1+0 ack 1001 sack 2001-3001
         24.5 c . 1+0 ack 1001 sack 2001-4001
         25 c . 1+0 ack 1001 sack 2001-5001
         26.5 s . 1001+1000 ack 1
         30.5 c . 1+0 ack 5001
         400 s . 6001+1000 ack 1
         400 s . 7001+1000 ack 1
         400 s . 8001+1000 ack 1
         404 c . 1+0 ack 5001 sack 6001-7001
         404.5 c . 1+0 ack 5001 sack 6001-8001
         405 c . 1+0 ack 5001 sack 6001-9001
         406.5 s . 5001+1000 ack 1
         410 c . 1+0 ack 9001"]);
    assert_eq!(found, [(14, Fast, Likely), (22, Timeout, Likely)]);
}

#[test]
fn a_tail_that_goes_again_as_the_window_opens_is_no_certain_probe() {
    // The byte that fits the window is lost, and the FIN behind it was in a probe of the closed window. When that opens,
    // the sender goes on with its last segment.
    let found = causes(&[
        SACK_OPENING,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001 win 1
         110.1 s . 1001+1 ack 1
         111 c . 1+0 ack 1001 win 0
         1110 s F 1002+1 ack 1
         1160 c . 1+0 ack 1001 win 0
         2500 c . 1+0 ack 1001 win 3000
         2500.01 s F 1002+1 ack 1
         2550 c . 1+0 ack 1001 win 3000 sack 1002-1003
         3500 s F 1001+2 ack 1
         3550 c . 1+0 ack 1004 win 3000",
    ]);
    assert!(!found.is_empty() && certain(&found).is_empty(), "{found:?}");
}

/// A connection of 250 ms, long in use: 20 segments, each answered.
fn long_used() -> String {
    let mut script = String::from(
        "0 c S 0+0 sackok ws 0
         0.1 s S 0+0 ack 1 sackok ws 0
         250 c . 1+0 ack 1\n",
    );
    for n in 0..20 {
        let (at, seq) = (300.0 + 251.0 * f64::from(n), 1 + 1000 * n);
        script += &format!("{at} s . {seq}+1000 ack 1\n{} c . 1+0 ack {}\n", at + 250.0, seq + 1000);
    }
    script
}

/// On that, a segment goes again after `after` ms, two above it reported by SACK `reported` ms after they were sent.
fn two_reported(reported: f64, after: f64) -> Vec<RetransmissionRow> {
    let mut script = long_used();
    script += "6000 s . 20001+1000 ack 1\n 6000 s . 21001+1000 ack 1\n 6000 s . 22001+1000 ack 1\n";
    let (told, again) = (6000.0 + reported, 6000.0 + after);
    script += &format!("{told} c . 1+0 ack 20001 sack 21001-22001\n");
    script += &format!("{told} c . 1+0 ack 20001 sack 21001-23001\n");
    script += &format!("{again} s . 20001+1000 ack 1\n{} c . 1+0 ack 23001\n", again + 250.0);
    rows(&[&script])
}

#[test]
fn a_timer_for_reordering_is_no_certain_timeout() {
    // RACK (RFC 8985 section 6.2): the RTT and a quarter of the shortest one.
    let found = two_reported(250.0, 312.5);
    assert_eq!((found[0].cause, found[0].confidence), (Fast, Likely));
    // Twice the RTT bounds what the reordering window grows to, and timers are late.
    let found = two_reported(250.0, 540.0);
    assert_eq!((found[0].cause, found[0].confidence), (Timeout, Likely));
    // A queue that no sample shows: what is reported shows it.
    let found = two_reported(400.0, 640.0);
    assert_eq!((found[0].cause, found[0].confidence), (Timeout, Likely));
}

#[test]
fn later_than_any_timer_for_reordering_the_timeout_is_certain() {
    let found = two_reported(250.0, 560.0);
    assert_eq!((found[0].cause, found[0].confidence), (Timeout, Certain));
    assert!(
        found[0].certain.is_some_and(|proof| proof
            .words()
            .contains("no reordering timer: it waited longer than RACK does"))
    );
}

#[test]
fn what_follows_a_timer_for_reordering_is_no_surer() {
    // Two of three are lost, and the second goes again when the first is acknowledged.
    let followed = |after: f64| {
        let again = 6000.0 + after;
        let answer = again + 250.0;
        causes(&[
            &long_used(),
            "6000 s . 20001+1000 ack 1
             6000 s . 21001+1000 ack 1
             6000 s . 22001+1000 ack 1
             6250 c . 1+0 ack 20001 sack 21001-22001",
            &format!("{again} s . 20001+1000 ack 1\n{answer} c . 1+0 ack 22001"),
            &format!("{} s . 22001+1000 ack 1\n{} c . 1+0 ack 23001", answer + 0.01, answer + 250.0),
        ])
    };
    let sure =
        |found: Vec<(u64, Cause, Confidence)>| -> Vec<_> { found.iter().map(|row| (row.1, row.2)).collect() };
    assert_eq!(sure(followed(540.0)), [(Timeout, Likely), (GoBackN, Likely)]);
    assert_eq!(sure(followed(560.0)), [(Timeout, Certain), (GoBackN, Certain)]);
}
