//! The two directions of a path with the random streams of a run.

use rexmit_path::{Carried, Direction, DirectionSpec, PathSpec};

use crate::{SpecError, Streams};

impl Streams {
    /// The directions of `path`, from the server and from the client, with this run's streams; with a `log` they
    /// keep their verdicts.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with what in the path cannot be.
    pub fn directions<P: Carried>(&self, path: &PathSpec, log: bool) -> Result<[Direction<P>; 2], SpecError> {
        self.directions_of("", path, log)
    }

    /// The same of the path `alternate`, whose streams are its own.
    ///
    /// # Errors
    ///
    /// As [`Self::directions`].
    pub fn alternate_directions<P: Carried>(
        &self,
        path: &PathSpec,
        log: bool,
    ) -> Result<[Direction<P>; 2], SpecError> {
        self.directions_of("alternate.", path, log)
    }

    fn directions_of<P: Carried>(
        &self,
        prefix: &str,
        path: &PathSpec,
        log: bool,
    ) -> Result<[Direction<P>; 2], SpecError> {
        let mut stream = |name: &str| self.get(&format!("{prefix}{name}"));
        let mut direction = |spec: DirectionSpec, name: &str| {
            // Where both directions pass one machine, its ticks have one phase.
            let own = spec.shaper.has_ticks_for_each_direction().then(|| format!("path.{name}.tick"));
            let phase = self.phase(&format!("{prefix}{}", own.as_deref().unwrap_or("path.tick")), spec.tick);
            let built = Direction::new(&spec, name, phase, &mut stream);
            let built = built.map_err(|e| SpecError::new("", e.to_string()))?;
            Ok::<_, SpecError>(if log { built.with_log() } else { built })
        };
        Ok([direction(path.down(), "down")?, direction(path.up(), "up")?])
    }
}
