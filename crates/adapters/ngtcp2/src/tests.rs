//! Two ends, packet by packet.

#[path = "../../../stack/test-support/foreign_pair.rs"]
mod foreign_pair;

use foreign_pair::Pair;
use rexmit_stack::{EndSettings, Endpoint, Event, Reason, Socket, StackEnd, seeded};
use rexmit_units::{Bytes, Duration};

use crate::config::{Ngtcp2Config, Ngtcp2Congestion};
use crate::end::Ngtcp2End;
use crate::factory::running::Host;

fn end(n: u64, settings: &EndSettings) -> Ngtcp2End {
    end_with(&Ngtcp2Config { mtu_discovery: false, ..Ngtcp2Config::default() }, n, settings)
}

fn end_with(config: &Ngtcp2Config, n: u64, settings: &EndSettings) -> Ngtcp2End {
    Host::new(config.clone(), 1500, seeded(n)).unwrap().end(settings)
}

#[test]
fn a_stream_arrives_whole_and_both_ends_close() {
    for congestion in
        [Ngtcp2Congestion::Reno, Ngtcp2Congestion::Cubic, Ngtcp2Congestion::Bbr, Ngtcp2Congestion::Bbr2]
    {
        let config = Ngtcp2Config { congestion, ..Ngtcp2Config::default() };
        let mut pair = Pair::new(|n, settings| end_with(&config, n, settings), 300_000, &[]);
        pair.run();
        assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (300_000, 0));
        assert!(pair.told_sender.contains(&Event::Closed) && pair.told_receiver.contains(&Event::Closed));
        let counters = pair.sender.counters();
        assert_eq!((counters.retransmits, counters.timeouts), (0, 0));
        assert_eq!(pair.sender.snapshot().send_queue, 0);
    }
}

#[test]
fn later_packets_show_a_loss_and_a_lost_tail_waits_for_the_probe() {
    let mut early = Pair::new(end, 300_000, &[20]);
    early.run();
    assert_eq!((early.got, early.sender.counters().timeouts), (300_000, 0));
    assert!(early.reasons.iter().any(|reason| matches!(reason, Reason::Fast { .. })));
    let whole = Pair::new(end, 30_000, &[]).run().reasons.clone();
    let last = whole.iter().rposition(|reason| *reason == Reason::New).unwrap() + 1;
    let mut tail = Pair::new(end, 30_000, &[last]);
    tail.run();
    assert_eq!(tail.got, 30_000);
    assert!(tail.reasons.contains(&Reason::TailProbe), "{:?}", tail.reasons);
    assert_eq!(tail.sender.counters().timeouts, 1);
}

#[test]
fn a_lost_hello_comes_again_after_three_assumed_rtts() {
    // RFC 9002 section 6.2.2: 3 * kInitialRtt.
    let mut pair = Pair::new(end, 1_000, &[1]);
    pair.run();
    assert_eq!((pair.got, pair.sender.counters().timeouts), (1_000, 1));
    assert!((0.999..1.2).contains(&pair.now.as_secs_f64()), "{:?}", pair.now);
}

#[test]
fn messages_of_several_streams_find_their_places_when_some_are_lost() {
    for lost in [&[][..], &[7], &[8, 9, 20], &[5, 6, 7, 8, 9, 10]] {
        let mut pair = Pair::with_streams(end, 50_000, lost, 7);
        pair.run();
        assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (50_000, 0), "{lost:?}");
    }
}

#[test]
fn a_datagram_that_is_lost_never_comes_and_the_others_find_their_places() {
    let whole = Pair::with_datagrams(end, 50_000, &[]).run().sent;
    for lost in [&[][..], &[7], &[8, 9, 20], &[5, 6, 7, 8, 9, 10]] {
        let mut pair = Pair::with_datagrams(end, 50_000, lost);
        pair.run();
        // Each packet has one of them.
        assert_eq!(
            (pair.got, pair.receiver.misplaced_bytes()),
            (50_000 - 1_000 * lost.len() as u64, 0),
            "{lost:?}"
        );
        assert_eq!(pair.sender.counters().retransmits, 0);
        assert!(pair.told_receiver.contains(&Event::EndOfStream), "{lost:?}");
        assert!(pair.told_sender.contains(&Event::Closed) && pair.told_receiver.contains(&Event::Closed));
        assert!(pair.sent <= whole + 4 && pair.sender.snapshot().send_queue == 0, "{lost:?}");
    }
}

#[test]
fn a_datagram_that_does_not_fit_ends_the_run_and_names_the_size_that_does() {
    for (len, named) in [(5, "of 5 bytes"), (1_400, "of 1400 bytes")] {
        let mut pair = Pair::with_datagrams(end, len, &[]);
        pair.message = len;
        pair.run();
        let told = pair.sender.failure().unwrap();
        assert!(told.contains(named) && told.contains("takes 8 to 11"), "{told}");
        assert_eq!((pair.got, pair.receiver.failure()), (0, None));
    }
}

#[test]
fn a_run_repeats_to_the_byte() {
    let wire = || Pair::new(end, 300_000, &[20, 31]).run().wire.clone();
    assert!(wire() == wire());
}

#[test]
fn secrets_are_told_once_and_are_the_same_at_both_ends() {
    let mut pair = Pair::new(end, 1_000, &[]);
    pair.run();
    let (one, other) = (pair.sender.take_secrets().unwrap(), pair.receiver.take_secrets().unwrap());
    let sorted = |lines: &str| {
        let mut lines: Vec<String> = lines.lines().map(str::to_string).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&one), sorted(&other));
    assert!(one.contains("CLIENT_TRAFFIC_SECRET_0 ") && one.contains("SERVER_HANDSHAKE_TRAFFIC_SECRET "));
    assert_eq!(pair.sender.take_secrets(), None);
}

#[test]
fn an_assertion_of_the_library_ends_the_run_and_not_the_process() {
    let mut pair = Pair::new(end, 1_000, &[]);
    pair.sender.connect(pair.now);
    pair.sender.have_keys_twice();
    pair.run();
    let told = pair.sender.failure().unwrap();
    assert!(told.starts_with("ngtcp2 gave up: assertion failed in ngtcp2_conn.c, line "), "{told}");
    assert_eq!(pair.sender.snapshot().state, "CLOSED");
    // Others go on.
    let mut pair = Pair::new(end, 1_000, &[]);
    assert_eq!((pair.run().got, pair.sender.failure()), (1_000, None));
}

#[test]
fn a_close_that_is_lost_is_said_again_to_whoever_goes_on() {
    let whole = Pair::new(end, 3_000, &[]).run().sent;
    let mut pair = Pair::new(end, 3_000, &[whole]);
    pair.run();
    assert_eq!((pair.got, pair.sender.snapshot().state), (3_000, "CLOSED"));
    assert!(pair.told_receiver.contains(&Event::Closed), "{:?}", pair.told_receiver);
}

#[test]
fn small_data_of_several_streams_share_a_packet() {
    let sent = |streams| Pair::with_streams(end, 3_000, &[], streams).run().sent;
    assert!(sent(7) <= sent(2) + 1, "{} {}", sent(7), sent(2));
}

#[test]
fn a_window_that_is_full_opens_as_the_application_reads() {
    for (stream, all) in [(20_000, 1 << 20), (1 << 20, 20_000)] {
        let config = Ngtcp2Config {
            stream_window: Bytes(stream),
            most_stream_window: None,
            receive_window: Bytes(all),
            most_receive_window: None,
            send_window: Bytes(30_000),
            ..Ngtcp2Config::default()
        };
        let mut pair = Pair::new(|n, settings| end_with(&config, n, settings), 300_000, &[25]);
        pair.run();
        assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (300_000, 0));
        assert!(pair.now.as_secs_f64() > 0.2, "{:?}", pair.now);
    }
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let config = Ngtcp2Config { handshake_timeout: Duration::from_secs(3), ..Ngtcp2Config::default() };
    let mut pair = Pair::new(|n, settings| end_with(&config, n, settings), 1_000, &[1, 2, 3, 4, 5, 6]);
    pair.run();
    assert_eq!(pair.told_sender, [Event::TimedOut]);
    assert_eq!(pair.now.as_nanos(), 3_000_000_000);
}
