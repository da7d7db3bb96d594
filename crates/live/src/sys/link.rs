//! Interfaces, addresses, routes and disciplines of this thread's namespace, by rtnetlink; offloads by ethtool's ioctl.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;
use serde::{Deserialize, Serialize};

use super::namespace::Namespace;
use super::{about, check};

mod qdisc;

pub use qdisc::Place;

/// Requests to rtnetlink, answered one by one.
#[derive(Debug)]
pub struct Links {
    socket: Socket,
}

/// A route to everything, through one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// `initcwnd`, segments.
    pub initial_window: Option<u32>,
    /// `initrwnd`, segments.
    pub initial_receive_window: Option<u32>,
    /// `rto_min`, milliseconds.
    pub rto_min_ms: Option<u32>,
    /// `quickack`.
    pub quick_ack: Option<bool>,
}

impl Links {
    /// Of this thread's namespace.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket })
    }

    fn ask(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        failure(&self.answer(message, flags)?).map_or(Ok(()), Err)
    }

    /// The first message of the kernel's answer to a request.
    fn answer(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<u8>> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = 1;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        Ok(self.socket.recv_from_full()?.0)
    }

    /// Sets the MTU (bytes) and queue length (packets) where given, and brings the interface up.
    ///
    /// # Errors
    /// Where there is no such interface, or it refuses.
    pub fn up(&self, name: &str, mtu: Option<u32>, queue: Option<u32>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(name)?;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        message.attributes.extend(queue.map(LinkAttribute::TxQueueLen));
        self.ask(RouteNetlinkMessage::SetLink(message), 0).map_err(about(format!("interface {name}")))
    }

    /// Leaves the stack nothing to say by itself: no multicast, no address resolution. To be called before
    /// [`Self::up`], where every neighbour has the interface's own address or there are none.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn quiet(&self, name: &str) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(name)?;
        message.header.flags = LinkFlags::Noarp;
        message.header.change_mask = LinkFlags::Multicast | LinkFlags::Noarp;
        self.ask(RouteNetlinkMessage::SetLink(message), 0).map_err(about(format!("interface {name}")))
    }

    /// Gives an Ethernet interface an address.
    ///
    /// # Errors
    /// Where there is no such interface, or it refuses.
    pub fn set_hardware_address(&self, name: &str, address: &[u8]) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index(name)?;
        message.attributes.push(LinkAttribute::Address(address.to_vec()));
        self.ask(RouteNetlinkMessage::SetLink(message), 0).map_err(about(format!("interface {name}")))
    }

    /// Makes a pair of veth interfaces: `name` here, `peer` in another namespace.
    ///
    /// # Errors
    /// Where one of the names is taken.
    pub fn add_veth(&self, name: &str, peer: &str, namespace: &Namespace) -> io::Result<()> {
        let mut other = LinkMessage::default();
        other.attributes.push(LinkAttribute::IfName(peer.to_string()));
        other.attributes.push(LinkAttribute::NetNsFd(namespace.as_fd().as_raw_fd()));
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_string()));
        let data = InfoData::Veth(InfoVeth::Peer(other));
        let info = vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(data)];
        message.attributes.push(LinkAttribute::LinkInfo(info));
        self.ask(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
            .map_err(about(format!("veth interfaces {name} and {peer}")))
    }

    /// Gives the interface an address.
    ///
    /// # Errors
    /// Where there is no such interface, or it refuses.
    pub fn add_address(&self, name: &str, address: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = if address.is_ipv4() { 32 } else { 128 };
        message.header.index = index(name)?;
        if address.is_ipv6() {
            message.header.flags = AddressHeaderFlags::Nodad;
        }
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv4() {
            message.attributes.push(AddressAttribute::Local(address));
        }
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(about(format!("address {address} of {name}")))
    }

    /// Sends all packets to `to` through the interface, with these metrics.
    ///
    /// # Errors
    /// Where there is no such interface, or it refuses.
    pub fn add_route(&self, name: &str, to: IpAddr, metrics: &Metrics) -> io::Result<()> {
        let prefix = if to.is_ipv4() { 32 } else { 128 };
        self.route(name, to, prefix, metrics)
    }

    /// Sends what no other route is for through the interface: packets of the family of `like`.
    ///
    /// # Errors
    /// Where there is no such interface, or it refuses.
    pub fn add_default_route(&self, name: &str, like: IpAddr, metrics: &Metrics) -> io::Result<()> {
        let any = if like.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        self.route(name, any, 0, metrics)
    }

    fn route(&self, name: &str, to: IpAddr, prefix: u8, metrics: &Metrics) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(to);
        message.header.destination_prefix_length = prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        let destination = match to {
            IpAddr::V4(a) => RouteAddress::Inet(a),
            IpAddr::V6(a) => RouteAddress::Inet6(a),
        };
        if prefix > 0 {
            message.attributes.push(RouteAttribute::Destination(destination));
        }
        message.attributes.push(RouteAttribute::Oif(index(name)?));
        let of = [
            metrics.initial_window.map(RouteMetric::InitCwnd),
            metrics.initial_receive_window.map(RouteMetric::InitRwnd),
            metrics.rto_min_ms.map(RouteMetric::RtoMin),
            // TCP heeds it only where it is locked (`tcp_rto_min`).
            metrics.rto_min_ms.map(|_| RouteMetric::Lock(1 << RTAX_RTO_MIN)),
            metrics.quick_ack.map(|on| RouteMetric::QuickAck(on.into())),
        ];
        let of: Vec<RouteMetric> = of.into_iter().flatten().collect();
        if !of.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(of));
        }
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE)
            .map_err(about(format!("route to {to} over {name}")))
    }
}

/// The error that an answer of the kernel tells (`NLMSG_ERROR`), if it does.
fn failure(answer: &[u8]) -> Option<io::Error> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(HEADER..HEADER + 4)?.try_into().ok()?);
    (kind == NLMSG_ERROR && code != 0).then(|| io::Error::from_raw_os_error(-code))
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The number of an interface of this thread's namespace.
///
/// # Errors
/// Where there is none of this name.
pub fn index(name: &str) -> io::Result<u32> {
    if_nametoindex(name).map_err(io::Error::from).map_err(about(format!("interface {name}")))
}

/// The MTU of an interface, bytes.
///
/// # Errors
/// Where there is no such interface.
pub fn mtu(name: &str) -> io::Result<u32> {
    number(name, libc::SIOCGIFMTU as _)
}

/// True if an interface is up.
///
/// # Errors
/// Where there is no such interface.
pub fn is_up(name: &str) -> io::Result<bool> {
    number(name, libc::SIOCGIFFLAGS as _).map(|flags| flags & libc::IFF_UP as u32 != 0)
}

/// What an ioctl that answers with one number says of an interface.
fn number(name: &str, command: u64) -> io::Result<u32> {
    #[repr(C)]
    struct Numbered {
        name: [u8; libc::IFNAMSIZ],
        value: u32,
        rest: [u8; 20],
    }
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    let mut request = Numbered { name: [0; libc::IFNAMSIZ], value: 0, rest: [0; 20] };
    for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // SAFETY: these commands read and write one `ifreq`, which `request` is and which outlives the call.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &raw mut request) };
    check(answer.into()).map_err(about(format!("interface {name}")))?;
    // Flags are a short, the others an int.
    Ok(if command == libc::SIOCGIFFLAGS { request.value & 0xffff } else { request.value })
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq` with a pointer to data.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut Value,
    rest: [u8; 16],
}

/// Bytes of the header of a message.
const HEADER: usize = 16;
const NLMSG_ERROR: u16 = libc::NLMSG_ERROR as u16;

/// The number of `rto_min` among a route's metrics.
const RTAX_RTO_MIN: u32 = 13;

const SIOCETHTOOL: u64 = 0x8946;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_GSG: u32 = 0x18;
const ETHTOOL_SSG: u32 = 0x19;
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;

/// Turns segmentation offloads of an interface on or off (GSO, TSO, GRO), so that what the stack hands to it
/// is a packet, or may be many. An interface that has none of them accepts this.
///
/// # Errors
/// Where there is no such interface.
pub fn set_offloads(name: &str, on: bool) -> io::Result<()> {
    for command in [ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_SSG] {
        if command == ETHTOOL_SSG && on {
            continue;
        }
        ethtool(name, command, on.into())?;
    }
    Ok(())
}

/// Has the stack hand over packets one by one, with whole checksums, whatever else it leaves until then: what goes into a
/// veth pair comes out as it is.
///
/// # Errors
/// Where there is no such interface.
pub fn split_in_stack(name: &str) -> io::Result<()> {
    for command in [ETHTOOL_STSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM] {
        ethtool(name, command, 0)?;
    }
    Ok(())
}

/// Which offloads an interface has on; absent where it knows no such thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offloads {
    /// Scatter and gather, on which the others depend.
    pub sg: Option<bool>,
    /// TCP segmentation.
    pub tso: Option<bool>,
    /// Generic segmentation.
    pub gso: Option<bool>,
    /// Generic receive.
    pub gro: Option<bool>,
}

/// The offloads of an interface.
///
/// # Errors
/// Where there is no such interface.
pub fn offloads(name: &str) -> io::Result<Offloads> {
    let get = |command| ethtool(name, command, 0).map(|value| value.map(|v| v != 0));
    Ok(Offloads {
        sg: get(ETHTOOL_GSG)?,
        tso: get(ETHTOOL_GTSO)?,
        gso: get(ETHTOOL_GGSO)?,
        gro: get(ETHTOOL_GGRO)?,
    })
}

/// Sets the offloads that are named.
///
/// # Errors
/// Where there is no such interface, or it refuses.
pub fn restore_offloads(name: &str, to: &Offloads) -> io::Result<()> {
    let all = [(ETHTOOL_SSG, to.sg), (ETHTOOL_STSO, to.tso), (ETHTOOL_SGSO, to.gso), (ETHTOOL_SGRO, to.gro)];
    for (command, on) in all {
        if let Some(on) = on {
            ethtool(name, command, on.into())?;
        }
    }
    Ok(())
}

/// Asks an interface for a value, or to take one; `None` where it knows no such thing.
fn ethtool(name: &str, command: u32, data: u32) -> io::Result<Option<u32>> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    let mut value = Value { command, data };
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: &raw mut value, rest: [0; 16] };
    for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    // SAFETY: SIOCETHTOOL reads an `ifreq` and the value it points to, and writes the value; both outlive the call.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    match check(answer.into()) {
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(e) => Err(about(format!("offloads of {name}"))(e)),
        Ok(_) => Ok(Some(value.data)),
    }
}
