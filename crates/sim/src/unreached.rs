//! What patterns named and no packet matched, over many runs.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use rexmit_path::{Missed, Positions, Unreached};
use rexmit_units::Instant;

/// Ranges or times that are kept of a pattern: the first ones.
const KEPT: usize = 64;

/// Ranges or times that a text names.
const SHOWN: usize = 5;

/// How often patterns were not reached, by pattern and by what it counts.
///
/// The same for the same runs, in whatever order and parts they were run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreachedRuns(BTreeMap<(String, String), Tally>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    runs: u64,
    /// Both ends included.
    numbers: BTreeSet<(u64, u64)>,
    times: BTreeSet<Instant>,
    /// There were more numbers or times than are kept.
    more: bool,
}

impl UnreachedRuns {
    /// Adds what one run did not reach.
    pub fn add(&mut self, run: &[Unreached]) {
        if run.is_empty() {
            return;
        }
        // Two rules of one pattern are one run all the same.
        let mut own: BTreeMap<(String, String), Tally> = BTreeMap::new();
        for one in run {
            let tally = own.entry((one.pattern.clone(), one.subject.clone())).or_default();
            tally.runs = 1;
            match &one.missed {
                Missed::Numbers(numbers) => tally.numbers.extend(numbers.ranges()),
                Missed::Time(time) => {
                    tally.times.insert(*time);
                }
                Missed::All => {}
            }
            tally.cut();
        }
        self.merge(Self(own));
    }

    /// Adds what other runs did not reach.
    pub fn merge(&mut self, other: Self) {
        for (key, tally) in other.0 {
            match self.0.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(tally);
                }
                Entry::Occupied(mut entry) => entry.get_mut().merge(tally),
            }
        }
    }

    /// A line for each pattern and what it counts, in order of their names, and the number of runs.
    pub fn texts(&self) -> Vec<(String, u64)> {
        self.0.iter().map(|((pattern, subject), tally)| (tally.text(pattern, subject), tally.runs)).collect()
    }
}

impl Tally {
    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.more |= other.more;
        self.numbers.extend(other.numbers);
        self.times.extend(other.times);
        self.cut();
    }

    /// Keeps the first ones only: a design of a million positions is no reason to hold a million.
    fn cut(&mut self) {
        while self.numbers.len() > KEPT {
            self.numbers.pop_last();
            self.more = true;
        }
        while self.times.len() > KEPT {
            self.times.pop_last();
            self.more = true;
        }
    }

    fn text(&self, pattern: &str, subject: &str) -> String {
        let numbers = Positions::from_ranges(self.numbers.iter().copied());
        let mut names: Vec<String> =
            numbers.ranges().iter().map(|&range| Positions::from_ranges([range]).to_string()).collect();
        names.extend(self.times.iter().map(ToString::to_string));
        if names.is_empty() {
            return format!("{pattern}: {subject}");
        }
        if self.more || names.len() > SHOWN {
            names.truncate(SHOWN);
            names.push("...".into());
        }
        format!("{pattern}: {subject} {} was never reached", names.join(", "))
    }
}
