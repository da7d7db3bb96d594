//! The agent: it runs a list of scenarios on the kernel under it, in a process of its own or as the first process
//! of a guest, and answers line by line.
//!
//! A [`Job`] is a JSON file. Each line of the answer begins with [`MARK`], so that it is told from what a guest's
//! kernel prints on the same console, and is one JSON object:
//!
//! - `{"start": 7}`: run 7 begins;
//! - `{"at": 12000000}`: the clock of the run under way is at this many nanoseconds (now and then);
//! - `{"run":7,"row":{...},...}`: run 7 is done ([`Answer`]); no other line begins like this;
//! - `{"of": 7, "wrong": "...", "os_error": 28}`: run 7 cannot be run; the number is the operating system's, or null;
//! - `{"end": true}`: nothing is left to do.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rexmit_network::two_hosts::SERVER;
use rexmit_network::{HostId, LinkId, Network, Node};
use rexmit_scenario::tables::{messages_of_run, states, verdicts};
use rexmit_scenario::{Design, LateRow, Resolved, Row, SpecError, Streams};
use rexmit_tables::Table;
use rexmit_units::Instant;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::programs::Begin;
use crate::run::{LiveOptions, LiveOutcome, run};
use crate::stock::Stock;
use crate::sys::inside;

/// What each line of an answer begins with: ASCII's record separator.
pub const MARK: char = '\u{1e}';

/// Scenarios to run, one after another: runs of a study, or each by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The study whose runs they are, where they do not say it themselves.
    #[serde(default)]
    pub study: Option<Study>,
    /// The runs, in order.
    pub runs: Vec<JobRun>,
}

/// What the runs of a study have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What varies.
    pub design: Design,
    /// Runs of one combination of levels.
    pub replications: u64,
    /// Seed of the study.
    pub seed: u64,
}

/// One of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRun {
    /// Its number in the study.
    pub run: u64,
    /// What it is, where no study says that.
    #[serde(default)]
    pub own: Option<OwnRun>,
    /// What it writes down.
    #[serde(default)]
    pub options: LiveOptions,
}

/// A run by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnRun {
    /// The scenario, with its levels set, as the text of a JSON object.
    pub scenario: Box<RawValue>,
    /// Seed of its random streams.
    pub seed: u64,
    /// What names the run for them.
    pub key: String,
}

/// What a run gave, as a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Its number.
    pub run: u64,
    /// The row.
    pub row: Row,
    /// What patterns name and no packet matched, as text.
    pub unreached: Vec<String>,
    /// How late the emulator was.
    #[serde(flatten)]
    pub lateness: LateRow,
    /// Tables that were asked for, by their kind.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub tables: Value,
}

/// The scenario that was resolved last: many runs differ by their random streams alone.
#[derive(Default)]
struct Known(Option<(Source, Resolved)>);

/// Where a scenario comes from.
#[derive(PartialEq)]
enum Source {
    /// The study's combination of this number.
    Point(u64),
    /// The run's own, as text.
    Own(Box<str>),
}

impl Known {
    /// A scenario, resolved.
    fn of(
        &mut self,
        source: Source,
        scenario: impl FnOnce(&Source) -> Result<Value, SpecError>,
    ) -> Result<&Resolved, SpecError> {
        if self.0.as_ref().is_none_or(|(known, _)| *known != source) {
            let resolved = Resolved::from_value(scenario(&source)?)?;
            self.0 = Some((source, resolved));
        }
        match &self.0 {
            Some((_, resolved)) => Ok(resolved),
            None => Err(SpecError::new("", "no scenario")),
        }
    }
}

impl Study {
    /// Which combination the run of this number has, and which replication of it that is.
    fn place(&self, run: u64) -> (u64, u64) {
        let replications = self.replications.max(1);
        (run / replications, run % replications)
    }
}

/// Runs the job in `file` and answers to `out`; with `programs`, hosts may run some.
///
/// # Errors
/// A job that cannot be read, an answer that cannot be written. What is wrong with a run is an answer.
pub fn serve(file: &Path, out: &mut dyn Write, programs: Option<Begin>) -> io::Result<()> {
    let job: Job = serde_json::from_slice(&fs::read(file)?)?;
    let stock = if inside::is_inside() { Stock::keeping() } else { Stock::default() };
    let mut stock = stock.with_programs(programs);
    let mut known = Known::default();
    let mut words = Words { out, said: Vec::new() };
    for wanted in job.runs {
        let run = wanted.run;
        words.say(&json!({ "start": run }))?;
        words.send()?;
        let mut lost = None;
        let mut beat = |at: Instant| {
            let told = words.say(&json!({ "at": at.as_nanos() })).and_then(|()| words.send());
            lost = lost.take().or_else(|| told.err());
        };
        let done = run_one(wanted, job.study.as_ref(), (&mut known, &mut stock), &mut beat);
        if let Some(e) = lost {
            return Err(e);
        }
        // It leaves with the line that follows at once: whoever reads is woken once a run.
        match done {
            Ok(answer) => words.say(&answer)?,
            Err(e) => words.say(&json!({ "of": run, "wrong": e.to_string(), "os_error": e.os_error }))?,
        }
    }
    words.say(&json!({ "end": true }))?;
    words.send()
}

fn run_one(
    wanted: JobRun,
    study: Option<&Study>,
    (known, stock): (&mut Known, &mut Stock),
    beat: &mut dyn FnMut(Instant),
) -> Result<Answer, SpecError> {
    let (source, seed, key) = match (wanted.own, study) {
        (Some(own), _) => (Source::Own(own.scenario.into()), own.seed, own.key),
        (None, Some(study)) => {
            let (point, replication) = study.place(wanted.run);
            (Source::Point(point), study.seed, study.design.run_key(point, replication))
        }
        (None, None) => return Err(SpecError::new("", "a run needs its scenario or a study")),
    };
    let resolved = known.of(source, |source| match (source, study) {
        (Source::Point(point), Some(study)) => study.design.scenario(*point),
        (Source::Own(scenario), _) => {
            serde_json::from_str(scenario).map_err(|e| SpecError::new("", e.to_string()))
        }
        (Source::Point(_), None) => Err(SpecError::new("", "no study")),
    })?;
    let streams = Streams::new(seed, &key);
    let outcome = run(resolved, &streams, &wanted.options, stock, beat)?;
    let unreached = outcome.unreached.iter().map(ToString::to_string).collect();
    let tables = tables(&outcome, &wanted.options, &resolved.network);
    let LiveOutcome { row, lateness, .. } = outcome;
    let late_p99_ns = lateness.quantile(0.99).as_nanos();
    let late = late_p99_ns > round_trip(resolved) / SHARE;
    let lateness = LateRow { late_max_ns: lateness.max_ns, late_p99_ns, late };
    Ok(Answer { run: wanted.run, row, unreached, lateness, tables })
}

/// The tables that a run was asked for, by their kind, each by columns.
fn tables(outcome: &LiveOutcome, options: &LiveOptions, network: &Network) -> Value {
    let mut all = Map::new();
    let mut add = |kind: &str, table: Table| {
        let columns = table.columns.iter().map(|column| (column.name.clone(), column.values().into()));
        all.insert(kind.into(), Value::Object(columns.collect()));
    };
    if options.state.is_some() {
        add("state", states(&outcome.states, network));
    }
    if options.verdicts {
        add("verdicts", verdicts(&outcome.verdicts, network));
    }
    if options.messages {
        add("messages", messages_of_run(&outcome.messages, network));
    }
    if all.is_empty() { Value::Null } else { Value::Object(all) }
}

/// A run whose emulator was later than one such part of the round trip, at the 99th percentile, is flagged.
const SHARE: u64 = 100;

/// The shortest round trip of a full packet and its answer, nanoseconds; at least 1 ms, below which no real clock is
/// to be trusted.
fn round_trip(resolved: &Resolved) -> u64 {
    if resolved.links.is_some() {
        return round_trip_of_network(resolved).max(1_000_000);
    }
    let (down, up) = (resolved.scenario.path.down(), resolved.scenario.path.up());
    let sending = |rate: Option<rexmit_units::Rate>| {
        let bits = u64::from(resolved.scenario.hosts.of(SERVER).mtu) * 8;
        rate.map_or(0, |rate| bits.saturating_mul(1_000_000_000) / rate.bits_per_second().max(1))
    };
    let delays = down.delay.as_nanos() + up.delay.as_nanos();
    (delays + sending(down.rate).min(sending(up.rate))).max(1_000_000)
}

/// The least delay there and back between hosts of a transfer.
fn round_trip_of_network(resolved: &Resolved) -> u64 {
    /// Of this many connections of a transfer at the most.
    const MOST: u32 = 1000;
    let network = &resolved.network;
    let delays: HashMap<LinkId, u64> =
        network.links().map(|link| (link, resolved.direction(link).delay.as_nanos())).collect();
    let way = |from: HostId, to: HostId| {
        let (mut link, mut delay) = (network.default_route(from), 0);
        loop {
            delay += delays.get(&link).copied().unwrap_or(0);
            match network.link(link).to {
                Node::Point(point) => link = network.forward(point, to),
                Node::Host(_) => return delay,
            }
        }
    };
    let pairs = resolved.transfers.iter().flat_map(|transfer| {
        (0..transfer.connections().clamp(1, MOST)).map(|copy| (transfer.from(copy), transfer.to(copy)))
    });
    pairs.map(|(from, to)| way(from, to) + way(to, from)).min().unwrap_or(0)
}

/// Lines that are said together.
struct Words<'a> {
    out: &'a mut dyn Write,
    said: Vec<u8>,
}

impl Words<'_> {
    fn say(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.said.push(MARK as u8);
        serde_json::to_writer(&mut self.said, line)?;
        self.said.push(b'\n');
        Ok(())
    }

    /// All lines so far, in one call.
    fn send(&mut self) -> io::Result<()> {
        self.out.write_all(&self.said)?;
        self.said.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
