//! Packets that are equal in all that is compared: which went where.
//!
//! Where hosts number their packets, equal ones are copies of one packet. Where they do not, equal ones (duplicate
//! acknowledgments, above all) are packets of their own; they are matched in their order, so that as few as possible
//! are left over and delays differ least from those of the packets around them.

use super::{Lane, State, Tie, each_group};

/// A key and an index.
type Entry = (u64, u32);

impl Lane<'_> {
    pub(super) fn match_alike(&self, state: &mut State) {
        each_group(self.sent, self.got, self.fields, |sent, got| {
            if let ([sent], [got]) = (sent, got) {
                self.join(sent.1, got.1, Tie::First, state);
                return;
            }
            let numbered = self.fields.ident && self.sent[sent[0].1 as usize].ident != 0;
            let apart = |pair: &[Entry]| self.sent_time(pair[1]) - self.sent_time(pair[0]) > self.again();
            if numbered && !sent.windows(2).any(apart) {
                self.match_copies(sent, got, state);
            } else {
                self.match_equals(sent, got, state);
            }
        });
        if self.fields.ident {
            self.mark_taps(state);
        }
    }

    fn sent_time(&self, entry: Entry) -> i64 {
        self.sent[entry.1 as usize].time
    }

    /// One packet, in as many copies as are seen.
    fn match_copies(&self, sent: &[Entry], got: &[Entry], state: &mut State) {
        for (i, &(_, got)) in got.iter().enumerate() {
            let from = sent[i.min(sent.len() - 1)].1;
            let tie = if i == 0 { Tie::First } else { Tie::Duplicate };
            self.join(from, got, tie, state);
        }
        for &(_, extra) in sent.iter().skip(got.len().max(1)) {
            self.leave_tap(extra, state);
        }
    }

    /// Copies of a packet that did not arrive at all: one was lost, the others are the tap's.
    fn mark_taps(&self, state: &mut State) {
        let lost = (0..self.sent.len() as u32).filter(|i| !state.sent_done[*i as usize]);
        let mut keys: Vec<Entry> = lost.map(|i| (self.sent[i as usize].key(self.fields), i)).collect();
        keys.sort_unstable();
        for pair in keys.windows(2) {
            let near = self.sent_time(pair[1]) - self.sent_time(pair[0]) <= self.again();
            if pair[0].0 == pair[1].0 && near && self.sent[pair[1].1 as usize].ident != 0 {
                self.leave_tap(pair[1].1, state);
            }
        }
    }

    fn leave_tap(&self, sent: u32, state: &mut State) {
        let packet = &self.sent[sent as usize];
        let (seq, end) = (packet.seq, packet.end());
        state.parts.push(super::Part { sent: Some(sent), got: None, seq, end, tie: Tie::Tap });
        state.sent_done[sent as usize] = true;
    }

    /// Packets of their own that look alike.
    fn match_equals(&self, sent: &[Entry], got: &[Entry], state: &mut State) {
        let pairs =
            if sent.len() * got.len() <= LARGE { self.align(sent, got) } else { self.follow(sent, got) };
        for (i, j) in pairs {
            self.join(sent[i].1, got[j].1, Tie::First, state);
        }
        for &(_, extra) in got.iter().filter(|(_, got)| !state.got_done[*got as usize]).collect::<Vec<_>>() {
            let possible =
                self.about(sent, extra).iter().filter_map(|&(_, from)| Some((self.cost(from, extra)?, from)));
            if let Some((_, from)) = possible.filter(|(_, from)| state.sent_done[*from as usize]).min() {
                self.join(from, extra, Tie::Duplicate, state);
            }
        }
    }

    /// Those of very many that were sent about when an arrival was; of few, all.
    fn about<'b>(&self, sent: &'b [Entry], got: u32) -> &'b [Entry] {
        if sent.len() <= FEW {
            return sent;
        }
        let time = self.got[got as usize].time - self.delays.any().unwrap_or(0);
        let at = sent.partition_point(|entry| self.sent_time(*entry) < time);
        &sent[at.saturating_sub(FEW / 2)..(at + FEW / 2).min(sent.len())]
    }

    /// The cheapest matching in order: as many pairs as can be, then the least difference of delays.
    fn align(&self, sent: &[Entry], got: &[Entry]) -> Vec<(usize, usize)> {
        let width = got.len() + 1;
        // Of what is left from (i, j) on: pairs, and differences of delays.
        let mut best = vec![(0_u32, 0_i64); (sent.len() + 1) * width];
        for i in (0..sent.len()).rev() {
            for j in (0..got.len()).rev() {
                best[i * width + j] = self.options(&best, (i, j), width, (sent, got)).1;
            }
        }
        let (mut i, mut j) = (0, 0);
        let mut pairs = Vec::new();
        while i < sent.len() && j < got.len() {
            match self.options(&best, (i, j), width, (sent, got)).0 {
                Move::Pair => {
                    pairs.push((i, j));
                    (i, j) = (i + 1, j + 1);
                }
                Move::SkipSent => i += 1,
                Move::SkipGot => j += 1,
            }
        }
        pairs
    }

    fn options(
        &self,
        best: &[(u32, i64)],
        (i, j): (usize, usize),
        width: usize,
        (sent, got): (&[Entry], &[Entry]),
    ) -> (Move, (u32, i64)) {
        let at = |i: usize, j: usize| best[i * width + j];
        let mut choice = (Move::SkipSent, at(i + 1, j));
        let other = at(i, j + 1);
        if better(other, choice.1) {
            choice = (Move::SkipGot, other);
        }
        if let Some(cost) = self.cost(sent[i].1, got[j].1) {
            let (pairs, costs) = at(i + 1, j + 1);
            let pair = (pairs + 1, costs + cost);
            if better(pair, choice.1) {
                choice = (Move::Pair, pair);
            }
        }
        choice
    }

    /// The same for very many: each arrival gets the best of the next few that were sent.
    fn follow(&self, sent: &[Entry], got: &[Entry]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let mut from = 0;
        for (j, &(_, arrived)) in got.iter().enumerate() {
            // Those that were sent too long ago cannot be meant by later arrivals either.
            let too_old = |i: usize| {
                let sent = &self.sent[sent[i].1 as usize];
                self.got[arrived as usize].time - sent.time > self.latest(sent.time)
            };
            while from < sent.len() && too_old(from) {
                from += 1;
            }
            let next = from..(from + AHEAD).min(sent.len());
            let costs = next.filter_map(|i| Some((self.cost(sent[i].1, arrived)?, i)));
            if let Some((_, i)) = costs.min() {
                pairs.push((i, j));
                from = i + 1;
            }
        }
        pairs
    }

    /// The longest that a packet sent at `time` may take.
    pub(super) fn latest(&self, time: i64) -> i64 {
        self.delays.around(time).map_or(i64::MAX, |usual| usual.high + self.patience())
    }
}

/// What an alignment does next.
#[derive(Clone, Copy, Debug)]
enum Move {
    Pair,
    SkipSent,
    SkipGot,
}

/// More pairs, or as many and less difference.
fn better(a: (u32, i64), b: (u32, i64)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 < b.1)
}

/// Products of group sizes up to this are matched exactly.
const LARGE: usize = 1 << 20;
/// Equal packets that a copy is compared with.
const FEW: usize = 1 << 12;
/// How many packets [`Lane::follow`] looks at.
const AHEAD: usize = 64;
