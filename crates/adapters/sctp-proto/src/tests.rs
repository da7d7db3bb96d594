//! Two ends, packet by packet.

#[path = "../../../stack/test-support/foreign_pair.rs"]
mod foreign_pair;
#[path = "../../../stack/test-support/message_pair.rs"]
mod message_pair;

mod differences;
mod life;
mod losses;

use message_pair::{Pair, Sent};
use rexmit_network::two_hosts::{CLIENT, SERVER, server_and_client};
use rexmit_stack::{Delivery, EndSettings, Endpoint, Event, Habits, Role, StackEnd, seeded};
use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::Body;

use crate::config::SctpProtoConfig;
use crate::end::SctpEnd;

fn end(n: u64, settings: &EndSettings) -> SctpEnd {
    SctpEnd::new(&SctpProtoConfig::default(), 1500, seeded(n), settings)
}

/// The server and the client with these settings, 50 ms from each other.
fn pair(config: &SctpProtoConfig) -> Pair<SctpEnd> {
    pair_of(config, 1500, ["10.0.0.1", "10.0.0.2"])
}

/// The same over a path with this MTU between these addresses.
fn pair_of(config: &SctpProtoConfig, mtu: u32, [server, client]: [&str; 2]) -> Pair<SctpEnd> {
    let of = |n: u64, role| {
        let address = |text: &str, port: u16| (text.parse::<std::net::IpAddr>().unwrap(), port).into();
        let (server, client) = (address(server, 5001), address(client, 40_000));
        let active = role == Role::Active;
        let settings = EndSettings {
            local: if active { client } else { server },
            remote: if active { server } else { client },
            more_local: None,
            role,
            streams: 1,
            phase: Duration::ZERO,
            marks_places: true,
            places: None,
            datagrams: false,
            wish: None,
            habits: Habits::default(),
        };
        SctpEnd::new(config, mtu, seeded(n), &settings)
    };
    Pair::of(server_and_client(of(1, Role::Passive), of(2, Role::Active)), ())
}

/// A pair that is connected, one second after its beginning.
fn connected(config: &SctpProtoConfig) -> Pair<SctpEnd> {
    let mut pair = pair(config);
    pair.connect();
    pair.run_until(ms(1_000));
    pair
}

fn messages(count: usize, len: u64) -> Vec<(u64, Delivery)> {
    vec![(len, Delivery::default()); count]
}

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Times, in milliseconds from here on, at which an end sent packets of which `which` is true.
fn times(log: &[Sent], which: impl Fn(&Sent) -> bool) -> Vec<u64> {
    log.iter().filter(|sent| which(sent)).map(|sent| sent.at.as_nanos() / 1_000_000).collect()
}

#[test]
fn a_stream_arrives_whole_and_both_ends_close() {
    let mut pair = foreign_pair::Pair::new(end, 300_000, &[]);
    pair.run();
    assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (300_000, 0));
    assert!(pair.told_sender.contains(&Event::Closed) && pair.told_receiver.contains(&Event::Closed));
    let counters = pair.sender.counters();
    assert_eq!((counters.retransmits, counters.timeouts), (0, 0));
    assert_eq!(pair.sender.snapshot().send_queue, 0);
}

#[test]
fn messages_of_several_streams_find_their_places_when_some_are_lost() {
    for lost in [&[][..], &[7], &[8, 9, 20], &[5, 6, 7, 8, 9, 10]] {
        let mut pair = foreign_pair::Pair::with_streams(end, 50_000, lost, 7);
        pair.run();
        assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (50_000, 0), "{lost:?}");
    }
}

/// The library draws from the system; packets do not show it, in any thread.
#[test]
fn a_run_repeats_to_the_byte() {
    let wire = || foreign_pair::Pair::with_streams(end, 300_000, &[20, 31], 3).run().wire.clone();
    let first = wire();
    assert!(first == wire());
    assert!(first == std::thread::spawn(wire).join().unwrap());
    assert!(
        first
            != foreign_pair::Pair::with_streams(|n, settings| end(n + 7, settings), 300_000, &[20, 31], 3)
                .run()
                .wire
    );
}

/// The streams of a FORWARD-TSN leave a hash map, whose order is another each time.
#[test]
fn skipped_streams_are_told_in_order() {
    let wire = || {
        let mut pair = connected(&SctpProtoConfig::default());
        pair.loses = Box::new(|from, number, _| from == CLIENT && number % 3 == 0);
        let how = |stream| Delivery { stream, max_retransmits: Some(0), ..Delivery::default() };
        pair.to_write[CLIENT] = (0..400).map(|n| (200, how(n % 9))).collect();
        pair.write(CLIENT);
        while pair.step() {}
        assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
        pair.log
    };
    let first = wire();
    let skipped = |sent: &Sent| {
        let of =
            |chunk: &Body<'_>| if let Body::ForwardTsn(chunk) = chunk { chunk.skipped().count() } else { 0 };
        sent.chunks().iter().map(of).sum::<usize>()
    };
    assert!(first.iter().map(skipped).max() > Some(3));
    assert!((0..5).all(|_| wire() == first));
}
