//! One run.

use crate::SpecError;
use crate::options::RunOptions;
use crate::outcome::{Outcome, VerdictRow};
use crate::recorder::Recorder;
use crate::scenario::Resolved;
use crate::streams::Streams;
use crate::world::World;

/// Runs a scenario once.
///
/// # Errors
/// A capture that cannot be written; a path that contradicts itself.
pub fn run(resolved: &Resolved, streams: &Streams, options: &RunOptions) -> Result<Outcome, SpecError> {
    let io = |e: std::io::Error| SpecError::writing("a capture", &e);
    let mut world = World::new(resolved, streams, options.verdicts)?;
    world.recorder = Recorder::new(options).map_err(io)?;
    world.run();
    let row = world.row();
    let (directions, recorder) = world.into_logs();
    let mut states = Vec::new();
    if let Some(mut recorder) = recorder {
        recorder.finish().map_err(io)?;
        states = recorder.states.take().unwrap_or_default();
    }
    let mut verdicts = Vec::new();
    for (direction, name) in directions.iter().zip(["down", "up"]) {
        verdicts.extend(direction.log().iter().map(|row| VerdictRow { direction: name, row: *row }));
    }
    verdicts.sort_by_key(|v| v.row.time);
    let unreached = directions.iter().flat_map(rexmit_path::Direction::unreached).collect();
    Ok(Outcome { row, states, verdicts, unreached })
}
