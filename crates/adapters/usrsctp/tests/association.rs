//! Life of an association between two ends of one process, in virtual time.

#![cfg(test)]

mod common;

use common::{CLIENT, Pair, SERVER, Sent, config, configs};
use rexmit_network::two_hosts::{peer, server_and_client};
use rexmit_stack::{Delivery, Endpoint, Event, Reason, Socket};
use rexmit_units::{Bytes, Duration, Instant};
use rexmit_usrsctp::{Role, Usrsctp, UsrsctpConfig};
use rexmit_wire::sctp::{Body, Header};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

fn messages(count: usize, len: u64) -> Vec<(u64, Delivery)> {
    vec![(len, Delivery::default()); count]
}

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A transfer of 500 messages of 1400 bytes over a path that loses these packets of the client with data, from 0.
fn bulk(lost: &'static [usize]) -> Pair {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    let mut number = 0;
    pair.loses = Box::new(move |from, _, sent: &Sent| {
        let counts = from == CLIENT && !sent.tsns().is_empty();
        number += usize::from(counts);
        counts && lost.contains(&(number - 1))
    });
    pair.to_write[CLIENT] = messages(500, 1_400);
    pair.write(CLIENT);
    while pair.bytes_read(SERVER) < 500 * 1_400 && pair.step() {}
    pair
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn messages_arrive_whole_and_in_order() {
    let pair = bulk(&[]);
    let expected: Vec<_> = (0..500).map(|i| (i * 1_400, 1_400)).collect();
    assert_eq!(pair.reads[SERVER], expected);
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
    assert_eq!(pair.ends[CLIENT].counters().retransmits, 0);
    assert_eq!(pair.ends[CLIENT].counters().data_segments, 500);
    for sent in &pair.log {
        assert_eq!(Header::new(&sent.bytes, sent.bytes.len()).unwrap().checksum_ok(), Some(true));
    }
}

/// RFC 9260 section 5.1: INIT, INIT-ACK, COOKIE-ECHO, COOKIE-ACK; each after one way of 50 ms.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_handshake_takes_four_packets() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    let kinds: Vec<_> = pair.log.iter().map(|sent| (sent.at, sent.from)).collect();
    assert_eq!(kinds, [(ms(0), CLIENT), (ms(50), SERVER), (ms(100), CLIENT), (ms(150), SERVER)]);
    assert!(matches!(pair.log[0].chunks()[..], [Body::Init(_)]));
    assert!(matches!(pair.log[1].chunks()[..], [Body::InitAck(_)]));
    assert!(matches!(pair.log[2].chunks()[0], Body::CookieEcho(_)));
    assert!(matches!(pair.log[3].chunks()[0], Body::CookieAck));
    assert_eq!(pair.log[0].reason, Reason::Control { backoff: 0 });
    assert_eq!(pair.events[SERVER], [(ms(150), Event::Connected)]);
    assert_eq!(pair.events[CLIENT], [(ms(200), Event::Connected)]);
}

/// A lost INIT is sent again after `rto_initial`, and the next after twice that.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_lost_init_waits_for_its_timer() {
    let settings = UsrsctpConfig { rto_initial: Duration::from_millis(1_700), ..UsrsctpConfig::default() };
    let mut pair = Pair::new(&settings);
    pair.loses = Box::new(|from, number, _| from == CLIENT && number < 2);
    pair.connect();
    let inits: Vec<_> = pair.log.iter().filter(|sent| matches!(sent.chunks()[0], Body::Init(_))).collect();
    let times: Vec<_> = inits.iter().map(|sent| (sent.at, sent.reason.backoff())).collect();
    assert_eq!(times, [(ms(0), 0), (ms(1_700), 1), (ms(5_100), 2)]);
    assert_eq!(pair.ends[CLIENT].counters().timeouts, 2);
}

/// RFC 9260 section 7.2.4: three reports, one window reduction, and nothing lost.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_loss_in_bulk_is_repaired_by_reports() {
    let pair = bulk(&[100]);
    assert_eq!(pair.bytes_read(SERVER), 500 * 1_400);
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
    let again: Vec<_> = pair.log.iter().filter(|sent| sent.reason.name() == "fast").collect();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].reason, Reason::Fast { duplicates: 3, sacked: 0 });
    let lost = pair.log.iter().find(|sent| sent.lost).expect("one was lost");
    assert_eq!(again[0].tsns()[0], lost.tsns()[0]);
    let counters = pair.ends[CLIENT].counters();
    assert_eq!((counters.retransmits, counters.fast_retransmits, counters.timeouts), (1, 1, 0));
}

/// Four in a row are gone and go again at once. The SACKs that the first three of them bring count as reports against
/// the fourth, which FreeBSD so sends twice.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_lost_burst_is_repaired() {
    let pair = bulk(&[100, 101, 102, 103]);
    assert_eq!(pair.bytes_read(SERVER), 500 * 1_400);
    let tsns = |which: &dyn Fn(&Sent) -> bool| -> Vec<u32> {
        pair.log.iter().filter(|sent| which(sent)).flat_map(Sent::tsns).collect()
    };
    let mut lost = tsns(&|sent| sent.lost);
    lost.push(lost[3]);
    assert_eq!(tsns(&|sent| sent.reason.name() == "fast"), lost);
    let counters = pair.ends[CLIENT].counters();
    assert_eq!((counters.fast_retransmits, counters.timeouts, counters.retransmits), (1, 0, 5));
}

/// A thin stream gets no reports: its last message waits for the timer. FreeBSD does not restart T3 when the cumulative
/// TSN advances while more is outstanding (RFC 9260 section 6.3.2 R3 asks for it).
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_lost_last_message_waits_for_the_timer() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    pair.run_until(ms(1_000));
    pair.to_write[CLIENT] = messages(1, 100);
    let begin = pair.log.len();
    pair.loses = Box::new(move |from, number, sent| from == CLIENT && number == 2 && !sent.tsns().is_empty());
    pair.write(CLIENT);
    while pair.bytes_read(SERVER) < 100 && pair.step() {}
    let data = pair.log[begin..].iter().filter(|sent| sent.from == CLIENT);
    let sent: Vec<_> = data.map(|sent| (sent.at, sent.reason)).collect();
    assert_eq!(sent, [(ms(1_000), Reason::New), (ms(2_000), Reason::Timeout { backoff: 1 })]);
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_shutdown_closes_both_ends_and_leaves_nothing() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    pair.to_write[CLIENT] = messages(3, 5_000);
    pair.write(CLIENT);
    pair.close(CLIENT);
    let now = pair.now();
    assert_eq!(pair.ends[CLIENT].write(now, 10), 0, "nothing is taken after a close");
    while pair.step() {}
    assert_eq!(pair.bytes_read(SERVER), 15_000);
    for end in [CLIENT, SERVER] {
        assert!(pair.has(end, Event::EndOfStream) && pair.has(end, Event::Closed), "{:?}", pair.events[end]);
        assert_eq!(pair.ends[end].poll_timer(), None);
        assert_eq!(pair.ends[end].snapshot().state, "CLOSED");
    }
    let last = pair.log.last().expect("packets were sent");
    assert!(matches!(last.chunks()[..], [Body::ShutdownComplete { .. }]));
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn an_abort_resets_the_peer() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    let now = pair.now();
    pair.ends[CLIENT].abort(now);
    pair.settle(CLIENT);
    while pair.step() {}
    assert!(pair.has(CLIENT, Event::Closed));
    assert!(pair.has(SERVER, Event::Reset));
    assert_eq!(pair.log.last().map(|sent| sent.reason), Some(Reason::Reset));
}

/// The path breaks: after `association_retransmits` expiries in a row the sender gives up.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn an_association_is_given_up() {
    let settings = UsrsctpConfig { association_retransmits: 2, ..UsrsctpConfig::default() };
    let mut pair = Pair::new(&settings);
    pair.connect();
    pair.loses = Box::new(|_, _, _| true);
    pair.to_write[CLIENT] = messages(1, 100);
    pair.write(CLIENT);
    while !pair.has(CLIENT, Event::TimedOut) && pair.step() {}
    let again = pair.log.iter().filter(|sent| matches!(sent.reason, Reason::Timeout { .. })).count();
    assert_eq!(again, 2);
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_write_that_finds_no_room_waits() {
    let settings = UsrsctpConfig { send_buffer: Bytes(10_000), ..UsrsctpConfig::default() };
    let mut pair = Pair::new(&settings);
    pair.connect();
    pair.to_write[CLIENT] = messages(20, 3_000);
    pair.write(CLIENT);
    assert_eq!(pair.to_write[CLIENT].len(), 17, "three fit");
    while pair.bytes_read(SERVER) < 60_000 && pair.step() {}
    assert!(pair.has(CLIENT, Event::Writable));
    assert_eq!(pair.bytes_read(SERVER), 60_000);
    let later = pair.now() + Duration::from_secs(1);
    pair.run_until(later);
    let now = pair.now();
    assert_eq!(pair.ends[CLIENT].write(now, 1 << 20), 10_000, "the beginning of one that never fits");
}

/// RFC 9260 section 6.6: an unordered message does not wait for one before it that was lost.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn unordered_messages_and_other_streams_do_not_wait() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    pair.run_until(ms(1_000));
    pair.loses = Box::new(move |from, number, _| from == CLIENT && number == 2);
    for how in [
        Delivery::default(),
        Delivery { unordered: true, ..Delivery::default() },
        Delivery { stream: 3, ..Delivery::default() },
        Delivery::default(),
    ] {
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
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn messages_may_be_given_up() {
    for how in [
        Delivery { lifetime: Some(Duration::from_millis(300)), ..Delivery::default() },
        Delivery { max_retransmits: Some(0), ..Delivery::default() },
    ] {
        let mut pair = Pair::new(&UsrsctpConfig::default());
        pair.connect();
        pair.run_until(ms(1_000));
        pair.loses = Box::new(move |from, number, _| from == CLIENT && number == 2);
        pair.to_write[CLIENT] = vec![(100, how)];
        pair.write(CLIENT);
        pair.run_until(ms(1_020));
        pair.to_write[CLIENT] = messages(1, 100);
        pair.write(CLIENT);
        pair.run_until(ms(10_000));
        assert_eq!(pair.reads[SERVER], [(100, 100)], "{how:?}");
        let forwards = |sent: &Sent| sent.chunks().iter().any(|chunk| matches!(chunk, Body::ForwardTsn(_)));
        assert!(pair.log.iter().any(forwards), "{how:?}");
    }
}

/// The receiver's settings are its own, in one library with the sender's.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn each_end_has_its_settings() {
    let answer = |sack_delay: u64| {
        let receiver =
            UsrsctpConfig { sack_delay: Duration::from_millis(sack_delay), ..UsrsctpConfig::default() };
        let mut ends = configs(&receiver);
        ends[CLIENT] = config(Role::Active, &UsrsctpConfig::default());
        let mut pair = Pair::with(Duration::ZERO, &ends);
        pair.connect();
        pair.run_until(ms(1_000));
        // The first packet with data is acknowledged at once (RFC 9260 section 5.1); the second shows the delay.
        for _ in 0..2 {
            pair.to_write[CLIENT] = messages(1, 100);
            pair.write(CLIENT);
            let next = pair.now() + Duration::from_millis(1_000);
            pair.run_until(next);
        }
        pair.log.iter().rfind(|sent| sent.from == SERVER).map(|sent| sent.at)
    };
    assert_eq!(answer(200), Some(ms(2_250)));
    assert_eq!(answer(40), Some(ms(2_090)));
    assert_eq!(answer(0), Some(ms(2_050)));
}

/// What is in a packet is bounded by the interface.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn packets_fill_the_mtu() {
    for mtu in [576, 1_500, 9_000] {
        let settings = UsrsctpConfig::default();
        let ends = configs(&settings).map(|mut end| {
            end.mtu = mtu;
            end
        });
        let mut pair = Pair::with(Duration::ZERO, &ends);
        pair.connect();
        pair.to_write[CLIENT] = messages(1, 50_000);
        pair.write(CLIENT);
        while pair.bytes_read(SERVER) < 50_000 && pair.step() {}
        let largest = pair.log.iter().map(|sent| sent.bytes.len()).max();
        assert_eq!(largest, Some(mtu as usize - 20));
    }
}

/// What the library says of an association under way.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_snapshot_shows_windows_and_the_timeout() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    assert_eq!(
        (pair.ends[CLIENT].snapshot().state, pair.ends[SERVER].snapshot().state),
        ("CLOSED", "LISTEN")
    );
    pair.connect();
    pair.to_write[CLIENT] = messages(20, 1_400);
    pair.write(CLIENT);
    let snapshot = pair.ends[CLIENT].snapshot();
    // Three packets, and a fourth because the window is not full yet.
    assert_eq!((snapshot.in_flight, snapshot.send_queue), (Some(4 * 1_400), 20 * 1_400));
    while pair.bytes_read(SERVER) < 20 * 1_400 && pair.step() {}
    let snapshot = pair.ends[CLIENT].snapshot();
    assert_eq!((snapshot.state, snapshot.phase), ("ESTABLISHED", "open"));
    assert!(snapshot.cwnd > 3 * 1_480, "three packets at first, then slow start: {snapshot:?}");
    assert_eq!((snapshot.rto, snapshot.recv_queue), (Some(Duration::from_secs(1)), None));
    assert_eq!(snapshot.srtt, Some(Duration::from_millis(100)));
    let later = pair.now() + Duration::from_secs(1);
    pair.run_until(later);
    let snapshot = pair.ends[CLIENT].snapshot();
    assert_eq!((snapshot.in_flight, snapshot.send_queue), (Some(0), 0));
}

/// FreeBSD does not restart T3 when the cumulative TSN advances while more is outstanding, though RFC 9260 section 6.3.2
/// (R3) asks for it. So in the middle of a long transfer it expires with nothing old enough to be sent again, which
/// doubles the timeout and does no more; such an expiry is not counted.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn t3_expires_in_bulk_without_a_loss() {
    let pair = bulk(&[]);
    assert_eq!(pair.ends[CLIENT].snapshot().rto, Some(Duration::from_secs(2)));
    assert_eq!(pair.ends[CLIENT].counters().timeouts, 0);
}

/// By the same, a lost message can wait less than the smallest timeout of one second: T3 runs since the message before,
/// and a chunk older than RTT and variation is sent again when it expires.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn a_tail_loss_can_wait_less_than_the_smallest_timeout() {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    pair.run_until(ms(2_000));
    // A message every 80 ms and a round trip of 100 ms: something is always outstanding. The eighth is lost.
    let begin = pair.log.len();
    let mut number = 0;
    pair.loses = Box::new(move |from, _, sent| {
        number += usize::from(from == CLIENT && !sent.tsns().is_empty());
        from == CLIENT && number == 8 && sent.reason == Reason::New
    });
    for _ in 0..8 {
        pair.to_write[CLIENT] = messages(1, 100);
        pair.write(CLIENT);
        let next = pair.now() + Duration::from_millis(80);
        pair.run_until(next);
    }
    while pair.bytes_read(SERVER) < 800 && pair.step() {}
    let lost = pair.log[begin..].iter().find(|sent| sent.lost).expect("one was lost");
    let again =
        pair.log[begin..].iter().find(|sent| sent.reason.name() == "timeout").expect("it is repaired");
    assert_eq!(lost.tsns(), again.tsns());
    assert_eq!((lost.at, again.at), (ms(2_560), ms(3_000)), "a second after the first message");
}

/// Damaged packets that a checksum did not catch, tags that are wrong, lengths that lie: nothing of it ends the process.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn packets_that_lie_do_no_harm() {
    let honest = bulk(&[100, 101, 102, 103]);
    let packets: Vec<_> = honest.log.iter().map(|sent| (sent.from, sent.bytes.clone())).collect();
    drop(honest);
    for (number, (from, bytes)) in packets.iter().enumerate() {
        let mut pair = Pair::new(&UsrsctpConfig::default());
        pair.connect();
        let now = pair.now();
        for turn in 0..3 {
            let mut bytes = bytes.clone();
            let at = (number * 37 + turn * 11) % bytes.len();
            bytes[at] ^= 1 << (number % 8);
            if turn == 2 {
                bytes.truncate(at);
            }
            // The tag is right half of the time, as an attacker on the path could have it.
            if number % 2 == 0 && bytes.len() > 8 {
                let own = pair.log.iter().rfind(|sent| sent.from == *from).expect("both have sent");
                bytes[4..8].copy_from_slice(&own.bytes[4..8]);
            }
            let payload = Payload::Bytes(bytes.into());
            let transport = Transport::Other { protocol: 132, payload };
            let ends =
                server_and_client("10.0.0.1", "10.0.0.2").map(|text| text.parse().expect("an address"));
            let to = peer(*from);
            let packet = Packet {
                src: ends[*from],
                dst: ends[to],
                ip: IpFields::default(),
                transport,
                damaged: false,
            };
            pair.ends[to].handle_packet(now, Box::new(packet));
            pair.settle(to);
        }
        pair.run_until(now + Duration::from_secs(2));
    }
}

/// Several associations, all with the same server's port, in one library.
#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn associations_do_not_touch() {
    let library = Usrsctp::start(Duration::ZERO).unwrap();
    let settings = UsrsctpConfig::default();
    let mut ends = Vec::new();
    for number in 0..20 {
        for role in [Role::Active, Role::Passive] {
            let mut end = config(role, &settings);
            let port = if role == Role::Active { &mut end.local } else { &mut end.remote };
            port.set_port(40_000 + number);
            end.seed += u64::from(number) * 2;
            ends.push(library.association(end).unwrap());
        }
    }
    let mut now = Instant::ZERO;
    for pair in ends.chunks_exact_mut(2) {
        pair[0].connect(now);
    }
    for _ in 0..4 {
        now += Duration::from_millis(10);
        for pair in ends.chunks_exact_mut(2) {
            let [client, server] = pair else { panic!("two ends") };
            let [asked, answered] = [&mut *client, &mut *server]
                .map(|end| std::iter::from_fn(|| end.poll_transmit(now)).collect::<Vec<_>>());
            asked.into_iter().for_each(|sent| server.handle_packet(now, sent.packet));
            answered.into_iter().for_each(|sent| client.handle_packet(now, sent.packet));
        }
    }
    for end in &mut ends {
        assert_eq!(end.poll_event(), Some(Event::Connected));
        assert_eq!(end.snapshot().state, "ESTABLISHED");
    }
}

/// Where it was not there, the error says why and what to do.
#[cfg(not(usrsctp))]
#[test]
fn without_the_library_it_says_what_to_do() {
    let why = Usrsctp::start(Duration::ZERO).expect_err("there is nothing to start").to_string();
    assert!(why.starts_with("stack usrsctp: ") && why.len() > 30, "{why}");
    assert_eq!(rexmit_usrsctp::missing().map(|what| format!("stack usrsctp: {what}")), Some(why));
}
