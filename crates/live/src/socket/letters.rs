//! Which message is which: what an end wrote, kept until the other has read it.

use std::collections::VecDeque;

/// Messages under way in one direction of an association.
///
/// A message is known by its payload protocol identifier, which stacks pass on untouched (RFC 9260 section 3.3.1), as
/// neither order nor numbers of a stream tell it where messages may overtake each other or be given up.
#[derive(Debug, Default)]
pub struct Letters {
    /// Number of the first that is kept.
    base: u64,
    /// Each with its place in all that was written and its length; `None` once it has been read.
    kept: VecDeque<Option<Place>>,
}

/// Where a message stands in all that its application wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes written before it.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

/// The first identifier: those below 2^31 stand for registered protocols, as which other programs would read them.
const FIRST: u32 = 1 << 31;

impl Letters {
    /// The identifier of the next message.
    pub fn next(&self) -> u32 {
        FIRST | (self.base + self.kept.len() as u64) as u32
    }

    /// That message has been sent.
    pub fn sent(&mut self, place: Place) {
        self.kept.push_back(Some(place));
    }

    /// The message with this identifier has come: its place, if it was sent and has not come before.
    pub fn come(&mut self, ppid: u32) -> Option<Place> {
        let ahead = (ppid & !FIRST).wrapping_sub(self.base as u32) & !FIRST;
        let place = self.kept.get_mut(ahead as usize).filter(|_| ppid & FIRST != 0)?.take();
        while self.kept.front().is_some_and(Option::is_none) {
            self.kept.pop_front();
            self.base += 1;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(n: u64) -> Place {
        Place { offset: 100 * n, len: 100 }
    }

    #[test]
    fn messages_are_known_in_whatever_order_they_come_and_once() {
        let mut letters = Letters::default();
        let ppids: Vec<u32> = (0..4)
            .map(|n| {
                let ppid = letters.next();
                letters.sent(place(n));
                ppid
            })
            .collect();
        assert_eq!(letters.come(ppids[2]), Some(place(2)));
        assert_eq!(letters.come(ppids[2]), None);
        assert_eq!(letters.come(ppids[0]), Some(place(0)));
        assert_eq!(letters.come(ppids[1]), Some(place(1)));
        assert_eq!(letters.come(ppids[0]), None, "forgotten");
        assert_eq!((letters.base, letters.kept.len()), (3, 1));
        assert_eq!(letters.come(ppids[3] + 1), None, "never sent");
        assert_eq!(letters.come(0), None, "not ours");
    }

    #[test]
    fn identifiers_begin_again_after_two_to_the_31() {
        let mut letters = Letters { base: (1 << 31) - 1, kept: VecDeque::new() };
        let last = letters.next();
        letters.sent(place(0));
        let first = letters.next();
        letters.sent(place(1));
        assert_eq!((last, first), (u32::MAX, FIRST));
        assert_eq!(letters.come(first), Some(place(1)));
        assert_eq!(letters.come(last), Some(place(0)));
    }
}
