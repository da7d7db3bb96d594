//! The chunks of one side by their TSN: those outstanding, and the last ones before.

use std::collections::VecDeque;

use rexmit_units::Instant;

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
    /// T3 expired while it was outstanding, and it was not sent again since.
    pub(super) marked: bool,
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
    }

    /// The entry of `tsn`, if it is kept.
    pub(super) fn get(&mut self, tsn: i64) -> Option<&mut Entry> {
        usize::try_from(tsn - self.base).ok().and_then(|at| self.entries.get_mut(at))
    }

    /// True if the sender knows that `tsn` was acknowledged.
    pub(super) fn is_known(&mut self, tsn: i64) -> bool {
        tsn < self.base || self.get(tsn).is_some_and(|entry| entry.known)
    }

    /// Adds the TSNs up to `end` as ones not seen, missing since `now`.
    pub(super) fn extend(&mut self, end: i64, now: Instant) {
        while self.end() < end {
            self.entries.push_back(Entry { last: now, ..Entry::default() });
        }
    }

    /// Adds the TSNs from `tsn` on below the others as ones not seen.
    pub(super) fn extend_down(&mut self, tsn: i64, now: Instant) {
        while self.base > tsn {
            self.entries.push_front(Entry { last: now, ..Entry::default() });
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
            self.entries.pop_front();
            self.base += 1;
        }
    }
}
