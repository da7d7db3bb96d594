//! The chunks of one side by their TSN: those outstanding, and the last ones before.

use std::collections::VecDeque;

use rexmit_units::Instant;

use crate::limits::BOARD_CHUNKS;

/// What is known of a TSN.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    /// Transmissions, those included that a hole at the place of the capture makes one infer: 0 if none was seen.
    pub(super) transmissions: u32,
    /// Number and time of the packet that first carried it, if that was seen.
    pub(super) first: Option<(u64, Instant)>,
    /// When it was last sent, as seen here; for a TSN never seen, when a later one showed that it was missing.
    pub(super) last: Instant,
    /// Number of the packet that last carried it.
    pub(super) last_number: u64,
    /// IP identification of the transmission that was sent first of those seen.
    pub(super) ident: u16,
    /// Path that it last took.
    pub(super) path: u32,
    /// Bytes of user data.
    pub(super) len: u32,
    /// When it was first acknowledged, as seen here.
    pub(super) acked: Option<Instant>,
    /// A gap block held it in the last SACK that could.
    pub(super) in_gap: bool,
    /// The sender knows that it was acknowledged.
    pub(super) known: bool,
    /// SACKs seen here that report it missing.
    pub(super) told: u32,
    /// SACKs that reported it missing to the sender since it was last sent.
    pub(super) reports: u32,
    /// When the sender saw the last of these.
    pub(super) reported: Instant,
    /// Of these, those that acknowledged something above it for the first time.
    pub(super) strikes: u32,
    /// When the sender saw the last of these.
    pub(super) struck: Instant,
    /// What sctp_trace has counted since it was last sent.
    pub(super) trace: u32,
    /// Times that missing reports had it sent again.
    pub(super) fast: u32,
    /// Why it was sent again before is not certain.
    pub(super) unclear: bool,
    /// T3 expired while it was outstanding, and it was not sent again since: as [`super::view::View::is_marked`] said
    /// when it was last looked at.
    pub(super) marked: bool,
    /// The expiry of T3, by its number, from which on it has not been marked.
    pub(super) cleared: u32,
    /// It was given up by FORWARD-TSN.
    pub(super) abandoned: bool,
    /// Its last row among those that wait for an answer.
    pub(super) row: Option<u64>,
}

/// Entries of consecutive TSNs. TSNs are unwrapped: 0 is the initial one.
#[derive(Debug, Default)]
pub(super) struct Board {
    entries: VecDeque<Entry>,
    /// TSN of the first entry.
    base: i64,
    /// How many entries the sender knows to be acknowledged.
    known: u64,
}

impl Board {
    /// One past the highest TSN.
    pub(super) fn end(&self) -> i64 {
        self.base + self.entries.len() as i64
    }

    /// The lowest TSN that is kept.
    pub(super) fn base(&self) -> i64 {
        self.base
    }

    /// Forgets all and begins at `tsn`.
    pub(super) fn restart(&mut self, tsn: i64) {
        self.entries.clear();
        self.base = tsn;
        self.known = 0;
    }

    /// The entry of `tsn`, if it is kept.
    pub(super) fn get(&mut self, tsn: i64) -> Option<&mut Entry> {
        usize::try_from(tsn - self.base).ok().and_then(|at| self.entries.get_mut(at))
    }

    /// The sender knows this many more entries to be acknowledged, and this many no longer.
    pub(super) fn known_changed(&mut self, more: u64, fewer: u64) {
        self.known = self.known + more - fewer;
    }

    /// True if the sender knows of any entry that it was acknowledged.
    pub(super) fn any_known(&self) -> bool {
        self.known > 0
    }

    fn pop(&mut self) -> Option<Entry> {
        let gone = self.entries.pop_front()?;
        self.known -= u64::from(gone.known);
        self.base += 1;
        Some(gone)
    }

    /// True if the sender knows that `tsn` was acknowledged.
    pub(super) fn is_known(&mut self, tsn: i64) -> bool {
        tsn < self.base || self.get(tsn).is_some_and(|entry| entry.known)
    }

    /// How many TSNs are kept from `from` to before `to`.
    pub(super) fn count(&self, from: i64, to: i64) -> u64 {
        (to.min(self.end()) - from.max(self.base)).max(0) as u64
    }

    /// Adds the TSNs up to `end` as ones not seen, missing since `now`. Where there are too many, the lowest are
    /// forgotten; returns how many of these were sent and not acknowledged.
    pub(super) fn extend(&mut self, end: i64, now: Instant) -> u64 {
        let mut forgotten = 0;
        let least = end - BOARD_CHUNKS as i64;
        while self.base < least && !self.entries.is_empty() {
            let gone = self.pop();
            forgotten += u64::from(gone.is_some_and(|gone| gone.acked.is_none() && gone.transmissions > 0));
        }
        self.base = self.base.max(least.min(end));
        while self.end() < end {
            self.entries.push_back(Entry { last: now, ..Entry::default() });
        }
        forgotten
    }

    /// True if there is room for the TSNs from `tsn` on below the others.
    pub(super) fn has_room_down_to(&self, tsn: i64) -> bool {
        self.end() - tsn <= BOARD_CHUNKS as i64
    }

    /// Adds the TSNs from `tsn` on below the others as ones not seen; `expiry` is the number of the last one of T3.
    pub(super) fn extend_down(&mut self, tsn: i64, now: Instant, expiry: u32) {
        while self.base > tsn {
            self.entries.push_front(Entry { last: now, cleared: expiry, ..Entry::default() });
            self.base -= 1;
        }
    }

    /// The entries of TSNs from `from` to before `to`, as far as they are kept, each with its TSN.
    pub(super) fn range(&mut self, from: i64, to: i64) -> impl Iterator<Item = (i64, &mut Entry)> {
        let base = self.base;
        let clamp = |tsn: i64| (tsn - base).clamp(0, self.entries.len() as i64) as usize;
        let (from, to) = (clamp(from), clamp(to));
        self.entries
            .range_mut(from..to.max(from))
            .enumerate()
            .map(move |(at, entry)| (base + (from + at) as i64, entry))
    }

    /// Forgets what lies before `tsn`.
    pub(super) fn forget(&mut self, tsn: i64) {
        while self.base < tsn && !self.entries.is_empty() {
            self.pop();
        }
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}
