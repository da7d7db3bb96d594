//! What it does otherwise than RFC 9260 has it, as its packets show.

use rexmit_stack::Reason;
use rexmit_wire::sctp::{Body, Chunk, Header, Packet};

use super::life::deliver;
use super::*;

/// As it is released.
fn released() -> SctpProtoConfig {
    SctpProtoConfig { mend_closing: false, ..SctpProtoConfig::default() }
}

/// Section 7.2.1: a SACK of two packets opens the window by one MTU, from 4,380 bytes to 5,860, so that three leave. Here
/// all that is acknowledged opens it, to 7,260, and four leave.
#[test]
fn slow_start_adds_all_that_is_acknowledged() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.to_write[CLIENT] = messages(20, 1_440);
    pair.write(CLIENT);
    pair.run_until(ms(1_100));
    assert_eq!(
        times(&pair.log, |sent| !sent.tsns().is_empty()),
        [1_000, 1_000, 1_000, 1_100, 1_100, 1_100, 1_100]
    );
}

/// Section 6.1: a SACK that is due goes with data that leave. Here it waits for its timer, which runs since 1,050 ms.
#[test]
fn a_sack_never_shares_a_packet_with_data() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.to_write[CLIENT] = messages(1, 1_000);
    pair.write(CLIENT);
    pair.run_until(ms(1_100));
    pair.to_write[SERVER] = messages(1, 1_000);
    pair.write(SERVER);
    pair.run_until(ms(2_000));
    let of_server: Vec<_> =
        pair.log.iter().filter(|sent| sent.from == SERVER && sent.at >= ms(1_000)).collect();
    assert_eq!([of_server[0].at, of_server[1].at], [ms(1_100), ms(1_250)]);
    assert!(matches!(of_server[0].chunks()[..], [Body::Data(_)]));
    assert!(matches!(of_server[1].chunks()[..], [Body::Sack(_)]));
}

/// Section 8.3: an idle path is looked at every 30 s.
#[test]
fn no_heartbeat_is_ever_sent() {
    let mut pair = connected(&SctpProtoConfig::default());
    let before = pair.log.len();
    pair.run_until(ms(600_000));
    assert_eq!((pair.log.len(), pair.ends[CLIENT].poll_timer()), (before, None));
}

/// Section 8.1: an association is given up after ten expiries in a row.
#[test]
fn data_are_sent_again_for_ever() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.loses = Box::new(|_, _, _| true);
    pair.to_write[CLIENT] = messages(1, 100);
    pair.write(CLIENT);
    pair.run_until(ms(3_600_000));
    let again = pair.log.iter().filter(|sent| matches!(sent.reason, Reason::Timeout { .. })).count();
    assert!(again > 50, "{again}");
    assert_eq!(pair.ends[CLIENT].snapshot().state, "ESTABLISHED");
}

/// Section 3.3.8: a SHUTDOWN acknowledges the peer's data.
#[test]
fn a_shutdown_acknowledges_its_own_data() {
    for (config, mended) in [(released(), false), (SctpProtoConfig::default(), true)] {
        let mut pair = connected(&config);
        pair.to_write[CLIENT] = messages(3, 1_000);
        pair.write(CLIENT);
        pair.close(CLIENT);
        while pair.step() {}
        let last_own = pair.log.iter().flat_map(Sent::tsns).next_back().unwrap();
        let first =
            |body: &Body<'_>| if let Body::InitAck(init) = body { Some(init.initial_tsn()) } else { None };
        let of_peer = pair.log.iter().flat_map(|sent| sent.chunks().iter().find_map(first)).next().unwrap();
        let told =
            |body: &Body<'_>| if let Body::Shutdown { cumulative } = body { Some(*cumulative) } else { None };
        let told = pair.log.iter().flat_map(|sent| sent.chunks().iter().find_map(told)).next().unwrap();
        assert_eq!(told, if mended { of_peer.wrapping_sub(1) } else { last_own });
        assert!(
            pair.has(CLIENT, Event::Closed) && pair.has(SERVER, Event::Closed),
            "it takes no notice itself"
        );
    }
}

/// Section 8.5.1: a peer that has forgotten the association reflects the tag, with the T bit.
#[test]
fn a_shutdown_complete_with_the_t_bit_is_not_heard() {
    for (config, mended) in [(released(), false), (SctpProtoConfig::default(), true)] {
        let mut pair = connected(&config);
        pair.loses = Box::new(|_, _, sent| matches!(sent.chunks()[..], [Body::ShutdownComplete { .. }]));
        pair.polite = false;
        pair.close(CLIENT);
        pair.run_until(ms(1_120));
        let answers =
            |pair: &Pair<SctpEnd>| times(&pair.log, |sent| matches!(sent.chunks()[..], [Body::ShutdownAck]));
        assert_eq!(answers(&pair), [1_050]);
        let ack = pair.log.iter().rfind(|sent| sent.from == SERVER).unwrap();
        let tag = Header::new(&ack.bytes, ack.bytes.len()).unwrap().tag();
        let chunks = vec![Chunk::ShutdownComplete { reflected: true }];
        deliver(&mut pair, SERVER, &Packet { src_port: 40_000, dst_port: 5001, tag, chunks }.emit());
        pair.run_until(ms(120_000));
        assert_eq!(pair.has(SERVER, Event::Closed), mended);
        assert_eq!(answers(&pair).len() > 5, !mended, "{:?}", answers(&pair));
    }
}

/// Section 5.2.2: an INIT of an association that is up is answered, and changes nothing. Here a copy of the first packet
/// that the path delivers late ends the association at one side.
#[test]
fn a_late_copy_of_the_init_ends_the_association() {
    let mut pair = connected(&SctpProtoConfig::default());
    let init = pair.log[0].bytes.clone();
    let before = pair.log.len();
    deliver(&mut pair, SERVER, &init);
    assert!(pair.has(SERVER, Event::Reset));
    pair.to_write[CLIENT] = messages(1, 100);
    pair.write(CLIENT);
    pair.run_until(ms(60_000));
    assert!(pair.log[before..].iter().all(|sent| sent.from == CLIENT), "the client is told nothing");
    assert_eq!(times(&pair.log[before..], |_| true), [1_000, 4_000, 10_000, 22_000, 46_000]);
}

/// Section 3.3.10: an ERROR is not fatal by itself.
#[test]
fn an_error_ends_the_association() {
    let mut pair = connected(&SctpProtoConfig::default());
    let sent = pair.log.iter().rfind(|sent| sent.from == CLIENT).unwrap();
    let tag = Header::new(&sent.bytes, sent.bytes.len()).unwrap().tag();
    // An unrecognized parameter (section 3.3.10.8).
    let chunks = vec![Chunk::Error { causes: vec![8] }];
    deliver(&mut pair, SERVER, &Packet { src_port: 40_000, dst_port: 5001, tag, chunks }.emit());
    assert!(pair.has(SERVER, Event::Reset));
}

/// Section 9.2: what an end has not sent when the peer's SHUTDOWN comes may still leave. Here what is outstanding is
/// repaired, and the rest is dropped without a word.
#[test]
fn a_shutdown_cuts_off_what_the_peer_has_not_sent() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.to_write[CLIENT] = messages(40, 1_440);
    pair.write(CLIENT);
    pair.close(SERVER);
    while pair.step() {}
    assert!(pair.has(CLIENT, Event::Closed) && pair.has(SERVER, Event::Closed));
    assert_eq!(pair.bytes_read(SERVER), 3 * 1_440);
}

/// The last message in a packet counts without its header of 16 bytes: of messages of 4 bytes it puts 74 together, 1,492
/// bytes with the packet's header, where 1,480 fit.
#[test]
fn a_packet_that_is_longer_than_the_path_s_leaves_in_two() {
    let mut pair = connected(&SctpProtoConfig::default());
    let first = pair.log.len();
    pair.to_write[CLIENT] = messages(100, 4);
    pair.write(CLIENT);
    let lengths: Vec<_> = pair.log[first..].iter().map(|sent| sent.bytes.len()).collect();
    assert_eq!(lengths, [12 + 73 * 20, 12 + 20, 12 + 26 * 20]);
    while pair.bytes_read(SERVER) < 400 && pair.step() {}
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
}

/// No timer runs for a lifetime: a message that is over after 300 ms is given up when T3 expires.
#[test]
fn a_lifetime_is_looked_at_when_something_else_happens() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.loses = Box::new(|from, number, _| from == CLIENT && number == 2);
    let how = Delivery { lifetime: Some(Duration::from_millis(300)), ..Delivery::default() };
    pair.to_write[CLIENT] = vec![(100, how)];
    pair.write(CLIENT);
    pair.run_until(ms(10_000));
    assert_eq!(times(&pair.log, |sent| matches!(sent.chunks()[..], [Body::ForwardTsn(_)])), [4_000]);
}
