//! What the peer has reported missing: the holes between una and the highest SACKed byte.
//!
//! Each hole remembers how far it has been retransmitted. Totals are kept as holes change, so that an ACK
//! costs the holes that it touches and not the window (FB-OUT-5, FB-FR-5; RFC 6675 section 4).

use std::collections::VecDeque;

use rexmit_wire::{SackBlocks, SeqNumber};

/// `[start, end)` is missing; `[start, rexmit)` of it has been sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    pub start: SeqNumber,
    pub end: SeqNumber,
    pub rexmit: SeqNumber,
}

impl Hole {
    fn len(&self) -> u32 {
        self.end.diff(self.start) as u32
    }

    fn resent(&self) -> u32 {
        self.rexmit.diff(self.start) as u32
    }

    /// Its next segment of at most `mss` bytes.
    pub fn permit(&self, mss: u32) -> super::Permit {
        let len = (self.end.diff(self.rexmit) as u32).min(mss);
        super::Permit::Hole { seq: self.rexmit, len }
    }
}

/// The holes at the end of the scoreboard that are not yet lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Bytes of them.
    pub bytes: u32,
    /// Where the first of them begins; `None` if there are none.
    pub start: Option<SeqNumber>,
}

/// The sender's view of what the receiver holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    holes: VecDeque<Hole>,
    /// One past the highest SACKed byte; meaningful once a block has been seen.
    fack: Option<SeqNumber>,
    hole_bytes: u32,
    resent_bytes: u32,
    /// Holes before this one have been resent whole.
    next: SeqNumber,
}

impl Scoreboard {
    /// True if nothing is known to be missing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.holes.is_empty()
    }

    /// One past the highest SACKed byte; `None` before the first SACK block of the connection.
    pub fn fack(&self) -> Option<SeqNumber> {
        self.fack
    }

    /// Bytes of the holes that have been sent again.
    pub fn resent_bytes(&self) -> u32 {
        self.resent_bytes
    }

    /// Bytes of the holes.
    pub fn hole_bytes(&self) -> u32 {
        self.hole_bytes
    }

    /// Bytes of the holes at and after `from`; costs the holes that it counts.
    pub fn bytes_from(&self, from: SeqNumber) -> u32 {
        let after = self.holes.iter().rev().take_while(|h| h.end > from);
        after.map(|h| h.end.diff(h.start.max(from)) as u32).sum()
    }

    /// The hole with the highest missing byte.
    pub fn last_hole(&self) -> Option<Hole> {
        self.holes.back().copied()
    }

    /// Nothing counts as sent again any more.
    pub fn forget_resent(&mut self) {
        for hole in &mut self.holes {
            hole.rexmit = hole.start;
        }
        self.resent_bytes = 0;
        if let Some(first) = self.holes.front() {
            self.next = first.start;
        }
    }

    /// All of `[una, max)` that was not reported is missing, and nothing of it has been sent again.
    pub fn lose_all(&mut self, una: SeqNumber, max: SeqNumber) {
        let from = self.fack.map_or(una, |fack| fack.max(una));
        if from < max {
            self.holes.push_back(Hole { start: from, end: max, rexmit: from });
            self.hole_bytes += max.diff(from) as u32;
        }
        self.fack = Some(max);
        self.forget_resent();
    }

    /// What [`Self::lose_all`] found outstanding up to `max` is not missing after all; what was missing before stays
    /// so.
    pub fn forgive(&mut self, max: SeqNumber) {
        if let Some(last) = self.holes.back().copied().filter(|h| h.end == max && self.fack == Some(max)) {
            self.holes.pop_back();
            self.hole_bytes -= last.len();
            self.resent_bytes -= last.resent();
            self.fack = Some(last.start);
        }
    }

    /// Bytes SACKed above `una`.
    pub fn sacked_bytes(&self, una: SeqNumber) -> u32 {
        match self.fack {
            Some(fack) if fack > una => (fack.diff(una) as u32).saturating_sub(self.hole_bytes),
            _ => 0,
        }
    }

    /// Forgets every report.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes an acknowledgment of `ack` with its SACK blocks; `una` is the value before it. Returns true if
    /// any byte is newly reported as received above `ack`.
    pub fn on_ack(&mut self, una: SeqNumber, ack: SeqNumber, sack: &SackBlocks, max: SeqNumber) -> bool {
        if ack > una && !self.holes.is_empty() {
            self.fack = self.fack.map(|fack| fack.max(ack));
            self.advance(ack);
        }
        if sack.is_empty() {
            return false;
        }
        let before = (self.fack, self.hole_bytes);
        let mut blocks = [(SeqNumber(0), SeqNumber(0)); 4];
        let mut n = 0;
        for &(left, right) in sack.as_slice() {
            if right > left && left > una && left > ack && right <= max {
                blocks[n] = (left, right);
                n += 1;
            }
        }
        let blocks = &mut blocks[..n];
        if n == 0 {
            return false;
        }
        blocks.sort_unstable_by(|a, b| a.1.diff(b.1).cmp(&0));
        if self.holes.is_empty() {
            // An empty scoreboard: fack may be old, and so may this acknowledgment.
            self.fack = Some(una.max(ack));
        }
        for &(left, right) in blocks.iter() {
            self.report(left, right);
        }
        before != (self.fack, self.hole_bytes)
    }

    /// Everything before `ack` has arrived.
    fn advance(&mut self, ack: SeqNumber) {
        while let Some(first) = self.holes.front_mut() {
            if first.start >= ack {
                break;
            }
            if first.end <= ack {
                self.hole_bytes -= first.len();
                self.resent_bytes -= first.resent();
                self.holes.pop_front();
                continue;
            }
            self.hole_bytes -= ack.diff(first.start) as u32;
            self.resent_bytes -= first.resent();
            first.start = ack;
            first.rexmit = first.rexmit.max(ack);
            self.resent_bytes += first.resent();
            break;
        }
        if self.holes.is_empty() && self.holes.capacity() > 16 {
            self.holes.shrink_to_fit();
        }
    }

    /// `[left, right)` has arrived.
    fn report(&mut self, left: SeqNumber, right: SeqNumber) {
        let fack = self.fack.expect("set before the first report");
        if left > fack {
            if self.holes.is_empty() {
                self.next = fack;
            }
            self.holes.push_back(Hole { start: fack, end: left, rexmit: fack });
            self.hole_bytes += left.diff(fack) as u32;
            self.fack = Some(right);
            return;
        }
        self.fack = Some(fack.max(right));
        // Holes that the block touches: from the last that starts before its right edge, backwards.
        let mut i = self.holes.partition_point(|h| h.start < right);
        while i > 0 {
            i -= 1;
            let hole = self.holes[i];
            if hole.end <= left {
                break;
            }
            self.cut(i, left, right);
        }
    }

    /// Takes `[left, right)` out of the hole at `i`, which it overlaps.
    fn cut(&mut self, i: usize, left: SeqNumber, right: SeqNumber) {
        let hole = self.holes[i];
        self.hole_bytes -= hole.len();
        self.resent_bytes -= hole.resent();
        let lower = Hole { start: hole.start, end: left, rexmit: hole.rexmit.min(left) };
        let upper = Hole { start: right, end: hole.end, rexmit: hole.rexmit.max(right) };
        let (has_lower, has_upper) = (hole.start < left, right < hole.end);
        match (has_lower, has_upper) {
            (false, false) => {
                self.holes.remove(i);
            }
            (true, false) => self.holes[i] = lower,
            (false, true) => self.holes[i] = upper,
            (true, true) => {
                self.holes[i] = lower;
                self.holes.insert(i + 1, upper);
            }
        }
        for (has, part) in [(has_lower, lower), (has_upper, upper)] {
            if has {
                self.hole_bytes += part.len();
                self.resent_bytes += part.resent();
            }
        }
    }

    /// The first hole that has not been sent again whole.
    pub fn next_hole(&mut self) -> Option<Hole> {
        let mut i = self.holes.partition_point(|h| h.end <= self.next);
        while let Some(hole) = self.holes.get(i) {
            if hole.rexmit < hole.end {
                self.next = hole.start;
                return Some(*hole);
            }
            i += 1;
        }
        if let Some(last) = self.holes.back() {
            self.next = last.end;
        }
        None
    }

    /// `len` bytes have been sent again from the `rexmit` point of the hole that holds `seq`.
    pub fn resent(&mut self, seq: SeqNumber, len: u32) {
        let i = self.holes.partition_point(|h| h.end <= seq);
        if let Some(hole) = self.holes.get_mut(i) {
            let to = (seq + len).min(hole.end).max(hole.rexmit);
            self.resent_bytes += to.diff(hole.rexmit) as u32;
            hole.rexmit = to;
        }
    }

    /// Moves `nxt` over any range known to be SACKed (FB-OUT-3).
    pub fn skip_sacked(&self, nxt: SeqNumber) -> SeqNumber {
        let Some(fack) = self.fack else { return nxt };
        if self.holes.is_empty() || nxt >= fack {
            return nxt;
        }
        let i = self.holes.partition_point(|h| h.end <= nxt);
        match self.holes.get(i) {
            // Before the first hole nothing is SACKed.
            Some(hole) if i > 0 => nxt.max(hole.start),
            Some(_) => nxt,
            None => fack,
        }
    }

    /// Bytes of holes that are not yet lost by RFC 6675's IsLost: fewer than `threshold` discontiguous
    /// ranges and at most (`threshold` - 1) `mss` bytes SACKed above them. Looks at no more than `threshold` holes from the end.
    pub fn tail(&self, threshold: u32, mss: u32) -> Tail {
        let Some(fack) = self.fack else { return Tail::default() };
        let (mut ranges, mut sacked, mut bytes, mut first) = (0, 0u32, 0, None);
        let mut upper = fack;
        for hole in self.holes.iter().rev() {
            ranges += 1;
            sacked += upper.diff(hole.end) as u32;
            if ranges >= threshold || sacked > (threshold - 1) * mss {
                break;
            }
            bytes += hole.len();
            first = Some(hole.start);
            upper = hole.start;
        }
        Tail { bytes, start: first }
    }

    #[cfg(test)]
    pub fn holes(&self) -> Vec<Hole> {
        self.holes.iter().copied().collect()
    }

    #[cfg(test)]
    pub fn check(&self) {
        assert_eq!(self.hole_bytes, self.holes.iter().map(Hole::len).sum::<u32>());
        assert_eq!(self.resent_bytes, self.holes.iter().map(Hole::resent).sum::<u32>());
        for h in &self.holes {
            assert!(h.start < h.end && h.start <= h.rexmit && h.rexmit <= h.end, "{h:?}");
        }
        assert!(self.holes.iter().zip(self.holes.iter().skip(1)).all(|(a, b)| a.end < b.start));
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
