//! One packet script for each cause and each trap: packets in, judgements out.
//!
//! Captures are the server's own unless a test says otherwise: the SYN-ACK follows the SYN at once, and the client's
//! answers come 50 ms later.

mod apart;
mod clocks;
mod ns3;
mod others;
mod today;

use crate::rows::{Cause, Confidence, Kind, Need, Proof, RetransmissionRow};
use crate::tcp::script::analyse;

use Cause::{
    Fast, Fin, GoBackN, KeepAlive, PartialAck, ReorderingTimer, SackRecovery, Syn, SynAck, TailProbe,
    Timeout, WindowProbe,
};
use Confidence::{Certain, Likely};

const SACK_OPENING: &str = "
    0 c S 0+0 sackok ws 0
    0.1 s S 0+0 ack 1 sackok ws 0
    50 c . 1+0 ack 1";

const PLAIN_OPENING: &str = "
    0 c S 0+0
    0.1 s S 0+0 ack 1
    50 c . 1+0 ack 1";

/// Four full segments at 60 ms, an answer to the first.
const FOUR: &str = "
    60 s . 1+1000 ack 1 ident 1
    60 s . 1001+1000 ack 1 ident 2
    60 s . 2001+1000 ack 1 ident 3
    60 s . 3001+1000 ack 1 ident 4
    110 c . 1+0 ack 1001";

fn rows(parts: &[&str]) -> Vec<RetransmissionRow> {
    let mut rows = analyse(&parts.join("\n")).retransmissions;
    rows.sort_by_key(|row| row.number);
    rows
}

fn causes(parts: &[&str]) -> Vec<(u64, Cause, Confidence)> {
    rows(parts).iter().map(|row| (row.number, row.cause, row.confidence)).collect()
}

fn one(parts: &[&str]) -> RetransmissionRow {
    let mut rows = rows(parts);
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows.remove(0)
}

#[test]
fn three_duplicates_start_a_fast_retransmit_and_a_partial_ack_goes_on() {
    let found = rows(&[
        PLAIN_OPENING,
        FOUR,
        "110 s . 4001+1000 ack 1
         111 c . 1+0 ack 1001
         112 c . 1+0 ack 1001
         113 c . 1+0 ack 1001
         113.01 s . 1001+1000 ack 1
         165 c . 1+0 ack 3001
         165.01 s . 3001+1000 ack 1
         220 c . 1+0 ack 5001",
    ]);
    let seen: Vec<_> = found.iter().map(|row| (row.number, row.cause, row.confidence)).collect();
    assert_eq!(seen, [(13, Fast, Certain), (15, PartialAck, Certain)]);
    assert_eq!(found[0].evidence.duplicates, 3);
    assert_eq!((found[0].delay_first, found[0].first_number), (Some(53_010_000), Some(5)));
    assert_eq!(found[0].need, Need::Needed);
}

#[test]
fn sack_starts_a_recovery_that_fills_further_holes() {
    let found = causes(&[
        SACK_OPENING,
        "60 s . 1+1000 ack 1
         60 s . 1001+1000 ack 1
         60 s . 2001+1000 ack 1
         60 s . 3001+1000 ack 1
         60 s . 4001+1000 ack 1
         60 s . 5001+1000 ack 1
         110 c . 1+0 ack 1 sack 1001-2001
         111 c . 1+0 ack 1 sack 3001-4001,1001-2001
         112 c . 1+0 ack 1 sack 3001-5001,1001-2001
         112.01 s . 1+1000 ack 1
         113 c . 1+0 ack 1 sack 3001-6001,1001-2001
         113.01 s . 2001+1000 ack 1
         165 c . 1+0 ack 6001",
    ]);
    assert_eq!(found, [(13, Fast, Certain), (15, SackRecovery, Certain)]);
}

#[test]
fn a_timer_runs_in_silence_doubles_and_is_followed_by_going_back() {
    let found = rows(&[
        PLAIN_OPENING,
        FOUR,
        "410 s . 1001+1000 ack 1
         1010 s . 1001+1000 ack 1
         1060 c . 1+0 ack 2001
         1060.01 s . 2001+1000 ack 1
         1060.02 s . 3001+1000 ack 1
         1115 c . 1+0 ack 4001",
    ]);
    let seen: Vec<_> = found.iter().map(|row| (row.number, row.cause, row.confidence)).collect();
    let expected =
        [(9, Timeout, Certain), (10, Timeout, Certain), (12, GoBackN, Certain), (13, GoBackN, Certain)];
    assert_eq!(seen, expected);
    assert_eq!((found[0].evidence.backoff, found[1].evidence.backoff), (1, 2));
    // Both delays of pedersen-2006: since the first, and since the one before.
    assert_eq!(found[1].delay_first, Some(950_000_000));
    assert_eq!(found[1].delay_previous, Some(600_000_000));
    assert_eq!(found[1].transmission, 3);
}

#[test]
fn the_last_segment_again_while_the_first_is_missing_is_a_tail_probe() {
    let found = causes(&[
        SACK_OPENING,
        FOUR,
        "215 s . 3001+1000 ack 1
         265 c . 1+0 ack 1001 sack 3001-4001
         265.01 s . 1001+1000 ack 1
         320 c . 1+0 ack 4001",
    ]);
    assert_eq!(found, [(9, TailProbe, Certain), (11, Fast, Likely)]);
}

/// A sender whose SYN-ACK looks like that of Linux leaves a single segment out, and sends it again after `silence` ms.
fn single_of_linux(silence: u32) -> Vec<(u64, Cause, Confidence)> {
    causes(&[
        "0 c S 0+0 sackok ws 0
         0.1 s S 0+0 ack 1 sackok ws 0 win 29200
         50 c . 1+0 ack 1
         60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001
         110 s . 1001+1000 ack 1",
        &format!("{} s . 1001+1000 ack 1", 110 + silence),
        &format!("{} c . 1+0 ack 2001", 160 + silence),
    ])
}

#[test]
fn a_single_segment_again_may_be_a_probe_in_place_of_the_timer() {
    // Linux lets a probe leave when its timer would expire, if that is earlier than two round trips and the delay of
    // an acknowledgment: tests/captures/linux/tail-1 has such a probe, tail-1-noprobe an expiry at the same time.
    assert_eq!(single_of_linux(260), [(7, TailProbe, Likely)]);
    assert_eq!(single_of_linux(310), [(7, TailProbe, Likely)]);
}

#[test]
fn later_than_any_probe_the_timer_has_expired() {
    assert_eq!(single_of_linux(400), [(7, Timeout, Likely)]);
    assert_eq!(single_of_linux(1000), [(7, Timeout, Likely)]);
}

#[test]
fn a_segment_sent_for_the_third_time_just_after_an_ack_may_be_the_timers() {
    let found = causes(&[
        SACK_OPENING,
        "60 s . 1+1000 ack 1
         60 s . 1001+1000 ack 1
         60 s . 2001+1000 ack 1
         60 s . 3001+1000 ack 1
         60 s . 4001+1000 ack 1
         110 c . 1+0 ack 1001
         111 c . 1+0 ack 1001 sack 2001-3001
         112 c . 1+0 ack 1001 sack 2001-4001
         113 c . 1+0 ack 1001 sack 2001-5001
         113.01 s . 1001+1000 ack 1
         150 s . 5001+1000 ack 1
         250 s . 6001+1000 ack 1
         330 c . 1+0 ack 1001 sack 6001-7001,2001-5001
         330.3 s . 1001+1000 ack 1
         340 c . 1+0 ack 1001 sack 6001-7001,2001-5001
         560 c . 1+0 ack 1001 sack 5001-7001,2001-5001
         560.3 s . 1001+1000 ack 1
         610 c . 1+0 ack 7001",
    ]);
    assert_eq!(found[0].1, Fast);
    assert_eq!(found[2], (20, SackRecovery, Likely));
}

#[test]
fn openings_and_ends_are_told_apart() {
    let found = causes(&["
        0 c S 0+0
        1000 c S 0+0
        1000.1 s S 0+0 ack 1
        4000 s S 0+0 ack 1
        4050 c . 1+0 ack 1
        4060 c F 1+0 ack 1
        4400 c F 1+0 ack 1
        4400.1 s . 1+0 ack 2"]);
    let expected = [(2, Syn, Certain), (4, SynAck, Certain)];
    assert_eq!(found[..2], expected);
    assert_eq!((found[2].0, found[2].1), (7, Fin));
}

#[test]
fn probes_of_closed_windows_and_of_idle_connections_are_told_apart() {
    let found = causes(&[
        PLAIN_OPENING,
        "60 s . 1+1000 ack 1
         110 c . 1+0 ack 1001 win 0
         500 s . 1000+0 ack 1
         550 c . 1+0 ack 1001 win 0
         1500 s . 1000+1 ack 1
         1550 c . 1+0 ack 1001 win 8000
         9000 s . 1000+0 ack 1
         9050 c . 1+0 ack 1001 win 8000",
    ]);
    assert_eq!(found, [(6, WindowProbe, Certain), (8, WindowProbe, Certain), (10, KeepAlive, Certain)]);
}

#[test]
fn a_duplicate_sack_block_proves_that_nobody_needed_it() {
    let row = one(&[
        SACK_OPENING,
        FOUR,
        "410 s . 1001+1000 ack 1
         411 c . 1+0 ack 4001
         460 c . 1+0 ack 4001 sack 1001-2001",
    ]);
    assert_eq!((row.cause, row.need, row.proof), (Timeout, Need::Spurious, Proof::Dsack));
}

#[test]
fn an_echo_of_the_first_transmission_proves_the_same() {
    let script = |echo: u32| {
        let ack = format!("411 c . 1+0 ack 2001 ts 411/{echo}");
        let rows = analyse(&format!(
            "0 c S 0+0 ts 0/0
             0.1 s S 0+0 ack 1 ts 0/0
             50 c . 1+0 ack 1 ts 50/0
             60 s . 1+1000 ack 1 ts 60/50
             60 s . 1001+1000 ack 1 ts 60/50
             110 c . 1+0 ack 1001 ts 110/60
             400 s . 1001+1000 ack 1 ts 400/110
             {ack}"
        ));
        (rows.retransmissions[0].need, rows.retransmissions[0].proof)
    };
    assert_eq!(script(60), (Need::Spurious, Proof::Timestamps));
    assert_eq!(script(400), (Need::Needed, Proof::None));
}

#[test]
fn what_was_acknowledged_before_it_was_sent_is_unnecessary() {
    let row = one(&[PLAIN_OPENING, FOUR, "120 c . 1+0 ack 4001\n 500 s . 2001+1000 ack 1"]);
    assert_eq!((row.need, row.proof), (Need::Unnecessary, Proof::AckBefore));
}

#[test]
fn without_an_answer_it_is_not_known_whether_it_was_needed() {
    assert_eq!(one(&[PLAIN_OPENING, FOUR, "410 s . 1001+1000 ack 1"]).need, Need::Unknown);
}

#[test]
fn part_of_a_super_packet_may_go_again() {
    let row = one(&[
        SACK_OPENING,
        "60 s . 1+8000 ack 1
         110 c . 1+0 ack 1001
         111 c . 1+0 ack 1001 sack 2001-4001
         112 c . 1+0 ack 1001 sack 2001-6001
         113 c . 1+0 ack 1001 sack 2001-8001
         113.01 s . 1001+1000 ack 1
         170 c . 1+0 ack 8001",
    ]);
    assert_eq!((row.cause, row.seq, row.end, row.transmission), (Fast, 1001, 2001, 2));
    assert_eq!((row.first_number, row.delay_first), (Some(4), Some(53_010_000)));
}

#[test]
fn a_window_update_among_duplicates_is_none_of_them() {
    let found = causes(&[
        PLAIN_OPENING,
        FOUR,
        "111 c . 1+0 ack 1001
         112 c . 1+0 ack 1001 win 900
         113 c . 1+0 ack 1001 win 900
         400 s . 1001+1000 ack 1
         450 c . 1+0 ack 4001",
    ]);
    assert_eq!(found, [(12, Timeout, Certain)]);
}

#[test]
fn the_same_packet_twice_is_no_retransmission() {
    let rows =
        analyse(&format!("{PLAIN_OPENING}\n{FOUR}\n 111 s . 1001+1000 ack 1 ident 2\n 112 c . 1+0 ack 4001"));
    assert!(rows.retransmissions.is_empty());
    assert!(rows.segments.iter().any(|row| row.number == 9 && row.kind == Kind::Copy));
}

#[test]
fn a_packet_below_the_first_one_of_a_capture_from_the_middle_was_overtaken() {
    let rows = analyse("0 s . 1901+1000 ack 101\n 0.1 s . 901+1000 ack 101\n 0.2 c . 101+0 ack 2901");
    assert!(rows.retransmissions.is_empty());
    assert_eq!(rows.segments[1].kind, Kind::Reordered);
}

#[test]
fn sack_blocks_show_what_syns_that_are_not_in_the_capture_agreed_on() {
    let rows = analyse(
        "0 s . 1+1000 ack 1
         0 s . 1001+1000 ack 1
         0 s . 2001+1000 ack 1
         0 s . 3001+1000 ack 1
         0 s . 4001+1000 ack 1
         0 s . 5001+1000 ack 1
         50 c . 1+0 ack 1 win 80
         50.1 c . 1+0 ack 1 win 80 sack 1001-2001
         51 c . 1+0 ack 1 win 80 sack 3001-4001,1001-2001
         52 c . 1+0 ack 1 win 80 sack 3001-5001,1001-2001
         52.01 s . 1+1000 ack 1
         53 c . 1+0 ack 1 win 80 sack 3001-6001,1001-2001
         53.01 s . 2001+1000 ack 1
         105 c . 1+0 ack 6001 win 80",
    );
    let causes: Vec<_> = rows.retransmissions.iter().map(|row| (row.cause, row.confidence)).collect();
    assert_eq!(causes, [(Fast, Likely), (SackRecovery, Likely)]);
    let client = &rows.connections[0].client;
    assert!(client.offered.sack_permitted && !client.offered.syn);
    // How the window is scaled is not known, and so not how large it was.
    assert_eq!((client.min_window, client.max_window), (None, None));
    assert_eq!(rows.connections[0].server.window_limited_time, 0);
}

#[test]
fn two_ports_of_a_tap_show_packets_twice_also_without_identifications() {
    let rows = analyse(
        "0 c S 0+0
         0.005 c S 0+0
         0.1 s S 0+0 ack 1
         0.105 s S 0+0 ack 1
         50 c . 1+0 ack 1
         60 s . 1+1000 ack 1
         60.005 s . 1+1000 ack 1
         61 s . 1001+1000 ack 1
         61.005 s . 1001+1000 ack 1
         111 c . 1+0 ack 2001",
    );
    assert!(rows.retransmissions.is_empty(), "{:?}", rows.retransmissions);
    assert_eq!(rows.connections[0].server.copies, 3);
    assert_eq!(rows.connections[0].handshake.server_rtt, Some(100_000));
}

#[test]
fn a_single_byte_again_is_no_probe_of_an_idle_connection() {
    let found = causes(&[
        AT_CLIENT,
        "111 s . 1001+1 ack 1 ident 2
         111.1 c . 1+0 ack 1002
         400 s . 1001+1 ack 1 ident 3
         400.1 c . 1+0 ack 1002",
    ]);
    assert_eq!(found, [(8, Timeout, Likely)]);
}

#[test]
fn without_acknowledgments_nothing_is_guessed() {
    let row = one(&["0 s . 1+1000 ack 1\n 0 s . 1001+1000 ack 1\n 300 s . 1001+1000 ack 1"]);
    assert_eq!((row.cause, row.confidence), (Cause::Unknown, Confidence::Unknown));
}

/// The client's capture: the SYN-ACK comes 50 ms after the SYN, and the ACK at once.
const AT_CLIENT: &str = "
    0 c S 0+0
    50 s S 0+0 ack 1
    50.1 c . 1+0 ack 1
    110 s . 1+1000 ack 1 ident 1
    110.1 c . 1+0 ack 1001";

#[test]
fn at_the_receiver_a_late_segment_is_overtaken_or_sent_again_by_its_identification() {
    let after = |ident: u16, ms: u32| {
        let rows = analyse(&format!(
            "{AT_CLIENT}
             110 s . 2001+1000 ack 1 ident 3
             110.1 c . 1+0 ack 1001
             111 s . 3001+1000 ack 1 ident 4
             111.1 c . 1+0 ack 1001
             112 s . 4001+1000 ack 1 ident 5
             112.1 c . 1+0 ack 1001
             {ms} s . 1001+1000 ack 1 ident {ident}
             {ms} c . 1+0 ack 5001"
        ));
        let kind = rows.segments.iter().find(|row| row.number == 12).map(|row| row.kind);
        (kind, rows.retransmissions.first().map(|row| (row.cause, row.confidence)))
    };
    assert_eq!(after(2, 113), (Some(Kind::Reordered), None));
    assert_eq!(after(6, 163), (Some(Kind::Retransmission), Some((Fast, Likely))));
    // Without an identification, what comes before an answer can have come was overtaken.
    assert_eq!(after(0, 120).0, Some(Kind::Reordered));
    assert_eq!(after(0, 170).0, Some(Kind::Retransmission));
}

#[test]
fn at_the_receiver_a_step_of_the_identification_shows_what_was_lost_before() {
    let found = causes(&[
        AT_CLIENT,
        "111 s . 1001+1000 ack 1 ident 2
         111.1 c . 1+0 ack 2001
         112 s . 2001+1000 ack 1 ident 3
         112.1 c . 1+0 ack 3001
         500 s . 3001+1000 ack 1 ident 5
         500.1 c . 1+0 ack 4001",
    ]);
    assert_eq!(found, [(10, Timeout, Likely)]);
}
