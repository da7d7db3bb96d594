//! Two ends, packet by packet.

use rexmit_stack::{EndSettings, Endpoint, Event, Reason, StackEnd};
use rexmit_units::{Bytes, Duration};

use crate::config::{Congestion, SmoltcpConfig};
use crate::end::SmolEnd;

#[path = "../../../stack/test-support/foreign_pair.rs"]
mod foreign_pair;

use foreign_pair::Pair;

fn config() -> SmoltcpConfig {
    let size = Bytes(100_000);
    let congestion = Congestion::Reno;
    SmoltcpConfig {
        ack_delay: Duration::ZERO,
        congestion,
        send_buffer: size,
        receive_buffer: size,
        ..Default::default()
    }
}

fn end(n: u64, settings: &EndSettings) -> SmolEnd {
    SmolEnd::new(&config(), 1500, n, settings)
}

#[test]
fn a_stream_arrives_whole_and_both_ends_close() {
    let mut pair = Pair::new(end, 300_000, &[]);
    pair.run();
    assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (300_000, 0));
    assert!(pair.told_sender.contains(&Event::Closed) && pair.told_receiver.contains(&Event::Closed));
    let counters = pair.sender.counters();
    assert_eq!((counters.retransmits, counters.timeouts), (0, 0));
    assert!(pair.receiver.has_received(pair.sender.first() + 1, pair.sender.first() + 300_001));
}

#[test]
fn three_duplicates_make_it_go_back_and_a_lost_tail_waits_for_the_timer() {
    let mut early = Pair::new(end, 300_000, &[20]);
    early.run();
    assert_eq!((early.got, early.sender.counters().timeouts), (300_000, 0));
    assert!(early.reasons.iter().any(|reason| matches!(reason, Reason::Fast { duplicates: 3.., .. })));
    let all = Pair::new(end, 30_000, &[]).run().sent;
    // The last packet with data; the ACK of the peer's FIN comes behind it.
    let mut tail = Pair::new(end, 30_000, &[all - 1]);
    tail.run();
    assert_eq!(tail.got, 30_000);
    assert_eq!(tail.sender.counters().timeouts, 1, "{:?}", tail.reasons);
    assert!(tail.now > early.now + Duration::from_millis(500));
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let wire = || Pair::new(end, 300_000, &[20, 31]).run().wire.clone();
    assert!(wire() == wire());
}

/// A defect of smoltcp 0.14, which the crate's docs name: a release without it is to be told from this one.
#[test]
fn duplicates_behind_all_data_keep_a_lost_fin_from_ever_being_sent_again() {
    let all = Congestion::None;
    let end = |n: u64, settings: &EndSettings| {
        SmolEnd::new(&SmoltcpConfig { congestion: all, ..config() }, 1500, n, settings)
    };
    let whole = Pair::new(end, 30_000, &[]).run().sent;
    // A segment is lost, and what is sent again for it: the timer then sends all behind it again, of which the FIN is
    // not taken and the rest are duplicates.
    let hangs = |again: &usize| {
        let mut pair = Pair::new(end, 30_000, &[10, *again]);
        pair.run();
        let idle = pair.sender.poll_timer().is_none();
        idle && pair.sender.snapshot().state == "FIN-WAIT-1" && pair.got == 30_000
    };
    assert!((11..whole + 10).any(|again| hangs(&again)));
}
