use super::{client, connection, server};

#[test]
fn outstanding_is_what_is_neither_acknowledged_nor_reported() {
    // 10 ms of 100 bytes, 10 of 200, 10 of 100 (by SACK), then nothing for long.
    let row = client(
        "
        100 c . 101+100 ack 501
        110 c . 201+100 ack 501
        120 s . 501+0 ack 101 sack 201-301
        130 s . 501+0 ack 301
        900 c . 301+40 ack 501
        ",
    );
    assert_eq!(row.max_outstanding, 200);
    let mean = row.mean_outstanding.expect("data were outstanding");
    assert!((mean - 400.0 / 3.0).abs() < 1e-9, "{mean}");
}

#[test]
fn a_fin_is_no_outstanding_byte() {
    let row = client(
        "
        100 c . 101+100 ack 501
        110 s . 501+0 ack 201
        110 c F 201+0 ack 501
        990 s . 501+0 ack 202
        ",
    );
    assert_eq!((row.max_outstanding, row.mean_outstanding), (100, Some(100.0)));
}

#[test]
fn f_avg_is_taken_when_a_timed_segment_is_sent() {
    // Timed are the 2nd and the 4th, sent with 2 and then 3 outstanding, themselves included; not the one sent twice.
    let row = client(
        "
        11  c . 101+100 ack 501
        11  c . 201+100 ack 501
        21  s . 501+0 ack 301
        22  c . 301+100 ack 501
        22  c . 401+100 ack 501
        22  c . 501+100 ack 501
        32  s . 501+0 ack 601
        33  c . 601+100 ack 501
        400 c . 601+100 ack 501
        410 s . 501+0 ack 701
        ",
    );
    assert_eq!((row.rtt.count, row.f_avg), (2, Some(2.5)));
}

#[test]
fn f_avg_counts_the_segments_of_super_packets() {
    let row = client("11 c . 101+14600 ack 501\n21 s . 501+0 ack 14701");
    assert_eq!(row.f_avg, Some(10.0));
}

#[test]
fn the_initial_window_ends_with_the_first_acknowledgment_of_data() {
    let row = client(
        "
        11 c . 101+1460 ack 501
        11 c . 1561+1460 ack 501
        12 c . 3021+1460 ack 501
        21 s . 501+0 ack 1561
        21 c . 4481+1460 ack 501
        ",
    );
    assert_eq!(row.initial_window, 3 * 1460);
}

#[test]
fn at_the_receiver_the_initial_window_goes_on_for_a_round_trip() {
    // The acknowledgment of the first segment leaves at once, and can show in the sender's data after 50 ms.
    let row = connection(
        "
        0   c S 100+0 win 60000
        0   s S 500+0 ack 101 win 60000
        50  c . 101+0 ack 501
        50  c . 101+1460 ack 501
        50  s . 501+0 ack 1561
        52  c . 1561+1460 ack 501
        52  s . 501+0 ack 3021
        54  c . 3021+1460 ack 501
        54  s . 501+0 ack 4481
        101 c . 4481+1460 ack 501
        101 c . 5941+1460 ack 501
        ",
    )
    .client;
    assert_eq!(row.initial_window, 3 * 1460);
}

#[test]
fn windows_are_scaled_but_for_the_handshake() {
    let row = connection(
        "
        0  c S 100+0 win 60000 ws 2
        10 s S 500+0 ack 101 win 50000 ws 7
        10 c . 101+0 ack 501 win 300
        11 c . 101+10 ack 501 win 200
        21 s . 501+0 ack 111 win 1000
        ",
    );
    assert_eq!((row.client.min_window, row.client.max_window), (Some(800), Some(60_000)));
    assert_eq!((row.server.min_window, row.server.max_window), (Some(128_000), Some(128_000)));
}

#[test]
fn a_closed_window_is_one_period_until_it_opens() {
    let row = server(
        "
        11  c . 101+100 ack 501
        21  s . 501+0 ack 201 win 0
        300 c . 200+0 ack 501
        310 s . 501+0 ack 201 win 0
        500 s . 501+0 ack 201 win 5000
        501 c . 201+100 ack 501
        511 s . 501+0 ack 301 win 0
        611 s R 501+0 ack 301 win 0
        ",
    );
    assert_eq!((row.zero_windows, row.zero_window_time), (2, 579_000_000));
    assert_eq!((row.min_window, row.max_window), (Some(0), Some(5000)));
}

#[test]
fn the_window_limits_while_less_than_a_segment_is_left() {
    // Full at 12 ms, opened at 22 ms; closed from 32 to 132 ms with nothing outstanding.
    let row = client(
        "
        10  s . 501+0 ack 101 win 2920
        11  c . 101+1460 ack 501
        12  c . 1561+1460 ack 501
        22  s . 501+0 ack 3021 win 2920
        23  c . 3021+1460 ack 501
        32  s . 501+0 ack 4481 win 0
        132 s . 501+0 ack 4481 win 2920
        ",
    );
    assert_eq!(row.window_limited_time, 110_000_000);
}

#[test]
fn idle_is_longer_than_a_timeout_and_ends_with_data() {
    // 0.9 s is too short; 5 s are idle, and a keep-alive does not end them.
    let row = client(
        "
        11   c . 101+100 ack 501
        21   s . 501+0 ack 201
        921  c . 201+100 ack 501
        931  s . 501+0 ack 301
        3000 c . 300+0 ack 501
        3010 s . 501+0 ack 301
        5931 c . 301+100 ack 501
        5941 s . 501+0 ack 401
        ",
    );
    assert_eq!((row.idle_periods, row.idle_time), (1, 5_000_000_000));
}

#[test]
fn waiting_for_a_closed_window_is_not_idle() {
    let row = client(
        "
        11   c . 101+100 ack 501
        21   s . 501+0 ack 201 win 0
        3000 s . 501+0 ack 201
        3001 c . 201+100 ack 501
        ",
    );
    assert_eq!(row.idle_periods, 0);
}

#[test]
fn waiting_for_a_lost_answer_is_not_idle() {
    let row = client(
        "11 c . 101+100 ack 501\n5000 c . 101+100 ack 501\n5010 s . 501+0 ack 201\n5011 c . 201+1 ack 501",
    );
    assert_eq!(row.idle_periods, 0);
}

#[test]
fn duplicate_acknowledgments_are_those_of_rfc_5681() {
    // Not: with data, with another window, with nothing outstanding.
    let row = server(
        "
        11 c . 101+100 ack 501
        12 c . 201+100 ack 501
        22 s . 501+0 ack 101
        23 s . 501+10 ack 101
        24 s . 511+0 ack 101 win 50000
        25 s . 511+0 ack 101 win 50000 sack 201-301
        40 s . 511+0 ack 301 win 50000
        41 s . 511+0 ack 301 win 50000
        ",
    );
    assert_eq!((row.duplicate_acks, row.sack_acks, row.dsacks), (2, 1, 0));
}

#[test]
fn a_block_below_the_acknowledgment_reports_a_duplicate() {
    let row = server(
        "
        11  c . 101+100 ack 501
        300 c . 101+100 ack 501
        310 s . 501+0 ack 201
        312 s . 501+0 ack 201 sack 101-201
        ",
    );
    assert_eq!((row.sack_acks, row.dsacks), (1, 1));
}
