//! What ns-3 does, and judgements of it that were called certain were wrong; and what can be certain of it away from it.

use super::others::{REPORTED, SIX, certain};
use super::*;

/// In the middle of the path, with timestamps: a timeout, whose packet echoes what the one before it echoes, or not.
fn stamped_timeout(before: u32) -> Vec<(u64, Cause, Confidence)> {
    causes(&[&format!(
        "0 c S 0+0 ts 1/0
         30 s S 0+0 ack 1 ts 31/1
         60 c . 1+0 ack 1 ts 61/31
         90 s . 1+1000 ack 1 ts 91/61
         120 c . 1+0 ack 1001 ts 121/91
         150 s . 1001+1000 ack 1 ts 151/{before}
         151 s . 2001+1000 ack 1 ts 152/{before}
         650 s . 1001+1000 ack 1 ts 651/121
         680 c . 1+0 ack 3001 ts 681/651"
    )])
}

#[test]
fn timestamps_prove_a_timeout_away_from_its_sender() {
    assert_eq!(stamped_timeout(121), [(8, Timeout, Certain)]);
    // It is the first packet that shows the last acknowledgment, and may have waited in a queue.
    assert_eq!(stamped_timeout(61), [(8, Timeout, Likely)]);
}

#[test]
fn what_is_missing_in_a_row_that_connections_share_is_not_one_connections_loss() {
    let first = "0 c S 0+0
         30 s S 0+0 ack 1 ident 1
         60 c . 1+0 ack 1
         90 s . 1+1000 ack 1 ident 2
         91 s . 1001+1000 ack 1 ident 3
         92 s . 2001+1000 ack 1 ident 4
         120 c . 1+0 ack 3001\n";
    let last = "200 s . 3001+1000 ack 1 ident 6\n 230 c . 1+0 ack 4001";
    let second = "121 c2 S 0+0\n 151 s2 S 0+0 ack 1 ident 5\n";
    let found = |script: &str| analyse(script).retransmissions.len();
    assert_eq!(found(&format!("{first}{last}")), 1, "it was sent before, and lost on its way here");
    assert_eq!(found(&format!("{first}{second}{last}")), 0);
}

#[test]
fn the_timer_may_run_on_while_partial_acks_come() {
    // The impatient variant starts it again with the first partial ACK alone (RFC 6582 section 4).
    let after = |ms: f64| {
        causes(&[
            PLAIN_OPENING,
            SIX,
            "110 c . 1+0 ack 1
             111 c . 1+0 ack 1
             112 c . 1+0 ack 1
             112.01 s . 1+1000 ack 1
             162 c . 1+0 ack 2001
             162.01 s . 2001+1000 ack 1
             212 c . 1+0 ack 3001",
            &format!("{} s . 3001+1000 ack 1\n 262 c . 1+0 ack 6001", 212.0 + ms),
        ])
    };
    assert_eq!(after(0.01)[1..], [(15, PartialAck, Certain), (17, PartialAck, Certain)]);
    assert_eq!(after(0.9)[1..], [(15, PartialAck, Certain), (17, PartialAck, Likely)]);
}

#[test]
fn a_duplicate_makes_no_recovery_go_on_without_sack() {
    // The third transmission just after one is the timer's, which looks like a partial ACK's; so what follows it is no
    // certain part of the recovery.
    let found = causes(&[
        PLAIN_OPENING,
        SIX,
        "110 c . 1+0 ack 1
         111 c . 1+0 ack 1
         112 c . 1+0 ack 1
         112.01 s . 1+1000 ack 1
         162 c . 1+0 ack 2001
         162.01 s . 2001+1000 ack 1
         380 c . 1+0 ack 2001
         380.1 s . 2001+1000 ack 1
         430 c . 1+0 ack 3001
         430.01 s . 3001+1000 ack 1
         480 c . 1+0 ack 6001",
    ]);
    assert_eq!(certain(&found), [13, 15], "{found:?}");
    assert_eq!(found[2], (17, Timeout, Likely));
}

#[test]
fn a_recovery_may_reach_as_far_as_what_was_sent_until_its_repair_was_acknowledged() {
    // ns-3 enters it a report later than it sends the first segment of it.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        REPORTED,
        "112.02 s . 6001+1000 ack 1
         113 c . 1+0 ack 1 sack 1001-5001
         113.01 s . 7001+1000 ack 1
         200 c . 1+0 ack 6001
         200.01 s . 8001+1000 ack 1
         200.02 s . 9001+1000 ack 1
         240 c . 1+0 ack 6001 sack 7001-8001
         250 c . 1+0 ack 6001 sack 7001-9001
         250.1 c . 1+0 ack 6001 sack 7001-10001
         250.11 s . 6001+1000 ack 1
         300 c . 1+0 ack 10001",
    ]);
    assert_eq!(certain(&found), [13], "{found:?}");
    assert_eq!(found.len(), 2);
}

#[test]
fn an_answer_with_the_number_before_a_probe_is_no_keep_alive() {
    // ns-3 does not count the byte of its probe as sent.
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001 win 0
         400 s . 1001+1 ack 1
         450 c . 1+0 ack 1002 win 8000
         450.01 s . 1001+0 ack 1
         450.02 s . 1001+500 ack 1
         500 c . 1+0 ack 1501",
    ]);
    assert!(found.iter().all(|row| row.1 != Cause::KeepAlive), "{found:?}");
}

#[test]
fn what_an_expiry_left_may_wait_for_nagles_algorithm() {
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         60 s . 1001+100 ack 1
         360 s . 1+1000 ack 1
         410 c . 1+0 ack 1001
         1400 s . 1001+100 ack 1
         1450 c . 1+0 ack 1101",
    ]);
    assert_eq!(found, [(6, Timeout, Certain), (8, Timeout, Likely)]);
}

#[test]
fn a_third_transmission_in_a_recovery_is_no_certain_part_of_it() {
    // The timer expires just as an ACK comes.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        REPORTED,
        "113 s . 6001+1000 ack 1
         114 s . 7001+1000 ack 1
         163 c . 1+0 ack 1 sack 1001-5001
         164 c . 1+0 ack 1 sack 1001-7001
         164.1 s . 1+1000 ack 1
         214 c . 1+0 ack 8001",
    ]);
    assert_eq!(found[0], (13, Fast, Certain));
    assert_ne!(found[1].2, Certain, "{found:?}");
}

#[test]
fn nor_is_one_soon_after_progress() {
    // The timer of ns-3 is not started again by every acknowledgment of new data.
    let found = causes(&[
        SACK_OPENING,
        SIX,
        "109 c . 1+0 ack 1001
         110 c . 1+0 ack 1001 sack 2001-3001
         111 c . 1+0 ack 1001 sack 2001-3001,4001-5001
         112 c . 1+0 ack 1001 sack 2001-3001,4001-6001
         112.01 s . 1001+1000 ack 1
         112.02 s . 3001+1000 ack 1
         125 c . 1+0 ack 1001 sack 2001-3001,4001-6001
         125.01 s . 1001+1000 ack 1
         175 c . 1+0 ack 6001",
    ]);
    assert_eq!(found[..2], [(14, Fast, Certain), (15, SackRecovery, Certain)]);
    assert_ne!(found[2].2, Certain, "{found:?}");
}
