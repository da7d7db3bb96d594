//! Hosts that serve one run after another, where a guest's kernel has many to do: a namespace takes longer to make than
//! most runs take.
//!
//! What a run leaves in a host's namespace must not reach the next: its sockets are gone when a host comes here, its
//! packets are thrown away, its settings are set back, and the next run starts after [`PAUSE`]. A host of which that
//! cannot be said is not kept: `hosts.X.linux` that connections are remembered by, or whose settings are not known to be
//! a namespace's own.

use std::io;
use std::net::IpAddr;

use rexmit_network::two_hosts::{host_name, peer};
use rexmit_network::{ByHost, HostId};
use rexmit_scenario::{HostSpec, Resolved, SpecError};
use rexmit_units::Duration;

use crate::host::{Host, INTERFACE, metrics, system};
use crate::pool::{Intake, Pool};
use crate::port::Side;
use crate::sys::inside;
use crate::sys::link::Metrics;
use crate::wire::{Carrier, Shape, Wires};

/// Time between two runs of one host, at the least: what waits for the last packets of a connection does so for 60 s
/// (TCP_TIMEWAIT_LEN) [Linux 6.1 include/net/tcp.h].
pub const PAUSE: Duration = Duration::from_secs(62);

/// Hosts that are kept at the most.
const MOST: usize = 64;

/// Hosts that no run has.
#[derive(Default)]
pub struct Stock {
    /// Absent where every run gets hosts of its own.
    kept: Option<Vec<(Made, Host, Side)>>,
    /// Memory for packets on their way.
    pool: Pool,
}

/// What a host with its interface was made with. Sysctls are set anew for each run, and what sockets are asked for goes with
/// them.
#[derive(Clone, Debug, PartialEq)]
struct Made {
    host: HostId,
    addresses: [IpAddr; 2],
    mtu: u32,
    metrics: Metrics,
    offloads: bool,
}

impl Stock {
    /// One that keeps hosts.
    pub fn keeping() -> Self {
        Self { kept: Some(Vec::new()), pool: Pool::default() }
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
        rexmit_network::two_hosts::try_by_host(|id| {
            let addresses = [resolved.address(id), resolved.address(peer(id))];
            self.take_one(id, resolved.scenario.hosts.of(id), addresses)
        })
    }

    /// One host, whose address is the first of two and its peer's the second.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_one(
        &mut self,
        id: HostId,
        spec: &HostSpec,
        addresses: [IpAddr; 2],
    ) -> Result<(Host, Side), SpecError> {
        let name = host_name(id);
        let made = Made::of(id, spec, addresses);
        let kept = self.kept.as_mut();
        let place = kept.as_ref().and_then(|kept| kept.iter().position(|(other, ..)| *other == made));
        if let Some((_, mut host, side)) = kept.zip(place).map(|(kept, place)| kept.swap_remove(place)) {
            host.become_anew(name, spec)?;
            return Ok((host, side));
        }
        let host = Host::create(name, spec, self.keeps())?;
        let shape = Shape { name: INTERFACE, other: name, mtu: made.mtu, super_packets: false };
        // With offloads the stack asks what the device can do, and a TUN device answers.
        let wires =
            if made.offloads && inside::is_inside() { Wires::of(Carrier::Tun) } else { Wires::open() };
        let side = wires.and_then(|wires| host.connect(&wires, &shape, made.addresses));
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
            let addresses = [resolved.address(id), resolved.address(peer(id))];
            self.put_one(id, resolved.scenario.hosts.of(id), addresses, (host, side))?;
        }
        Ok(())
    }

    /// Takes back one host, as it was asked for in [`Self::take_one`].
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_one(
        &mut self,
        id: HostId,
        spec: &HostSpec,
        addresses: [IpAddr; 2],
        (host, mut side): (Host, Side),
    ) -> io::Result<()> {
        let Some(kept) = self.kept.as_mut().filter(|_| host.may_serve_again()) else { return Ok(()) };
        // What closing a socket has sent.
        let mut intake = Intake::new(self.pool.clone());
        while side.receive(&mut intake)?.is_some() {}
        kept.push((Made::of(id, spec, addresses), host, side));
        kept.drain(..kept.len().saturating_sub(MOST));
        Ok(())
    }
}

impl Made {
    fn of(id: HostId, spec: &HostSpec, addresses: [IpAddr; 2]) -> Self {
        let linux = spec.kernel_settings().linux;
        Self {
            host: id,
            addresses,
            mtu: spec.mtu,
            metrics: metrics(&linux),
            offloads: linux.offloads.unwrap_or(false),
        }
    }
}
