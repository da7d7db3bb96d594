//! From the handshake to the shutdown.

use rexmit_stack::{Reason, Socket};
use rexmit_units::Bytes;
use rexmit_wire::sctp::{Body, Header};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

use super::*;

/// RFC 9260 section 5.1: INIT, INIT-ACK, COOKIE-ECHO, COOKIE-ACK; each after one way of 50 ms.
#[test]
fn a_handshake_takes_four_packets() {
    let mut pair = pair(&SctpProtoConfig::default());
    let states = |pair: &Pair<SctpEnd>| [CLIENT, SERVER].map(|end| pair.ends[end].snapshot().state);
    assert_eq!(states(&pair), ["CLOSED", "LISTEN"]);
    pair.connect();
    let kinds: Vec<_> = pair.log.iter().map(|sent| (sent.at, sent.from)).collect();
    assert_eq!(kinds, [(ms(0), CLIENT), (ms(50), SERVER), (ms(100), CLIENT), (ms(150), SERVER)]);
    assert!(matches!(pair.log[0].chunks()[..], [Body::Init(_)]));
    assert!(matches!(pair.log[1].chunks()[..], [Body::InitAck(_)]));
    assert!(matches!(pair.log[2].chunks()[..], [Body::CookieEcho(_)]));
    assert!(matches!(pair.log[3].chunks()[..], [Body::CookieAck]));
    assert_eq!(pair.log[0].reason, Reason::Control { backoff: 0 });
    assert_eq!(pair.events[SERVER], [(ms(150), Event::Connected)]);
    assert_eq!(pair.events[CLIENT], [(ms(200), Event::Connected)]);
    assert_eq!(states(&pair), ["ESTABLISHED", "ESTABLISHED"]);
    for sent in &pair.log {
        let header = Header::new(&sent.bytes, sent.bytes.len()).unwrap();
        let ports = if sent.from == CLIENT { (40_000, 5001) } else { (5001, 40_000) };
        assert_eq!((header.checksum_ok(), (header.src_port(), header.dst_port())), (Some(true), ports));
    }
}

/// Its first timer begins by the system's clock; here it is the run's.
#[test]
fn a_lost_init_waits_for_its_timer() {
    let config = SctpProtoConfig { rto_initial: Duration::from_millis(1_700), ..SctpProtoConfig::default() };
    let mut pair = pair(&config);
    pair.run_until(ms(500));
    pair.loses = Box::new(|from, number, _| from == CLIENT && number < 2);
    pair.connect();
    let inits: Vec<_> = pair.log.iter().filter(|sent| matches!(sent.chunks()[0], Body::Init(_))).collect();
    let times: Vec<_> = inits.iter().map(|sent| (sent.at, sent.reason.backoff())).collect();
    assert_eq!(times, [(ms(500), 0), (ms(2_200), 1), (ms(5_600), 2)]);
    assert_eq!(pair.ends[CLIENT].counters().timeouts, 2);
}

#[test]
fn a_handshake_that_nobody_answers_is_given_up() {
    let config = SctpProtoConfig { init_retransmits: 2, ..SctpProtoConfig::default() };
    let mut pair = pair(&config);
    pair.loses = Box::new(|_, _, _| true);
    pair.ends[CLIENT].connect(ms(0));
    pair.settle(CLIENT);
    while pair.step() {}
    assert!(pair.has(CLIENT, Event::TimedOut));
    assert_eq!(pair.log.len(), 3);
}

/// The shutdown waits for all data, though the library's own would not.
#[test]
fn a_shutdown_closes_both_ends_and_leaves_nothing() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.loses = Box::new(|from, number, _| from == CLIENT && number == 4);
    pair.to_write[CLIENT] = messages(3, 50_000);
    pair.write(CLIENT);
    pair.close(CLIENT);
    assert_eq!(pair.ends[CLIENT].snapshot().state, "SHUTDOWN-PENDING");
    let now = pair.now();
    assert_eq!(pair.ends[CLIENT].write(now, 10), 0, "nothing is taken after a close");
    while pair.step() {}
    assert_eq!((pair.bytes_read(SERVER), pair.ends[SERVER].misplaced_bytes()), (150_000, 0));
    for end in [CLIENT, SERVER] {
        assert!(pair.has(end, Event::EndOfStream) && pair.has(end, Event::Closed), "{:?}", pair.events[end]);
        let state = pair.ends[end].snapshot();
        assert_eq!((pair.ends[end].poll_timer(), state.state, state.rto), (None, "CLOSED", None));
    }
    let last = pair.log.last().expect("packets were sent");
    assert!(matches!(last.chunks()[..], [Body::ShutdownComplete { .. }]));
}

/// Any chunk of the shutdown may be lost.
#[test]
fn a_shutdown_is_repaired_by_its_timers() {
    for lost in 0..3 {
        let mut pair = connected(&SctpProtoConfig::default());
        let mut number = 0;
        pair.loses = Box::new(move |_, _, sent| {
            let shuts = sent.chunks().iter().any(|chunk| {
                matches!(chunk, Body::Shutdown { .. } | Body::ShutdownAck | Body::ShutdownComplete { .. })
            });
            number += usize::from(shuts);
            shuts && number == lost + 1
        });
        pair.close(CLIENT);
        while pair.step() {}
        for end in [CLIENT, SERVER] {
            assert!(pair.has(end, Event::Closed), "{lost} {:?}", pair.events[end]);
        }
        assert!(pair.now() < ms(5_000), "a timeout of three seconds, as no RTT is known");
    }
}

#[test]
fn a_write_that_finds_no_room_waits() {
    let config = SctpProtoConfig { send_buffer: Bytes(10_000), ..SctpProtoConfig::default() };
    let mut pair = connected(&config);
    pair.to_write[CLIENT] = messages(20, 3_000);
    pair.write(CLIENT);
    assert_eq!(pair.to_write[CLIENT].len(), 17, "three fit");
    assert_eq!(pair.ends[CLIENT].snapshot().send_queue, 9_000);
    while pair.bytes_read(SERVER) < 60_000 && pair.step() {}
    assert!(pair.has(CLIENT, Event::Writable));
    let later = pair.now() + Duration::from_secs(1);
    pair.run_until(later);
    let now = pair.now();
    assert_eq!(pair.ends[CLIENT].write(now, 1 << 20), 10_000, "the beginning of one that never fits");
}

/// What is longer than the largest message goes as several, and the application is told when to go on.
#[test]
fn a_long_message_is_several() {
    let mut pair = connected(&SctpProtoConfig::default());
    let now = pair.now();
    assert_eq!(pair.ends[CLIENT].write(now, 100_000), 65_536);
    pair.settle(CLIENT);
    assert!(pair.has(CLIENT, Event::Writable));
}

/// RFC 9260 section 6.6: an unordered message does not wait for one before it that was lost.
#[test]
fn unordered_messages_and_other_streams_do_not_wait() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.loses = Box::new(|from, number, _| from == CLIENT && number == 2);
    let unordered = Delivery { unordered: true, ..Delivery::default() };
    for how in
        [Delivery::default(), unordered, Delivery { stream: 3, ..Delivery::default() }, Delivery::default()]
    {
        pair.to_write[CLIENT].push((100, how));
        pair.write(CLIENT);
        let next = pair.now() + Duration::from_millis(10);
        pair.run_until(next);
    }
    while pair.bytes_read(SERVER) < 400 && pair.step() {}
    assert_eq!(pair.reads[SERVER], [(100, 100), (200, 100), (0, 100), (300, 100)]);
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
}

/// RFC 3758: an old message is given up, and those after it come through.
#[test]
fn messages_may_be_given_up() {
    for how in [
        Delivery { lifetime: Some(Duration::from_millis(300)), ..Delivery::default() },
        Delivery { max_retransmits: Some(0), ..Delivery::default() },
    ] {
        let mut pair = connected(&SctpProtoConfig::default());
        pair.loses = Box::new(|from, number, _| from == CLIENT && number == 2);
        pair.to_write[CLIENT] = vec![(100, how)];
        pair.write(CLIENT);
        pair.run_until(ms(1_020));
        pair.to_write[CLIENT] = messages(1, 100);
        pair.write(CLIENT);
        pair.run_until(ms(10_000));
        assert_eq!(pair.reads[SERVER], [(100, 100)], "{how:?}");
        let forwards = |sent: &Sent| sent.chunks().iter().any(|chunk| matches!(chunk, Body::ForwardTsn(_)));
        assert!(pair.log.iter().any(forwards), "{how:?}");
        assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
    }
}

/// Messages that are over before they begin to leave have places that no other takes.
#[test]
fn messages_that_never_leave_take_no_other_s_place() {
    let mut pair = connected(&SctpProtoConfig::default());
    let short = Delivery { lifetime: Some(Duration::from_millis(60)), ..Delivery::default() };
    for n in 0..200_u16 {
        let how = if n % 3 == 0 { short } else { Delivery::default() };
        let how = Delivery { stream: n % 4, unordered: n % 5 == 0, ..how };
        pair.to_write[CLIENT].push((1_000 + u64::from(n), how));
    }
    let written: Vec<(u64, u64)> = pair.to_write[CLIENT]
        .iter()
        .scan(0, |place, (len, _)| Some((std::mem::replace(place, *place + len), *len)))
        .collect();
    pair.write(CLIENT);
    while pair.step() {}
    let read = &pair.reads[SERVER];
    assert!((134..200).contains(&read.len()), "{}", read.len());
    assert!(read.iter().all(|message| written.contains(message)), "{read:?}");
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
}

/// What is in a packet is bounded by the interface.
#[test]
fn packets_fill_the_mtu() {
    for (mtu, header, addresses) in [
        (576, 20, ["10.0.0.1", "10.0.0.2"]),
        (1_500, 40, ["fd00::1", "fd00::2"]),
        (9_000, 20, ["10.0.0.1", "10.0.0.2"]),
    ] {
        let mut pair = pair_of(&SctpProtoConfig::default(), mtu, addresses);
        pair.connect();
        pair.to_write[CLIENT] = messages(1, 50_000);
        pair.write(CLIENT);
        while pair.bytes_read(SERVER) < 50_000 && pair.step() {}
        let largest = pair.log.iter().map(|sent| sent.bytes.len()).max();
        assert_eq!(largest, Some(mtu as usize - header));
    }
}

#[test]
fn a_snapshot_shows_what_it_tells() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.to_write[CLIENT] = messages(20, 1_400);
    pair.write(CLIENT);
    let snapshot = pair.ends[CLIENT].snapshot();
    assert_eq!((snapshot.in_flight, snapshot.send_queue), (Some(3 * 1_400), 20 * 1_400));
    assert_eq!(snapshot.rto, Some(Duration::from_secs(3)), "no sample yet");
    while pair.bytes_read(SERVER) < 20 * 1_400 && pair.step() {}
    let later = pair.now() + Duration::from_secs(1);
    pair.run_until(later);
    let snapshot = pair.ends[CLIENT].snapshot();
    assert_eq!((snapshot.state, snapshot.phase, snapshot.cwnd), ("ESTABLISHED", "open", 0));
    assert_eq!((snapshot.rto, snapshot.recv_queue), (Some(Duration::from_secs(1)), None));
    assert_eq!((snapshot.in_flight, snapshot.send_queue), (Some(0), 0));
}

/// Damaged packets that a checksum did not catch, tags that are wrong, lengths that lie: nothing of it ends the process.
#[test]
fn packets_that_lie_do_no_harm() {
    let mut honest = connected(&SctpProtoConfig::default());
    let short = Delivery { max_retransmits: Some(0), ..Delivery::default() };
    honest.loses = Box::new(|_, number, _| number % 7 == 5);
    honest.to_write[CLIENT] = vec![(3_000, short); 40];
    honest.write(CLIENT);
    honest.run_until(ms(3_000));
    honest.close(CLIENT);
    honest.run_until(ms(9_000));
    for (number, sent) in honest.log.iter().enumerate() {
        let mut pair = connected(&SctpProtoConfig::default());
        let now = pair.now();
        let to = rexmit_network::two_hosts::peer(sent.from);
        for turn in 0..3 {
            let mut bytes = sent.bytes.clone();
            let at = (number * 37 + turn * 11) % bytes.len();
            bytes[at] ^= 1 << (number % 8);
            if turn == 2 {
                bytes.truncate(at);
            }
            let own = pair.log.iter().rfind(|other| other.from == sent.from).expect("both have sent");
            // The tag is right half of the time, as an attacker on the path could have it.
            if number % 2 == 0 && bytes.len() > 8 {
                bytes[4..8].copy_from_slice(&own.bytes[4..8]);
            }
            deliver(&mut pair, to, &bytes);
        }
        pair.run_until(now + Duration::from_secs(2));
    }
}

/// These bytes arrive at an end as an SCTP packet.
pub(super) fn deliver(pair: &mut Pair<SctpEnd>, to: rexmit_network::HostId, bytes: &[u8]) {
    let ends = server_and_client("10.0.0.1", "10.0.0.2").map(|text| text.parse().expect("an address"));
    let packet = Packet {
        src: ends[rexmit_network::two_hosts::peer(to)],
        dst: ends[to],
        ip: IpFields::default(),
        transport: Transport::Other { protocol: 132, payload: Payload::Bytes(bytes.into()) },
        damaged: false,
    };
    let now = pair.now();
    pair.ends[to].handle_packet(now, Box::new(packet));
    pair.settle(to);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let wrong = |change: fn(&mut SctpProtoConfig)| {
        let mut config = SctpProtoConfig::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    };
    assert_eq!(
        wrong(|config| config.rto_min = Duration::from_micros(1_500)),
        "rto_min: allowed: whole milliseconds, a day at most"
    );
    assert_eq!(
        wrong(|config| config.rto_min = Duration::from_secs(4)),
        "rto_initial: it lies between rto_min and rto_max"
    );
    assert_eq!(
        wrong(|config| config.receive_buffer = Bytes(1_000)),
        "receive_buffer: allowed: 1500 bytes to 1 GiB"
    );
}
