//! What a run gives, whatever ran it.

use rexmit_network::two_hosts::{SERVER, down_and_up};
use rexmit_network::{ByHost, ByLink, ConnectionId, HostId, LinkId};
use rexmit_path::LogRow;
use rexmit_stack::Snapshot;
use rexmit_units::Instant;
use serde::{Deserialize, Serialize};

use crate::{IntervalRow, MessageRow, RetransmissionRow};

/// One run as one row of a table. Counts are over all connections of the run; `down` is server to client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Every transfer reached its end: of the stream, or of the last response.
    pub completed: bool,
    /// From the opener's connect() to the receiver's end of stream, or to the end of the last response, of the
    /// longest transfer; nanoseconds.
    pub time_ns: u64,
    /// Bytes that the receiving applications read; of requests and responses, both.
    pub bytes: u64,
    /// Packets that entered the path from the server.
    pub packets_down: u64,
    /// Packets that entered the path from the client.
    pub packets_up: u64,
    /// First transmissions of data.
    pub data_segments: u64,
    /// Segments with data sent again.
    pub retransmits: u64,
    /// Expiries of retransmission timers, those of SYN and SYN-ACK included.
    pub timeouts: u64,
    /// Expiries of the server's retransmission timers alone.
    pub timeouts_server: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Packets that the path dropped from the server's.
    pub drops_down: u64,
    /// Packets that the path dropped from the client's.
    pub drops_up: u64,
    /// Patterns of the path from the server that met no packet: what they stand for never happened.
    #[serde(default)]
    pub unreached_down: u64,
    /// Patterns of the path from the client that met no packet.
    #[serde(default)]
    pub unreached_up: u64,
    /// Packets delivered to a host.
    pub deliveries: u64,
    /// Virtual time at which the run ended, nanoseconds.
    pub virtual_ns: u64,
    /// Why the run is not valid, if it is not.
    pub error: Option<String>,
    /// What was sent in each interval, where the scenario has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<IntervalRow>,
    /// How late messages were, where the scenario asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRow>,
    /// What was sent again, where the scenario has it counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retransmissions: Vec<RetransmissionRow>,
}

/// What happened on one link in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets that entered it.
    pub packets: u64,
    /// Packets that it dropped.
    pub drops: u64,
    /// Its patterns that met no packet.
    pub unreached: u64,
}

impl Row {
    /// Sets the columns of timeouts from the expiries of each host's retransmission timers.
    pub fn set_timeouts(&mut self, hosts: &ByHost<u64>) {
        self.timeouts = hosts.values().sum();
        self.timeouts_server = hosts[SERVER];
    }

    /// Sets the columns `*_down` and `*_up`, which are sums over links: those from the server, and those from the client.
    pub fn set_links(&mut self, links: &ByLink<LinkCounts>) {
        (self.packets_down, self.packets_up) = down_and_up(links, |link| link.packets);
        (self.drops_down, self.drops_up) = down_and_up(links, |link| link.drops);
        (self.unreached_down, self.unreached_up) = down_and_up(links, |link| link.unreached);
    }
}

/// State of an endpoint at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRow {
    /// When.
    pub time: Instant,
    /// The host.
    pub host: HostId,
    /// The connection.
    pub connection: ConnectionId,
    /// The state.
    pub state: Snapshot,
}

/// The path's verdict on a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictRow {
    /// The link that it entered.
    pub link: LinkId,
    /// The packet and what became of it.
    pub row: LogRow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_direction_are_sums_over_its_links() {
        let link = |packets, drops, unreached| LinkCounts { packets, drops, unreached };
        let mut row = Row::default();
        row.set_links(
            &[link(10, 1, 0), link(20, 2, 1), link(300, 4, 0), link(400, 0, 5)].into_iter().collect(),
        );
        row.set_timeouts(&[3, 5].into_iter().collect());
        assert_eq!((row.packets_down, row.packets_up), (310, 420));
        assert_eq!((row.drops_down, row.drops_up), (5, 2));
        assert_eq!((row.unreached_down, row.unreached_up), (0, 6));
        assert_eq!((row.timeouts, row.timeouts_server), (8, 3));
    }
}
