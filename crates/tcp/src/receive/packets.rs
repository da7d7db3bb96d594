//! The packets that wait in Linux's receive buffer, and the memory that each takes: those in order until they are read,
//! those out of order until what is missing has come (LK-WIN-3, LK-WIN-6, LK-MEM-1 to LK-MEM-3).
//!
//! Not modelled: packets in order that overlap, and the sender's own data, which count for the same pages.

use std::collections::VecDeque;

use rexmit_wire::SeqNumber;

/// What a driver leaves free before a packet (`NET_SKB_PAD`), and what data are aligned to.
const LINE: u32 = 64;
/// What the kernel keeps after the data of a packet (`struct skb_shared_info`).
const SHARED: u32 = 320;
/// `struct sk_buff`.
const DESCRIPTOR: u32 = 256;
/// A page; sockets are given memory in whole ones.
const PAGE: u32 = 4_096;

/// One that waits in order.
#[derive(Clone, Copy, Debug)]
struct InOrder {
    len: u32,
    /// Bytes of it that have not been read.
    left: u32,
    memory: u32,
    /// Bytes that fit after its data.
    room: u32,
}

/// One that waits out of order.
#[derive(Clone, Copy, Debug)]
struct Apart {
    start: SeqNumber,
    end: SeqNumber,
    memory: u32,
    room: u32,
}

impl Apart {
    fn len(&self) -> u32 {
        self.end.diff(self.start).max(0) as u32
    }
}

/// The packets of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    /// Bytes of a packet's headers.
    header: u32,
    queue: VecDeque<InOrder>,
    /// By their first number.
    apart: Vec<Apart>,
    /// Of all of them (`sk_rmem_alloc`).
    memory: u32,
}

/// Half of it, rounded up: the part of memory that is window (`tcp_win_from_space` with `tcp_adv_win_scale` 1).
pub(crate) fn half(memory: u32) -> u32 {
    memory - memory / 2
}

/// A block with this much before its end takes so much memory, and has so much room.
fn sized(data: u32) -> (u32, u32) {
    let block = (data.next_multiple_of(LINE) + SHARED).next_power_of_two();
    (block + DESCRIPTOR, block - SHARED - data)
}

impl Packets {
    /// Of packets with this many bytes of headers.
    pub fn new(header: u32) -> Self {
        Self { header, queue: VecDeque::new(), apart: Vec::new(), memory: 0 }
    }

    /// Memory of all.
    #[inline]
    pub fn memory(&self) -> u32 {
        self.memory
    }

    /// Memory of a packet with `len` bytes of data, as it arrives.
    #[inline]
    pub fn memory_of(&self, len: u32) -> u32 {
        sized(LINE + self.header + len).0
    }

    /// Does one in order need a look at the limit? Not the only one, nor, on the kernel's `fast` path, one that fits into the
    /// rest of a page.
    pub fn is_limited(&self, len: u32, fast: bool) -> bool {
        let rest = self.memory.next_multiple_of(PAGE) - self.memory;
        !(self.queue.is_empty() || (fast && self.memory_of(len) <= rest))
    }

    /// One comes in order. What fits after the last is copied there (`tcp_try_coalesce`).
    pub fn push(&mut self, len: u32) {
        if len == 0 {
            return;
        }
        let (memory, room) = sized(LINE + self.header + len);
        self.append(InOrder { len, left: len, memory, room });
    }

    fn append(&mut self, new: InOrder) {
        match self.queue.back_mut() {
            Some(last) if new.len <= last.room && new.left == new.len => {
                (last.len, last.left, last.room) =
                    (last.len + new.len, last.left + new.len, last.room - new.len);
            }
            _ => {
                self.memory += new.memory;
                self.queue.push_back(new);
            }
        }
    }

    /// One comes out of order; false if all of it was there (`tcp_data_queue_ofo`).
    pub fn insert(&mut self, start: SeqNumber, end: SeqNumber) -> bool {
        let at = self.apart.partition_point(|one| one.start <= start);
        let len = end.diff(start).max(0) as u32;
        let (memory, room) = sized(LINE + self.header + len);
        let mut replaces = false;
        if let Some(before) = at.checked_sub(1).map(|n| &mut self.apart[n]) {
            if end <= before.end {
                return false;
            }
            if start == before.end && len <= before.room {
                before.end = end;
                before.room -= len;
                return true;
            }
            replaces = start == before.start;
        }
        let first = at - usize::from(replaces);
        let covered = self.apart[at..].iter().take_while(|one| one.end <= end).count();
        let gone = self.apart.drain(first..at + covered);
        self.memory -= gone.map(|one| one.memory).sum::<u32>();
        self.memory += memory;
        self.apart.insert(first, Apart { start, end, memory, room });
        true
    }

    /// Everything up to `nxt` is in order, and what follows it (`tcp_ofo_queue`).
    pub fn advance(&mut self, mut nxt: SeqNumber) {
        let mut moved = 0;
        while let Some(&one) = self.apart.get(moved).filter(|one| one.start <= nxt) {
            moved += 1;
            self.memory -= one.memory;
            if one.end <= nxt {
                continue;
            }
            let left = one.end.diff(nxt) as u32;
            self.append(InOrder { len: one.len(), left, memory: one.memory, room: one.room });
            nxt = one.end;
        }
        self.apart.drain(..moved);
    }

    /// Up to `n` bytes of the first packet are read: how many; `None` if there is none.
    pub fn read(&mut self, n: u32) -> Option<u32> {
        let first = self.queue.front_mut().filter(|_| n > 0)?;
        let used = n.min(first.left);
        first.left -= used;
        if first.left == 0 {
            self.memory -= first.memory;
            self.queue.pop_front();
        }
        Some(used)
    }

    /// Copies packets that waste memory, and those behind them, into full pages: those in order (`tcp_collapse`), and runs
    /// of those that are not (`tcp_collapse_ofo_queue`).
    pub fn collapse(&mut self, limit: u32) {
        self.collapse_apart(limit);
        let wasteful = |one: &InOrder| half(one.memory) > one.len || one.left < one.len;
        let Some(from) = self.queue.iter().position(wasteful) else { return };
        let (mut data, mut before) = (0, 0);
        for one in self.queue.drain(from..) {
            (data, before) = (data + one.left, before + one.memory);
        }
        self.memory -= before;
        for len in pages(data) {
            let (memory, room) = sized(len);
            self.memory += memory;
            self.queue.push_back(InOrder { len, left: len, memory, room });
        }
    }

    fn collapse_apart(&mut self, limit: u32) {
        let (mut from, mut tiny) = (0, 0);
        while from < self.apart.len() {
            let mut to = from + 1;
            let mut end = self.apart[from].end;
            while to < self.apart.len() && self.apart[to].start <= end {
                end = end.max(self.apart[to].end);
                to += 1;
            }
            let run = &self.apart[from..to];
            let memory: u32 = run.iter().map(|one| one.memory).sum();
            if run.len() == 1 && (end.diff(run[0].start) as u32) < PAGE - SHARED {
                tiny += memory;
                if tiny > limit / 8 {
                    return;
                }
                from = to;
            } else {
                from = self.collapse_run(from, to, end);
            }
        }
    }

    /// Copies what wastes memory in `from..to`, and what follows it, which ends at `end`. Where the run ends then.
    fn collapse_run(&mut self, from: usize, to: usize, end: SeqNumber) -> usize {
        let run = &self.apart[from..to];
        let overlaps = |n: usize| run.get(n + 1).is_some_and(|next| next.start != run[n].end);
        let Some(skip) = (0..run.len()).find(|&n| half(run[n].memory) > run[n].len() || overlaps(n)) else {
            return to;
        };
        let mut start = run[skip].start;
        if skip > 0 {
            start = start.max(run[skip - 1].end);
        }
        let gone: u32 = run[skip..].iter().map(|one| one.memory).sum();
        let mut made = Vec::new();
        for len in pages(end.diff(start) as u32) {
            let (memory, room) = sized(len);
            made.push(Apart { start, end: start + len, memory, room });
            start += len;
        }
        self.memory = self.memory - gone + made.iter().map(|one| one.memory).sum::<u32>();
        let behind = from + skip + made.len();
        self.apart.splice(from + skip..to, made);
        behind
    }

    /// Drops packets out of order, the last first, an eighth of the limit at a time, until the rest fits: up to where any are
    /// left. `None` if there were none (`tcp_prune_ofo_queue`).
    pub fn prune(&mut self, limit: u32) -> Option<Option<SeqNumber>> {
        let step = i64::from(limit / 8);
        let mut goal = step;
        let mut pruned = false;
        while let Some(last) = self.apart.pop() {
            pruned = true;
            self.memory -= last.memory;
            goal -= i64::from(last.memory);
            if self.apart.is_empty() || goal <= 0 {
                if self.memory <= limit {
                    break;
                }
                goal = step;
            }
        }
        pruned.then(|| self.apart.iter().map(|one| one.end).reduce(SeqNumber::max))
    }
}

/// `data` bytes in pieces that fit into a page each (`SKB_MAX_ORDER`).
fn pages(data: u32) -> impl Iterator<Item = u32> {
    const MOST: u32 = PAGE - SHARED;
    (0..data.div_ceil(MOST)).map(move |n| MOST.min(data - n * MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seq(n: u32) -> SeqNumber {
        SeqNumber(n)
    }

    #[test]
    fn a_packet_takes_a_power_of_two_and_its_descriptor() {
        let packets = Packets::new(52);
        for (len, memory) in [(1, 768), (76, 768), (77, 1_280), (588, 1_280), (589, 2_304), (1_448, 2_304)] {
            assert_eq!(packets.memory_of(len), memory, "{len}");
        }
    }

    #[test]
    fn what_fits_behind_the_last_takes_no_memory() {
        let mut packets = Packets::new(52);
        for len in [1_448, 100, 64, 1] {
            packets.push(len);
        }
        assert_eq!((packets.queue.len(), packets.memory()), (2, 2_304 + 768));
    }

    #[test]
    fn packets_take_their_memory_along_when_a_hole_is_filled() {
        let mut packets = Packets::new(52);
        for n in [1, 2, 4, 5] {
            assert!(packets.insert(seq(1_448 * n), seq(1_448 * (n + 1))));
        }
        assert!(!packets.insert(seq(1_448), seq(1_500)));
        packets.push(1_448);
        packets.advance(seq(1_448));
        assert_eq!((packets.queue.len(), packets.apart.len(), packets.memory()), (3, 2, 5 * 2_304));
        while packets.read(u32::MAX).is_some() {}
        assert_eq!(packets.memory(), 2 * 2_304);
    }

    #[test]
    fn small_packets_are_put_together_and_full_ones_are_not() {
        let mut packets = Packets::new(52);
        for len in [1_448, 500, 500, 1_448] {
            packets.push(len);
        }
        packets.collapse(10_000);
        // The first stays; 2,448 bytes are copied into one block of 4,096.
        assert_eq!((packets.queue.len(), packets.memory()), (2, 2_304 + 4_352));
    }

    #[test]
    fn the_last_packets_out_of_order_go_first() {
        let mut packets = Packets::new(52);
        for n in 1..=8 {
            packets.insert(seq(2_000 * n), seq(2_000 * n + 1_448));
        }
        assert_eq!(packets.prune(5 * 2_304), Some(Some(seq(2_000 * 5 + 1_448))));
        assert_eq!(packets.memory(), 5 * 2_304);
    }
}
