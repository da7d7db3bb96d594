use super::{OPENING, client, connection, samples, server};
use crate::rows::{Method, SideName};

const MS: f64 = 1e6;

#[test]
fn an_acknowledgment_of_a_segment_sent_once_is_a_sample() {
    let row = client(
        "
        11 c P 101+100 ack 501
        21 s . 501+0 ack 201
        22 c P 201+100 ack 501
        34 s . 501+0 ack 301
        ",
    );
    assert_eq!((row.rtt.count, row.rtt.min, row.rtt.mean, row.rtt.max), (2, 10.0 * MS, 11.0 * MS, 12.0 * MS));
    assert!((row.rtt.sd - 2.0_f64.sqrt() * MS).abs() < 1.0, "{}", row.rtt.sd);
    assert_eq!((row.ambiguous_retransmitted, row.ambiguous_missing), (0, 0));
}

#[test]
fn the_newest_segment_is_timed() {
    let row = client("11 c . 101+100 ack 501\n13 c P 201+100 ack 501\n23 s . 501+0 ack 301");
    assert_eq!((row.rtt.count, row.rtt.mean), (1, 10.0 * MS));
}

#[test]
fn an_acknowledgment_of_a_segment_sent_twice_is_ambiguous() {
    let row = client("11 c P 101+100 ack 501\n300 c P 101+100 ack 501\n310 s . 501+0 ack 201");
    assert_eq!((row.rtt.count, row.ambiguous_retransmitted, row.ambiguous_missing), (0, 1, 0));
}

#[test]
fn an_acknowledgment_after_a_repair_is_ambiguous() {
    // The second segment waited at the receiver until the first had come again.
    let row = client(
        "
        11  c P 101+100 ack 501
        12  c P 201+100 ack 501
        22  s . 501+0 ack 101
        300 c P 101+100 ack 501
        310 s . 501+0 ack 301
        ",
    );
    assert_eq!((row.rtt.count, row.ambiguous_retransmitted, row.ambiguous_missing), (0, 0, 1));
}

#[test]
fn after_a_hole_was_filled_by_an_overtaken_packet_too() {
    // Nothing is sent twice: the first packet is late, and a duplicate acknowledgment shows it.
    let row = client(
        "
        11 c P 101+100 ack 501
        12 c P 201+100 ack 501
        22 s . 501+0 ack 101
        35 s . 501+0 ack 301
        ",
    );
    assert_eq!((row.rtt.count, row.ambiguous_missing), (0, 1));
}

#[test]
fn a_retransmission_that_is_acknowledged_apart_spoils_no_later_sample() {
    // tcptrace drops the second sample here: a segment before it was sent after it. But that had been acknowledged.
    let row = client(
        "
        11  c P 101+100 ack 501
        12  c P 201+100 ack 501
        250 c P 101+100 ack 501
        251 s . 501+0 ack 201
        252 s . 501+0 ack 301
        ",
    );
    assert_eq!((row.rtt.count, row.rtt.mean), (1, 240.0 * MS));
    assert_eq!((row.ambiguous_retransmitted, row.ambiguous_missing), (1, 0));
}

#[test]
fn a_hole_that_never_passed_here_gives_no_sample() {
    let row = client("11 c . 101+100 ack 501\n12 c . 301+100 ack 501\n30 s . 501+0 ack 401");
    assert_eq!((row.rtt.count, row.ambiguous_missing), (0, 1));
}

#[test]
fn a_part_of_a_super_packet_is_timed() {
    let row = client("11 c . 101+2920 ack 501\n21 s . 501+0 ack 1561\n22 s . 501+0 ack 3021");
    assert_eq!((row.rtt.count, row.rtt.min, row.rtt.max), (2, 10.0 * MS, 11.0 * MS));
}

#[test]
fn the_handshake_and_a_fin_are_no_data() {
    let script = format!("{OPENING} 11 c F 101+0 ack 501\n21 s . 501+0 ack 102");
    let row = connection(&script).client;
    assert_eq!(row.rtt.count, 0);
    let methods: Vec<_> = samples(&script).iter().map(|row| (row.side, row.method, row.rtt)).collect();
    let want = [(SideName::Client, Method::Handshake, 10_000_000), (SideName::Server, Method::Handshake, 0)];
    assert_eq!(methods, want);
}

#[test]
fn a_syn_sent_twice_is_no_sample() {
    let rows = samples("0 c S 100+0\n1000 c S 100+0\n1010 s S 500+0 ack 101\n1020 c . 101+0 ack 501");
    let methods: Vec<_> = rows.iter().map(|row| (row.side, row.method, row.rtt)).collect();
    assert_eq!(methods, [(SideName::Server, Method::Handshake, 10_000_000)]);
}

#[test]
fn an_echo_times_a_retransmission() {
    let row = client(
        "
        11  c P 101+100 ack 501 ts 20/9
        311 c P 101+100 ack 501 ts 50/9
        322 s . 501+0 ack 201 ts 40/50
        ",
    );
    assert_eq!((row.rtt.count, row.rtt_timestamps.count, row.rtt_timestamps.mean), (0, 1, 11.0 * MS));
}

#[test]
fn an_echo_of_the_first_transmission_times_that_where_sack_tells_of_duplicates() {
    let script = "
        11  c P 101+100 ack 501 ts 20/9
        311 c P 101+100 ack 501 ts 50/9
        312 s . 501+0 ack 201 ts 40/20
        ";
    let opening = "0 c S 100+0 sackok ts 1/0\n10 s S 500+0 ack 101 sackok ts 1/1\n10 c . 101+0 ack 501";
    let row = connection(&format!("{opening}{script}")).client;
    assert_eq!((row.rtt_timestamps.count, row.rtt_timestamps.mean), (1, 301.0 * MS));
    // Without SACK the first acknowledgment may be lost, and the second transmission have brought this one.
    assert_eq!(client(script).rtt_timestamps.count, 0);
    // With it, that would be told.
    let repeated = script.replace("ack 201", "ack 201 sack 101-201");
    assert_eq!(connection(&format!("{opening}{repeated}")).client.rtt_timestamps.count, 0);
}

#[test]
fn the_echo_of_a_packet_without_data_answers_no_data() {
    // The handshake's last packet has the value of the first data; the server's data answer it.
    let row = client(
        "
        10 c . 101+0 ack 501 ts 20/9
        10 c P 101+100 ack 501 ts 20/9
        19 s P 501+100 ack 101 ts 40/20
        21 s . 601+0 ack 201 ts 42/20
        ",
    );
    assert_eq!((row.rtt_timestamps.count, row.rtt_timestamps.mean), (1, 11.0 * MS));
}

#[test]
fn one_sample_for_each_tick_of_the_clock() {
    // Three segments of one tick; a delayed acknowledgment of two echoes the first.
    let row = client(
        "
        11 c . 101+100 ack 501 ts 20/9
        12 c . 201+100 ack 501 ts 20/9
        13 c . 301+100 ack 501 ts 20/9
        22 s . 501+0 ack 301 ts 40/20
        60 s . 501+0 ack 401 ts 40/20
        ",
    );
    assert_eq!((row.rtt_timestamps.count, row.rtt_timestamps.mean), (1, 11.0 * MS));
}

#[test]
fn an_idle_sender_makes_no_long_sample() {
    // The server's data echo the same value long after; they acknowledge nothing new.
    let row = client(
        "
        11   c P 101+100 ack 501 ts 20/9
        21   s . 501+0 ack 201 ts 40/20
        5000 s P 501+10 ack 201 ts 90/20
        ",
    );
    assert_eq!((row.rtt_timestamps.count, row.rtt_timestamps.max), (1, 10.0 * MS));
}

#[test]
fn the_echo_after_a_hole_is_that_of_the_packet_that_filled_it() {
    // New data at 201 and the retransmission at 101 have one value. The echo is the retransmission's.
    let row = client(
        "
        11 c . 101+100 ack 501 ts 20/9
        40 c . 201+100 ack 501 ts 50/9
        50 s . 501+0 ack 101 ts 40/9
        51 c . 101+100 ack 501 ts 50/9
        61 s . 501+0 ack 301 ts 60/50
        ",
    );
    assert_eq!(row.rtt_timestamps.count, 0);
}

#[test]
fn sack_times_what_it_reports_in_order() {
    let row = client(
        "
        11 c . 101+100 ack 501
        12 c . 201+100 ack 501
        13 c . 301+100 ack 501
        22 s . 501+0 ack 101 sack 201-301
        25 s . 501+0 ack 101 sack 201-401
        ",
    );
    assert_eq!((row.rtt_sack.count, row.rtt_sack.min, row.rtt_sack.max), (2, 10.0 * MS, 12.0 * MS));
    assert_eq!(row.rtt.count, 0);
}

#[test]
fn sack_does_not_time_what_it_reports_late_or_twice() {
    // 301 is reported before 201; 401 is sent twice; the last block comes with a cumulative acknowledgment.
    let row = client(
        "
        11  c . 101+100 ack 501
        12  c . 201+100 ack 501
        13  c . 301+100 ack 501
        13  c . 401+100 ack 501
        22  s . 501+0 ack 101 sack 301-401
        24  s . 501+0 ack 101 sack 201-401
        200 c . 401+100 ack 501
        210 s . 501+0 ack 101 sack 201-501
        211 c . 501+100 ack 501
        212 c . 601+100 ack 501
        213 c . 101+100 ack 501
        225 s . 501+0 ack 501 sack 601-701
        ",
    );
    assert_eq!((row.rtt_sack.count, row.rtt_sack.mean), (1, 9.0 * MS));
}

#[test]
fn rows_say_how_and_by_which_packet() {
    let script = format!("{OPENING} 11 c P 101+100 ack 501 ts 20/9\n21 s . 501+0 ack 201 ts 40/20");
    let rows = samples(&script);
    let last: Vec<_> =
        rows[2..].iter().map(|row| (row.side, row.number, row.end, row.rtt, row.method)).collect();
    let sample = |method| (SideName::Client, 5, 101, 10_000_000, method);
    assert_eq!(last, [sample(Method::Ack), sample(Method::Timestamp)]);
}

#[test]
fn without_the_table_no_rows() {
    use crate::tcp::script::analyse_with;
    let rows = analyse_with(
        &crate::Options::default(),
        &format!("{OPENING} 11 c P 101+100 ack 501\n21 s . 501+0 ack 201"),
    );
    assert_eq!((rows.rtt.len(), rows.connections[0].client.rtt.count), (0, 1));
}

#[test]
fn the_delay_of_single_packets_is_told_of_who_acknowledges() {
    let row = server(
        "
        11  c P 101+100 ack 501
        61  s . 501+0 ack 201
        62  c . 201+100 ack 501
        62  c . 301+100 ack 501
        72  s . 501+0 ack 401
        ",
    );
    assert_eq!((row.ack_delay.count, row.ack_delay.max), (1, 50.0 * MS));
    assert_eq!(row.packets_per_ack, Some(1.5));
}

#[test]
fn at_the_receiver_the_longest_delay_is_the_timer() {
    let script = "
        0    c S 100+0
        0    s S 500+0 ack 101
        50   c . 101+0 ack 501
        51   c . 101+1460 ack 501
        51   c . 1561+1460 ack 501
        51.1 s . 501+0 ack 3021
        102  c . 3021+100 ack 501
        142  s . 501+0 ack 3121
        ";
    let row = connection(script).server;
    assert_eq!((row.ack_timer, row.ack_delay.count, row.packets_per_ack), (Some(40_000_000), 1, Some(1.5)));
    // At the sender, the way there and back hides it.
    let row = server("11 c . 101+100 ack 501\n61 s . 501+0 ack 201");
    assert_eq!((row.ack_timer, row.ack_delay.max), (None, 50.0 * MS));
}
