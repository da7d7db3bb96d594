use super::{client, connection, server};

#[test]
fn packets_by_what_they_carry() {
    let row = client(
        "
        11 c P 101+100 ack 501
        21 s . 501+0 ack 201
        22 c P 201+100 ack 501
        32 s P 501+50 ack 301
        33 c . 301+0 ack 551
        34 c F 301+0 ack 551
        44 s F 551+0 ack 302
        44 c . 302+0 ack 552
        ",
    );
    assert_eq!((row.packets, row.data_packets, row.pure_acks), (7, 2, 3));
    assert_eq!((row.bytes, row.unique_bytes, row.acked_bytes), (200, 200, 200));
}

#[test]
fn a_super_packet_is_many_on_the_wire() {
    // The segments have 1460 bytes: 3, 1 and 2 of them.
    let row = client(
        "
        11 c . 101+4380 ack 501
        11 c . 4481+1460 ack 501
        11 c P 5941+1461 ack 501
        21 s . 501+0 ack 7402
        ",
    );
    assert_eq!((row.data_packets, row.wire_data_packets), (3, 6));
}

#[test]
fn timestamps_make_segments_smaller() {
    let row = connection(
        "
        0  c S 100+0 ts 1/0
        10 s S 500+0 ack 101 ts 1/1
        10 c . 101+0 ack 501 ts 2/1
        11 c . 101+2896 ack 501 ts 2/1
        21 s . 501+0 ack 2997 ts 3/2
        ",
    );
    assert_eq!(row.client.wire_data_packets, 2);
}

#[test]
fn a_retransmission_may_bring_new_bytes() {
    let row = client(
        "
        11  c P 101+100 ack 501
        300 c P 101+150 ack 501
        310 s . 501+0 ack 251
        ",
    );
    assert_eq!((row.bytes, row.unique_bytes), (250, 150));
    assert_eq!((row.retransmitted_packets, row.retransmitted_bytes), (1, 100));
}

#[test]
fn what_is_lost_before_the_capture_is_unique_and_retransmitted() {
    // At the receiver 201 to 300 is seen once only, and is a retransmission all the same.
    let row = connection(
        "
        0   c S 100+0 win 60000
        0   s S 500+0 ack 101 win 60000
        50  c . 101+0 ack 501
        51  c . 101+100 ack 501
        51  s . 501+0 ack 201
        53  c . 301+100 ack 501
        53  s . 501+0 ack 201
        300 c . 201+100 ack 501
        300 s . 501+0 ack 401
        ",
    )
    .client;
    assert_eq!((row.bytes, row.unique_bytes, row.unseen_bytes), (300, 300, 0));
    assert_eq!((row.retransmitted_packets, row.retransmitted_bytes), (1, 100));
    assert_eq!((row.data_packets, row.acked_bytes), (3, 300));
}

#[test]
fn overtaken_data_are_no_retransmission() {
    let row = connection(
        "
        0   c S 100+0 win 60000
        0   s S 500+0 ack 101 win 60000
        50  c . 101+0 ack 501
        51  c . 201+100 ack 501 ident 8
        51  s . 501+0 ack 101
        52  c . 101+100 ack 501 ident 7
        52  s . 501+0 ack 301
        ",
    )
    .client;
    assert_eq!((row.reordered_packets, row.retransmitted_packets, row.retransmitted_bytes), (1, 0, 0));
    assert_eq!((row.bytes, row.unique_bytes), (200, 200));
}

#[test]
fn neither_syn_nor_fin_is_data() {
    let row = connection(
        "
        0    c S 100+0
        1000 c S 100+0
        1010 s S 500+0 ack 101
        1010 c . 101+0 ack 501
        1011 c F 101+10 ack 501
        1021 s . 501+0 ack 112
        1100 c F 111+0 ack 501
        ",
    )
    .client;
    assert_eq!((row.packets, row.data_packets, row.bytes, row.unique_bytes), (5, 1, 10, 10));
    assert_eq!((row.retransmitted_packets, row.retransmitted_bytes, row.acked_bytes), (0, 0, 10));
    assert_eq!((row.lost_segments, row.loss_events), (0, 0));
}

#[test]
fn bytes_that_the_capture_does_not_hold() {
    // 201 to 300 and 401 to 450 never pass here.
    let row = client(
        "
        11 c . 101+100 ack 501
        11 c . 301+100 ack 501
        21 s . 501+0 ack 451
        ",
    );
    assert_eq!((row.unique_bytes, row.unseen_bytes, row.acked_bytes), (200, 150, 350));
}

#[test]
fn a_capture_that_begins_late_misses_nothing_after_that() {
    let row = connection(
        "
        0  c . 70101+100 ack 9501
        10 s . 9501+0 ack 70201
        11 c . 70201+100 ack 9501
        21 s . 9501+0 ack 70301
        ",
    )
    .client;
    assert_eq!((row.bytes, row.unseen_bytes, row.acked_bytes), (200, 0, 200));
    assert_eq!(row.rtt.count, 2);
}

#[test]
fn acknowledgments_alone_tell_of_unseen_bytes() {
    let row = connection(
        "
        0  s . 9501+0 ack 70201
        10 s . 9501+0 ack 70301
        20 s . 9501+0 ack 70501
        ",
    );
    assert_eq!((row.client.packets, row.server.unseen_bytes, row.server.acked_bytes), (3, 300, 300));
}

#[test]
fn a_damaged_packet_was_sent_and_did_not_arrive() {
    // With the wrong ones in the minority, no network card is to blame.
    let row = client(
        "
        11  c . 101+100 ack 501
        21  s . 501+0 ack 201
        21  c . 201+0 ack 501
        22  c . 201+100 ack 501 damaged
        300 c . 201+100 ack 501
        310 s . 501+0 ack 301
        ",
    );
    assert_eq!((row.packets, row.damaged, row.data_packets), (6, 1, 3));
    assert_eq!((row.bytes, row.unique_bytes), (300, 200));
}

#[test]
fn a_copy_is_no_packet() {
    let row = client(
        "
        11 c . 101+100 ack 501 ident 7
        12 c . 101+100 ack 501 ident 7
        21 s . 501+0 ack 201
        ",
    );
    assert_eq!((row.copies, row.packets, row.bytes, row.retransmitted_packets), (1, 3, 100, 0));
}

#[test]
fn a_keep_alive_is_no_retransmission() {
    let row = client(
        "
        11   c . 101+100 ack 501
        21   s . 501+0 ack 201
        9000 c . 200+1 ack 501
        9010 s . 501+0 ack 201
        ",
    );
    assert_eq!((row.retransmitted_packets, row.retransmitted_bytes, row.unique_bytes), (0, 1, 100));
    assert_eq!((row.lost_segments, row.loss_events), (0, 0));
}

#[test]
fn goodput_and_throughput() {
    // 300 bytes acknowledged in 300 ms, 400 sent in 290 ms.
    let row = client(
        "
        100 c . 101+100 ack 501
        110 s . 501+0 ack 201
        110 c . 201+100 ack 501
        120 c . 301+100 ack 501
        390 c . 201+100 ack 501
        400 s . 501+0 ack 401
        ",
    );
    assert_eq!(row.goodput, Some(300.0 * 8.0 / 0.3));
    assert_eq!(row.throughput, Some(400.0 * 8.0 / 0.29));
    assert_eq!(server("").goodput, None);
}

#[test]
fn one_direction_does_not_tell_what_is_outstanding() {
    let row =
        connection("0 c . 101+1460 ack 501\n1 c . 1561+1460 ack 501\n5000 c . 3021+1460 ack 501").client;
    assert_eq!((row.bytes, row.acked_bytes, row.initial_window, row.max_outstanding), (4380, 0, 0, 0));
    assert_eq!((row.mean_outstanding, row.idle_periods, row.window_limited_time), (None, 0, 0));
}
