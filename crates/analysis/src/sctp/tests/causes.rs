//! Our own judgement: causes, and whether a retransmission was needed. Captures at the sender, RTT 100 ms, unless said.

use super::super::script::{judged, play};
use super::super::{SctpCause, SctpProof};
use super::{OPENING, lines};
use crate::rows::{Confidence, Need};

/// A thick stream: 40 chunks acknowledged one by one 100 ms later, so that the RTT is well known; the next TSN is 140.
fn thick(script: &str) -> String {
    let mut all = String::from(OPENING);
    for n in 0..40 {
        all += &format!("{} c data {}\n", 1_000.0 + 2.0 * f64::from(n), 100 + n);
    }
    for n in 0..40 {
        all += &format!("{} s sack {}\n", 1_100.0 + 2.0 * f64::from(n), 100 + n);
    }
    all + script
}

/// RFC 9260 section 7.2.4: the third report sends it again at once, sooner than any timer.
#[test]
fn fast_retransmit() {
    let script = lines(2_000.0, 0.5, 140..150, |tsn| format!("c data {tsn}"))
        + &lines(2_100.5, 0.5, 141..144, |tsn| format!("s sack 139 141-{tsn}"))
        + "2101.6 c data 140
           2102 s sack 139 141-144
           2103 s sack 139 141-149
           2201.7 s sack 149";
    let rows = play(&thick(&script));
    assert_eq!(judged(&rows), ["98 40 r1 timeout fast certain"]);
    let row = &rows.retransmissions[0];
    assert_eq!((row.evidence.reports, row.evidence.strikes, row.need), (3, 3, Need::Needed));
    assert_eq!(row.evidence.since_sack, Some(100_000));
}

/// A thick stream whose fast retransmit is lost too. A sender that sends again once only (RFC 9260) waits for T3, while
/// sctp_trace sees hundreds of reports and calls it fast. Another sender may have answered them late.
#[test]
fn timeout_in_a_thick_stream_though_many_reports_came() {
    let mut script = lines(2_000.0, 0.5, 140..150, |tsn| format!("c data {tsn}"))
        + &lines(2_100.5, 0.5, 141..144, |tsn| format!("s sack 139 141-{tsn}"))
        + "2101.6 c data 140\n";
    // New data go on, each reported above the hole.
    for n in 0..400 {
        let at = 2_102.0 + f64::from(n) * 2.0;
        script += &format!("{at} c data {}\n{} s sack 139 141-{}\n", 150 + n, at + 1.0, 144 + n);
    }
    script += "3101.6 c data 140\n3201.7 s sack 549";
    let rows = play(&thick(&script));
    let row = &rows.retransmissions[1];
    assert_eq!((row.class.name(), row.cause, row.class_reports), ("fast", SctpCause::Timeout, 400));
    assert_eq!((row.retransmission, row.confidence, row.evidence.backoff), (2, Confidence::Likely, 1));
}

/// What makes the count of missing reports full is answered 11 ms later, long before T3: RFC 9260 section 6.3.1 has 1 s
/// at least.
#[test]
fn a_late_fast_retransmit_is_no_timeout() {
    let script = lines(2_000.0, 0.1, 140..145, |tsn| format!("c data {tsn}"))
        + &lines(2_300.2, 0.1, 141..144, |tsn| format!("s sack 139 141-{tsn}"))
        + "2311.4 c data 140
           2411 s sack 144";
    let rows = play(&thick(&script));
    assert_eq!(rows.retransmissions[0].evidence.strikes, 3);
    assert_eq!(judged(&rows), ["93 40 r1 timeout fast likely"]);
}

/// Fewer reports than start a fast retransmit, and no SACK for 100 ms: a timer, but sooner than the one that is estimated.
/// Later than that it is certain.
#[test]
fn a_timeout_sooner_than_is_estimated_is_not_certain() {
    let judged_after = |after: f64| {
        let script = lines(2_000.0, 0.1, 140..143, |tsn| format!("c data {tsn}"))
            + &format!(
                "2100.2 s sack 139 141-141\n2100.3 s sack 139 141-142\n{} c data 140\n",
                2_000.0 + after
            );
        judged(&play(&thick(&(script + "3300 s sack 142"))))
    };
    assert_eq!(judged_after(400.0), ["90 40 r1 timeout timeout likely"]);
    assert_eq!(judged_after(1_000.0), ["90 40 r1 timeout timeout certain"]);
}

/// T3, then the rest of what was outstanding when the window allows.
#[test]
fn timeout_and_what_follows_it() {
    let script = lines(2_000.0, 0.1, 140..144, |tsn| format!("c data {tsn}+1400"))
        + "3000.2 c data 140+1400
           3100.4 s sack 140
           3100.5 c data 141+1400
           3100.6 c data 142+1400
           3200.7 s sack 142
           3200.8 c data 143+1400
           3300.9 s sack 143";
    let rows = play(&thick(&script));
    let causes: Vec<_> = rows.retransmissions.iter().map(|row| (row.tsn, row.cause)).collect();
    assert_eq!(
        causes,
        [
            (40, SctpCause::Timeout),
            (41, SctpCause::AfterTimeout),
            (42, SctpCause::AfterTimeout),
            (43, SctpCause::AfterTimeout)
        ]
    );
    assert_eq!(rows.retransmissions[0].confidence, Confidence::Certain);
    assert!(rows.retransmissions.iter().all(|row| row.need == Need::Needed));
}

/// Each expiry doubles the timer; the step is counted until an RTT sample.
#[test]
fn timeouts_in_a_row() {
    let script = "2000 c data 140\n3000 c data 140\n5000 c data 140\n9000 c data 140\n9100 s sack 140";
    let rows = play(&thick(script));
    let steps: Vec<_> =
        rows.retransmissions.iter().map(|row| (row.cause, row.confidence, row.evidence.backoff)).collect();
    assert_eq!(steps, [1, 2, 3].map(|step| (SctpCause::Timeout, Confidence::Certain, step)));
    let delays: Vec<_> =
        rows.retransmissions.iter().map(|row| row.delay_previous.unwrap() / 1_000_000).collect();
    assert_eq!(delays, [1_000, 2_000, 4_000]);
}

/// A timeout's packet takes along one chunk that was reported missing and one that is in flight.
#[test]
fn bundled_chunks() {
    let script = "2000 c data 140
        2250 c data 141
        2300 c data 142
        2400.1 s sack 139 142-142
        2990 c data 143
        3000 c data 140; data 141; data 143
        3100 s sack 143";
    let rows = play(&thick(script));
    let causes: Vec<_> = rows.retransmissions.iter().map(|row| (row.position, row.cause)).collect();
    assert_eq!(
        causes,
        [(0, SctpCause::Timeout), (1, SctpCause::BundledMissing), (2, SctpCause::BundledInFlight)]
    );
    // What was in flight was acknowledged with the rest: its own answer was too soon to tell.
    assert!(rows.retransmissions[..2].iter().all(|row| row.need == Need::Needed));
}

/// pedersen-2006 section 4.2.2: a fast retransmit that takes along what is outstanding.
#[test]
fn bundled_with_a_fast_retransmit() {
    let script = lines(2_000.0, 0.5, 140..145, |tsn| format!("c data {tsn}"))
        + "2100 c data 145\n"
        + &lines(2_100.5, 0.5, 141..145, |tsn| format!("s sack 139 141-{tsn}"))
        + "2102.1 c data 140; data 145";
    let rows = play(&thick(&script));
    assert_eq!(rows.retransmissions[0].cause, SctpCause::Fast);
    assert_eq!(rows.retransmissions[1].cause, SctpCause::BundledInFlight);
}

/// pedersen-2006 section 4.4: outstanding chunks in front of a new one.
#[test]
fn with_new_data() {
    let rows = play(&thick("2000 c data 140\n2250 c data 140; data 141\n2350 s sack 141 dup 140"));
    let row = &rows.retransmissions[0];
    assert_eq!((row.cause, row.confidence), (SctpCause::WithNew, Confidence::Likely));
    assert_eq!((row.need, row.proof), (Need::Spurious, SctpProof::DuplicateTsn));
}

/// A COOKIE-ECHO that comes again brings the DATA that were bundled with it.
#[test]
fn with_a_cookie() {
    let rows = play(
        "0 c init 100
         100 s initack 1
         100.1 c cookie; data 100
         1100.1 c cookie; data 100
         1200 s cookieack; sack 100",
    );
    assert_eq!(judged(&rows), ["4 0 r1 timeout with-cookie certain"]);
    assert_eq!(rows.controls.len(), 1);
}

#[test]
fn window_probe() {
    let rows = play(&thick(
        "2000 c data 140\n2100 s sack 140 win 0\n2200 c data 141\n2300 s sack 140 win 0\n3200 c data 141\n3300 s sack 141 win 5000",
    ));
    assert_eq!(rows.retransmissions[0].cause, SctpCause::WindowProbe);
    let server = &rows.associations[0].server;
    assert_eq!((server.zero_windows, server.zero_window_time), (1, 1_200_000_000));
}

/// The acknowledgment of the first transmission comes 10 ms after the second: it cannot be the second's.
#[test]
fn spurious_by_an_early_answer() {
    let rows = play(&thick("2000 c data 140\n3000 c data 140\n3010 s sack 140\n3100 s sack 140 dup 140"));
    let row = &rows.retransmissions[0];
    assert_eq!((row.cause, row.need), (SctpCause::Timeout, Need::Spurious));
    assert_eq!(row.proof, SctpProof::DuplicateTsn);
    let rows = play(&thick("2000 c data 140\n3000 c data 140\n3010 s sack 140"));
    assert_eq!(rows.retransmissions[0].proof, SctpProof::EarlyAck);
}

#[test]
fn unnecessary_when_it_was_acknowledged_before() {
    let rows = play(&thick("2000 c data 140\n2100 s sack 140\n3000 c data 140\n3100 s sack 140 dup 140"));
    let row = &rows.retransmissions[0];
    assert_eq!((row.need, row.proof), (Need::Unnecessary, SctpProof::DuplicateTsn));
    let rows = play(&thick("2000 c data 140\n2001 c data 141\n2100 s sack 139 141-141\n3000 c data 141"));
    assert_eq!(rows.retransmissions[0].proof, SctpProof::AckBefore);
}

/// A duplicate is told of as often as it came: the last retransmissions that can have arrived were not needed.
#[test]
fn duplicates_are_counted() {
    let script = "2000 c data 140\n3000 c data 140\n5000 c data 140\n5100 s sack 140 dup 140";
    let needs: Vec<_> = play(&thick(script)).retransmissions.iter().map(|row| row.need).collect();
    assert_eq!(needs, [Need::Needed, Need::Spurious]);
}

/// The same fast retransmit seen at the receiver: the first transmission is not there, and the SACKs are 100 ms old when
/// the chunk comes.
#[test]
fn fast_retransmit_at_the_receiver() {
    let mut script = String::from(
        "0 c init 100
         0.1 s initack 1
         100 c cookie
         100.1 s cookieack\n",
    );
    script += &lines(1_000.0, 2.0, 100..140, |tsn| format!("c data {tsn}\n1000.1 s sack {tsn}"));
    script += &lines(2_000.0, 0.5, 141..150, |tsn| format!("c data {tsn}\n2000.1 s sack 139 141-{tsn}"));
    script += "2101.2 c data 140\n2101.3 s sack 149";
    let rows = play(&script);
    assert_eq!(rows.retransmissions.len(), 1);
    let row = &rows.retransmissions[0];
    assert_eq!((row.cause, row.confidence), (SctpCause::Fast, Confidence::Likely));
    assert_eq!((row.first_number, row.delay_first, row.retransmission), (None, None, 1));
    // A tenth less than the 99.9 ms that the handshake took.
    assert_eq!(row.evidence.sender_loop, Some(89_910_000));
    assert_eq!(rows.associations[0].client_share.map(|share| share > 0.9), Some(true));
}

/// At the receiver, after a silence: no SACK can have caused it.
#[test]
fn timeout_at_the_receiver() {
    let mut script = String::from("0 c init 100\n0.1 s initack 1\n100 c cookie\n100.1 s cookieack\n");
    script += &lines(1_000.0, 2.0, 100..140, |tsn| format!("c data {tsn}\n1000.1 s sack {tsn}"));
    script += "2000 c data 141\n2000.1 s sack 139 141-141\n3001 c data 140\n3001.1 s sack 141";
    let rows = play(&script);
    let row = &rows.retransmissions[0];
    assert_eq!(
        (row.cause, row.confidence, row.class.name()),
        (SctpCause::Timeout, Confidence::Likely, "timeout")
    );
}
