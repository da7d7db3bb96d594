use proptest::prelude::*;
use rexmit_wire::SeqNumber;

use super::{Reassembly, SackList};

fn s(n: u32) -> SeqNumber {
    SeqNumber(n)
}

#[test]
fn a_hole_filled_releases_all_behind_it() {
    let mut q = Reassembly::default();
    assert!(q.insert(s(10), s(20), false, s(0)).fresh);
    assert!(q.insert(s(20), s(30), true, s(0)).fresh);
    assert_eq!(q.segments(), 2);
    assert_eq!(q.bytes(), 20);
    let done = q.insert(s(0), s(10), false, s(0));
    assert_eq!((done.next, done.fin), (s(30), true));
    assert!(q.is_empty() && q.segments() == 0);
}

#[test]
fn the_newest_block_comes_first() {
    let mut list = SackList::default();
    list.update(s(100), s(200), s(0));
    list.update(s(300), s(400), s(0));
    assert_eq!(list.take(3).as_slice(), [(s(300), s(400)), (s(100), s(200))]);
    list.update(s(200), s(250), s(0));
    assert_eq!(list.take(3).as_slice(), [(s(100), s(250)), (s(300), s(400))]);
    assert_eq!(list.take(1).as_slice(), [(s(100), s(250))]);
    list.advance(s(250));
    assert_eq!(list.take(3).as_slice(), [(s(300), s(400))]);
}

proptest! {
    /// Whatever the order, overlap and repetition of arrivals, and wherever the sequence numbers wrap, the
    /// bytes released are those of a byte-by-byte reference.
    #[test]
    fn reassembly_equals_a_byte_map(
        base in any::<u32>(),
        pieces in prop::collection::vec((0u32..200, 1u32..40), 1..60),
    ) {
        let mut q = Reassembly::default();
        let mut have = [false; 256];
        let mut nxt = 0u32;
        for (from, len) in pieces {
            let to = (from + len).min(240);
            let start = from.max(nxt);
            if start >= to { continue; }
            for b in &mut have[start as usize..to as usize] { *b = true; }
            let done = q.insert(s(base) + start, s(base) + to, false, s(base) + nxt);
            while have[nxt as usize] { nxt += 1; }
            prop_assert_eq!(done.next, s(base) + nxt);
            let behind = have[nxt as usize..].iter().filter(|b| **b).count();
            prop_assert_eq!(q.bytes() as usize, behind);
        }
    }
}
