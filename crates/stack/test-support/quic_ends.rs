//! What holds of the ends of any QUIC: tests that those of an adapter include, beside `foreign_pair`, with an `end` of theirs whose
//! packets keep their size.

use rexmit_stack::{Endpoint, Event, Reason, StackEnd};

use super::end;
use super::foreign_pair::Pair;

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
