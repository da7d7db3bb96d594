use proptest::prelude::*;
use rexmit_wire::{SackBlocks, SeqNumber};

use super::{Hole, Scoreboard, Tail};

fn s(n: u32) -> SeqNumber {
    SeqNumber(n)
}

fn blocks(list: &[(u32, u32)]) -> SackBlocks {
    let mut out = SackBlocks::default();
    for &(l, r) in list {
        assert!(out.push(s(l), s(r)));
    }
    out
}

#[test]
fn a_block_above_una_makes_a_hole_and_a_later_one_splits_it() {
    let mut b = Scoreboard::default();
    assert!(b.on_ack(s(0), s(0), &blocks(&[(30, 40)]), s(100)));
    assert_eq!(b.holes(), [Hole { start: s(0), end: s(30), rexmit: s(0) }]);
    assert!(b.on_ack(s(0), s(0), &blocks(&[(10, 20), (30, 40)]), s(100)));
    assert_eq!(b.holes().len(), 2);
    assert_eq!(b.sacked_bytes(s(0)), 20);
    b.resent(s(0), 10);
    assert_eq!(b.next_hole().unwrap().start, s(20));
    assert_eq!(b.skip_sacked(s(12)), s(20));
    assert_eq!(b.skip_sacked(s(33)), s(40));
    b.on_ack(s(0), s(20), &blocks(&[(30, 40)]), s(100));
    assert_eq!((b.holes().len(), b.resent_bytes()), (1, 0));
    b.on_ack(s(20), s(40), &SackBlocks::default(), s(100));
    assert!(b.is_empty());
    b.check();
}

#[test]
fn blocks_below_the_acknowledgment_or_beyond_max_are_not_believed() {
    let mut b = Scoreboard::default();
    assert!(!b.on_ack(s(50), s(50), &blocks(&[(10, 20), (90, 120)]), s(100)));
    assert!(b.is_empty() && b.fack().is_none());
}

#[test]
fn only_holes_with_enough_above_them_are_lost() {
    let mut b = Scoreboard::default();
    b.on_ack(s(0), s(0), &blocks(&[(1000, 2000)]), s(9000));
    assert_eq!(b.tail(3, 1000), Tail { bytes: 1000, start: Some(s(0)) });
    b.on_ack(s(0), s(0), &blocks(&[(1000, 3000)]), s(9000));
    assert_eq!(b.tail(3, 1000), Tail { bytes: 1000, start: Some(s(0)) });
    b.on_ack(s(0), s(0), &blocks(&[(1000, 3001)]), s(9000));
    assert_eq!(b.tail(3, 1000), Tail::default());
}

#[test]
fn after_a_timeout_all_that_is_not_sacked_is_missing_and_unsent() {
    let mut b = Scoreboard::default();
    b.on_ack(s(0), s(0), &blocks(&[(10, 20), (30, 40)]), s(100));
    b.resent(s(0), 10);
    b.lose_all(s(0), s(100));
    let missing: Vec<_> = b.holes().iter().map(|h| (h.start.0, h.end.0, h.rexmit.0)).collect();
    assert_eq!(missing, [(0, 10, 0), (20, 30, 20), (40, 100, 40)]);
    assert_eq!((b.resent_bytes(), b.hole_bytes(), b.bytes_from(s(35)), b.bytes_from(s(90))), (0, 80, 60, 10));
    assert_eq!(b.last_hole().unwrap().start, s(40));
    // What was forgotten before is missing too.
    b.clear();
    b.lose_all(s(5), s(100));
    assert_eq!((b.holes().len(), b.hole_bytes()), (1, 95));
    b.check();
}

proptest! {
    /// Against a byte map: the holes are exactly the bytes below fack that were not reported.
    #[test]
    fn the_holes_are_what_was_not_reported(
        base in any::<u32>(),
        steps in prop::collection::vec((0u32..180, prop::collection::vec((0u32..200, 1u32..30), 0..4), 0u32..60, prop::bool::weighted(0.1)), 1..40),
    ) {
        let mut b = Scoreboard::default();
        let mut have = [false; 256];
        let (mut una, mut fack) = (0u32, 0u32);
        for (ack, list, send, timeout) in steps {
            let ack = una.max(ack.min(una + 20));
            let mut sack = SackBlocks::default();
            for (from, len) in list {
                let to = (from + len).min(200);
                if from > ack && from < to {
                    sack.push(s(base) + from, s(base) + to);
                    have[from as usize..to as usize].fill(true);
                    fack = fack.max(to);
                }
            }
            // A receiver acknowledges all that it holds in order.
            let ack = (ack..200).find(|i| !have[*i as usize]).unwrap_or(200);
            have[..ack as usize].fill(true);
            b.on_ack(s(base) + una, s(base) + ack, &sack, s(base) + 200);
            una = ack;
            b.check();
            if timeout {
                b.lose_all(s(base) + una, s(base) + 200);
                fack = 200;
                prop_assert_eq!(b.resent_bytes(), 0);
            }
            let missing = (una..fack.max(una)).filter(|i| !have[*i as usize]).count();
            let held: u32 = b.holes().iter().map(|h| h.end.diff(h.start) as u32).sum();
            prop_assert_eq!(missing as u32, held);
            if let Some(hole) = b.next_hole() {
                let n = send.min(hole.end.diff(hole.rexmit) as u32);
                if n > 0 { b.resent(hole.rexmit, n); }
            }
            b.check();
        }
    }
}
