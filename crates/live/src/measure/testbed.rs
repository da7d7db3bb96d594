//! Two hosts with nothing but an interface each, and an emulator between them in a thread.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration as StdDuration;

use rexmit_files::set_kernel_value;
use rexmit_network::two_hosts::{self, CLIENT, SERVER, peer, try_by_host};
use rexmit_network::{ByHost, HostId};
use rexmit_path::{Direction, PathSpec};
use rexmit_units::Duration;

use crate::drive::{DriveOptions, DriveReport, drive, prepare};
use crate::emulator::Emulator;
use crate::host::INTERFACE;
use crate::pool::Pool;
use crate::port::Side;
use crate::sys::link::{Links, Metrics};
use crate::sys::namespace::Namespace;
use crate::sys::tun::Tun;
use crate::watch::{Live, Watch};
use crate::wire::{Carrier, Shape, Wires};

/// How packets pass between hosts and emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A TUN device, packet by packet.
    Tun,
    /// A TUN device that hands over super-packets.
    Offloads,
    /// A veth pair; the emulator has its end through a packet socket.
    Veth,
}

/// Two hosts, the server 10.0.0.1 and the client 10.0.0.2. Their namespaces have no names: all is gone with the process.
pub struct Testbed {
    /// The namespaces.
    pub hosts: ByHost<Namespace>,
    watch: Arc<Watch>,
    emulator: JoinHandle<io::Result<DriveReport>>,
}

/// What an emulator did between two hosts, known when it has ended.
pub struct Ended {
    /// How the drive went.
    pub report: DriveReport,
    /// The counters of all that it took and gave. While it runs, [`Testbed::watch`] lags a packet behind the hosts.
    pub live: Live,
}

/// What the emulator may hold at a time: two windows of a gigabyte and a half.
const MEMORY: u64 = 3 << 30;
const MTU: u32 = 1500;
/// Frames that wait at most between a host and the emulator: a window of a gigabyte in super-packets.
const QUEUE: u32 = 32_768;

impl Testbed {
    /// Makes the hosts and begins to emulate `path` between them. `streams` are the path's random ones.
    ///
    /// # Errors
    /// A missing privilege; what the kernel lacks; a path that contradicts itself.
    pub fn new(kind: Kind, path: &PathSpec, options: &DriveOptions) -> io::Result<Self> {
        let hosts = try_by_host(|_| Namespace::create())?;
        let wires = Wires::of(if kind == Kind::Veth { Carrier::Veth } else { Carrier::Tun })?;
        let ports = try_by_host(|host| connect(&wires, &hosts[host], kind, host))?;
        let mut streams = |_: &str| unreachable!("nothing random in this path");
        let mut direction =
            |spec, name| Direction::new(&spec, name, Duration::ZERO, &mut streams).map_err(io::Error::other);
        let links = [direction(path.down(), "down")?, direction(path.up(), "up")?].into_iter().collect();
        let mut emulator =
            Emulator::new(two_hosts::network(), ports, links, false).with_pool(Pool::new(MEMORY));
        let watch = Arc::new(Watch::default());
        let (options, seen) = (*options, watch.clone());
        let emulator = thread::spawn(move || drive(&mut emulator, &options, &seen));
        while !watch.has_begun() && !emulator.is_finished() {
            thread::sleep(StdDuration::from_millis(1));
        }
        Ok(Self { hosts, watch, emulator })
    }

    /// The same hosts with a loop of reads and writes between them in place of an emulator: what the kernel's part
    /// costs. TUN only, from the server to the client.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn without_emulator(options: &DriveOptions) -> io::Result<Self> {
        let hosts = try_by_host(|_| Namespace::create())?;
        let tun = |host: HostId| -> io::Result<Tun> {
            let tun = hosts[host].within(|| Tun::open(INTERFACE))?;
            configure(&hosts[host], host)?;
            Ok(tun)
        };
        let (mut from, mut to) = (tun(SERVER)?, tun(CLIENT)?);
        let watch = Arc::new(Watch::default());
        let (options, seen) = (*options, watch.clone());
        let emulator = thread::spawn(move || {
            prepare(&options)?;
            let mut buffer = [0; 65_536];
            while !seen.is_stopped() {
                if let Some(len) = from.receive(&mut buffer)? {
                    to.transmit(&buffer[..len])?;
                    seen.count_received();
                }
            }
            Ok(DriveReport::default())
        });
        Ok(Self { hosts, watch, emulator })
    }

    /// The emulator's counters so far. Each step of the emulator publishes what it did when it has done it, so that a
    /// host may have a packet that is not counted yet.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Sets a sysctl of both hosts.
    ///
    /// # Errors
    /// Where this kernel has none of that name, or refuses the value.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        for host in self.hosts.values() {
            host.within(|| set_kernel_value(format!("/proc/sys/{}", name.replace('.', "/")), value))?;
        }
        Ok(())
    }

    /// Ends the emulator; how it went.
    ///
    /// # Errors
    /// What ended it before.
    pub fn finish(self) -> io::Result<Ended> {
        self.watch.stop();
        let report =
            self.emulator.join().map_err(|_| io::Error::other("the emulator's thread panicked"))??;
        Ok(Ended { report, live: self.watch.live() })
    }
}

/// The address of a host.
pub fn address(host: HostId) -> IpAddr {
    IpAddr::from([10, 0, 0, host.number() as u8 + 1])
}

/// Makes a host's interface; the emulator's side of it.
fn connect(wires: &Wires, host: &Namespace, kind: Kind, id: HostId) -> io::Result<Side> {
    let super_packets = kind == Kind::Offloads;
    // The emulator's own interface, where hosts have veth pairs.
    let other = format!("port{}", id.number());
    let shape = Shape { name: INTERFACE, other: &other, mtu: MTU, super_packets };
    let side = host.within(|| wires.connect(&shape))?;
    configure(host, id)?;
    Ok(side)
}

/// Brings a host's interface up, with its address and its route.
fn configure(host: &Namespace, id: HostId) -> io::Result<()> {
    host.within(|| {
        // Else the interface would speak by itself, and its packets would count.
        set_kernel_value(format!("/proc/sys/net/ipv6/conf/{INTERFACE}/disable_ipv6"), "1").ok();
        let links = Links::open()?;
        links.up("lo", None, None)?;
        links.quiet(INTERFACE)?;
        links.up(INTERFACE, Some(MTU), Some(QUEUE))?;
        links.add_address(INTERFACE, address(id))?;
        links.add_route(INTERFACE, address(peer(id)), &Metrics::default())
    })
}
