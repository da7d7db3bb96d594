//! The log of verdicts: which packets met what on the path, and which connection they belonged to.

use rexmit_network::LinkId;
use rexmit_path::{LogRow, Summary};

use crate::scenario::OWN_PORTS;
use crate::{VerdictRow, connection_of_ports};

/// Takes the logs of directions, and gives their rows in order of time.
#[derive(Debug, Default)]
pub struct VerdictLog {
    /// Number of the connections that ports tell.
    connections: usize,
    rows: Vec<VerdictRow>,
}

impl VerdictLog {
    /// Of a run with this many connections. Where they share ports, none is known.
    pub fn of(connections: usize) -> Self {
        Self { connections: if connections > OWN_PORTS { 0 } else { connections }, rows: Vec::new() }
    }

    /// Adds the log of a link.
    pub fn add(&mut self, link: LinkId, log: &[LogRow]) {
        let connections = self.connections;
        let of = |packet: &Summary| {
            let found = connection_of_ports(packet.src_port, packet.dst_port);
            found.filter(|connection| (connection.number() as usize) < connections)
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
