//! The hosts and links of a scenario, with the random streams of a run.

use rexmit_network::two_hosts::{self, by_host, host_name};
use rexmit_network::{ByHost, ByLink, HostId, Network};
use rexmit_path::{Carried, Direction, DirectionSpec, PathSpec};
use rexmit_units::Duration;

use crate::{Resolved, SpecError, Streams, open_trace};

impl Resolved {
    /// Its hosts, with the links of `path` and of `alternate`.
    pub fn network(&self) -> Network {
        match &self.scenario.alternate {
            None => two_hosts::network(),
            Some(_) => two_hosts::network_with_alternate(&by_host(|host| self.alternate_address(host))),
        }
    }

    /// By host, the phase of its kernel's ticks in a run with these streams.
    pub fn phases(&self, streams: &Streams) -> ByHost<Duration> {
        let drawn = |host: HostId| {
            streams.phase_of(["hosts.", host_name(host), ".tick"], self.stacks[host].clock_period())
        };
        by_host(|host| self.scenario.hosts.of(host).tick_phase.unwrap_or_else(|| drawn(host)))
    }
}

impl Streams {
    /// The links of `path` and of the path `alternate`, if there is one, each with streams of its own of this run; with a
    /// `log` they keep their verdicts.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with what in a path cannot be.
    pub fn links<P: Carried>(
        &self,
        path: &PathSpec,
        alternate: Option<&PathSpec>,
        log: bool,
    ) -> Result<ByLink<Direction<P>>, SpecError> {
        let mut links = ByLink::with_capacity(if alternate.is_some() { 4 } else { 2 });
        self.add_links(&mut links, "", path, log)?;
        if let Some(path) = alternate {
            self.add_links(&mut links, "alternate.", path, log)?;
        }
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
        let mut stream = |name: &str| self.get_of([prefix, name]);
        let mut direction = |spec: DirectionSpec, name: &str| {
            // Where both directions pass one machine, its ticks have one phase.
            let own = if spec.shaper.has_ticks_for_each_direction() { [".", name] } else { [""; 2] };
            let phase = self.phase_of([prefix, "path", own[0], own[1], ".tick"], spec.tick);
            let failed = |e: String| SpecError::new("", e);
            let trace = spec.trace.as_ref().map(|followed| open_trace(&followed.trace)).transpose();
            let trace = trace.map_err(failed)?;
            let built = Direction::with_trace(&spec, name, phase, &mut stream, trace.as_ref());
            let link = links.push(built.map_err(|e| SpecError::new("", e.to_string()))?);
            if log {
                links[link].keep_log();
            }
            Ok::<_, SpecError>(())
        };
        direction(path.down(), "down")?;
        direction(path.up(), "up")
    }
}
