//! Where links lead, and which one a packet takes.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::tree::Forwarding;
use crate::{ByHost, ByLink, HostId, LinkId, PointId};

/// The name of a host or of a link in files.
pub type Name = Cow<'static, str>;

/// What a link joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host, where packets begin and end.
    Host(HostId),
    /// A point, where they are forwarded.
    Point(PointId),
}

impl Node {
    /// The host; `None` of a point.
    #[inline]
    pub fn host(self) -> Option<HostId> {
        match self {
            Self::Host(host) => Some(host),
            Self::Point(_) => None,
        }
    }
}

/// One direction of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Who sends into it.
    pub from: Node,
    /// Where its packets come out.
    pub to: Node,
}

/// The hosts of a run, the links between them, their names, and the routes.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) links: ByLink<Link>,
    /// The link that a host's packets take.
    pub(crate) routes: ByHost<LinkId>,
    /// Packets of these hosts to these addresses take another: apart, since large networks have none.
    pub(crate) others: Vec<(HostId, IpAddr, LinkId)>,
    pub(crate) forwarding: Forwarding,
    pub(crate) host_names: ByHost<Name>,
    pub(crate) link_names: ByLink<Name>,
}

impl Network {
    /// The hosts.
    pub fn hosts(&self) -> impl DoubleEndedIterator<Item = HostId> + use<> {
        self.routes.ids()
    }

    /// The links. Where packets come out of several at one instant, the lower number goes first.
    pub fn links(&self) -> impl DoubleEndedIterator<Item = LinkId> + use<> {
        self.links.ids()
    }

    /// What `make` makes for each host.
    pub fn by_host<T>(&self, make: impl FnMut(HostId) -> T) -> ByHost<T> {
        self.hosts().map(make).collect()
    }

    /// The same, where it may fail.
    ///
    /// # Errors
    /// The first of `make`.
    pub fn try_by_host<T, E>(&self, make: impl FnMut(HostId) -> Result<T, E>) -> Result<ByHost<T>, E> {
        self.hosts().map(make).collect()
    }

    /// What a link joins.
    #[inline]
    pub fn link(&self, link: LinkId) -> Link {
        self.links[link]
    }

    /// The link that a packet of `host` to `destination` takes.
    #[inline]
    pub fn route(&self, host: HostId, destination: IpAddr) -> LinkId {
        let other = self.others.iter().find(|(of, to, _)| *of == host && *to == destination);
        other.map_or_else(|| self.default_route(host), |(_, _, link)| *link)
    }

    /// The link that a packet of `host` takes unless its destination has one of its own.
    #[inline]
    pub fn default_route(&self, host: HostId) -> LinkId {
        self.routes[host]
    }

    /// The link that a packet to the host `to` takes at a point.
    #[inline]
    pub fn forward(&self, at: PointId, to: HostId) -> LinkId {
        self.forwarding.next(at, to)
    }

    /// Where packets are forwarded.
    pub fn points(&self) -> usize {
        self.forwarding.points()
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &Name {
        &self.host_names[host]
    }

    /// The name of a direction of a link.
    pub fn link_name(&self, link: LinkId) -> &Name {
        &self.link_names[link]
    }
}
