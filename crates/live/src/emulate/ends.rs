//! Where packets come from and go to: namespaces of their own, this host, or interfaces that are taken over.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use rexmit_files::set_kernel_value;
use rexmit_network::two_hosts::{CLIENT, SERVER, by_host, choose, host_name, peer};
use rexmit_network::{ByHost, HostId};
use rexmit_scenario::{HostSpec, LinuxSpec, Resolved, SpecError};
use serde_json::Value;

use super::{Emulation, record};
use crate::host::{Addresses, Host, INTERFACE, system};
use crate::port::{Ethernet, Side};
use crate::sys::link::{Links, Metrics, index, is_up, mtu, set_offloads};
use crate::sys::namespace::Namespace;
use crate::wire::{Carrier, Shape, Wires};

/// Where the interface of one host is.
#[derive(Debug)]
pub struct End {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name there.
    pub interface: String,
}

/// All of them.
#[derive(Debug)]
pub struct Ends {
    /// Where they are.
    pub ends: ByHost<End>,
    /// Their addresses; absent between two interfaces.
    pub addresses: Option<ByHost<IpAddr>>,
    /// What carries packets to them; absent between two interfaces.
    pub carrier: Option<Carrier>,
}

/// Emulations on one host at a time, at most.
const MOST: u8 = 60;
/// As Ethernet has it.
const MTU: u32 = 1500;
/// Packets that wait between this host and the emulator at most, as for a [`Host`].
const QUEUE: u32 = 10_000;

/// Makes both ends of a path.
///
/// # Errors
/// A missing privilege, addresses that are taken, a kernel without TUN devices or namespaces.
pub fn create(wanted: &Emulation) -> Result<(Ends, ByHost<Side>), SpecError> {
    let on_host = !wanted.runs_at(host_name(SERVER));
    let addresses = match wanted.addresses_by_host() {
        addresses if on_host => free(addresses)?,
        addresses => addresses.unwrap_or_else(|| usual(0)),
    };
    let setup = Setup::open(wanted, host_name(CLIENT))?;
    let make = |host| {
        let addresses = Addresses { own: addresses[host], peer: Some(addresses[peer(host)]) };
        in_namespace(host, host_name(host), &setup.host(), &setup, addresses)
    };
    let (client_end, client_port) = make(CLIENT)?;
    let defaulted = client_end
        .namespace
        .within(|| Links::open()?.add_default_route(INTERFACE, addresses[CLIENT], &Metrics::default()));
    defaulted.map_err(|e| system(host_name(CLIENT), &e))?;
    let (server_end, server_port) = if on_host {
        on_this_host(&setup, &addresses).map_err(|e| system("server (this host)", &e))?
    } else {
        make(SERVER)?
    };
    let carrier = Some(setup.wires.carrier());
    let ends = [server_end, client_end].into_iter().collect();
    let ends = Ends { ends, addresses: Some(addresses), carrier };
    Ok((ends, [server_port, client_port].into_iter().collect()))
}

/// Makes the hosts of a network.
///
/// # Errors
/// As [`create`]; a setting that this kernel does not have.
pub fn create_network(wanted: &Emulation, resolved: &Resolved) -> Result<(Ends, ByHost<Side>), SpecError> {
    let first = resolved.scenario.hosts.names().next().unwrap_or_default();
    let setup = Setup::open(wanted, first)?;
    let (mut ends, mut sides) = (ByHost::new(), ByHost::new());
    for (id, name, spec) in resolved.scenario.hosts.iter() {
        let linux = spec.kernel_settings().linux;
        let offloads = linux.offloads.unwrap_or(true) && setup.offloads;
        let spec = HostSpec { linux: LinuxSpec { offloads: Some(offloads), ..linux }, ..spec.clone() };
        let addresses = Addresses { own: resolved.address(id), peer: None };
        let (end, side) = in_namespace(id, name, &spec, &setup, addresses)?;
        ends.push(end);
        sides.push(side);
    }
    let addresses = resolved.network.by_host(|host| resolved.address(host));
    Ok((Ends { ends, addresses: Some(addresses), carrier: Some(setup.wires.carrier()) }, sides))
}

/// Takes over two interfaces, `eth1` or `blue:eth1`; what they were before stands in a record by then.
///
/// # Errors
/// An interface that does not exist, is down, or is not Ethernet; a missing privilege.
pub fn take_over(names: &ByHost<String>) -> Result<(Ends, ByHost<Side>), SpecError> {
    let take = |name: &String| -> io::Result<(End, Side)> {
        let (namespace, interface) = record::split(name);
        let namespace = namespace.map_or_else(Namespace::current, |n| Namespace::named(&n))?;
        let side = namespace.within(|| {
            if !is_up(interface)? {
                let text = format!("it is down: `ip link set {interface} up` first");
                return Err(io::Error::other(text));
            }
            if let Some(address) = address_of(interface)? {
                let text = format!(
                    "it has the address {address} of this host, whose own packets would bypass the path"
                );
                return Err(io::Error::other(text));
            }
            Ok(Box::new(Ethernet::open(interface, mtu(interface)? as usize)?) as Side)
        })?;
        Ok((End { namespace, interface: interface.to_owned() }, side))
    };
    let taken =
        |name: &String| take(name).map_err(|e| SpecError::new(format!("--between {name}"), e.to_string()));
    let (mut ends, mut sides) = (ByHost::new(), ByHost::new());
    for name in names.values() {
        let (end, side) = taken(name)?;
        ends.push(end);
        sides.push(side);
    }
    Ok((Ends { ends, addresses: None, carrier: None }, sides))
}

/// An address of an interface of this thread's namespace by which it is reached from elsewhere, if it has one.
fn address_of(interface: &str) -> io::Result<Option<IpAddr>> {
    let mut own = addresses()?.into_iter().filter(|(name, _)| name == interface).map(|(_, address)| address);
    Ok(own.find(|address| !matches!(address, IpAddr::V6(a) if a.is_unicast_link_local())))
}

/// Every address in this thread's namespace, with its interface.
fn addresses() -> io::Result<Vec<(String, IpAddr)>> {
    let all = getifaddrs()?.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|a| IpAddr::from(a.ip()));
        let v6 = address.as_sockaddr_in6().map(|a| IpAddr::from(a.ip()));
        Some((one.interface_name, v4.or(v6)?))
    });
    Ok(all.collect())
}

/// What holds for all interfaces.
struct Setup {
    wires: Wires,
    /// Of both ends of a path.
    mtu: u32,
    offloads: bool,
}

impl Setup {
    /// As this process may; `first` is the first host.
    fn open(wanted: &Emulation, first: &str) -> Result<Self, SpecError> {
        let wires = Wires::open().map_err(|e| system(first, &e))?;
        // A capture is to see packets one by one, as links do.
        let one_by_one = wanted.captures.values().any(Option::is_some);
        let offloads = !one_by_one && wires.carrier() == Carrier::Tun;
        Ok(Self { wires, mtu: if wanted.mtu == 0 { MTU } else { wanted.mtu }, offloads })
    }

    fn shape<'a>(&self, name: &'a str, other: &'a str) -> Shape<'a> {
        Shape { name, other, mtu: self.mtu, super_packets: self.offloads }
    }

    /// A host of a path.
    fn host(&self) -> HostSpec {
        HostSpec {
            stack: Value::Null,
            mtu: self.mtu,
            address: None,
            alternate_address: None,
            at: None,
            access: None,
            count: None,
            tick_phase: None,
            program: None,
            code: None,
            tables: BTreeMap::new(),
            linux: LinuxSpec { offloads: Some(self.offloads), ..LinuxSpec::default() },
        }
    }
}

/// A host in a namespace of its own.
fn in_namespace(
    id: HostId,
    name: &str,
    spec: &HostSpec,
    setup: &Setup,
    addresses: Addresses,
) -> Result<(End, Side), SpecError> {
    let host = Host::create(name, spec, false)?;
    host.set_default_congestion(name)?;
    host.namespace.within(|| ask_no_router("default")).map_err(|e| system(name, &e))?;
    let super_packets = spec.linux.offloads.unwrap_or(false);
    // A host's own name may be too long for an interface.
    let other = format!("host{}", id.number());
    let shape = Shape { name: INTERFACE, other: &other, mtu: spec.mtu, super_packets };
    let port = host.connect(&setup.wires, &shape, addresses);
    let port = port.and_then(|port| {
        // So that ping works for everybody; a kernel that has no such thing needs none.
        let allow = || Ok(set_kernel_value("/proc/sys/net/ipv4/ping_group_range", "0 2147483647").ok());
        host.namespace.within(allow).map(|_| port)
    });
    let port = port.map_err(|e| system(name, &e))?;
    Ok((End { namespace: host.namespace, interface: INTERFACE.to_owned() }, port))
}

/// The server's end, in this thread's namespace.
fn on_this_host(setup: &Setup, addresses: &ByHost<IpAddr>) -> io::Result<(End, Side)> {
    let (address, peer) = (addresses[SERVER], addresses[CLIENT]);
    let (interface, port) = unused(setup)?;
    if address.is_ipv4() {
        // Else the interface would speak by itself.
        set_kernel_value(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1").ok();
    }
    ask_no_router(&interface)?;
    let links = Links::open()?;
    set_offloads(&interface, setup.offloads)?;
    setup.wires.settle(&interface)?;
    links.quiet(&interface)?;
    links.up(&interface, Some(setup.mtu), Some(QUEUE))?;
    links.add_address(&interface, address)?;
    links.add_route(&interface, peer, &Metrics::default())?;
    Ok((End { namespace: Namespace::current()?, interface }, port))
}

/// Has an interface of this thread's namespace, or every new one (`default`), send no router solicitation, which would be
/// the first packet of its direction.
fn ask_no_router(interface: &str) -> io::Result<()> {
    match set_kernel_value(format!("/proc/sys/net/ipv6/conf/{interface}/accept_ra"), "0") {
        // A kernel without IPv6 has no such thing.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// An interface under the first name that nobody has.
fn unused(setup: &Setup) -> io::Result<(String, Side)> {
    use io::ErrorKind::{AlreadyExists, ResourceBusy};
    let mut last = None;
    for name in (0..MOST).map(|n| format!("rexmit{n}")).filter(|name| index(name).is_err()) {
        match setup.wires.connect(&setup.shape(&name, host_name(SERVER))) {
            Ok(port) => return Ok((name, port)),
            // Another emulation was quicker.
            Err(e) if matches!(e.kind(), ResourceBusy | AlreadyExists) => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other(format!("{MOST} emulations run on this host already"))))
}

/// The `n`-th pair of addresses that is given where nobody asks for others (100.64.0.0/10 is nobody's, RFC 6598).
fn usual(n: u8) -> ByHost<IpAddr> {
    by_host(|host| IpAddr::from([100, 64, 0, 4 * n + choose(host, 1, 2)]))
}

/// The addresses, where this host has neither; without a wish the first such pair.
fn free(wanted: Option<ByHost<IpAddr>>) -> Result<ByHost<IpAddr>, SpecError> {
    let taken = addresses().map_err(|e| SpecError::new("", format!("this host's addresses: {e}")))?;
    let owner =
        |pair: &ByHost<IpAddr>| taken.iter().find(|(_, address)| pair.values().any(|own| own == address));
    if let Some(pair) = wanted {
        return match owner(&pair) {
            None => Ok(pair),
            Some((name, address)) => {
                let text = format!("{address} is the address of {name} on this host already: choose another");
                Err(SpecError::new("--address", text))
            }
        };
    }
    // What a host still has to say to the client of an earlier emulation would be this one's first packets.
    let heard_of = peers();
    let is_free = |pair: &ByHost<IpAddr>| owner(pair).is_none() && !heard_of.contains(&pair[CLIENT]);
    (0..MOST)
        .map(usual)
        .find(is_free)
        .ok_or_else(|| SpecError::new("", "every default address is taken on this host: give --address"))
}

/// Addresses to which this host's TCP may still send something by itself.
fn peers() -> Vec<IpAddr> {
    /// The state of a connection that is over; it answers only.
    const TIME_WAIT: &str = "06";
    let text = fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default();
    let peer = |line: &str| {
        let mut fields = line.split_whitespace().skip(2);
        let (remote, state) = (fields.next()?, fields.next()?);
        let number = u32::from_str_radix(remote.split_once(':')?.0, 16).ok()?;
        (state != TIME_WAIT).then(|| IpAddr::from(number.to_ne_bytes()))
    };
    // An IPv6 socket that carries IPv4 stands in the other table, its address in the last of four words.
    let text6 = fs::read_to_string("/proc/thread-self/net/tcp6").unwrap_or_default();
    let peer6 = |line: &str| {
        let mut fields = line.split_whitespace().skip(2);
        let (remote, state) = (fields.next()?, fields.next()?);
        let number = u32::from_str_radix(remote.get(24..32)?, 16).ok()?;
        (state != TIME_WAIT).then(|| IpAddr::from(number.to_ne_bytes()))
    };
    text.lines().skip(1).filter_map(peer).chain(text6.lines().skip(1).filter_map(peer6)).collect()
}
