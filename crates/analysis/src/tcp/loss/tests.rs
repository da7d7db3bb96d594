use crate::rows::LossEventRow;
use crate::tcp::script::{analyse, analyse_with, connection};
use crate::{Options, rows::Tables};

/// A connection of 10 ms round-trip time, with 10 segments of 100 bytes sent a millisecond apart from 100 ms on.
fn ten_segments(then: &str) -> String {
    let mut script = String::from(
        "
        0  c S 100+0 win 60000 sackok
        10 s S 500+0 ack 101 win 60000 sackok
        10 c . 101+0 ack 501
        11 c . 101+100 ack 501
        21 s . 501+0 ack 201
        ",
    );
    for n in 0..10 {
        script += &format!("{} c . {}+100 ack 501\n", 100 + n, 201 + 100 * n);
    }
    script + then
}

fn events(script: &str) -> Vec<LossEventRow> {
    analyse(script).loss_events
}

/// Lost are 201 and 401.
const TWO_HOLES: &str = "
    111 s . 501+0 ack 201 sack 301-401
    113 s . 501+0 ack 201 sack 501-601,301-401
    114 s . 501+0 ack 201 sack 501-701,301-401
    115 s . 501+0 ack 201 sack 501-801,301-401
    115 c . 201+100 ack 501
    115 c . 401+100 ack 501
    125 s . 501+0 ack 401 sack 501-801
    126 s . 501+0 ack 1201
";

#[test]
fn losses_of_one_round_trip_are_one_event() {
    let script = ten_segments(TWO_HOLES);
    let events = events(&script);
    assert_eq!(events.len(), 1);
    let event = &events[0];
    // Segment 201 was the second of the connection.
    assert_eq!((event.lost, event.seq, event.interval, event.timeout), (2, 101, 2, false));
    assert_eq!((event.time.as_nanos(), event.rtt), (100_000_000, 10_000_000));
    let row = connection(&script).client;
    assert_eq!((row.loss_events, row.lost_segments, row.wire_data_packets), (1, 2, 13));
    assert_eq!((row.loss_event_rate, row.loss_rate), (Some(1.0 / 13.0), Some(2.0 / 13.0)));
}

#[test]
fn a_shorter_reach_makes_more_events() {
    let tables = Tables { segments: false, rtt: false, chunks: false, held: false };
    let options = Options { loss_event_rtts: 0.1, tables, ..Options::default() };
    let rows = analyse_with(&options, &ten_segments(TWO_HOLES));
    let intervals: Vec<_> = rows.loss_events.iter().map(|event| (event.lost, event.interval)).collect();
    assert_eq!(intervals, [(1, 2), (1, 2)]);
}

#[test]
fn losses_far_apart_are_two_events() {
    let script = ten_segments(
        "
        118  s . 501+0 ack 1101
        500  c . 1201+100 ack 501
        ; lost: 1101, and later 1301
        700  c . 1101+100 ack 501
        710  s . 501+0 ack 1301
        1000 c . 1301+100 ack 501
        1300 c . 1301+100 ack 501
        1310 s . 501+0 ack 1401
        ",
    );
    let found: Vec<_> =
        events(&script).iter().map(|event| (event.seq, event.interval, event.timeout)).collect();
    // 1101 was the 11th packet; then 1201, its retransmission, and 1301 as the 14th.
    assert_eq!(found, [(1001, 11, true), (1201, 3, true)]);
}

#[test]
fn what_was_not_needed_was_not_lost() {
    let script = ten_segments(
        "
        305 c . 201+100 ack 501
        306 s . 501+0 ack 1201
        315 s . 501+0 ack 1201 sack 201-301
        ",
    );
    assert_eq!(events(&script).len(), 0);
    assert_eq!(connection(&script).client.loss_rate, Some(0.0));
}

#[test]
fn a_retransmission_that_is_lost_counts_again() {
    let row = connection(&ten_segments(
        "
        300  c . 201+100 ack 501
        700  c . 201+100 ack 501
        710  s . 501+0 ack 1201
        ",
    ))
    .client;
    assert_eq!((row.lost_segments, row.loss_events), (2, 2));
}

#[test]
fn a_lost_super_packet_is_many_segments() {
    let script = "
        0   c S 100+0 win 60000
        10  s S 500+0 ack 101 win 60000
        10  c . 101+0 ack 501
        11  c . 101+4380 ack 501
        300 c . 101+4380 ack 501
        310 s . 501+0 ack 4481
        ";
    assert_eq!(events(script)[0].lost, 3);
}

#[test]
fn an_end_without_an_answer_tells_nothing() {
    let script = ten_segments("300 c . 201+100 ack 501");
    assert_eq!(events(&script).len(), 0);
}
