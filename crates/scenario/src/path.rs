//! The hosts and links of a scenario, with the random streams of a run.

use rexmit_network::{ByHost, ByLink, HostId};
use rexmit_path::{Carried, Direction, DirectionSpec, PathSpec};
use rexmit_units::Duration;

use crate::{Resolved, SpecError, Streams, open_trace};

impl Resolved {
    /// By host, the phase of its kernel's ticks in a run with these streams.
    pub fn phases(&self, streams: &Streams) -> ByHost<Duration> {
        let drawn = |host: HostId| {
            let name = self.scenario.hosts.name(host);
            streams.phase_of(["hosts.", name, ".tick"], self.stacks[host].clock_period())
        };
        self.network.by_host(|host| self.scenario.hosts.of(host).tick_phase.unwrap_or_else(|| drawn(host)))
    }
}

impl Streams {
    /// The links of a scenario, each with streams of its own of this run; with a `log` they keep their verdicts.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with what is impossible in a path.
    pub fn links<P: Carried>(&self, of: &Resolved, log: bool) -> Result<ByLink<Direction<P>>, SpecError> {
        let Some(all) = &of.links else {
            let mut links = self.links_of_path(&of.scenario.path, log)?;
            if let Some(path) = &of.scenario.alternate {
                self.add_links(&mut links, "alternate.", path, log)?;
            }
            return Ok(links);
        };
        let mut links = ByLink::with_capacity(of.network.links().count());
        for link in of.network.links() {
            let (spec, prefix, name) = all.direction(link, &of.scenario.hosts);
            self.add_direction(&mut links, &spec, [&prefix, name], log)?;
        }
        Ok(links)
    }

    /// The two links of one path.
    ///
    /// # Errors
    ///
    /// As [`Self::links`].
    pub fn links_of_path<P: Carried>(
        &self,
        path: &PathSpec,
        log: bool,
    ) -> Result<ByLink<Direction<P>>, SpecError> {
        let mut links = ByLink::with_capacity(2);
        self.add_links(&mut links, "", path, log)?;
        Ok(links)
    }

    /// Adds the two links of a path, down and up.
    fn add_links<P: Carried>(
        &self,
        links: &mut ByLink<Direction<P>>,
        prefix: &str,
        path: &PathSpec,
        log: bool,
    ) -> Result<(), SpecError> {
        for (spec, name) in [(path.down(), "down"), (path.up(), "up")] {
            self.add_direction(links, &spec, [prefix, name], log)?;
        }
        Ok(())
    }

    /// Adds one direction of a link, whose streams begin with a prefix, by its name.
    fn add_direction<P: Carried>(
        &self,
        links: &mut ByLink<Direction<P>>,
        spec: &DirectionSpec,
        [prefix, name]: [&str; 2],
        log: bool,
    ) -> Result<(), SpecError> {
        let mut stream = |name: &str| self.get_of([prefix, name]);
        // Where both directions pass one machine, its ticks have one phase.
        let own = if spec.shaper.has_ticks_for_each_direction() { [".", name] } else { [""; 2] };
        let phase = self.phase_of([prefix, "path", own[0], own[1], ".tick"], spec.tick);
        let failed = |e: String| SpecError::new("", e);
        let trace = spec.trace.as_ref().map(|followed| open_trace(&followed.trace)).transpose();
        let trace = trace.map_err(failed)?;
        let built = Direction::with_trace(spec, name, phase, &mut stream, trace.as_ref());
        let link = links.push(built.map_err(|e| SpecError::new("", e.to_string()))?);
        if log {
            links[link].keep_log();
        }
        Ok(())
    }
}
