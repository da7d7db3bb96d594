//! Fragments put together (RFC 9260 section 6.9; RFC 8260 section 2.2.3).

use std::collections::BTreeMap;

/// A piece of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub offset: Option<u64>,
    pub len: u64,
    pub begin: bool,
    pub end: bool,
    pub stream: u16,
    pub number: u32,
    pub unordered: bool,
}

/// Fragments by an index that counts on within a message: the TSN, or the fragment sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    held: BTreeMap<u64, Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    fragment: Fragment,
    /// The index at which its message begins, once all between is there.
    from: Option<u64>,
}

/// A message that is whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub first: Fragment,
    pub len: u64,
    /// Bytes that do not follow those before, as far as they say where they belong.
    pub misplaced: u64,
}

impl Fragments {
    /// False if one is there already.
    pub fn insert(&mut self, index: u64, fragment: Fragment) -> bool {
        if self.held.contains_key(&index) {
            return false;
        }
        let before = index.checked_sub(1).and_then(|before| self.held.get(&before));
        let from = if fragment.begin {
            Some(index)
        } else {
            before.filter(|before| !before.fragment.end).and_then(|before| before.from)
        };
        self.held.insert(index, Held { fragment, from });
        if from.is_some() && !fragment.end {
            // What waited behind it learns where the message begins: each fragment once.
            for (expected, (next, held)) in (index + 1..).zip(self.held.range_mut(index + 1..)) {
                if *next != expected || held.fragment.begin {
                    break;
                }
                held.from = from;
                if held.fragment.end {
                    break;
                }
            }
        }
        true
    }

    /// Takes out the message that is whole with the fragment at `index`.
    pub fn complete(&mut self, index: u64) -> Option<Done> {
        let mut last = index;
        let from = self.held.get(&index)?.from?;
        for (next, held) in self.held.range(index..) {
            if *next > last + 1 || held.from != Some(from) {
                return None;
            }
            last = *next;
            if held.fragment.end {
                return Some(self.take(from, last));
            }
        }
        None
    }

    fn take(&mut self, from: u64, last: u64) -> Done {
        let mut fragments = (from..=last).filter_map(|index| self.remove(index));
        let first = fragments.next().expect("a message has a beginning");
        let mut done = Done { first, len: first.len, misplaced: 0 };
        for fragment in fragments {
            let expected = first.offset.map(|offset| offset + done.len);
            if fragment.offset.is_some() && fragment.offset != expected {
                done.misplaced += fragment.len;
            }
            done.len += fragment.len;
        }
        done
    }

    /// The first fragment and its index.
    pub fn first(&self) -> Option<(u64, &Fragment)> {
        self.held.first_key_value().map(|(index, held)| (*index, &held.fragment))
    }

    /// Takes out one fragment.
    pub fn remove(&mut self, index: u64) -> Option<Fragment> {
        self.held.remove(&index).map(|held| held.fragment)
    }

    /// Drops all up to `index`; returns their bytes.
    pub fn drop_to(&mut self, index: u64) -> u64 {
        let kept = index.checked_add(1).map(|from| self.held.split_off(&from)).unwrap_or_default();
        let gone = std::mem::replace(&mut self.held, kept);
        gone.values().map(|held| held.fragment.len).sum()
    }
}
