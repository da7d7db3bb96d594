//! Two hosts with nothing but an interface each, and an emulator between them in a thread.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration as StdDuration;

use rexmit_path::{Direction, PathSpec};
use rexmit_units::Duration;

use crate::drive::{DriveOptions, DriveReport, drive};
use crate::emulator::Emulator;
use crate::host::INTERFACE;
use crate::pool::Pool;
use crate::port::{Ethernet, OffloadTun, Port};
use crate::sys::link::{Links, Metrics, set_offloads};
use crate::sys::namespace::Namespace;
use crate::sys::tun::Tun;
use crate::watch::Watch;

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

/// Two hosts, 10.0.0.1 and 10.0.0.2. Their namespaces have no names: all is gone with the process.
pub struct Testbed {
    /// The namespaces.
    pub hosts: [Namespace; 2],
    watch: Arc<Watch>,
    emulator: JoinHandle<io::Result<DriveReport>>,
}

/// What the emulator may hold at a time: two windows of a gigabyte and a half.
const MEMORY: u64 = 3 << 30;
const MTU: u32 = 1500;
/// Frames that wait at most between a host and the emulator: a window of a gigabyte in super-packets.
const QUEUE: u32 = 32_768;
/// The emulator's own interfaces where hosts have veth pairs.
const PORTS: [&str; 2] = ["port0", "port1"];

impl Testbed {
    /// Makes the hosts and begins to emulate `path` between them. `streams` are the path's random ones.
    ///
    /// # Errors
    /// A missing privilege; what the kernel lacks; a path that contradicts itself.
    pub fn new(kind: Kind, path: &PathSpec, options: &DriveOptions) -> io::Result<Self> {
        let hosts = [Namespace::create()?, Namespace::create()?];
        let middle = Namespace::create()?;
        let connect = |n: usize| connect(kind, &hosts[n], (&middle, PORTS[n]), n);
        let ports = [connect(0)?, connect(1)?];
        let mut streams = |_: &str| unreachable!("nothing random in this path");
        let mut direction =
            |spec, name| Direction::new(&spec, name, Duration::ZERO, &mut streams).map_err(io::Error::other);
        let directions = [direction(path.down(), "down")?, direction(path.up(), "up")?];
        let mut emulator = Emulator::new(ports, directions, false).with_pool(Pool::new(MEMORY));
        let watch = Arc::new(Watch::default());
        let (options, seen) = (*options, watch.clone());
        let emulator = thread::spawn(move || {
            // Where interfaces are asked by name, it is the emulator's namespace that counts.
            middle.enter()?;
            drive(&mut emulator, &options, &seen)
        });
        while !watch.has_begun() && !emulator.is_finished() {
            thread::sleep(StdDuration::from_millis(1));
        }
        Ok(Self { hosts, watch, emulator })
    }

    /// The emulator's counters.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Sets a sysctl of both hosts.
    ///
    /// # Errors
    /// Where this kernel has none of that name, or refuses the value.
    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        for host in &self.hosts {
            host.within(|| fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value))?;
        }
        Ok(())
    }

    /// Ends the emulator; how it went.
    ///
    /// # Errors
    /// What ended it before.
    pub fn finish(self) -> io::Result<DriveReport> {
        self.watch.stop();
        self.emulator.join().map_err(|_| io::Error::other("the emulator's thread panicked"))?
    }
}

/// The address of a host.
pub fn address(n: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, n as u8 + 1])
}

/// Makes a host's interface; the emulator's side of it.
fn connect(
    kind: Kind,
    host: &Namespace,
    (middle, port): (&Namespace, &str),
    n: usize,
) -> io::Result<Box<dyn Port + Send>> {
    type Side = Box<dyn Port + Send>;
    let side = host.within(|| {
        Ok(match kind {
            Kind::Tun => Some(Box::new(Tun::open(INTERFACE)?) as Side),
            Kind::Offloads => Some(Box::new(OffloadTun(Tun::with_offloads(INTERFACE)?)) as Side),
            Kind::Veth => {
                Links::open()?.add_veth(INTERFACE, (port, middle))?;
                set_offloads(INTERFACE, false)?;
                None
            }
        })
    })?;
    host.within(|| {
        // Else the interface would speak by itself, and its packets would count.
        quiet(INTERFACE);
        let links = Links::open()?;
        links.up("lo", None, None)?;
        links.up(INTERFACE, Some(MTU), Some(QUEUE))?;
        links.add_address(INTERFACE, address(n))?;
        links.add_route(INTERFACE, address(1 - n), &Metrics::default())
    })?;
    if let Some(side) = side {
        return Ok(side);
    }
    middle.within(|| {
        quiet(port);
        Links::open()?.up(port, Some(MTU), Some(QUEUE))?;
        Ok(Box::new(Ethernet::open(port, MTU as usize)?) as Side)
    })
}

fn quiet(interface: &str) {
    fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1").ok();
}
