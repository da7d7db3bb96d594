//! Runs one after the other at the same hosts: each begins with what the hosts kept of those before it.
//!
//! Which runs form a sequence, and in which order, follows from the design alone. So a run's row is the same whoever runs
//! it, in whatever order and on however many threads: what it begins with comes from the runs before it in its sequence,
//! which are run again where they are not at hand.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use rexmit_path::Unreached;
use rexmit_scenario::{Row, SpecError};
use rexmit_units::Duration;

use crate::batch::{BatchOptions, Plan};
use crate::caches::Caches;
use crate::observer::{Unwatched, Watch};
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::stop::Stop;

/// The name of the replication among the factors.
const REPLICATION: &str = "replication";

/// Caches that a plan remembers at most; those of others come from runs that are run again.
const REMEMBERED: usize = 200_000;

/// Which runs follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Factors, or `replication`: runs that differ in these alone are a sequence, in the order of their levels. The last one
    /// named varies fastest.
    pub along: Vec<String>,
    /// From the end of a run, that of its closing included, to the start of the next.
    pub gap: Duration,
}

/// A sequence within a plan: which digits of a run's number vary along it.
#[derive(Debug)]
pub(crate) struct Order {
    /// Levels of each factor, and the replications.
    sizes: Vec<u64>,
    /// Places among these of what varies along the sequence, the slowest first.
    along: Vec<usize>,
    gap: Duration,
}

/// What the hosts keep before each run of a sequence but the first, as far as it has been run.
type History = Vec<Caches>;

/// What a plan remembers of sequences, by seed, replications and the number of the sequence.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    histories: Mutex<HashMap<(u64, u64, u64), History>>,
    /// Caches in all of them.
    held: AtomicUsize,
}

impl Order {
    /// # Errors
    /// What is named and no factor, or named twice.
    pub fn new(
        sequence: &Sequence,
        factors: &[String],
        levels: &[usize],
        replications: u64,
    ) -> Result<Self, SpecError> {
        let wrong = |text: String| SpecError::new("design.sequence.along", text);
        let mut along = Vec::with_capacity(sequence.along.len());
        for name in &sequence.along {
            let of_factor = factors.iter().position(|factor| factor == name);
            let place = of_factor.or((name == REPLICATION).then_some(factors.len()));
            let place = place.ok_or_else(|| {
                let known: Vec<_> =
                    factors.iter().map(String::as_str).chain(std::iter::once(REPLICATION)).collect();
                wrong(format!("{name:?} is not a factor; allowed: {}", known.join(", ")))
            })?;
            if along.contains(&place) {
                return Err(wrong(format!("{name:?} appears twice")));
            }
            along.push(place);
        }
        if along.is_empty() {
            return Err(wrong(
                "is empty: name the factors, or replication, in whose order runs follow".into(),
            ));
        }
        let sizes = levels.iter().map(|n| *n as u64).chain(std::iter::once(replications)).collect();
        Ok(Self { sizes, along, gap: sequence.gap })
    }

    /// The digits of a run's number: the level of each factor, and the replication.
    fn digits(&self, mut run: u64) -> Vec<u64> {
        let mut digits = vec![0; self.sizes.len()];
        for (digit, size) in digits.iter_mut().zip(&self.sizes).rev() {
            (*digit, run) = (run % size, run / size);
        }
        digits
    }

    fn number(&self, digits: impl Iterator<Item = (u64, u64)>) -> u64 {
        digits.fold(0, |number, (digit, size)| number * size + digit)
    }

    /// The number of a run's sequence, which is that of its first run, and the run's place in it.
    fn place(&self, run: u64) -> (u64, u64) {
        let mut digits = self.digits(run);
        let place = self.number(self.along.iter().map(|&at| (digits[at], self.sizes[at])));
        self.along.iter().for_each(|&at| digits[at] = 0);
        (self.number(digits.iter().copied().zip(self.sizes.iter().copied())), place)
    }

    /// Runs of a sequence.
    fn len(&self) -> u64 {
        self.along.iter().map(|&at| self.sizes[at]).product()
    }

    /// The run at a place of a sequence.
    fn run(&self, sequence: u64, mut place: u64) -> u64 {
        let mut digits = self.digits(sequence);
        for &at in self.along.iter().rev() {
            (digits[at], place) = (place % self.sizes[at], place / self.sizes[at]);
        }
        self.number(digits.iter().copied().zip(self.sizes.iter().copied()))
    }
}

/// What a run of a sequence gave.
pub(crate) struct Step {
    pub row: Row,
    pub unreached: Vec<Unreached>,
}

/// Which runs of a range may be run now: each sequence's first, and those whose predecessor has ended.
///
/// They are handed out by their numbers, the lowest first, so that what has ended is soon without gaps.
#[derive(Debug)]
pub(crate) struct Turns {
    order: Order,
    range: Range<u64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// All first runs of sequences below it have been handed out.
    next: u64,
    /// Runs whose predecessor has ended, and what the hosts keep since.
    ready: BTreeMap<u64, Caches>,
    at_work: usize,
}

/// A run that is to be run now. What follows it waits until this is dropped, also by a panic.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    pub number: u64,
    sequence: u64,
    place: u64,
    /// What its hosts keep as it begins, if that is known.
    before: Option<Caches>,
    /// What they keep after it, once it has ended well.
    after: Option<Caches>,
}

impl Turns {
    pub fn new(order: Order, range: Range<u64>) -> Self {
        let state = State { next: range.start, ready: BTreeMap::new(), at_work: 0 };
        Self { order, range, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next run; waits where none may be run before one that is under way has ended. `None` after the last one, and
    /// once it is asked to stop.
    pub fn take(&self, stop: &Stop) -> Option<Turn<'_>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if stop.is_asked() {
                return None;
            }
            while state.next < self.range.end && !self.is_first(state.next) {
                state.next += 1;
            }
            let ready = state.ready.first_key_value().map(|(number, _)| *number);
            let first = Some(state.next).filter(|next| *next < self.range.end);
            if let Some(number) = ready.into_iter().chain(first).min() {
                let caches = state.ready.remove(&number);
                if caches.is_none() {
                    state.next += 1;
                }
                state.at_work += 1;
                let (sequence, place) = self.order.place(number);
                return Some(Turn { turns: self, number, sequence, place, before: caches, after: None });
            }
            if state.at_work == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether no run of the range comes before it in its sequence.
    fn is_first(&self, number: u64) -> bool {
        let (sequence, place) = self.order.place(number);
        place == 0 || !self.range.contains(&self.order.run(sequence, place - 1))
    }
}

impl Turn<'_> {
    /// Runs it; `None` once it is asked to stop.
    pub fn run(
        &mut self,
        plan: &Plan,
        options: BatchOptions,
        (watch, stop): (&dyn Watch, &Stop),
    ) -> Result<Option<Step>, SpecError> {
        let mut follower = Follower::new(plan, &self.turns.order, options, self.sequence, stop);
        if let Some(caches) = self.before.take() {
            follower.reached = (self.place, caches);
        }
        let step = follower.run(self.place, watch)?;
        self.after = step.as_ref().map(|_| follower.reached.1);
        Ok(step)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let turns = self.turns;
        let mut state = turns.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.at_work -= 1;
        if let Some(caches) = self.after.take()
            && self.place + 1 < turns.order.len()
        {
            let follows = turns.order.run(self.sequence, self.place + 1);
            if turns.range.contains(&follows) {
                state.ready.insert(follows, caches);
            }
        }
        drop(state);
        turns.changed.notify_all();
    }
}

/// What the hosts keep as run `number` begins; see [`Plan::caches_before`].
pub(crate) fn before(
    plan: &Plan,
    order: &Order,
    number: u64,
    options: BatchOptions,
    stop: &Stop,
) -> Result<Option<Caches>, SpecError> {
    let (sequence, place) = order.place(number);
    Follower::new(plan, order, options, sequence, stop).caches(place)
}

/// Goes along a sequence.
struct Follower<'a> {
    plan: &'a Plan,
    order: &'a Order,
    options: BatchOptions,
    sequence: u64,
    stop: &'a Stop,
    /// A place that it has reached, and what the hosts keep there.
    reached: (u64, Caches),
}

impl<'a> Follower<'a> {
    fn new(plan: &'a Plan, order: &'a Order, options: BatchOptions, sequence: u64, stop: &'a Stop) -> Self {
        Self { plan, order, options, sequence, stop, reached: (0, Caches::default()) }
    }

    /// What the run at `place` gives; `None` once it is asked to stop.
    fn run(&mut self, place: u64, watch: &dyn Watch) -> Result<Option<Step>, SpecError> {
        match self.caches(place)? {
            Some(caches) => self.step(place, caches, watch),
            None => Ok(None),
        }
    }

    /// What the hosts keep before the run at `place`: what is known, or what the runs before it give.
    fn caches(&mut self, place: u64) -> Result<Option<Caches>, SpecError> {
        if self.reached.0 != place {
            self.reached = self.remembered(place);
        }
        while self.reached.0 < place {
            let (at, caches) = self.reached.clone();
            if self.step(at, caches, &Unwatched)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(self.reached.1.clone()))
    }

    fn key(&self) -> (u64, u64, u64) {
        (self.options.seed, self.options.replications, self.sequence)
    }

    /// The last place up to `place` for which the plan remembers what the hosts keep, and that.
    fn remembered(&self, place: u64) -> (u64, Caches) {
        let memory = self.plan.memory.histories.lock().unwrap_or_else(PoisonError::into_inner);
        let history = memory.get(&self.key()).map_or(&[][..], Vec::as_slice);
        let known = &history[..history.len().min(place as usize)];
        known.last().map_or_else(Default::default, |caches| (known.len() as u64, caches.clone()))
    }

    /// Runs what stands at `place`, and remembers what the hosts keep after it; `None` once it is asked to stop.
    fn step(&mut self, place: u64, caches: Caches, watch: &dyn Watch) -> Result<Option<Step>, SpecError> {
        let number = self.order.run(self.sequence, place);
        let options = RunOptions { stop: self.stop.clone(), caches, ..RunOptions::default() };
        let outcome = match self.plan.run_one(number, self.options, &options, watch) {
            Err(_) if self.stop.is_asked() => return Ok(None),
            outcome => outcome?,
        };
        let Outcome { row, unreached, mut caches, .. } = outcome;
        caches.pass(self.order.gap);
        self.reached = (place + 1, caches.clone());
        let mut memory = self.plan.memory.histories.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.plan.memory.held.load(Ordering::Relaxed) < REMEMBERED;
        let history = memory.entry(self.key()).or_default();
        if history.len() as u64 == place && room {
            history.push(caches);
            self.plan.memory.held.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Some(Step { row, unreached }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(along: &[&str]) -> Order {
        let along = along.iter().map(ToString::to_string).collect();
        let factors = ["a".to_string(), "b".to_string()];
        Order::new(&Sequence { along, gap: Duration::ZERO }, &factors, &[2, 3], 4).unwrap()
    }

    #[test]
    fn a_sequence_is_the_runs_that_differ_in_nothing_else() {
        // Runs are numbered a * 12 + b * 4 + replication.
        let order = order(&["b"]);
        assert_eq!(order.place(0), (0, 0));
        assert_eq!(order.place(4), (0, 1));
        assert_eq!(order.place(12 + 8 + 3), (12 + 3, 2));
        assert_eq!((0..3).map(|place| order.run(15, place)).collect::<Vec<_>>(), [15, 19, 23]);
    }

    #[test]
    fn what_is_named_last_varies_fastest() {
        let order = order(&["replication", "a"]);
        let runs: Vec<_> = (0..8).map(|place| order.run(4, place)).collect();
        assert_eq!(runs, [4, 16, 5, 17, 6, 18, 7, 19]);
        for (place, run) in runs.into_iter().enumerate() {
            assert_eq!(order.place(run), (4, place as u64));
        }
    }

    #[test]
    fn names_that_are_no_factors_are_refused() {
        for (along, text) in [(vec!["c"], "not a factor"), (vec!["a", "a"], "twice"), (vec![], "empty")] {
            let along = along.into_iter().map(String::from).collect();
            let sequence = Sequence { along, gap: Duration::ZERO };
            let error = Order::new(&sequence, &["a".to_string()], &[2], 1).unwrap_err().to_string();
            assert!(error.starts_with("design.sequence.along") && error.contains(text), "{error}");
        }
    }
}
