//! The stacks of a run: started for its hosts, and asked for the ends of its connections.

use std::sync::Arc;

use rexmit_network::{ByHost, ConnectionId, HostId, Network};
use rexmit_scenario::{ConnectionPlan, Resolved, SpecError, Streams};
use rexmit_stack::quic::StreamPlaces;
use rexmit_stack::{EndSettings, HostSettings, Role, RunSettings, SettingError};
use rexmit_stacks::AnyRun;
use rexmit_units::Duration;

use crate::caches::Caches;

pub(crate) use rexmit_stacks::AnyEnd as Stack;

/// The stacks that the hosts of a run have. It outlives their ends.
pub(crate) struct Stacks {
    runs: Vec<AnyRun>,
    seats: ByHost<Seat>,
    network: Arc<Network>,
    /// Ends of one connection run different code.
    mixed: bool,
    /// The places of the connection of which one end has been made.
    made: Option<(ConnectionId, Arc<StreamPlaces>)>,
}

/// Where a host's stack is.
#[derive(Clone, Copy, Default)]
struct Seat {
    /// The number of its run.
    run: usize,
    /// The host's place among those of that run.
    place: usize,
}

impl Stacks {
    /// Starts what the hosts have, in the order of the names: whoever waits for a library has none that comes later, so
    /// that two runs never wait for each other. `logs` says of which hosts the connections are logged.
    pub fn start(
        resolved: &Resolved,
        streams: &Streams,
        logs: impl Fn(HostId) -> bool,
    ) -> Result<Self, SpecError> {
        let name = |host: &HostId| resolved.codes[*host].about().name;
        let network = Arc::clone(&resolved.network);
        let mut hosts: Vec<HostId> = network.hosts().collect();
        hosts.sort_by_key(name);
        let seats = network.by_host(|_| Seat::default());
        let mut stacks = Self { runs: Vec::with_capacity(1), seats, network, mixed: false, made: None };
        let settings_of = |host: &HostId| HostSettings { qlog: logs(*host), ..resolved.host_settings(*host) };
        let settings: Vec<_> = hosts.iter().map(settings_of).collect();
        let mut rest = &settings[..];
        for together in hosts.chunk_by(|one, two| name(one) == name(two)) {
            let (own, others) = rest.split_at(together.len());
            rest = others;
            for (place, host) in together.iter().enumerate() {
                stacks.seats[*host] = Seat { run: stacks.runs.len(), place };
            }
            let run = RunSettings { hosts: own, streams: &|name| streams.get(name) };
            stacks.runs.push(resolved.codes[together[0]].start(&run)?.into());
        }
        stacks.mixed = stacks.runs.len() > 1;
        Ok(stacks)
    }

    /// Gives the hosts what they kept before this run.
    pub fn set_caches(&mut self, caches: &Caches) {
        for host in self.network.hosts() {
            let Seat { run, place } = self.seats[host];
            let kept = caches.of(self.network.host_name(host));
            if let (AnyRun::Tcp(run), Some(kept)) = (&mut self.runs[run], kept) {
                run.set_host_cache(place, kept.clone());
            }
        }
    }

    /// What the hosts keep.
    pub fn caches(&self) -> Caches {
        let mut caches = Caches::default();
        for host in self.network.hosts() {
            let Seat { run, place } = self.seats[host];
            if let AnyRun::Tcp(run) = &self.runs[run]
                && let Some(kept) = run.host_cache(place)
            {
                caches.set(self.network.host_name(host), kept);
            }
        }
        caches
    }

    /// Where the bytes of the streams of a QUIC connection belong, for both its ends, which are made one after the other.
    fn places(&mut self, resolved: &Resolved, plan: &ConnectionPlan) -> Option<Arc<StreamPlaces>> {
        if !resolved.is_quic() || resolved.transfers[plan.transfer].streams() == 1 {
            return None;
        }
        match self.made.take().filter(|(id, _)| *id == plan.id) {
            Some((_, places)) => Some(places),
            None => {
                let places = Arc::<StreamPlaces>::default();
                self.made = Some((plan.id, Arc::clone(&places)));
                Some(places)
            }
        }
    }

    /// The end of a connection at `host`, whose ticks have this phase.
    #[inline]
    pub fn end(
        &mut self,
        resolved: &Resolved,
        plan: &ConnectionPlan,
        host: HostId,
        phase: Duration,
    ) -> Result<Stack, SettingError> {
        let alternate = resolved.scenario.alternate.as_ref();
        let settings = EndSettings {
            local: plan.end(host).socket,
            remote: plan.end(plan.peer(host)).socket,
            more_local: alternate.map(|_| resolved.alternate_address(host)),
            role: if host == plan.opener { Role::Active } else { Role::Passive },
            streams: resolved.transfers[plan.transfer].streams(),
            phase,
            marks_places: self.mixed,
            places: self.places(resolved, plan),
            datagrams: resolved.transfers[plan.transfer].datagrams(),
            wish: resolved.transfers[plan.transfer].wish().cloned(),
            habits: plan.end(host).app.habits(),
        };
        let seat = self.seats[host];
        self.runs[seat.run].end(seat.place, &settings)
    }
}
