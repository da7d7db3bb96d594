//! The connections of a scenario, the same for every backend.

use std::net::SocketAddr;

use rexmit_traffic::{App, Side};

use crate::scenario::Resolved;

/// Ports of the opening sides; they number the connections.
pub const FIRST_PORT: u16 = 10_000;
/// Ports of the waiting sides, one a transfer.
pub const SERVICE_PORT: u16 = 5_001;

/// The hosts by their number: what the server sends goes down.
pub const HOSTS: [&str; 2] = ["server", "client"];

/// One connection with its two applications. Hosts are numbered as in [`HOSTS`].
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// From 0.
    pub number: usize,
    /// The transfer that it belongs to, from 0.
    pub transfer: usize,
    /// The host that connects.
    pub opener: usize,
    /// The host that sends the data; with requests, the one that answers.
    pub sender: usize,
    /// The two ends.
    pub sockets: [SocketAddr; 2],
    /// The two applications.
    pub apps: [App; 2],
}

impl Resolved {
    /// Every connection, in order.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionPlan> {
        let copies =
            self.transfers.iter().enumerate().flat_map(|(n, t)| (0..t.connections()).map(move |c| (n, t, c)));
        copies.enumerate().map(|(number, (n, transfer, copy))| {
            let (from, to) = transfer.applications(copy);
            let opener = usize::from(transfer.opener() == Side::Client);
            let sends = usize::from(transfer.from() == Side::Client);
            let socket = |host: usize| {
                let port = if host == opener { FIRST_PORT + number as u16 } else { SERVICE_PORT + n as u16 };
                SocketAddr::new(self.address(HOSTS[host]), port)
            };
            let mut apps = [from, to];
            if sends == 1 {
                apps.swap(0, 1);
            }
            ConnectionPlan {
                number,
                transfer: n,
                opener,
                sender: sends,
                sockets: [socket(0), socket(1)],
                apps,
            }
        })
    }
}
