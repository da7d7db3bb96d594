//! Which message is which: what an end wrote, kept until the other has read it, or what messages say themselves.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How an end names its messages, and knows those of the other.
#[derive(Debug)]
pub enum Names {
    /// Both ends are here: what this one writes, and what the other does.
    Kept([Rc<RefCell<Letters>>; 2]),
    /// The other is elsewhere: a message says its place.
    Marks(Marks),
}

impl Names {
    /// Those of two ends that are both here.
    pub fn pair() -> [Self; 2] {
        let (one, other) = (Rc::<RefCell<Letters>>::default(), Rc::<RefCell<Letters>>::default());
        [Self::Kept([one.clone(), other.clone()]), Self::Kept([other, one])]
    }

    /// The identifier of the next message, which is to stand after this many bytes.
    pub fn next(&self, offset: u64) -> u32 {
        match self {
            Self::Kept([own, _]) => own.borrow().next(),
            Self::Marks(_) => offset as u32,
        }
    }

    /// That message has been sent.
    pub fn sent(&mut self, place: Place) {
        if let Self::Kept([own, _]) = self {
            own.borrow_mut().sent(place);
        }
    }

    /// A message of the other end comes, of which this many bytes are there: its place, if that is possible.
    pub fn come(&mut self, ppid: u32, len: u64) -> Option<Place> {
        match self {
            Self::Kept([_, others]) => others.borrow_mut().come(ppid),
            Self::Marks(marks) => Some(Place { offset: marks.come(ppid, len), len: None }),
        }
    }
}

/// Messages whose payload protocol identifier is the lowest 32 bits of their place in what their application wrote.
#[derive(Debug, Default)]
pub struct Marks {
    /// The end of the furthest beginning of a message.
    furthest: u64,
}

impl Marks {
    /// A message comes, of which this many bytes are there: its place is the one nearest to the furthest so far.
    fn come(&mut self, mark: u32, len: u64) -> u64 {
        let away = i64::from(mark.wrapping_sub(self.furthest as u32) as i32);
        let place = self.furthest.saturating_add_signed(away);
        self.furthest = self.furthest.max(place + len);
        place
    }
}

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
    /// Its bytes, where they are known.
    pub len: Option<u64>,
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
        Place { offset: 100 * n, len: Some(100) }
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

    #[test]
    fn marked_messages_are_known_across_two_to_the_32() {
        let mut names = Names::Marks(Marks { furthest: (1 << 32) - 150 });
        let come = |names: &mut Names, place: u64| {
            let ppid = names.next(place);
            names.sent(Place { offset: place, len: Some(100) });
            names.come(ppid, 100)
        };
        for place in [(1 << 32) - 150, (1 << 32) + 50, (1 << 32) - 50, (1 << 32) - 250, 1 << 32] {
            assert_eq!(come(&mut names, place), Some(Place { offset: place, len: None }), "{place}");
        }
    }
}
