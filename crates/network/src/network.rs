//! Where links lead, and which one a packet takes.

use std::net::IpAddr;

use crate::{ByHost, ByLink, HostId, LinkId};

/// One direction of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The host that sends into it.
    pub from: HostId,
    /// The host that its packets come out at.
    pub to: HostId,
}

/// The hosts of a run, the links between them, and the routes of each host.
#[derive(Clone, Debug)]
pub struct Network {
    pub(crate) links: ByLink<Link>,
    pub(crate) routes: ByHost<Routes>,
}

/// Which link a host's packets take.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// Packets to these addresses take these links.
    pub(crate) to: Vec<(IpAddr, LinkId)>,
    /// All others take this one.
    pub(crate) default: LinkId,
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

    /// The two hosts of a link.
    #[inline]
    pub fn link(&self, link: LinkId) -> Link {
        self.links[link]
    }

    /// The link that a packet of `host` to `destination` takes.
    #[inline]
    pub fn route(&self, host: HostId, destination: IpAddr) -> LinkId {
        let routes = &self.routes[host];
        let own = routes.to.iter().find(|(address, _)| *address == destination);
        own.map_or(routes.default, |(_, link)| *link)
    }

    /// The link that a packet of `host` takes unless its destination has one of its own.
    #[inline]
    pub fn default_route(&self, host: HostId) -> LinkId {
        self.routes[host].default
    }
}
