//! The connections of a scenario, the same for every backend.

use std::net::SocketAddr;

use rexmit_network::two_hosts::ORDER_OF_ENDS;
use rexmit_network::{ConnectionId, HostId, Id};
use rexmit_traffic::App;

use crate::scenario::Resolved;

/// Ports of the opening sides; they number the connections.
pub const FIRST_PORT: u16 = 10_000;
/// Ports of the waiting sides, one a transfer.
pub const SERVICE_PORT: u16 = 5_001;

/// The connection whose packets have these two ports, in whatever order: the greater one numbers it. `None` where it can
/// be of no scenario's.
#[inline]
pub fn connection_of_ports(one: u16, other: u16) -> Option<ConnectionId> {
    one.max(other).checked_sub(FIRST_PORT).map(|number| ConnectionId::new(number.into()))
}

/// One connection with its two ends.
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// Its number.
    pub id: ConnectionId,
    /// The transfer that it belongs to, from 0.
    pub transfer: usize,
    /// The host that connects.
    pub opener: HostId,
    /// The host that sends the data; with requests, the one that answers.
    pub sender: HostId,
    /// The two ends, in the order in which timers of one instant are handled.
    pub ends: [PlannedEnd; 2],
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct PlannedEnd {
    /// Where it is.
    pub host: HostId,
    /// Its address there.
    pub socket: SocketAddr,
    /// What writes and reads there.
    pub app: App,
}

impl ConnectionPlan {
    /// The end at `host`.
    ///
    /// # Panics
    /// Where the connection has none there.
    pub fn end(&self, host: HostId) -> &PlannedEnd {
        let [first, second] = &self.ends;
        if first.host == host {
            return first;
        }
        assert_eq!(second.host, host, "connection {} has no end there", self.id.number());
        second
    }

    /// The host at the other end.
    ///
    /// # Panics
    /// Where the connection has no end at `host`.
    pub fn peer(&self, host: HostId) -> HostId {
        let [first, second] = &self.ends;
        if self.end(host).host == first.host { second.host } else { first.host }
    }
}

impl Resolved {
    /// Every connection, in order.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionPlan> {
        let copies =
            self.transfers.iter().enumerate().flat_map(|(n, t)| (0..t.connections()).map(move |c| (n, t, c)));
        copies.enumerate().map(|(number, (n, transfer, copy))| {
            let (from, to) = transfer.applications(copy);
            let (opener, sender) = (transfer.opener(), transfer.from());
            let end = |host, app| {
                let port = if host == opener { FIRST_PORT + number as u16 } else { SERVICE_PORT + n as u16 };
                PlannedEnd { host, socket: SocketAddr::new(self.address(host), port), app }
            };
            let [first, second] = ORDER_OF_ENDS;
            let ends = if first == sender {
                [end(first, from), end(second, to)]
            } else {
                [end(first, to), end(second, from)]
            };
            ConnectionPlan { id: ConnectionId::from_index(number), transfer: n, opener, sender, ends }
        })
    }
}
