//! Many runs from one call: a full factorial of settings with replications, on all cores.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::caches::Caches;
use crate::observer::{Unwatched, Watch};
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::run::run_observed;
use crate::sequence::{self, Memory, Order, Sequence};
use crate::stop::Stop;
use crate::unreached::UnreachedRuns;
use crate::work::{Gathered, Work};
use rexmit_scenario::Design;
use rexmit_scenario::IdleSetting;
use rexmit_scenario::Resolved;
use rexmit_scenario::Row;
use rexmit_scenario::SpecError;
use rexmit_scenario::Streams;
use rexmit_scenario::together;
use rexmit_stack::{Registry, StackFactory};

/// A base scenario and what varies in it.
///
/// Runs are numbered from 0: the replication varies fastest, then the last factor, then the one before.
#[derive(Clone, Debug)]
pub struct Plan {
    design: Design,
    stacks: Registry,
    sequence: Option<Sequence>,
    pub(crate) memory: Arc<Memory>,
}

/// What is to run a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The hosts' code in virtual time.
    Virtual,
    /// A real kernel.
    Kernel,
}

/// How a range of runs is run.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Runs with the same levels, each with its own random streams; at least 1.
    pub replications: u64,
    /// Seed of the study.
    pub seed: u64,
    /// Threads; at least 1. The results are the same for any number.
    pub jobs: usize,
}

/// What a range of runs gave.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// A row for each run, in order.
    pub rows: Vec<Row>,
    /// What patterns named and no packet matched, over all of them.
    pub unreached: UnreachedRuns,
}

/// What a look at points found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is not wrong but probably not intended.
    pub warnings: Vec<String>,
    /// Keys of settings that the runner does not support.
    pub unsupported: Vec<String>,
    /// `tcp`, `sctp`: what the hosts speak.
    pub protocols: BTreeSet<&'static str>,
}

/// A combination of levels, ready for its replications.
pub(crate) struct Point {
    pub number: u64,
    pub resolved: Resolved,
    /// What names it for the random streams of its runs.
    pub key: String,
}

/// Levels of a factor that are tried before all others, so that a typing error in one is told at once.
const LEVELS_TRIED_FIRST: usize = 1000;

/// Whether a level of a factor may say whose code a host runs: by its name, by a stack that is a program, by a table around
/// them, or among several settings.
fn sets_a_code(factor: &str, level: &Value) -> bool {
    let may = |setting: &str| {
        let mut keys = setting.split('.');
        keys.next() == Some("hosts") && matches!(keys.nth(1), None | Some("code" | "stack"))
    };
    match together(level) {
        None => may(factor),
        Some(settings) => settings.keys().any(|setting| may(setting)),
    }
}

impl Plan {
    /// A plan. A level of a factor is the value of the setting that the factor is named after, or
    /// `{"together": {setting: value, ...}}` of one that varies several settings together.
    ///
    /// # Errors
    /// A factor without a level, or more levels lists than factors.
    pub fn new(base: Value, factors: Vec<String>, levels: Vec<Vec<Value>>) -> Result<Self, SpecError> {
        let design = Design::new(base, factors, levels)?;
        let (stacks, memory) = (rexmit_stacks::registry(), Arc::default());
        Ok(Self { design, stacks, sequence: None, memory })
    }

    /// The same plan, whose runs follow each other: each begins with what its hosts kept of the runs before it in its
    /// sequence.
    ///
    /// # Errors
    /// A sequence along what is not a factor of the plan.
    pub fn in_sequence(self, sequence: Sequence) -> Result<Self, SpecError> {
        let plan = Self { sequence: Some(sequence), memory: Arc::default(), ..self };
        plan.order(1)?;
        Ok(plan)
    }

    /// Which runs follow which, if any do.
    pub(crate) fn order(&self, replications: u64) -> Result<Option<Order>, SpecError> {
        let Some(sequence) = &self.sequence else { return Ok(None) };
        let levels: Vec<usize> = self.design.levels().iter().map(Vec::len).collect();
        Order::new(sequence, self.design.factors(), &levels, replications).map(Some)
    }

    /// What the hosts keep as run `number` begins, by running those before it in its sequence; nothing where runs are
    /// not a sequence, and where it is asked to stop.
    ///
    /// # Errors
    /// A run before it that cannot be run.
    pub fn caches_before(
        &self,
        number: u64,
        options: BatchOptions,
        stop: &Stop,
    ) -> Result<Caches, SpecError> {
        let options = BatchOptions { replications: options.replications.max(1), ..options };
        let Some(order) = self.order(options.replications)? else { return Ok(Caches::default()) };
        Ok(sequence::before(self, &order, number, options, stop)?.unwrap_or_default())
    }

    /// Runs the run of this number by itself.
    pub(crate) fn run_one(
        &self,
        number: u64,
        batch: BatchOptions,
        options: &RunOptions,
        watch: &dyn Watch,
    ) -> Result<Outcome, SpecError> {
        let (point, replication) = (number / batch.replications, number % batch.replications);
        let resolved = self.resolve(self.scenario(point)?)?;
        let streams = Streams::new(batch.seed, &self.run_key(point, replication));
        let observer = watch.begin(&resolved, &streams);
        run_observed(&resolved, &streams, options, observer)
    }

    /// The same plan, whose hosts choose from these stacks instead of those that are built in.
    #[must_use]
    pub fn with_stacks(self, stacks: Registry) -> Self {
        Self { stacks, ..self }
    }

    /// The stacks that hosts have in some run of the plan, by their names. A scenario that cannot be resolved has none.
    pub fn stacks(&self) -> Vec<&'static dyn StackFactory> {
        let codes = self.codes().into_values().map(|code| (code.about().name, code));
        codes.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// The same by host and name.
    fn codes(&self) -> BTreeMap<(String, &'static str), &'static dyn StackFactory> {
        let mut found = BTreeMap::new();
        let mut note = |indices: &[usize]| {
            let resolved = self.design.scenario_at(indices).and_then(|value| self.resolve(value));
            let Ok(Resolved { scenario, codes, .. }) = resolved else { return };
            for (host, name, _) in scenario.hosts.written() {
                found.insert((name.to_owned(), codes[host].about().name), codes[host]);
            }
        };
        let mut indices = vec![0; self.design.levels().len()];
        note(&indices);
        for (factor, levels) in self.design.levels().iter().enumerate() {
            for i in (0..levels.len()).filter(|i| sets_a_code(&self.design.factors()[factor], &levels[*i])) {
                indices[factor] = i;
                note(&indices);
            }
            indices[factor] = 0;
        }
        found
    }

    pub(crate) fn point(&self, number: u64) -> Result<Point, SpecError> {
        let resolved = self.resolve(self.scenario(number)?)?;
        Ok(Point { number, resolved, key: self.design.point_key(number) })
    }

    fn resolve(&self, scenario: Value) -> Result<Resolved, SpecError> {
        Resolved::with_stacks(scenario, self.stacks)
    }

    /// Combinations of levels; the largest number where they are more.
    pub fn points(&self) -> u64 {
        self.design.points()
    }

    /// The scenario of point `n` with its levels set.
    ///
    /// # Errors
    /// A factor that names nothing, a level that does not fit.
    pub fn scenario(&self, n: u64) -> Result<Value, SpecError> {
        self.design.scenario(n)
    }

    /// What names run (point, replication) for its random streams: the factors in alphabetic order with
    /// their levels, so that neither their order nor other levels matter.
    pub fn run_key(&self, point: u64, replication: u64) -> String {
        self.design.run_key(point, replication)
    }

    /// Resolves the points of `range`; the warnings that they give and the keys that the runner
    /// does not support, each once, in order.
    ///
    /// Where the range begins with point 0, the first levels of every factor are tried alone before.
    ///
    /// # Errors
    /// The first point that cannot be run, with its key.
    pub fn check(&self, range: Range<u64>, on: Target) -> Result<Checked, SpecError> {
        if range.start == 0 {
            self.check_levels()?;
        }
        let (mut checked, mut seen) = (Checked::default(), BTreeSet::new());
        let codes = LazyCell::new(|| self.codes());
        let idle = |setting: &IdleSetting| !codes.contains_key(&(setting.host.clone(), &*setting.stack));
        for n in range.start..range.end.min(self.points()) {
            let resolved = self.resolve(self.scenario(n)?)?;
            let mut unsupported = match on {
                Target::Virtual => resolved.unsupported_in_virtual_time()?,
                Target::Kernel => {
                    resolved.refuse_kernels()?;
                    resolved.unsupported_by_kernel()
                }
            };
            if on == Target::Virtual {
                // Where its code is a factor, a host has in other runs what it lacks in this one.
                unsupported.extend(resolved.idle_settings().filter(idle).map(|setting| setting.to_string()));
            }
            checked.protocols.insert(resolved.protocol());
            checked.warnings.extend(resolved.warnings().into_iter().filter(|w| seen.insert(w.clone())));
            checked.unsupported.extend(unsupported.into_iter().filter(|key| seen.insert(key.clone())));
        }
        Ok(checked)
    }

    /// Tries each level with the first levels of all other factors.
    fn check_levels(&self) -> Result<(), SpecError> {
        let mut indices = vec![0; self.design.levels().len()];
        for (factor, levels) in self.design.levels().iter().enumerate() {
            for i in 0..levels.len().min(LEVELS_TRIED_FIRST) {
                indices[factor] = i;
                self.resolve(self.design.scenario_at(&indices)?)?;
            }
            indices[factor] = 0;
        }
        Ok(())
    }

    /// Runs `range` (numbers of runs); a row for each, in order, and what was never reached.
    ///
    /// # Errors
    /// The first point that cannot be run.
    pub fn run(&self, range: Range<u64>, options: BatchOptions) -> Result<Batch, SpecError> {
        self.run_watched(range, options, &Unwatched, &Stop::default())
    }

    /// The same before observers. Once it is asked to stop it returns the rows of the first runs of the range, as far
    /// as each of them has ended.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_watched(
        &self,
        range: Range<u64>,
        options: BatchOptions,
        watch: &dyn Watch,
        stop: &Stop,
    ) -> Result<Batch, SpecError> {
        let work = Work::new(self, range, options, stop.clone())?;
        std::thread::scope(|scope| {
            for seat in 0..work.seats() {
                let work = &work;
                scope.spawn(move || work.serve(self, watch, seat));
            }
        });
        Gathered::new(&work).whole(&work)
    }
}
