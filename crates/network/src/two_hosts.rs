//! A server and a client, with a path between them and perhaps an alternate one: the form that scenarios have.
//!
//! This is the only place that knows how many hosts and links there are, what they are called and how they are numbered.
//! A path is two links: `down` from the server to the client, `up` from the client to the server.

use std::iter::Sum;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::network::{Name, Node};
use crate::tree::Forwarding;
use crate::{ByHost, ByLink, HostId, Link, LinkId, Network};

/// The server.
pub const SERVER: HostId = HostId::new(0);
/// The client.
pub const CLIENT: HostId = HostId::new(1);
/// From the server to the client.
pub const DOWN: LinkId = LinkId::new(0);
/// From the client to the server.
pub const UP: LinkId = LinkId::new(1);
/// From the server to the client, on the alternate path.
pub const ALTERNATE_DOWN: LinkId = LinkId::new(2);
/// From the client to the server, on the alternate path.
pub const ALTERNATE_UP: LinkId = LinkId::new(3);

/// The hosts, in the order of their numbers.
pub const HOSTS: [HostId; 2] = [SERVER, CLIENT];
/// The hosts in the order in which the timers of their ends are handled, where these are due at one instant.
pub const ORDER_OF_ENDS: [HostId; 2] = [CLIENT, SERVER];
/// Every link that there may be, in the order of their numbers.
pub const LINKS: [LinkId; 4] = [DOWN, UP, ALTERNATE_DOWN, ALTERNATE_UP];

const HOST_NAMES: [&str; HOSTS.len()] = ["server", "client"];
const LINK_NAMES: [&str; LINKS.len()] = ["down", "up", "alternate-down", "alternate-up"];

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The host `server`.
    Server,
    /// The host `client`.
    Client,
}

impl Side {
    /// The other host.
    pub const fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    /// Its number.
    pub const fn host(self) -> HostId {
        match self {
            Self::Server => SERVER,
            Self::Client => CLIENT,
        }
    }

    /// As in a scenario.
    pub fn name(self) -> &'static str {
        host_name(self.host())
    }
}

/// The name of a host.
///
/// # Panics
/// For a host that is neither of the two.
pub fn host_name(host: HostId) -> &'static str {
    HOST_NAMES[usize::from(host.number())]
}

/// The name of a link.
///
/// # Panics
/// For a link that is not in [`LINKS`].
pub fn link_name(link: LinkId) -> &'static str {
    LINK_NAMES[link.number() as usize]
}

/// The host that a host's connections lead to.
pub fn peer(host: HostId) -> HostId {
    choose(host, CLIENT, SERVER)
}

/// The one that is for `host`: of the server, or of the client.
///
/// # Panics
/// For a host that is neither of the two.
#[inline]
pub fn choose<T>(host: HostId, server: T, client: T) -> T {
    match host {
        SERVER => server,
        CLIENT => client,
        _ => panic!("host number {} is neither the server nor the client", host.number()),
    }
}

/// What is for the server and what is for the client.
pub fn server_and_client<T>(server: T, client: T) -> ByHost<T> {
    [server, client].into_iter().collect()
}

/// What `make` makes for each host, in the order of their numbers.
pub fn by_host<T>(make: impl FnMut(HostId) -> T) -> ByHost<T> {
    HOSTS.into_iter().map(make).collect()
}

/// The same, where it may fail.
///
/// # Errors
/// The first of `make`.
pub fn try_by_host<T, E>(make: impl FnMut(HostId) -> Result<T, E>) -> Result<ByHost<T>, E> {
    HOSTS.into_iter().map(make).collect()
}

/// What `make` makes for each link of one path.
pub fn by_link<T>(make: impl FnMut(LinkId) -> T) -> ByLink<T> {
    [DOWN, UP].into_iter().map(make).collect()
}

/// A count of what is on its way down and what is on its way up, on all paths together: the columns `*_down` and
/// `*_up`.
pub fn down_and_up<T, C: Sum>(links: &ByLink<T>, count: impl Fn(&T) -> C) -> (C, C) {
    let sum =
        |from| links.iter().filter(|(link, _)| sender(*link) == from).map(|(_, item)| count(item)).sum();
    (sum(SERVER), sum(CLIENT))
}

/// The two hosts with one path.
pub fn network() -> Network {
    Network {
        links: by_link(link),
        routes: by_host(|host| choose(host, DOWN, UP)),
        others: Vec::new(),
        forwarding: Forwarding::default(),
        host_names: HOST_NAMES.into_iter().map(Name::Borrowed).collect(),
        link_names: LINK_NAMES.into_iter().map(Name::Borrowed).collect(),
    }
}

/// The two hosts with an alternate path, which packets to these second addresses take.
pub fn network_with_alternate(addresses: &ByHost<IpAddr>) -> Network {
    let mut network = network();
    for number in [ALTERNATE_DOWN, ALTERNATE_UP] {
        network.links.push(link(number));
        network.others.push((sender(number), addresses[receiver(number)], number));
    }
    network
}

fn link(link: LinkId) -> Link {
    Link { from: Node::Host(sender(link)), to: Node::Host(receiver(link)) }
}

/// The host that a link's packets come out at.
pub fn receiver(link: LinkId) -> HostId {
    peer(sender(link))
}

/// The host whose packets a link carries.
pub fn sender(link: LinkId) -> HostId {
    if matches!(link, DOWN | ALTERNATE_DOWN) { SERVER } else { CLIENT }
}

/// Reads a list of what is for the server and what is for the client.
///
/// # Errors
/// A list of another length.
pub fn pair<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<ByHost<T>, D::Error> {
    Ok(<[T; HOSTS.len()]>::deserialize(from)?.into_iter().collect())
}

/// The same, or nothing.
///
/// # Errors
/// As [`pair`].
pub fn pair_if_any<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<ByHost<T>>, D::Error> {
    let items = Option::<[T; HOSTS.len()]>::deserialize(from)?;
    Ok(items.map(|items| items.into_iter().collect()))
}
