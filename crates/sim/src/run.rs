//! One run.

use crate::options::RunOptions;
use rexmit_scenario::SpecError;

use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::recorder::{Recorded, Recorder};
use crate::world::World;
use rexmit_scenario::Resolved;
use rexmit_scenario::Streams;
use rexmit_scenario::VerdictLog;

/// Runs a scenario once.
///
/// # Errors
/// A capture that cannot be written; a path that contradicts itself; a run that was asked to stop.
pub fn run(resolved: &Resolved, streams: &Streams, options: &RunOptions) -> Result<Outcome, SpecError> {
    run_observed(resolved, streams, options, None)
}

/// The same before an observer, whose rows become the row's.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    resolved: &Resolved,
    streams: &Streams,
    options: &RunOptions,
    observer: Option<Box<dyn Observer>>,
) -> Result<Outcome, SpecError> {
    let io = |e: std::io::Error| SpecError::writing("a capture", &e);
    let mut world = World::new(resolved, streams, options)?;
    world.record(Recorder::new(options, &resolved.network).map_err(io)?);
    if options.messages {
        world.keep_messages();
    }
    world.observe(observer);
    if !world.run(&options.stop) {
        return Err(SpecError::new("", "the run was stopped"));
    }
    let mut row = world.row(resolved);
    if !resolved.scenario.messages {
        row.messages.clear();
    }
    let messages = world.take_messages();
    let caches = world.caches();
    let connections = world.connections();
    let (links, recorder) = world.into_logs();
    let recorded = recorder
        .map_or_else(
            || Ok(Recorded { captures: resolved.network.by_host(|_| Vec::new()), ..Recorded::default() }),
            Recorder::finish,
        )
        .map_err(io)?;
    let mut verdicts = if options.verdicts { VerdictLog::of(connections) } else { VerdictLog::default() };
    for (link, direction) in links.iter() {
        verdicts.add(link, direction.log());
    }
    let verdicts = verdicts.into_rows();
    let unreached = resolved.unreached(&links);
    let Recorded { states, transmissions, captures } = recorded;
    Ok(Outcome { row, states, verdicts, transmissions, captures, messages, unreached, caches })
}
