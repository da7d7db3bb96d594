//! Two ends, packet by packet.

#[path = "../../../stack/test-support/foreign_pair.rs"]
mod foreign_pair;
#[path = "../../../stack/test-support/quic_ends.rs"]
mod quic_ends;

use foreign_pair::Pair;
use rexmit_stack::{EndSettings, Endpoint, Event, Socket, StackEnd, seeded};
use rexmit_units::{Bytes, Duration};

use crate::config::{Ngtcp2Config, Ngtcp2Congestion};
use crate::end::Ngtcp2End;
use crate::factory::running::Host;

fn end(n: u64, settings: &EndSettings) -> Ngtcp2End {
    end_with(&Ngtcp2Config { mtu_discovery: false, ..Ngtcp2Config::default() }, n, settings)
}

fn end_with(config: &Ngtcp2Config, n: u64, settings: &EndSettings) -> Ngtcp2End {
    Host::new(config.clone(), 1500, false, seeded(n)).unwrap().end(settings)
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
