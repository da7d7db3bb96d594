//! A path of the kernel's own: a router between the hosts whose interfaces have netem, or another discipline.
//!
//! It is here to compare with. Both emulators count IP bytes, so netem is told to forget the 14 bytes of Ethernet.

use std::fs;
use std::io;
use std::net::IpAddr;

use rexmit_files::set_kernel_value;
use rexmit_network::two_hosts::{DOWN, HOSTS, UP, host_name, network, peer, receiver, sender};
use rexmit_network::{ByHost, HostId};
use rexmit_path::{DirectionSpec, KernelOptions, LossModel, PathSpec, Qdisc};
use rexmit_scenario::{Dropped, LinkCounts, SpecError};
use rexmit_units::{QueueLimit, Rate};

use crate::between::Passed;
use crate::host::{Addresses, Host, INTERFACE, system};
use crate::sys::link::{Links, Metrics, Place, set_offloads};
use crate::sys::namespace::Namespace;

/// Every interface has this address, so that each takes what is sent to it and nobody need ask.
const ETHERNET: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// The router.
#[derive(Debug)]
pub struct NetemPath {
    namespace: Namespace,
    /// What its interfaces had counted before the run.
    before: Passed,
}

impl NetemPath {
    /// A path between two hosts without interfaces, which get theirs here; it delays and drops nothing yet.
    ///
    /// # Errors
    /// A missing privilege.
    pub fn create(
        hosts: &ByHost<Host>,
        addresses: &ByHost<IpAddr>,
        mtu: &ByHost<u32>,
    ) -> Result<Self, SpecError> {
        let namespace = Namespace::create().map_err(wrong)?;
        let made = Self { namespace, before: Passed::default() };
        // Else the router would speak by itself, and its packets would count. A kernel without IPv6 does not.
        let [setting, value] = if addresses.values().all(IpAddr::is_ipv4) {
            ["disable_ipv6", "1"]
        } else {
            // Without an address of the link it says nothing of routers, neighbours and groups.
            ["addr_gen_mode", "1"]
        };
        let quiet = || set_kernel_value(format!("/proc/sys/net/ipv6/conf/default/{setting}"), value);
        made.namespace.within(|| Ok(quiet().ok())).map_err(wrong)?;
        for (id, host) in hosts.iter() {
            made.connect(id, host).map_err(wrong)?;
            let bring_up = || {
                Links::open()?.set_hardware_address(INTERFACE, &ETHERNET)?;
                let addresses = Addresses { own: addresses[id], peer: Some(addresses[peer(id)]) };
                host.bring_up(mtu[id], addresses)
            };
            host.namespace.within(bring_up).map_err(wrong)?;
        }
        let routes = || made.route(addresses, mtu);
        made.namespace.within(routes).map_err(wrong)?;
        Ok(made)
    }

    /// Gives a host an interface whose other end is the router's.
    fn connect(&self, id: HostId, host: &Host) -> io::Result<()> {
        self.namespace.within(|| {
            let links = Links::open()?;
            links.add_veth(towards(id), INTERFACE, &host.namespace)?;
            links.set_hardware_address(towards(id), &ETHERNET)?;
            // Before it forwards: whoever does joins groups.
            links.quiet(towards(id))
        })
    }

    fn route(&self, addresses: &ByHost<IpAddr>, mtu: &ByHost<u32>) -> io::Result<()> {
        set_kernel_value("/proc/sys/net/ipv4/ip_forward", "1")?;
        if addresses.values().all(IpAddr::is_ipv6) {
            set_kernel_value("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
        }
        let links = Links::open()?;
        for (host, address) in addresses.iter() {
            let name = towards(host);
            set_offloads(name, false)?;
            links.up(name, Some(mtu[host]), None)?;
            links.add_route(name, *address, &Metrics::default())?;
        }
        Ok(())
    }

    /// Becomes the path that a run wants.
    ///
    /// # Errors
    /// Where the kernel lacks netem or the discipline, or refuses an option of it.
    pub fn become_this(&mut self, path: &PathSpec, hosts: &ByHost<Host>) -> Result<(), SpecError> {
        for (link, direction) in [(DOWN, path.down()), (UP, path.up())] {
            let name = towards(receiver(link));
            let Some(discipline) = &direction.qdisc else {
                let set = || Links::open()?.add_qdisc(name, Place::Root, NETEM, &netem(&direction));
                self.namespace.within(set).map_err(wrong)?;
                continue;
            };
            // The delay comes first: after a discipline of its own it would hide from that how full the queue is.
            let delay = DirectionSpec { rate: None, queue: BEFORE.into(), ..direction.clone() };
            let sender = &hosts[sender(link)];
            let before = || {
                sender.keep_hash();
                Links::open()?.add_qdisc(INTERFACE, Place::Root, NETEM, &netem(&delay))
            };
            sender.namespace.within(before).map_err(wrong)?;
            let set = || bottleneck(name, direction.rate, discipline);
            self.namespace.within(set).map_err(|e| refused(discipline, &e))?;
        }
        self.before = self.counters().map_err(wrong)?;
        Ok(())
    }

    /// Delays and drops nothing any more, and forgets what it holds.
    ///
    /// # Errors
    /// Those of the interfaces.
    pub fn clear(&self, hosts: &ByHost<Host>) -> io::Result<()> {
        let own = || {
            let links = Links::open()?;
            HOSTS.iter().try_for_each(|host| links.remove_qdisc(towards(*host)))
        };
        self.namespace.within(own)?;
        hosts.values().try_for_each(|host| host.namespace.within(|| Links::open()?.remove_qdisc(INTERFACE)))
    }

    /// What has passed in this run.
    ///
    /// # Errors
    /// Where the kernel does not report it.
    pub fn passed(&self) -> io::Result<Passed> {
        let mut passed = self.counters()?;
        passed.delivered -= self.before.delivered;
        for (now, before) in passed.links.values_mut().zip(self.before.links.values()) {
            now.packets -= before.packets;
            now.drops.total -= before.drops.total;
        }
        Ok(passed)
    }

    /// What its interfaces have counted.
    fn counters(&self) -> io::Result<Passed> {
        self.namespace.within(|| {
            let devices = fs::read_to_string("/proc/thread-self/net/dev")?;
            let links = Links::open()?;
            let mut counters = Passed::default();
            for link in network().links() {
                let packets = device(&devices, towards(sender(link)), 1);
                let drops = Dropped { total: links.dropped(towards(receiver(link)))?, by: None };
                counters.links.push(LinkCounts { packets, drops, unreached: 0 });
            }
            counters.delivered = HOSTS.map(|host| device(&devices, towards(host), 9)).iter().sum();
            Ok(counters)
        })
    }
}

fn wrong(error: io::Error) -> SpecError {
    SpecError { key: "path.emulator".into(), ..system("between the two", &error) }
}

fn refused(discipline: &Qdisc, error: &io::Error) -> SpecError {
    let about = io::Error::other(format!("{discipline}: {error}"));
    SpecError { key: "path.qdisc".into(), ..system("between the two", &about) }
}

/// The router's interface towards a host, which its packets come from and those for it leave by.
fn towards(host: HostId) -> &'static str {
    host_name(host)
}

/// Gives an interface of the router a discipline before a bottleneck of this rate.
fn bottleneck(name: &str, rate: Option<Rate>, discipline: &Qdisc) -> io::Result<()> {
    let links = Links::open()?;
    let options = discipline.kernel_options(rate).map_err(io::Error::other)?;
    let Some(rate) = rate.filter(|_| !discipline.has_bottleneck()) else {
        return links.add_qdisc(name, Place::Root, discipline.name(), &options);
    };
    links.add_qdisc(name, Place::Outer, "tbf", &token_bucket(rate))?;
    links.add_qdisc(name, Place::Inner, discipline.name(), &options)
}

/// A bucket of one frame that fills at this rate.
fn token_bucket(rate: Rate) -> KernelOptions {
    let bytes = rate.bits_per_second() / 8;
    // `struct tc_ratespec` has the kind of the link in its second byte, and the rate last.
    let kind = u32::from_ne_bytes([0, LINK_ETHERNET, 0, 0]);
    let limit = 1_000_000;
    let ticks = (f64::from(BUCKET) * 1e9 / NANOSECONDS_IN_TICK / bytes.max(1) as f64).ceil() as u32;
    let parameters = [kind, 0, saturated(bytes), 0, 0, 0, limit, ticks, 0];
    let mut options = KernelOptions::default();
    options.add(TBF_PARAMETERS, KernelOptions::of_numbers(&parameters).as_bytes());
    options.add_number(TBF_BURST, BUCKET);
    if bytes > u32::MAX.into() {
        options.add(TBF_RATE_64, &bytes.to_ne_bytes());
    }
    options
}

/// The netem of a direction.
fn netem(direction: &DirectionSpec) -> KernelOptions {
    let limit = match direction.queue_limit() {
        QueueLimit::Packets(n) => saturated(n),
        _ => DEFAULT_LIMIT,
    };
    let loss = match &direction.impairments.loss {
        Some(LossModel::Independent(p)) => (p.as_f64() * f64::from(u32::MAX)).round_ties_even() as u32,
        _ => 0,
    };
    let mut options = KernelOptions::of_numbers(&[0, limit, loss, 0, 0, 0]);
    if !direction.delay.is_zero() {
        options.add(NETEM_DELAY_64, &direction.delay.as_nanos().to_ne_bytes());
    }
    if let Some(rate) = direction.rate {
        let bytes = rate.bits_per_second() / 8;
        let of = [saturated(bytes), -14_i32 as u32, 0, 0];
        options.add(NETEM_RATE, KernelOptions::of_numbers(&of).as_bytes());
        if bytes > u32::MAX.into() {
            options.add(NETEM_RATE_64, &bytes.to_ne_bytes());
        }
    }
    options
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Number `field` (0: bytes received, 1: packets received, 9: packets sent) of an interface in /proc/net/dev.
fn device(text: &str, name: &str, field: usize) -> u64 {
    let of = |line: &str| {
        let (found, numbers) = line.split_once(':')?;
        (found.trim() == name).then(|| numbers.split_whitespace().nth(field)?.parse().ok()).flatten()
    };
    text.lines().find_map(of).unwrap_or(0)
}

const NETEM: &str = "netem";
/// What the delay before a discipline holds at most: all that propagates.
const BEFORE: QueueLimit = QueueLimit::Packets(1_000_000);
/// Bucket of the token bucket after a discipline: one frame.
const BUCKET: u32 = 1600;
/// Packets that netem holds at most where nobody says how many, as `tc` has it.
const DEFAULT_LIMIT: u32 = 1000;

/// Numbers of attributes, and a kind of link [Linux 6.1 include/uapi/linux/pkt_sched.h].
const NETEM_RATE: u16 = 6;
const NETEM_RATE_64: u16 = 8;
const NETEM_DELAY_64: u16 = 10;
const TBF_PARAMETERS: u16 = 1;
const TBF_RATE_64: u16 = 4;
const TBF_BURST: u16 = 6;
const LINK_ETHERNET: u8 = 1;
/// In ticks of this length, disciplines are told times [Linux 6.1 include/net/pkt_sched.h, `PSCHED_SHIFT`].
const NANOSECONDS_IN_TICK: f64 = 64.0;
