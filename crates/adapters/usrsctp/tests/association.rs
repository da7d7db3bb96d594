//! Life of an association between two ends of one process, in virtual time.

#![cfg(test)]

mod common;

use common::{CLIENT, Pair, SERVER, Sent, config};
use rexmit_stack::{Delivery, Endpoint, Event, Reason, Socket};
use rexmit_units::{Bytes, Duration, Instant};
use rexmit_usrsctp::{AVAILABLE, Role, Usrsctp, UsrsctpConfig, UsrsctpError};
use rexmit_wire::sctp::{Body, Header};

/// Skips a test where the library is not there; where everything is required, that fails.
macro_rules! needs_library {
    () => {
        if !AVAILABLE {
            assert_ne!(std::env::var("REXMIT_REQUIRE_ALL").as_deref(), Ok("1"), "libusrsctp-dev is required");
            return;
        }
    };
}

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
fn messages_arrive_whole_and_in_order() {
    needs_library!();
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
fn a_handshake_takes_four_packets() {
    needs_library!();
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
fn a_lost_init_waits_for_its_timer() {
    needs_library!();
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
fn a_loss_in_bulk_is_repaired_by_reports() {
    needs_library!();
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

/// Four in a row are gone, of which the first go again at once and the others as the window allows.
#[test]
fn a_lost_burst_is_repaired() {
    needs_library!();
    let pair = bulk(&[100, 101, 102, 103]);
    assert_eq!(pair.bytes_read(SERVER), 500 * 1_400);
    let again = |name: &str| pair.log.iter().filter(|sent| sent.reason.name() == name).count();
    assert_eq!(again("fast") + again("retransmit-queue"), 4);
    assert_eq!(pair.ends[CLIENT].counters().fast_retransmits, 1);
    assert_eq!(pair.ends[CLIENT].counters().timeouts, 0);
}

/// A thin stream gets no reports: its last message waits for the timer. FreeBSD does not restart T3 when the cumulative
/// TSN advances while more is outstanding (RFC 9260 section 6.3.2 R3 asks for it).
#[test]
fn a_lost_last_message_waits_for_the_timer() {
    needs_library!();
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    pair.run_until(ms(1_000));
    pair.to_write[CLIENT] = messages(1, 100);
    let begin = pair.log.len();
    pair.loses = Box::new(move |from, number, sent| from == CLIENT && number == 2 && !sent.tsns().is_empty());
    pair.write(CLIENT);
    while pair.bytes_read(SERVER) < 100 && pair.step() {}
    let sent: Vec<_> = pair.log[begin..].iter().map(|sent| (sent.at, sent.reason)).collect();
    assert_eq!(sent, [(ms(1_000), Reason::New), (ms(2_000), Reason::Timeout { backoff: 1 })]);
}

#[test]
fn a_shutdown_closes_both_ends_and_leaves_nothing() {
    needs_library!();
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    pair.to_write[CLIENT] = messages(3, 5_000);
    pair.write(CLIENT);
    pair.close(CLIENT);
    assert_eq!(pair.ends[CLIENT].write(pair.now, 10), 0, "nothing is taken after a close");
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
fn an_abort_resets_the_peer() {
    needs_library!();
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.connect();
    let now = pair.now;
    pair.ends[CLIENT].abort(now);
    pair.settle(CLIENT);
    while pair.step() {}
    assert!(pair.has(CLIENT, Event::Closed));
    assert!(pair.has(SERVER, Event::Reset));
    assert_eq!(pair.log.last().map(|sent| sent.reason), Some(Reason::Reset));
}

/// The path breaks: after `association_retransmits` expiries in a row the sender gives up.
#[test]
fn an_association_is_given_up() {
    needs_library!();
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
fn a_write_that_finds_no_room_waits() {
    needs_library!();
    let settings = UsrsctpConfig { send_buffer: Bytes(10_000), ..UsrsctpConfig::default() };
    let mut pair = Pair::new(&settings);
    pair.connect();
    pair.to_write[CLIENT] = messages(20, 3_000);
    pair.write(CLIENT);
    assert_eq!(pair.to_write[CLIENT].len(), 17, "three fit");
    while pair.bytes_read(SERVER) < 60_000 && pair.step() {}
    assert!(pair.has(CLIENT, Event::Writable));
    assert_eq!(pair.bytes_read(SERVER), 60_000);
    assert_eq!(pair.ends[CLIENT].write(pair.now, 1 << 20), 10_000, "the beginning of one that never fits");
}

/// RFC 9260 section 6.6: an unordered message does not wait for one before it that was lost.
#[test]
fn unordered_messages_and_other_streams_do_not_wait() {
    needs_library!();
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
        let next = pair.now + Duration::from_millis(10);
        pair.run_until(next);
    }
    while pair.bytes_read(SERVER) < 400 && pair.step() {}
    assert_eq!(pair.reads[SERVER], [(100, 100), (200, 100), (0, 100), (300, 100)]);
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
}

/// RFC 3758: an old message is given up, and those after it come through.
#[test]
fn messages_may_be_given_up() {
    needs_library!();
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
fn each_end_has_its_settings() {
    needs_library!();
    let answer = |sack_delay: u64| {
        let receiver =
            UsrsctpConfig { sack_delay: Duration::from_millis(sack_delay), ..UsrsctpConfig::default() };
        let ends = [config(Role::Active, &UsrsctpConfig::default()), config(Role::Passive, &receiver)];
        let mut pair = Pair::with(Duration::ZERO, ends);
        pair.connect();
        pair.run_until(ms(1_000));
        // The first packet with data is acknowledged at once (RFC 9260 section 5.1); the second shows the delay.
        for _ in 0..2 {
            pair.to_write[CLIENT] = messages(1, 100);
            pair.write(CLIENT);
            let next = pair.now + Duration::from_millis(1_000);
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
fn packets_fill_the_mtu() {
    needs_library!();
    for mtu in [576, 1_500, 9_000] {
        let settings = UsrsctpConfig::default();
        let ends = [Role::Active, Role::Passive].map(|role| {
            let mut end = config(role, &settings);
            end.mtu = mtu;
            end
        });
        let mut pair = Pair::with(Duration::ZERO, ends);
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
fn a_snapshot_shows_windows_and_the_timeout() {
    needs_library!();
    let pair = bulk(&[]);
    let snapshot = pair.ends[CLIENT].snapshot();
    assert_eq!((snapshot.state, snapshot.phase), ("ESTABLISHED", "open"));
    assert!(snapshot.cwnd > 4 * 1_480, "{snapshot:?}");
    assert_eq!(snapshot.rto, Duration::from_secs(1));
    let srtt = snapshot.srtt.expect("samples were taken").as_millis_f64();
    assert!((100.0..150.0).contains(&srtt), "{srtt}");
}

/// Several associations, all with the same server's port, in one library.
#[test]
fn associations_do_not_touch() {
    needs_library!();
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
        now = now + Duration::from_millis(10);
        for pair in ends.chunks_exact_mut(2) {
            let sent: Vec<_> =
                (0..2).map(|i| std::iter::from_fn(|| pair[i].poll_transmit(now)).collect()).collect();
            for (i, sent) in sent.into_iter().enumerate() {
                let sent: Vec<_> = sent;
                for transmission in sent {
                    pair[1 - i].handle_packet(now, transmission.packet);
                }
            }
        }
    }
    for end in &mut ends {
        assert_eq!(end.poll_event(), Some(Event::Connected));
        assert_eq!(end.snapshot().state, "ESTABLISHED");
    }
}

#[test]
fn without_the_library_it_says_what_to_do() {
    if AVAILABLE {
        return;
    }
    let Err(UsrsctpError::Missing(why)) = Usrsctp::start(Duration::ZERO) else { panic!("nothing to start") };
    assert!(!why.is_empty());
}
