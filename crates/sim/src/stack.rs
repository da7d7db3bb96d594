//! The stacks of a run: started for its hosts, and asked for the ends of its connections.

use rexmit_scenario::{ConnectionPlan, HOSTS, Resolved, SpecError, Streams};
use rexmit_stack::{EndSettings, Role, RunSettings, SettingError};
use rexmit_stacks::AnyRun;
use rexmit_units::Duration;

pub(crate) use rexmit_stacks::AnyEnd as Stack;

/// The stacks that the hosts of a run have. It outlives their ends.
pub(crate) struct Stacks {
    runs: Vec<AnyRun>,
    /// By host.
    seats: [Seat; 2],
    /// Ends of one connection run different code.
    mixed: bool,
}

/// Where a host's stack is.
#[derive(Clone, Copy, Default)]
struct Seat {
    /// The number of its run.
    run: usize,
    /// The number of the host in it.
    host: usize,
}

impl Stacks {
    /// Starts what the hosts have, in the order of the names: who waits for a library has none that comes later, so that two
    /// runs never wait for each other.
    pub fn start(resolved: &Resolved, streams: &Streams) -> Result<Self, SpecError> {
        let mut hosts = [0, 1];
        hosts.sort_by_key(|host| resolved.codes[*host].about().name);
        let name = |host: usize| resolved.codes[host].about().name;
        let mut stacks =
            Self { runs: Vec::with_capacity(1), seats: [Seat::default(); 2], mixed: name(0) != name(1) };
        let settings = hosts.map(|host| resolved.host_settings(host));
        let mut rest = &settings[..];
        for together in hosts.chunk_by(|one, two| name(*one) == name(*two)) {
            let (own, others) = rest.split_at(together.len());
            rest = others;
            for (n, host) in together.iter().enumerate() {
                stacks.seats[*host] = Seat { run: stacks.runs.len(), host: n };
            }
            let run = RunSettings { hosts: own, streams: &|name| streams.get(name) };
            stacks.runs.push(resolved.codes[together[0]].start(&run)?.into());
        }
        Ok(stacks)
    }

    /// The end of a connection at host number `host`, whose ticks have this phase.
    #[inline]
    pub fn end(
        &mut self,
        resolved: &Resolved,
        plan: &ConnectionPlan,
        host: usize,
        phase: Duration,
    ) -> Result<Stack, SettingError> {
        let alternate = resolved.scenario.alternate.as_ref();
        let settings = EndSettings {
            local: plan.sockets[host],
            remote: plan.sockets[1 - host],
            more_local: alternate.map(|_| resolved.alternate_address(HOSTS[host])),
            role: if host == plan.opener { Role::Active } else { Role::Passive },
            streams: resolved.transfers[plan.transfer].streams(),
            phase,
            marks_places: self.mixed,
        };
        let seat = self.seats[host];
        self.runs[seat.run].end(seat.host, &settings)
    }
}
