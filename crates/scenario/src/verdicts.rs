//! The log of verdicts: which packets met what on the path, and of which connection they were.

use std::collections::HashMap;

use rexmit_path::{LogRow, Summary};

use rexmit_network::two_hosts::{self, CLIENT, SERVER, choose};
use rexmit_network::{ConnectionId, LinkId};

use crate::{Resolved, VerdictRow};

/// Takes the logs of directions, and gives their rows in order of time.
#[derive(Debug, Default)]
pub struct VerdictLog {
    /// Connections by the ports of the server and of the client.
    connections: HashMap<(u16, u16), ConnectionId>,
    rows: Vec<VerdictRow>,
}

impl VerdictLog {
    /// Of a run of a scenario.
    pub fn of(resolved: &Resolved) -> Self {
        let ports = |plan: crate::ConnectionPlan| {
            let port = |host| plan.end(host).socket.port();
            ((port(SERVER), port(CLIENT)), plan.id)
        };
        Self { connections: resolved.connections().map(ports).collect(), rows: Vec::new() }
    }

    /// Adds the log of a link.
    pub fn add(&mut self, link: LinkId, log: &[LogRow]) {
        let from = two_hosts::sender(link);
        let connections = &self.connections;
        let of = |packet: &Summary| {
            let (source, destination) = (packet.src_port, packet.dst_port);
            let ports = choose(from, (source, destination), (destination, source));
            connections.get(&ports).copied()
        };
        let rows = log.iter().map(|row| VerdictRow { link, connection: of(&row.packet), row: *row });
        self.rows.extend(rows);
    }

    /// The rows, those of one time in the order in which logs were added.
    pub fn into_rows(mut self) -> Vec<VerdictRow> {
        self.rows.sort_by_key(|row| row.row.time);
        self.rows
    }
}
