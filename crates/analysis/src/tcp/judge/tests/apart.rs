//! Timeouts, going back and recoveries that were taken for each other, seen of ns-3, and what tells them apart.

use super::others::SIX;
use super::*;

/// On the way, 30 ms from either end: six segments, the second of which is missing.
const ON_THE_WAY: &str = "
    0 c S 0+0
    30 s S 0+0 ack 1
    60 c . 1+0 ack 1
    90 s . 1+1000 ack 1
    90.1 s . 1001+1000 ack 1
    90.2 s . 2001+1000 ack 1
    90.3 s . 3001+1000 ack 1
    90.4 s . 4001+1000 ack 1
    90.5 s . 5001+1000 ack 1
    120 c . 1+0 ack 1001";

#[test]
fn a_duplicate_without_a_block_tells_rack_of_no_arrival() {
    // It answers what came twice; nothing but the timer sends a lone segment again.
    let found = causes(&[
        SACK_OPENING,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001
         110 s . 1001+1000 ack 1
         350 c . 1+0 ack 1001
         360 s . 1001+1000 ack 1
         363 c . 1+0 ack 2001",
    ]);
    assert_eq!(found, [(8, Timeout, Likely)]);
}

#[test]
fn three_reports_and_a_young_timer_are_no_timeout_though_the_answer_is_late() {
    let after = |ms: u32| {
        causes(&[
            PLAIN_OPENING,
            SIX,
            "110 c . 1+0 ack 1
             111 c . 1+0 ack 1
             112 c . 1+0 ack 1",
            &format!("{} s . 1+1000 ack 1\n {} c . 1+0 ack 6001", 112 + ms, 162 + ms),
        ])
    };
    assert_eq!(after(6), [(13, Fast, Likely)]);
    assert_eq!(after(300)[0].1, Timeout);
}

#[test]
fn what_an_acknowledgment_met_on_its_way_left_after_a_silence() {
    let rounds: String = (0..10)
        .map(|i| {
            let (ms, seq) = (60 + 200 * i, 1 + 1000 * i);
            format!("{ms} s . {seq}+1000 ack 1\n {} c . 1+0 ack {}\n", ms + 200, seq + 1000)
        })
        .collect();
    let found = causes(&[
        PLAIN_OPENING,
        &rounds,
        "2060 s . 10001+1000 ack 1
         2350 c . 1+0 ack 11001
         2356 s . 10001+1000 ack 1
         2556 c . 1+0 ack 11001",
    ]);
    assert_eq!(found, [(26, Timeout, Likely)]);
}

#[test]
fn what_goes_back_sends_nothing_new_before_it_is_done() {
    let after = |between: &str| {
        let found = causes(&[
            ON_THE_WAY,
            "400 s . 1001+1000 ack 1
             430 c . 1+0 ack 3001",
            between,
            "460.2 s . 3001+1000 ack 1
             490 c . 1+0 ack 6001",
        ]);
        assert_eq!(found[0].1, Timeout, "{found:?}");
        found[1].1
    };
    assert_eq!(after(""), GoBackN);
    assert_eq!(after("460 s . 6001+1000 ack 1"), PartialAck);
}

#[test]
fn no_partial_ack_asks_for_what_none_has_the_number_of() {
    let after = |acks: &str| {
        let found = causes(&[
            ON_THE_WAY,
            "121 c . 1+0 ack 1001
             122 c . 1+0 ack 1001
             123 c . 1+0 ack 1001
             153 s . 1001+1000 ack 1
             183 c . 1+0 ack 2001",
            acks,
            "213 s . 2001+1000 ack 1
             213.1 s . 3001+1000 ack 1
             243 c . 1+0 ack 6001",
        ]);
        assert_eq!((found[0].1, found[1].1), (Fast, PartialAck), "{found:?}");
        found[2].1
    };
    assert_eq!(after("212 c . 1+0 ack 4001"), GoBackN);
    assert_eq!(after("183.1 c . 1+0 ack 3001\n 212 c . 1+0 ack 4001"), PartialAck);
}

#[test]
fn away_from_the_sender_no_timer_runs_out_soon_after_progress() {
    // Packets of other connections hold up the answer, so that the way looks idle.
    let found = causes(&[
        ON_THE_WAY,
        "121 c . 1+0 ack 1001
         122 c . 1+0 ack 1001
         232 s . 6001+1000 ack 1
         233 s . 1001+1000 ack 1
         263 c . 1+0 ack 7001",
    ]);
    assert_eq!(found, [(14, Fast, Likely)]);
}
