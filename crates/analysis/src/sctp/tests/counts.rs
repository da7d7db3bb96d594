//! What is counted and timed of an association.

use super::super::script::play;
use super::super::{Control, SctpMethod};
use super::{OPENING, lines};
use crate::rows::SideName;

#[test]
fn the_opening_and_the_end() {
    let rows = play(&format!("{OPENING}300 c shutdown 0\n400 s shutdownack\n400.1 c complete"));
    let association = &rows.associations[0];
    let handshake = association.handshake;
    assert!(handshake.init && handshake.init_ack && handshake.cookie_echo && handshake.cookie_ack);
    assert!(handshake.shutdown && handshake.shutdown_complete && !handshake.abort);
    assert_eq!(
        (handshake.init_rtt, handshake.client_rtt, handshake.cookie_rtt),
        (Some(100_000_000), Some(100_000), Some(99_900_000))
    );
    let client = &association.client;
    assert_eq!(
        (client.outbound_streams, client.inbound_streams, client.initial_tsn_known),
        (Some(10), Some(20), true)
    );
    assert!(association.client_share.is_some_and(|share| share < 0.01));
    let methods: Vec<_> = rows.rtt.iter().map(|row| (row.side, row.method)).collect();
    assert_eq!(
        methods,
        [SideName::Client, SideName::Server, SideName::Client].map(|side| (side, SctpMethod::Handshake))
    );
}

#[test]
fn control_chunks_that_are_sent_again() {
    let rows = play(
        "0 c init 100
         3000 c init 100
         9000 c init 100
         9100 s initack 1
         9100.1 c cookie
         12100.1 c cookie
         12200 s cookieack
         20000 c hb one
         50000 c hb two
         50100 s hback two
         80000 c hb three
         80100 s hback three
         90000 c shutdown 0
         93000 c shutdown 0
         93100 s shutdownack
         93100.1 c complete",
    );
    let seen: Vec<_> = rows
        .controls
        .iter()
        .map(|row| {
            (row.chunk, row.retransmission, row.delay_first / 1_000_000, row.delay_previous / 1_000_000)
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Control::Init, 1, 3_000, 3_000),
            (Control::Init, 2, 9_000, 6_000),
            (Control::CookieEcho, 1, 3_000, 3_000),
            (Control::Heartbeat, 1, 30_000, 30_000),
            (Control::Shutdown, 1, 3_000, 3_000)
        ]
    );
    let association = &rows.associations[0];
    assert_eq!((association.client.heartbeats, association.server.heartbeat_acks), (3, 2));
    assert_eq!(association.client.rtt_heartbeat.count, 2);
    // The INIT and the COOKIE-ECHO came twice, so their answers time nothing.
    assert_eq!((association.handshake.init_rtt, association.handshake.cookie_rtt), (None, None));
    assert_eq!(association.handshake.client_rtt, Some(100_000));
}

/// Each DATA that comes after a SHUTDOWN is answered by one: those are not retransmissions (RFC 9260 section 9.2).
#[test]
fn shutdowns_that_answer_data() {
    let rows = play(&format!(
        "{OPENING}300 c shutdown 0\n310 s data 1\n310.1 c shutdown 1\n320 s data 2\n320.1 c shutdown 2"
    ));
    assert!(rows.controls.is_empty());
}

#[test]
fn streams_messages_and_bytes() {
    let rows = play(&format!(
        "{OPENING}
         300 c data 100+10 stream 3; data 101+20 stream 3 u
         300.1 c idata 102+30 stream 5
         400 s sack 102
         500 s data 1+7
         500.1 c sack 1
         600 c data 103+40 stream 3
         1600 c data 103+40 stream 3
         1700 s sack 103 win 60"
    ));
    let streams: Vec<_> = rows
        .streams
        .iter()
        .map(|row| {
            (
                row.side,
                row.stream,
                row.chunks,
                row.unique_chunks,
                row.messages,
                row.unordered,
                row.unique_bytes,
            )
        })
        .collect();
    assert_eq!(
        streams,
        [
            (SideName::Client, 3, 4, 3, 3, 1, 70),
            (SideName::Client, 5, 1, 1, 1, 0, 30),
            (SideName::Server, 0, 1, 1, 1, 0, 7)
        ]
    );
    let association = &rows.associations[0];
    let client = &association.client;
    assert_eq!((client.chunks, client.unique_chunks, client.retransmitted_chunks), (5, 4, 1));
    assert_eq!((client.bytes, client.unique_bytes, client.retransmitted_bytes), (140, 100, 40));
    assert_eq!((client.acked_bytes, client.causes.timeout, client.data_packets), (100, 1, 4));
    assert_eq!((association.server.min_window, association.server.max_window), (Some(60), Some(100_000)));
    // 100 bytes in 1.4 s.
    assert!(client.goodput.is_some_and(|rate| (rate - 800.0 / 1.4).abs() < 1e-6));
    assert_eq!(rows.chunks.iter().map(|row| row.outstanding).collect::<Vec<_>>(), [10, 30, 60, 7, 40, 40]);
}

/// At the receiver: every second packet at once, a single one after the timer.
#[test]
fn sack_delay() {
    let mut script = String::from("0 c init 100\n0.1 s initack 1\n100 c cookie\n100.1 s cookieack\n");
    script += "1000 c data 100\n1200 s sack 100\n2000 c data 101\n2001 c data 102\n2001.1 s sack 102\n";
    script += "3000 c data 103\n3196 s sack 103";
    let rows = play(&script);
    let server = &rows.associations[0].server;
    assert_eq!((server.sack_delay.count, server.sack_delay.min, server.sack_delay.max), (2, 196e6, 200e6));
    assert!(server.packets_per_sack.is_some_and(|packets| (packets - 4.0 / 3.0).abs() < 1e-9));
}

#[test]
fn rtt_samples_are_of_chunks_sent_once() {
    let script = format!("{OPENING}{}", lines(300.0, 1.0, 100..104, |tsn| format!("c data {tsn}")))
        + "401 s sack 101\n402 s sack 101 103-103\n1300 c data 102\n1400 s sack 103";
    let rows = play(&script);
    let samples: Vec<_> =
        rows.rtt.iter().filter(|row| row.method == SctpMethod::Sack).map(|row| (row.tsn, row.rtt)).collect();
    assert_eq!(samples, [(Some(1), 100_000_000), (Some(3), 99_000_000)]);
    assert_eq!(rows.rtt.last().map(|row| row.dst.to_string()), Some("10.0.1.2".into()));
}

#[test]
fn chunks_that_are_given_up() {
    let rows = play(&format!(
        "{OPENING}300 c data 100\n300.1 c data 101\n1300 c data 100\n2000 c forward 101\n2100 s sack 101"
    ));
    assert_eq!(rows.associations[0].client.abandoned_chunks, 2);
}

/// TSNs of SACKs count from the initial one of the side that they acknowledge, in the order of the packet.
#[test]
fn sacks_are_rows() {
    let rows = play(
        "0 c init 10
        100 s initack 7
        100.1 c cookie
        200 s cookieack
        300 c data 10
        301 c data 11
        302 c data 12
        303 c data 13
        304 c data 14
        400 s sack 9 11-12,14-14 dup 12,12 win 900
        500 s data 7; sack 14
        600 c sack 7",
    );
    let told: Vec<String> = rows
        .sacks
        .iter()
        .map(|row| {
            let gaps: Vec<_> = row.gaps.iter().map(|gap| format!("{}-{}", gap.first, gap.last)).collect();
            format!("{:?} {} {} {gaps:?} {:?}", row.side, row.number, row.cumulative, row.duplicates)
        })
        .collect();
    assert_eq!(told, ["Server 10 -1 [\"1-2\", \"4-4\"] [2, 2]", "Server 11 4 [] []", "Client 12 0 [] []",]);
    assert_eq!(rows.sacks[0].window, 900);
}
