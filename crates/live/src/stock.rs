//! Hosts that serve one run after another, where a guest's kernel has many to do: a namespace takes longer to make than
//! most runs take.
//!
//! What a run leaves in a host's namespace must not reach the next: its sockets are gone when a host comes here, its
//! packets are thrown away, its settings are set back, and the next run starts after [`PAUSE`]. A host of which that
//! cannot be said is not kept: `hosts.X.linux` that connections are remembered by, or whose settings are not known to be
//! a namespace's own.

use std::io;

use rexmit_network::two_hosts::{DOWN, UP, by_host, host_name, sender, try_by_host};
use rexmit_network::{ByHost, HostId};
use rexmit_scenario::{HostSpec, Resolved, SpecError};
use rexmit_units::Duration;

use crate::host::{Addresses, Host, INTERFACE, metrics, system};
use crate::netem::NetemPath;
use crate::pool::{Intake, Pool};
use crate::port::Side;
use crate::programs::Begin;
use crate::sys::inside;
use crate::sys::link::Metrics;
use crate::wire::{Carrier, Shape, Wires};

/// Time between two runs of one host, at the least: what waits for the last packets of a connection does so for 60 s
/// (TCP_TIMEWAIT_LEN) [Linux 6.1 include/net/tcp.h].
pub const PAUSE: Duration = Duration::from_secs(62);

/// The emulator's end of a veth pair, each in a namespace of its own.
const OTHER_END: &str = "host";

/// Hosts that are kept at the most.
const MOST: usize = 64;

/// Hosts that no run has.
#[derive(Default)]
pub struct Stock {
    /// Absent where every run gets hosts of its own.
    kept: Option<Vec<(Made, Host, Side)>>,
    /// Hosts with a router between them.
    routed: Vec<Routed>,
    /// Memory for packets on their way.
    pool: Pool,
    /// Makes what looks after programs, where there can be any.
    programs: Option<Begin>,
}

/// Two hosts with a router between them, and what all was made with.
struct Routed {
    made: ByHost<Made>,
    hosts: ByHost<Host>,
    netem: NetemPath,
}

/// What a host with its interface was made with. Sysctls are set again for each run, and what sockets are asked for
/// goes with them.
#[derive(Clone, Debug, PartialEq)]
struct Made {
    addresses: Addresses,
    mtu: u32,
    metrics: Metrics,
    offloads: bool,
    /// Connections keep their hash, because a discipline comes after it.
    keeps_hash: bool,
}

impl Stock {
    /// One that keeps hosts.
    pub fn keeping() -> Self {
        Self { kept: Some(Vec::new()), ..Self::default() }
    }

    /// The same, whose runs may have programs.
    pub fn with_programs(self, programs: Option<Begin>) -> Self {
        Self { programs, ..self }
    }

    /// Makes what looks after the programs of a run.
    ///
    /// # Errors
    /// Where there can be none.
    pub fn begin_programs(&self) -> Result<Begin, SpecError> {
        self.programs.ok_or_else(|| SpecError::new("hosts", "this agent runs no programs"))
    }

    /// Memory for packets on their way, which one run after another has.
    pub fn pool(&self) -> Pool {
        self.pool.clone()
    }

    /// Whether runs share hosts here.
    pub fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// The hosts of a run with their interfaces: those that are here, as the run wants them, and new ones.
    ///
    /// # Errors
    /// Those of making a host.
    pub fn take(&mut self, resolved: &Resolved) -> Result<ByHost<(Host, Side)>, SpecError> {
        resolved.network.try_by_host(|id| {
            let hosts = &resolved.scenario.hosts;
            self.take_one(hosts.name(id), hosts.of(id), Addresses::of(resolved, id))
        })
    }

    /// One host of this name.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_one(
        &mut self,
        name: &str,
        spec: &HostSpec,
        addresses: Addresses,
    ) -> Result<(Host, Side), SpecError> {
        let made = Made::of(spec, addresses);
        let kept = self.kept.as_mut();
        let number = kept.as_ref().and_then(|kept| kept.iter().position(|(other, ..)| *other == made));
        if let Some((_, mut host, side)) = kept.zip(number).map(|(kept, number)| kept.swap_remove(number)) {
            host.become_anew(name, spec)?;
            return Ok((host, side));
        }
        let host = Host::create(name, spec, self.keeps())?;
        let shape = Shape { name: INTERFACE, other: OTHER_END, mtu: made.mtu, super_packets: false };
        // With offloads the stack asks what the device can do, and a TUN device answers.
        let wires =
            if made.offloads && inside::is_inside() { Wires::of(Carrier::Tun) } else { Wires::open() };
        let side = wires.and_then(|wires| host.connect(&wires, &shape, addresses));
        Ok((host, side.map_err(|e| system(name, &e))?))
    }

    /// Takes back the hosts of a run that has ended in order, whose sockets are closed.
    ///
    /// # Errors
    /// Those of an interface.
    pub fn put(&mut self, resolved: &Resolved, hosts: ByHost<Host>, sides: ByHost<Side>) -> io::Result<()> {
        if !hosts.values().all(Host::may_serve_again) {
            return Ok(());
        }
        let ids: Vec<HostId> = hosts.ids().collect();
        for ((id, host), side) in ids.into_iter().zip(hosts.into_values()).zip(sides.into_values()) {
            self.put_one(resolved.scenario.hosts.of(id), Addresses::of(resolved, id), (host, side))?;
        }
        Ok(())
    }

    /// Takes back one host, as it was asked for in [`Self::take_one`].
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_one(
        &mut self,
        spec: &HostSpec,
        addresses: Addresses,
        (host, mut side): (Host, Side),
    ) -> io::Result<()> {
        let Some(kept) = self.kept.as_mut().filter(|_| host.may_serve_again()) else { return Ok(()) };
        // What closing a socket has sent.
        let mut intake = Intake::new(self.pool.clone());
        while side.receive(&mut intake)?.is_some() {}
        kept.push((Made::of(spec, addresses), host, side));
        kept.drain(..kept.len().saturating_sub(MOST));
        Ok(())
    }
}

/// Hosts that a router of the kernel's stands between.
impl Stock {
    /// The hosts of a run, and the router, which delays and drops nothing yet.
    ///
    /// # Errors
    /// Those of making them.
    pub fn take_routed(&mut self, resolved: &Resolved) -> Result<(ByHost<Host>, NetemPath), SpecError> {
        let made = Made::routed(resolved);
        if let Some(place) = self.routed.iter().position(|other| other.made == made) {
            let Routed { mut hosts, netem, .. } = self.routed.swap_remove(place);
            for (id, host) in hosts.iter_mut() {
                host.become_anew(host_name(id), resolved.scenario.hosts.of(id))?;
            }
            return Ok((hosts, netem));
        }
        let create = |id| Host::create(host_name(id), resolved.scenario.hosts.of(id), self.keeps());
        let hosts = try_by_host(create)?;
        let addresses = by_host(|id| resolved.address(id));
        let netem = NetemPath::create(&hosts, &addresses, &by_host(|id| resolved.scenario.hosts.of(id).mtu))?;
        Ok((hosts, netem))
    }

    /// Takes them back when a run has ended in order, whose sockets are closed.
    ///
    /// # Errors
    /// Those of an interface.
    pub fn put_routed(
        &mut self,
        resolved: &Resolved,
        hosts: ByHost<Host>,
        netem: NetemPath,
    ) -> io::Result<()> {
        let made = Made::routed(resolved);
        // Else a router may have told a host how large packets may be, which that remembers.
        let same = made.values().all(|host| made.values().all(|other| other.mtu == host.mtu));
        if self.keeps() && same && hosts.values().all(Host::may_serve_again) {
            netem.clear(&hosts)?;
            self.routed.push(Routed { made, hosts, netem });
            self.routed.drain(..self.routed.len().saturating_sub(MOST / 2));
        }
        Ok(())
    }
}

impl Addresses {
    /// That of a host of a run.
    fn of(resolved: &Resolved, host: HostId) -> Self {
        Self { own: resolved.address(host), peer: resolved.only_peer(host) }
    }
}

impl Made {
    /// Hosts of a run with a router between them.
    fn routed(resolved: &Resolved) -> ByHost<Self> {
        let path = &resolved.scenario.path;
        let queued = [(DOWN, path.down().qdisc), (UP, path.up().qdisc)];
        by_host(|id| {
            let own = |(link, qdisc): &(_, Option<_>)| sender(*link) == id && qdisc.is_some();
            Self {
                keeps_hash: queued.iter().any(own),
                ..Self::of(resolved.scenario.hosts.of(id), Addresses::of(resolved, id))
            }
        })
    }

    fn of(spec: &HostSpec, addresses: Addresses) -> Self {
        let linux = spec.kernel_settings().linux;
        Self {
            addresses,
            mtu: spec.mtu,
            metrics: metrics(&linux),
            offloads: linux.offloads.unwrap_or(false),
            keeps_hash: false,
        }
    }
}
