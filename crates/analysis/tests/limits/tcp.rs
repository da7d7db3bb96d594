//! Connections.

use rexmit_analysis::limits::{BOARD_SEGMENTS, BOARD_UNANSWERED, Limit, RANGES, TICKS, WAITING_SEGMENTS};
use rexmit_wire::{Flags, Timestamps, Transport};

use crate::build::{Capture, judge, open, tcp};
use crate::cost::is_linear;

const ACK: Flags = Flags::ACK;

/// A connection whose client has sent so many segments of `len` bytes.
fn sending(segments: u32, len: u32) -> Capture {
    let mut capture = Capture::new();
    open(&mut capture, 7);
    // Without an acknowledgment few are kept.
    capture.packet(10, &tcp(7, true, (1, len), 1, ACK, &[]));
    capture.packet(10, &tcp(7, false, (1, 0), 1 + len, ACK, &[]));
    for n in 1..segments {
        capture.packet(1, &tcp(7, true, (1 + n * len, len), 1, ACK, &[]));
    }
    capture
}

#[test]
fn falling_sequence_numbers_are_linear() {
    is_linear(5_000, |packets| {
        let mut capture = Capture::new();
        open(&mut capture, 7);
        for n in 0..packets {
            capture.packet(10, &tcp(7, true, (500_000_000 - 3 * n, 2), 1, ACK, &[]));
        }
        capture.finish()
    });
}

#[test]
fn long_retransmissions_of_tiny_segments_are_given_up_when_they_take_too_many_steps() {
    let mut capture = sending(60_000, 1);
    for _ in 0..3_000 {
        capture.packet(10, &tcp(7, true, (2, 60_000), 1, ACK, &[]));
    }
    let judged = judge(capture.finish());
    assert_eq!(judged.limited(Limit::Steps), 1);
    assert!(judged.steps <= 63_000 * 8_192 + (1 << 25), "{}", judged.steps);
}

#[test]
fn cuts_in_the_middle_of_many_segments_are_counted_as_work() {
    let cut = |cuts: u32| {
        let mut capture = sending(40_000, 3);
        for n in 0..cuts {
            capture.packet(10, &tcp(7, true, (60_002 + 3 * n, 1), 1, ACK, &[]));
        }
        judge(capture.finish())
    };
    let (none, some) = (cut(0), cut(2_000));
    assert!(some.steps > none.steps + 2_000 * 500, "{} and {}", none.steps, some.steps);
}

#[test]
fn missing_packets_are_not_looked_for_among_all_segments() {
    // A side elsewhere that numbers its packets, now and then with a leap.
    is_linear(3_000, |packets| {
        let mut capture = Capture::new();
        capture.packet(1, &tcp(7, true, (0, 0), 0, Flags::SYN, &[]));
        capture.packet(1_000, &tcp(7, false, (0, 0), 1, Flags::SYN.with(ACK), &[]));
        capture.packet(50_000, &tcp(7, true, (1, 0), 1, ACK, &[]));
        capture.numbered(10, tcp(7, true, (1, 1), 1, ACK, &[]), 1);
        capture.packet(10, &tcp(7, false, (1, 0), 2, ACK, &[]));
        for n in 1..packets {
            let step = if n % 5 == 4 { 2 } else { 1 };
            capture.numbered(10, tcp(7, true, (1 + n, 1), 1, ACK, &[]), step);
        }
        capture.finish()
    });
}

#[test]
fn a_byte_that_is_sent_again_very_often_is_linear() {
    let judged = is_linear(6_000, |packets| {
        let mut capture = sending(10, 1);
        for n in 0..packets {
            capture.packet(300_000 + u64::from(n), &tcp(7, true, (5, 1), 1, ACK, &[]));
        }
        capture.finish()
    });
    assert_eq!(judged.limited(Limit::Waiting), 12_000 - WAITING_SEGMENTS as u64);
}

#[test]
fn sack_blocks_beyond_the_limit_are_counted() {
    let mut capture = sending(40_000, 1);
    for n in 0..RANGES as u32 + 5 {
        capture.packet(10, &tcp(7, false, (1, 0), 2, ACK, &[(10 + 4 * n, 11 + 4 * n)]));
    }
    assert_eq!(judge(capture.finish()).limited(Limit::Ranges), 5);
}

#[test]
fn segments_that_nothing_acknowledges_are_forgotten_and_counted() {
    // Room is made for two, since a segment may come with a hole.
    let one_way = |count: u32| {
        let mut capture = Capture::new();
        for n in 0..count {
            capture.packet(1, &tcp(7, true, (1 + n, 1), 1, ACK, &[]));
        }
        judge(capture.finish()).limited(Limit::Segments)
    };
    assert_eq!(one_way(BOARD_UNANSWERED as u32 - 1), 0);
    assert_eq!(one_way(BOARD_UNANSWERED as u32 + 99), 100);
    let judged = judge(sending(BOARD_SEGMENTS as u32 + 100, 1).finish());
    assert_eq!(judged.limited(Limit::Segments), 100);
}

#[test]
fn timestamps_that_nothing_echoes_are_forgotten_and_counted() {
    let mut capture = Capture::new();
    for n in 0..TICKS as u32 + 3 {
        let mut packet = tcp(7, true, (1 + n, 1), 1, ACK, &[]);
        let Transport::Tcp(segment) = &mut packet.transport else { unreachable!() };
        segment.timestamps = Some(Timestamps { value: n + 1, echo: 0 });
        capture.packet(1, &packet);
    }
    assert_eq!(judge(capture.finish()).limited(Limit::UnderWay), 3);
}

#[test]
fn connections_that_have_ended_leave_nothing_behind() {
    // One after another, each over before the next: as many may come as will.
    let mut capture = Capture::new();
    for n in 0..3_000_u32 {
        let port = 1_000 + n as u16;
        open(&mut capture, port);
        capture.packet(10, &tcp(port, true, (1, 0), 1, Flags::RST, &[]));
        capture.packet(130_000_000, &tcp(1, true, (1, 1), 1, ACK, &[]));
    }
    let judged = judge(capture.finish());
    assert_eq!((judged.flows, judged.summary.limits.acted().count()), (3_001, 0));
}
