//! A queue of timers: a 4-ary heap of (time, owner), the earliest first, ties by owner.
//!
//! Owners re-arm lazily: an entry that comes out too early is put back at its true time. So a timer that is
//! only ever pushed back (a retransmission timer) costs no heap operation per ACK.

use rexmit_units::Instant;

/// Entries of one heap.
#[derive(Debug)]
pub struct Timers<O> {
    heap: Vec<(Instant, O)>,
}

impl<O> Default for Timers<O> {
    fn default() -> Self {
        Self { heap: Vec::new() }
    }
}

const ARITY: usize = 4;

impl<O: Copy + Ord> Timers<O> {
    /// When the earliest entry is due; far in the future if there is none.
    #[inline]
    pub fn next(&self) -> Instant {
        self.heap.first().map_or(Instant::FAR_FUTURE, |e| e.0)
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<(Instant, O)> {
        self.heap.first().copied()
    }

    /// Adds an entry.
    pub fn push(&mut self, due: Instant, owner: O) {
        self.heap.push((due, owner));
        let mut i = self.heap.len() - 1;
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if !is_before(&self.heap[i], &self.heap[parent]) {
                break;
            }
            self.heap.swap(i, parent);
            i = parent;
        }
    }

    /// Takes the earliest entry.
    pub fn pop(&mut self) -> Option<(Instant, O)> {
        let last = self.heap.pop()?;
        let Some(first) = self.heap.first() else { return Some(last) };
        let first = *first;
        self.put_from_top(last);
        Some(first)
    }

    /// Puts another entry in the place of the earliest, of which there must be one: a [`Self::pop`] and a [`Self::push`], for
    /// less where the new one is among the earliest too.
    pub fn replace_first(&mut self, due: Instant, owner: O) {
        self.put_from_top((due, owner));
    }

    /// Puts an entry where it belongs, the top being free.
    #[inline]
    fn put_from_top(&mut self, entry: (Instant, O)) {
        let (heap, mut i) = (&mut self.heap[..], 0);
        while let Some(children) = heap.get(ARITY * i + 1..).filter(|children| !children.is_empty()) {
            let least = earliest_of(children);
            let child = children[least];
            if !is_before(&child, &entry) {
                break;
            }
            heap[i] = child;
            i = ARITY * i + 1 + least;
        }
        heap[i] = entry;
    }
}

/// Which of the first [`ARITY`] entries comes out first.
#[inline]
fn earliest_of<O: Copy + Ord>(entries: &[(Instant, O)]) -> usize {
    // All four, except at the last entries of a heap: as a tournament, whose first two games wait for nothing.
    if let Some([first, second, third, fourth]) = entries.first_chunk::<ARITY>() {
        let one = usize::from(is_before(second, first));
        let other = 2 + usize::from(is_before(fourth, third));
        return if is_before(&entries[other], &entries[one]) { other } else { one };
    }
    let earlier = |least: usize, i| if is_before(&entries[i], &entries[least]) { i } else { least };
    (1..entries.len()).fold(0, earlier)
}

/// Ties are decided by the owner; without a branch, since nobody could predict it.
#[inline]
fn is_before<O: Copy + Ord>(one: &(Instant, O), other: &(Instant, O)) -> bool {
    (one.0 < other.0) | ((one.0 == other.0) & (one.1 < other.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rexmit_network::EndIndex;

    #[test]
    fn entries_come_out_by_time_and_owner() {
        let mut timers = Timers::default();
        let mut expected = Vec::new();
        for i in 0..500u32 {
            let due = Instant::from_nanos(u64::from(i * 7919 % 101));
            timers.push(due, EndIndex::new(i));
            expected.push((due, EndIndex::new(i)));
        }
        expected.sort();
        let out: Vec<_> = std::iter::from_fn(|| timers.pop()).collect();
        assert_eq!(out, expected);
    }

    #[test]
    fn to_replace_the_first_is_to_take_it_and_to_add() {
        let (mut one, mut other) = (Timers::default(), Timers::default());
        for i in 0..200u32 {
            let due = Instant::from_nanos(u64::from(i * 7919 % 101));
            one.push(due, EndIndex::new(i));
            other.push(due, EndIndex::new(i));
        }
        for i in 200..1000u32 {
            let due = Instant::from_nanos(u64::from(i * 104_729 % 307));
            one.replace_first(due, EndIndex::new(i));
            other.pop();
            other.push(due, EndIndex::new(i));
            assert_eq!(one.first(), other.first());
        }
        let rest = |mut timers: Timers<_>| std::iter::from_fn(move || timers.pop()).collect::<Vec<_>>();
        assert_eq!(rest(one), rest(other));
    }
}
