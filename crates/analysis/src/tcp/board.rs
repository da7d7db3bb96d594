//! What one side sent and is not acknowledged: its transmissions, as the capture shows them.

use std::collections::VecDeque;
use std::ops::Range;

use rexmit_units::Instant;

use crate::limits::{BOARD_SEGMENTS, BOARD_UNANSWERED};

/// A stretch of sequence space that was sent in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// First sequence number.
    pub start: i64,
    /// One past the last.
    pub end: i64,
    /// When it was first seen; meaningless where `count` is 0.
    pub first: Instant,
    /// When it was last seen.
    pub last: Instant,
    /// Number of the packet in which it was first seen.
    pub number: u64,
    /// TSval when it was last seen, 0 without timestamps.
    pub tsval: u32,
    /// IP identification when it was last seen, 0 for none.
    pub ident: u16,
    /// Number among its side's packets with data when it was last seen, from 1.
    pub order: u32,
    /// Segments outstanding when it was first seen, itself included.
    pub flight: u32,
    /// How often it was seen: 0 for a hole, data that did not pass here and must have been sent.
    pub count: u16,
}

/// What a transmission brings to the board.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    /// When.
    pub time: Instant,
    /// Number of the packet.
    pub number: u64,
    /// TSval, 0 without timestamps.
    pub tsval: u32,
    /// IP identification, 0 for none.
    pub ident: u16,
    /// Number among its side's packets with data, from 1; super-packets count as what they became on the wire.
    pub order: u32,
}

/// What was known before of the data that came again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before {
    /// How often its most repeated byte was seen.
    pub count: u16,
    /// Bytes of it that had not been seen.
    pub unseen: i64,
    /// The piece that holds its first byte, if that was seen and is remembered.
    pub first: Option<Piece>,
    /// The latest transmission of any of it.
    pub last: Option<Stamp>,
}

/// Pieces without gaps between them, and some of those that were acknowledged before.
#[derive(Debug, Default)]
pub(super) struct Board {
    pieces: VecDeque<Piece>,
    /// Acknowledged lately, for what is sent again all the same.
    done: VecDeque<Piece>,
    /// How many pieces are holes.
    holes: usize,
    /// An acknowledgment was seen.
    answered: bool,
    /// Pieces that were forgotten before they were acknowledged.
    pub forgotten: u64,
}

/// Acknowledged pieces that are remembered.
const REMEMBERED: usize = 64;
/// Pieces that are left where all of them take too many steps.
const LEFT: usize = 1 << 10;
/// Pieces that are moved in one step.
const MOVED: usize = 16;

impl Board {
    /// Adds new data at the end. Where it leaves a gap, the gap becomes a hole.
    pub(super) fn append(&mut self, edge: i64, range: Range<i64>, stamp: &Stamp) {
        self.make_room(2);
        if range.start > edge {
            self.pieces.push_back(Piece { count: 0, ..Piece::new(edge..range.start, stamp) });
            self.holes += 1;
        }
        self.pieces.push_back(Piece::new(range, stamp));
    }

    /// Notes that `range` was sent again. What of it lies above the pieces is not added.
    pub(super) fn again(&mut self, range: Range<i64>, stamp: &Stamp) -> Before {
        self.make_room(2);
        let mut before = self.remembered(&range);
        let from = self.border(range.start);
        let to = self.border(range.end);
        if range.start >= self.pieces.front().map_or(i64::MAX, |piece| piece.start) {
            before.first = self.pieces.get(from).filter(|piece| piece.count > 0).copied();
        }
        for piece in self.pieces.range_mut(from..to) {
            if piece.count == 0 {
                before.unseen += piece.end - piece.start;
                self.holes -= 1;
                *piece = Piece::new(piece.start..piece.end, stamp);
                continue;
            }
            before.count = before.count.max(piece.count);
            before.last = before.last.max_by_time(piece.stamp());
            piece.count = piece.count.saturating_add(1);
            (piece.last, piece.tsval, piece.ident) = (stamp.time, stamp.tsval, stamp.ident);
            piece.order = stamp.order;
        }
        before
    }

    /// Removes what lies below `edge`, calling `acked` for each piece; a piece that is acknowledged in part is cut.
    pub(super) fn acknowledge(&mut self, edge: i64, mut acked: impl FnMut(&Piece)) {
        self.answered = true;
        while let Some(piece) = self.pieces.front_mut() {
            if piece.start >= edge {
                break;
            }
            let mut done = *piece;
            if piece.end > edge {
                piece.start = edge;
                done.end = edge;
            } else {
                self.holes -= usize::from(piece.count == 0);
                self.pieces.pop_front();
            }
            acked(&done);
            if self.done.len() == REMEMBERED {
                self.done.pop_front();
            }
            self.done.push_back(done);
        }
    }

    /// How many pieces there are.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Notes how many segments are outstanding with the last piece.
    pub(super) fn set_flight(&mut self, flight: u32) {
        if let Some(piece) = self.pieces.back_mut() {
            piece.flight = flight;
        }
    }

    /// The piece that holds `at`.
    pub(super) fn piece_at(&self, at: i64) -> Option<&Piece> {
        let index = self.pieces.partition_point(|piece| piece.end <= at);
        self.pieces.get(index).filter(|piece| piece.start <= at)
    }

    /// True if data are missing.
    pub(super) fn has_hole(&self) -> bool {
        self.holes > 0
    }

    /// The first piece at or above `at` that was seen.
    pub(super) fn seen_from(&self, at: i64) -> Option<&Piece> {
        let index = self.pieces.partition_point(|piece| piece.end <= at);
        self.pieces.range(index..).find(|piece| piece.count > 0)
    }

    /// The piece that holds `at`, acknowledged or not, if it is remembered.
    pub(super) fn recall(&self, at: i64) -> Option<&Piece> {
        let holds = |piece: &&Piece| piece.start <= at && at < piece.end;
        self.piece_at(at).or_else(|| self.done.iter().rev().find(holds))
    }

    /// Forgets the oldest pieces until there is room for this many more.
    fn make_room(&mut self, room: usize) {
        let most = if self.answered { BOARD_SEGMENTS } else { BOARD_UNANSWERED };
        self.leave(most - room);
    }

    /// Forgets all but this many of the newest pieces.
    fn leave(&mut self, most: usize) {
        let many = self.pieces.len().saturating_sub(most);
        if many > 0 {
            self.holes -= self.pieces.drain(..many).filter(|piece| piece.count == 0).count();
            self.forgotten += many as u64;
        }
    }

    /// Forgets most pieces, since all of them take too many steps.
    pub(super) fn give_up(&mut self) {
        self.leave(LEFT);
    }

    /// Steps that [`Self::again`] takes for `range`.
    pub(super) fn steps(&self, range: &Range<i64>) -> u64 {
        let from = self.pieces.partition_point(|piece| piece.end <= range.start);
        let to = self.pieces.partition_point(|piece| piece.end <= range.end);
        // A piece that is cut moves those before it, or those behind it.
        let moved = from.min(self.pieces.len() - from) + to.min(self.pieces.len() - to);
        (to - from + moved / MOVED) as u64
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        (self.pieces.capacity() + self.done.capacity()) * size_of::<Piece>()
    }

    /// Index of the first piece that starts at or above `at`, where a piece that lies across is cut.
    fn border(&mut self, at: i64) -> usize {
        let index = self.pieces.partition_point(|piece| piece.end <= at);
        let Some(piece) = self.pieces.get_mut(index).filter(|piece| piece.start < at) else { return index };
        let mut upper = *piece;
        upper.start = at;
        piece.end = at;
        self.holes += usize::from(upper.count == 0);
        self.pieces.insert(index + 1, upper);
        index + 1
    }

    /// What is known of the part of `range` that is acknowledged already.
    fn remembered(&self, range: &Range<i64>) -> Before {
        let mut before = Before { count: 0, unseen: 0, first: None, last: None };
        let outstanding = self.pieces.front().map_or(i64::MAX, |piece| piece.start);
        if range.start >= outstanding {
            return before;
        }
        for piece in self.done.iter().rev().filter(|piece| piece.count > 0) {
            if piece.start < range.end && range.start < piece.end {
                before.count = before.count.max(piece.count);
                before.last = before.last.max_by_time(piece.stamp());
                if piece.start <= range.start {
                    before.first = Some(*piece);
                }
            }
        }
        // Forgotten, but seen: acknowledged data were sent.
        before.count = before.count.max(1);
        before
    }
}

impl Piece {
    fn new(range: Range<i64>, stamp: &Stamp) -> Self {
        let &Stamp { time, number, tsval, ident, order } = stamp;
        Self {
            start: range.start,
            end: range.end,
            first: time,
            last: time,
            number,
            tsval,
            ident,
            order,
            flight: 0,
            count: 1,
        }
    }

    fn stamp(&self) -> Stamp {
        let &Self { last: time, number, tsval, ident, order, .. } = self;
        Stamp { time, number, tsval, ident, order }
    }
}

trait Latest {
    fn max_by_time(self, other: Stamp) -> Self;
}

impl Latest for Option<Stamp> {
    fn max_by_time(self, other: Stamp) -> Self {
        match self {
            Some(own) if own.time >= other.time => Some(own),
            _ => Some(other),
        }
    }
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.number) == (other.time, other.number)
    }
}

impl Eq for Stamp {}

#[cfg(test)]
mod tests;
