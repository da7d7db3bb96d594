//! The delay line: packets on their way, in the order in which they come out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rexmit_units::Instant;

use crate::headed::Headed;

/// Packets on their way. Those due at the same instant come out in the order in which they were put in.
pub(crate) enum Line<P> {
    /// Where no packet overtakes another.
    Fifo(Headed<(Instant, P)>),
    /// Where one may.
    Sorted(Box<Sorted<P>>),
}

impl<P> Line<P> {
    pub fn fifo() -> Self {
        Self::Fifo(Headed::default())
    }

    pub fn sorted() -> Self {
        Self::Sorted(Box::default())
    }

    /// Puts a packet in that comes out at `due`; without overtaking, `due` never falls.
    #[inline]
    pub fn push(&mut self, due: Instant, packet: P) {
        match self {
            Self::Fifo(queue) => {
                debug_assert!(queue.last().is_none_or(|b| b.0 <= due), "a packet would overtake");
                queue.push((due, packet));
            }
            Self::Sorted(sorted) => sorted.push(due, packet),
        }
    }

    /// When the next packet comes out.
    #[inline]
    pub fn next_due(&self) -> Option<Instant> {
        match self {
            Self::Fifo(queue) => queue.first().map(|f| f.0),
            Self::Sorted(sorted) => sorted.next_due(),
        }
    }

    /// The next packet, if it is due at `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        match self {
            Self::Fifo(queue) => {
                if queue.first()?.0 > now {
                    return None;
                }
                queue.pop().map(|f| f.1)
            }
            Self::Sorted(sorted) => sorted.pop(now),
        }
    }

    /// How many packets are on their way.
    pub fn len(&self) -> usize {
        match self {
            Self::Fifo(queue) => queue.len(),
            Self::Sorted(sorted) => sorted.heap.len() + sorted.waiting.len(),
        }
    }
}

/// A heap of packets, and those that wait until others have passed.
pub(crate) struct Sorted<P> {
    /// Due, order of entry, place in `packets`.
    heap: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    packets: Vec<Option<P>>,
    free: Vec<usize>,
    entered: u64,
    waiting: Vec<Waiting<P>>,
}

struct Waiting<P> {
    /// When it would come out by itself.
    due: Instant,
    /// When it comes out at the latest.
    latest: Instant,
    /// How many later packets must still pass.
    left: u32,
    /// Order of entry.
    order: u64,
    packet: P,
}

impl<P> Default for Sorted<P> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            packets: Vec::new(),
            free: Vec::new(),
            entered: 0,
            waiting: Vec::new(),
        }
    }
}

impl<P> Sorted<P> {
    /// Puts a packet in that comes out once `past` later ones have, or at `latest` where fewer come.
    pub fn push_back_past(&mut self, due: Instant, latest: Instant, past: u32, packet: P) {
        let order = self.entered;
        self.entered += 1;
        self.waiting.push(Waiting { due, latest, left: past, order, packet });
    }

    /// Takes note that one more packet, due at `due`, has been put in behind those that wait.
    pub fn passed(&mut self, due: Instant) {
        let mut i = 0;
        while i < self.waiting.len() {
            let waiting = &mut self.waiting[i];
            waiting.left -= 1;
            if waiting.left > 0 {
                i += 1;
                continue;
            }
            let ready = self.waiting.remove(i);
            // Behind the packet that released it.
            let order = self.entered;
            self.entered += 1;
            self.insert(ready.due.max(due).min(ready.latest), order, ready.packet);
        }
    }

    fn push(&mut self, due: Instant, packet: P) {
        let order = self.entered;
        self.entered += 1;
        self.insert(due, order, packet);
    }

    fn insert(&mut self, due: Instant, order: u64, packet: P) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() - 1
        });
        self.packets[place] = Some(packet);
        self.heap.push(Reverse((due, order, place)));
    }

    fn next_due(&self) -> Option<Instant> {
        let sorted = self.heap.peek().map(|Reverse((due, ..))| *due);
        let waiting = self.waiting.iter().map(|w| w.latest).min();
        sorted.into_iter().chain(waiting).min()
    }

    fn pop(&mut self, now: Instant) -> Option<P> {
        self.release_late(now);
        let (_, _, place) = self.heap.peek().filter(|Reverse((due, ..))| *due <= now).map(|r| r.0)?;
        self.heap.pop();
        self.free.push(place);
        self.packets[place].take()
    }

    /// Moves those whose wait is over at `now` into the heap.
    fn release_late(&mut self, now: Instant) {
        while let Some(i) = self.waiting.iter().position(|w| w.latest <= now) {
            let late = self.waiting.remove(i);
            self.insert(late.latest, late.order, late.packet);
        }
    }
}
