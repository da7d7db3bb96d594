//! A path of the kernel's own: a router between the hosts whose interfaces have netem, or another discipline.
//!
//! It is here to compare with. Both emulators count IP bytes, so netem is told to forget the 14 bytes of Ethernet.

use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};

use rexmit_files::set_kernel_value;
use rexmit_network::two_hosts::{DOWN, HOSTS, UP, host_name, network, peer};
use rexmit_network::{ByHost, HostId};
use rexmit_path::{DirectionSpec, LossModel, PathSpec, Qdisc};
use rexmit_scenario::{Dropped, LinkCounts, SpecError};
use rexmit_units::{QueueLimit, Rate};

use crate::between::Passed;
use crate::host::{Host, INTERFACE, system};
use crate::sys::link::{Links, Metrics};
use crate::sys::namespace::Namespace;

/// Every interface has this address, so that each takes what is sent to it and nobody need ask.
const ETHERNET: &str = "02:00:00:00:00:01";

/// The router.
#[derive(Debug)]
pub struct NetemPath {
    namespace: Namespace,
}

impl NetemPath {
    /// A path between two hosts without interfaces, which get theirs here.
    ///
    /// # Errors
    /// Without the programs `ip` and `tc`, or netem in the kernel.
    pub fn create(
        path: &PathSpec,
        hosts: &ByHost<Host>,
        addresses: &ByHost<IpAddr>,
        mtu: &ByHost<u32>,
    ) -> Result<Self, SpecError> {
        let wrong = |e: io::Error| SpecError { key: "path.emulator".into(), ..system("between the two", &e) };
        let namespace = Namespace::create().map_err(wrong)?;
        let made = Self { namespace };
        if addresses.values().all(IpAddr::is_ipv4) {
            // Else the router would speak by itself.
            let quiet = || set_kernel_value("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            made.namespace.within(|| Ok(quiet().ok())).map_err(wrong)?;
        }
        for (id, host) in hosts.iter() {
            made.connect(id, host, mtu[id]).map_err(wrong)?;
            let bring_up = || host.bring_up(mtu[id], addresses[id], addresses[peer(id)]);
            host.namespace.within(bring_up).map_err(wrong)?;
        }
        let routes = || made.route(addresses, mtu);
        made.namespace.within(routes).map_err(wrong)?;
        for (link, direction) in [(DOWN, path.down()), (UP, path.up())] {
            let link = network().link(link);
            let Some(discipline) = &direction.qdisc else {
                made.namespace.within(|| batch("tc", &netem(towards(link.to), &direction))).map_err(wrong)?;
                continue;
            };
            // The delay comes first: behind a discipline of its own it would hide from that how full the queue is.
            let delay = DirectionSpec { rate: None, queue: BEFORE.into(), ..direction.clone() };
            let sender = &hosts[link.from];
            let before = || {
                sender.keep_hash();
                batch("tc", &netem(INTERFACE, &delay))
            };
            sender.namespace.within(before).map_err(wrong)?;
            let lines = bottleneck(towards(link.to), direction.rate, discipline);
            let refused = |e: io::Error| {
                let about = io::Error::new(e.kind(), format!("{discipline}: {e}"));
                SpecError { key: "path.qdisc".into(), ..system("between the two", &about) }
            };
            made.namespace.within(|| batch("tc", &lines)).map_err(refused)?;
        }
        Ok(made)
    }

    /// Gives a host an interface whose other end is the router's.
    fn connect(&self, id: HostId, host: &Host, mtu: u32) -> io::Result<()> {
        let to = format!("/proc/{}/fd/{}", std::process::id(), host.namespace.fd().as_raw_fd());
        let name = towards(id);
        let own = format!("address {ETHERNET} mtu {mtu}");
        let lines = format!(
            "link add {name} {own} type veth peer name {INTERFACE} {own} netns {to}\n\
             link set {name} arp off multicast off up\n"
        );
        self.namespace.within(|| batch("ip", &lines))
    }

    fn route(&self, addresses: &ByHost<IpAddr>, mtu: &ByHost<u32>) -> io::Result<()> {
        set_kernel_value("/proc/sys/net/ipv4/ip_forward", "1")?;
        if addresses.values().all(IpAddr::is_ipv6) {
            set_kernel_value("/proc/sys/net/ipv6/conf/all/forwarding", "1")?;
        }
        let links = Links::open()?;
        for (host, address) in addresses.iter() {
            let name = towards(host);
            crate::sys::link::set_offloads(name, false)?;
            links.quiet(name)?;
            links.up(name, Some(mtu[host]), None)?;
            links.add_route(name, *address, &Metrics::default())?;
        }
        Ok(())
    }

    /// What has passed.
    ///
    /// # Errors
    /// Where /proc or `tc` do not answer.
    pub fn counters(&self) -> io::Result<Passed> {
        self.namespace.within(|| {
            let devices = fs::read_to_string("/proc/thread-self/net/dev")?;
            let mut counters = Passed::default();
            for link in network().links() {
                let link = network().link(link);
                let packets = device(&devices, towards(link.from), 1);
                let drops = Dropped { total: dropped(towards(link.to))?, by: None };
                counters.links.push(LinkCounts { packets, drops, unreached: 0 });
            }
            counters.delivered = HOSTS.map(|host| device(&devices, towards(host), 9)).iter().sum();
            Ok(counters)
        })
    }
}

/// The router's interface towards a host, which its packets come from and those for it leave by.
fn towards(host: HostId) -> &'static str {
    host_name(host)
}

/// What the delay before a discipline holds at most: all that propagates.
const BEFORE: QueueLimit = QueueLimit::Packets(1_000_000);
/// Bucket of the token bucket behind a discipline: one frame.
const BUCKET: u32 = 1600;

/// A discipline before a bottleneck of this rate, as `tc` reads it.
fn bottleneck(name: &str, rate: Option<Rate>, discipline: &Qdisc) -> String {
    let Some(rate) = rate.map(Rate::bits_per_second) else {
        return format!("qdisc add dev {name} root {discipline}\n");
    };
    if discipline.name() == "cake" {
        // The only one with a bottleneck of its own; it counts from the IP header on.
        let options = discipline.options();
        return format!("qdisc add dev {name} root cake bandwidth {rate}bit overhead 14 {options}\n");
    }
    format!(
        "qdisc add dev {name} root handle 1: tbf rate {rate}bit burst {BUCKET} limit 1000000\n\
         qdisc add dev {name} parent 1:1 {discipline}\n"
    )
}

/// The netem of a direction, as `tc` reads it.
fn netem(name: &str, direction: &DirectionSpec) -> String {
    let mut line = format!("qdisc add dev {name} root netem");
    if !direction.delay.is_zero() {
        line += &format!(" delay {}us", direction.delay.as_nanos() as f64 / 1e3);
    }
    if let Some(LossModel::Independent(p)) = &direction.impairments.loss {
        line += &format!(" loss {}%", p.as_f64() * 100.0);
    }
    if let Some(rate) = direction.rate {
        line += &format!(" rate {}bit -14", rate.bits_per_second());
    }
    if let QueueLimit::Packets(n) = direction.queue_limit() {
        line += &format!(" limit {n}");
    }
    line + "\n"
}

/// Number `field` (0: bytes received, 1: packets received, 9: packets sent) of an interface in /proc/net/dev.
fn device(text: &str, name: &str, field: usize) -> u64 {
    let of = |line: &str| {
        let (found, numbers) = line.split_once(':')?;
        (found.trim() == name).then(|| numbers.split_whitespace().nth(field)?.parse().ok()).flatten()
    };
    text.lines().find_map(of).unwrap_or(0)
}

/// Packets that the qdisc of an interface dropped.
fn dropped(name: &str) -> io::Result<u64> {
    let told = command("tc").args(["-s", "-j", "qdisc", "show", "dev", name]).output()?;
    let told: serde_json::Value = serde_json::from_slice(&told.stdout)?;
    Ok(told.pointer("/0/drops").and_then(serde_json::Value::as_u64).unwrap_or(0))
}

/// A program of the system, which need not be on the user's path.
fn command(program: &str) -> Command {
    let places = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(|folder| format!("{folder}/{program}"));
    Command::new(places.iter().find(|place| Path::new(place).exists()).map_or(program, String::as_str))
}

/// Hands lines to `ip` or `tc`.
fn batch(program: &str, lines: &str) -> io::Result<()> {
    let spawned = command(program).args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child =
        spawned.map_err(crate::sys::about(format!("the program {program}, of Debian's iproute2")))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(lines.as_bytes())?;
    }
    let done = child.wait_with_output()?;
    if done.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&done.stderr);
    let words = words.lines().next().unwrap_or("it failed without a word").trim();
    let hint = if words.contains("qdisc kind is unknown") { ": this kernel does not have it" } else { "" };
    Err(io::Error::other(format!("{program}: {words}{hint}")))
}
