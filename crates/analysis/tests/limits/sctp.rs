//! Associations.

use rexmit_analysis::limits::{BOARD_CHUNKS, CHUNKS, Limit, PATHS, WAITING_CHUNKS};
use rexmit_wire::sctp::Chunk;

use crate::build::{Capture, data, judge, sack, sctp};
use crate::cost::is_linear;

/// Data of one chunk a packet, `after` microseconds apart, whose TSNs fall.
fn falling(packets: u32, by: u32, after: u64) -> Vec<u8> {
    let mut capture = Capture::new();
    for n in 0..packets {
        capture.packet(after, &sctp(7, true, vec![data(0_u32.wrapping_sub(by.wrapping_mul(n)))]));
    }
    capture.finish()
}

#[test]
fn falling_tsns_take_what_a_window_takes() {
    // Far apart: what lies between is not there, and is not kept.
    let judged = is_linear(50, |n| falling(n, 60_000, 10));
    assert!(judged.steps <= BOARD_CHUNKS as u64 + 100 * 3, "{}", judged.steps);
    // Near each other, with a timeout for each: nothing is walked over again.
    let judged = is_linear(3_000, |n| falling(n, 3, 1_500_000));
    assert!(judged.steps <= 6_000 * 8, "{}", judged.steps);
}

#[test]
fn tsns_that_leap_up_and_down_cost_no_more_than_is_granted() {
    let leaping = |packets| {
        let mut capture = Capture::new();
        for n in 0..packets {
            // Up by more than a window, which begins anew, and down again.
            capture
                .packet(10, &sctp(7, true, vec![data(n * 70_000), data((n * 70_000).wrapping_sub(60_000))]));
        }
        capture.finish()
    };
    let judged = judge(leaping(3_000));
    assert!(judged.steps <= 3_000 * 10_000 + (1 << 25), "{}", judged.steps);
}

#[test]
fn sacks_over_a_wide_window_are_given_up_when_they_take_too_many_steps() {
    let storm = |sacks: u32| {
        let mut capture = Capture::new();
        for first in 0..(60_000 / 1_000) {
            let chunks = (0..1_000).map(|n| data(1 + first * 1_000 + n)).collect();
            capture.packet(10, &sctp(7, true, chunks));
        }
        // Many in a packet, which report all but the first, or nothing.
        for n in 0..sacks {
            let chunks = (0..50).map(|k| sack(0, &[[(2, 60_000), (2, 2)][(n + k) as usize % 2]], Vec::new()));
            capture.packet(10, &sctp(7, false, chunks.collect()));
        }
        capture.finish()
    };
    let judged = judge(storm(200));
    assert!(judged.limited(Limit::Steps) > 0);
    assert!(judged.steps <= 260 * 8_192 + (60_000 + 10_000) * 256 + (1 << 25), "{}", judged.steps);
}

#[test]
fn duplicates_of_a_chunk_that_was_sent_again_very_often_are_linear() {
    is_linear(50, |packets| {
        let mut capture = Capture::new();
        for n in 0..packets {
            capture.packet(10_000, &sctp(7, true, vec![data(1); 500]));
            let report = sack(0, &[(1 + (n % 2) as u16, 2)], vec![1; 500]);
            capture.packet(10_000, &sctp(7, false, vec![report]));
        }
        capture.finish()
    });
}

#[test]
fn chunks_of_a_packet_beyond_the_limit_are_counted() {
    let mut capture = Capture::new();
    capture.packet(10, &sctp(7, true, vec![Chunk::CookieAck; CHUNKS + 77]));
    assert_eq!(judge(capture.finish()).limited(Limit::Chunks), 77);
}

#[test]
fn paths_beyond_the_limit_are_counted() {
    let mut capture = Capture::new();
    for n in 0..PATHS as u32 + 9 {
        let mut packet = sctp(7, true, vec![data(n + 1)]);
        packet.src = [10, 1, (n >> 8) as u8, n as u8].into();
        capture.packet(10, &packet);
    }
    let judged = judge(capture.finish());
    assert_eq!((judged.flows, judged.limited(Limit::Paths)), (1, 9));
}

#[test]
fn what_nothing_acknowledges_is_forgotten_and_counted() {
    let mut capture = Capture::new();
    for first in (0..BOARD_CHUNKS as u32 + 1_000).step_by(1_000) {
        capture.packet(10, &sctp(7, true, (first..first + 1_000).map(data).collect()));
    }
    let sent = (BOARD_CHUNKS + 1_000).next_multiple_of(1_000) as u64;
    assert_eq!(judge(capture.finish()).limited(Limit::Tsns), sent - BOARD_CHUNKS as u64);
}

#[test]
fn retransmissions_that_nothing_answers_are_closed_and_counted() {
    let mut capture = Capture::new();
    let packets = WAITING_CHUNKS as u32 / 1_000 + 2;
    for _ in 0..=packets {
        capture.packet(2_000_000, &sctp(7, true, (0..1_000).map(data).collect()));
    }
    let waiting = u64::from(packets) * 1_000 - WAITING_CHUNKS as u64;
    assert_eq!(judge(capture.finish()).limited(Limit::Waiting), waiting);
}
