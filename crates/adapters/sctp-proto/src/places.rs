//! Where messages belong in what the application has written: the payload protocol identifier of each says it, and the
//! library has six of those.

use std::collections::VecDeque;

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

/// The messages that have been written and not acknowledged, by which chunks that leave are marked.
///
/// The library sends ordered messages in the order of their writing, and unordered ones likewise before those; it gives
/// numbers to no other in between. It passes over those whose lifetime is over before they have begun to leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    ordered: VecDeque<Written>,
    unordered: VecDeque<Written>,
    /// The marks of chunks that have left.
    sent: VecDeque<(SeqNumber, u32)>,
}

/// A message that has not begun to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub place: u32,
    /// When it is given up.
    pub until: Option<Instant>,
}

/// A DATA chunk that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub tsn: SeqNumber,
    /// It begins its message.
    pub begins: bool,
    pub unordered: bool,
}

impl Places {
    /// Takes note of a message.
    pub fn write(&mut self, message: Written, unordered: bool) {
        self.queue(unordered).push_back(message);
    }

    /// The mark of a chunk that leaves.
    pub fn of(&mut self, now: Instant, chunk: Leaving) -> u32 {
        if let Some(known) = self.known(chunk.tsn) {
            return known;
        }
        let last = self.sent.back().map_or(0, |(_, mark)| *mark);
        let mark = if chunk.begins { self.next(now, chunk.unordered).unwrap_or(last) } else { last };
        self.sent.push_back((chunk.tsn, mark));
        mark
    }

    /// Forgets chunks up to this one, but for the last that has left.
    pub fn acknowledge(&mut self, cumulative: SeqNumber) {
        while self.sent.len() > 1 && self.sent.front().is_some_and(|(tsn, _)| tsn.diff(cumulative) <= 0) {
            self.sent.pop_front();
        }
    }

    fn known(&self, tsn: SeqNumber) -> Option<u32> {
        let at = self.sent.binary_search_by(|(other, _)| other.diff(tsn).cmp(&0)).ok()?;
        Some(self.sent[at].1)
    }

    fn next(&mut self, now: Instant, unordered: bool) -> Option<u32> {
        let queue = self.queue(unordered);
        while queue.front()?.until.is_some_and(|until| until <= now) {
            queue.pop_front();
        }
        queue.pop_front().map(|message| message.place)
    }

    fn queue(&mut self, unordered: bool) -> &mut VecDeque<Written> {
        if unordered { &mut self.unordered } else { &mut self.ordered }
    }
}
