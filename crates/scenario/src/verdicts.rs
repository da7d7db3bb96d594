//! The log of verdicts: which packets met what on the path, and of which connection they were.

use std::collections::HashMap;

use rexmit_path::{LogRow, Summary};

use crate::{Resolved, VerdictRow};

/// Takes the logs of directions, and gives their rows in order of time.
#[derive(Debug, Default)]
pub struct VerdictLog {
    /// Connections by the ports of the server and of the client.
    connections: HashMap<(u16, u16), u32>,
    rows: Vec<VerdictRow>,
}

impl VerdictLog {
    /// Of a run of a scenario.
    pub fn of(resolved: &Resolved) -> Self {
        let ports = |plan: crate::ConnectionPlan| {
            let [server, client] = plan.sockets.map(|socket| socket.port());
            ((server, client), plan.number as u32)
        };
        Self { connections: resolved.connections().map(ports).collect(), rows: Vec::new() }
    }

    /// Adds the log of the direction of this name, from the `server` or from the client.
    pub fn add(&mut self, direction: &'static str, from_server: bool, log: &[LogRow]) {
        let connections = &self.connections;
        let of = |packet: &Summary| {
            let (from, to) = (packet.src_port, packet.dst_port);
            connections.get(&if from_server { (from, to) } else { (to, from) }).copied()
        };
        let rows = log.iter().map(|row| VerdictRow { direction, connection: of(&row.packet), row: *row });
        self.rows.extend(rows);
    }

    /// The rows, those of one time in the order in which logs were added.
    pub fn into_rows(mut self) -> Vec<VerdictRow> {
        self.rows.sort_by_key(|row| row.row.time);
        self.rows
    }
}
