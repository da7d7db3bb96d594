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
            let near = self.sent_time(pair[1]).saturating_sub(self.sent_time(pair[0])) <= self.again();
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
        let mut grid = Grid::new(sent, got);
        for i in (0..sent.len()).rev() {
            for j in (0..got.len()).rev() {
                *grid.at_mut(i, j) = self.choose(&grid, i, j).worth;
            }
        }
        let (mut i, mut j) = (0, 0);
        let mut pairs = Vec::new();
        while i < sent.len() && j < got.len() {
            match self.choose(&grid, i, j).step {
                Step::Pair => {
                    pairs.push((i, j));
                    (i, j) = (i + 1, j + 1);
                }
                Step::SkipSent => i += 1,
                Step::SkipGot => j += 1,
            }
        }
        pairs
    }

    /// The best step from a place, and what it leads to.
    fn choose(&self, grid: &Grid<'_>, i: usize, j: usize) -> Choice {
        let mut choice = Choice { step: Step::SkipSent, worth: grid.at(i + 1, j) };
        let other = grid.at(i, j + 1);
        if other.is_better_than(choice.worth) {
            choice = Choice { step: Step::SkipGot, worth: other };
        }
        if let Some(cost) = self.cost(grid.sent[i].1, grid.got[j].1) {
            let rest = grid.at(i + 1, j + 1);
            let pair = Worth { pairs: rest.pairs + 1, difference: rest.difference + cost };
            if pair.is_better_than(choice.worth) {
                choice = Choice { step: Step::Pair, worth: pair };
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

/// What the best matching of all that is left is worth, from each place in two groups on.
struct Grid<'a> {
    sent: &'a [Entry],
    got: &'a [Entry],
    worths: Vec<Worth>,
}

impl<'a> Grid<'a> {
    fn new(sent: &'a [Entry], got: &'a [Entry]) -> Self {
        Self { sent, got, worths: vec![Worth::default(); (sent.len() + 1) * (got.len() + 1)] }
    }

    fn at(&self, i: usize, j: usize) -> Worth {
        self.worths[i * (self.got.len() + 1) + j]
    }

    fn at_mut(&mut self, i: usize, j: usize) -> &mut Worth {
        &mut self.worths[i * (self.got.len() + 1) + j]
    }
}

/// Of a matching: its pairs, and the sum of the differences of their delays.
#[derive(Clone, Copy, Debug, Default)]
struct Worth {
    pairs: u32,
    difference: i64,
}

impl Worth {
    /// More pairs, or as many and less difference.
    fn is_better_than(self, other: Self) -> bool {
        self.pairs > other.pairs || (self.pairs == other.pairs && self.difference < other.difference)
    }
}

/// What an alignment does next, and what that leads to.
struct Choice {
    step: Step,
    worth: Worth,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Pair,
    SkipSent,
    SkipGot,
}

/// Products of group sizes up to this are matched exactly.
const LARGE: usize = 1 << 20;
/// Equal packets that a copy is compared with.
const FEW: usize = 1 << 12;
/// How many packets [`Lane::follow`] looks at.
const AHEAD: usize = 64;
