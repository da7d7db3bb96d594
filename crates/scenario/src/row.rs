//! What a run gives, whatever ran it.

use std::iter::Sum;

use rexmit_network::two_hosts::{SERVER, down_and_up};
use rexmit_network::{ByHost, ByLink, ConnectionId, HostId, LinkId};
use rexmit_path::{Drops, LogRow};
use rexmit_stack::{Cached, Snapshot};
use rexmit_tables::row;
use rexmit_units::Instant;
use serde::{Deserialize, Serialize};

use crate::{
    IntervalRow, LinkRow, LinkSlice, MessageRow, ProgramRow, RetransmissionRow, TransferRow, TransferSlice,
};

row! {
    /// One run as one row of a table. Counts are over all connections of the run; `down` is server to client.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct Row {
        completed: bool = plain("true when every transfer ended"),
        time_ns: u64 =
            ns("from the opener's connect() to the receiver's end of stream or the last response's end"),
        bytes: u64 = bytes("bytes delivered to the receiving applications, requests and responses both"),
        #[serde(default)]
        packets_down: Option<u64> = packets("packets offered to the path, server to client")
            or "it is a network of many hosts, whose links are in the table links",
        #[serde(default)]
        packets_up: Option<u64> = packets("packets offered to the path, client to server")
            or "it is a network of many hosts, whose links are in the table links",
        data_segments: u64 =
            packets("first transmissions of data by both hosts: TCP's segments, SCTP's chunks"),
        retransmits: u64 =
            packets("segments or chunks with data sent again by both hosts, for whatever reason"),
        timeouts: u64 =
            plain("expiries of retransmission timers at both hosts, those of SYN and SYN-ACK included"),
        #[serde(default)]
        timeouts_server: Option<u64> = plain("expiries of the server's alone") or "it is a network of many hosts",
        fast_retransmits: u64 = plain("entries of both hosts into fast recovery; of SCTP, fast retransmits"),
        #[serde(default)]
        drops_down: Option<u64> = packets("packets that the path dropped, server to client")
            or "it is a network of many hosts, whose links are in the table links",
        #[serde(default)]
        drops_up: Option<u64> = packets("packets that the path dropped, client to server")
            or "it is a network of many hosts, whose links are in the table links",
        #[serde(default)]
        drops_down_pattern: Option<u64> =
            packets("of drops_down, packets that a pattern dropped") or "the backend does not report it",
        #[serde(default)]
        drops_down_random: Option<u64> =
            packets("of drops_down, packets that random loss took") or "the backend does not report it",
        #[serde(default)]
        drops_down_queue: Option<u64> =
            packets("of drops_down, packets that a full queue dropped, or a token bucket too small for them")
                or "the backend does not report it",
        #[serde(default)]
        drops_down_aqm: Option<u64> =
            packets("of drops_down, packets that the queue's management dropped") or "the backend does not report it",
        #[serde(default)]
        drops_up_pattern: Option<u64> =
            packets("of drops_up, packets that a pattern dropped") or "the backend does not report it",
        #[serde(default)]
        drops_up_random: Option<u64> =
            packets("of drops_up, packets that random loss took") or "the backend does not report it",
        #[serde(default)]
        drops_up_queue: Option<u64> =
            packets("of drops_up, packets that a full queue dropped, or a token bucket too small for them")
                or "the backend does not report it",
        #[serde(default)]
        drops_up_aqm: Option<u64> =
            packets("of drops_up, packets that the queue's management dropped") or "the backend does not report it",
        #[serde(default)]
        unreached_down: Option<u64> = plain(
            "patterns of the path, server to client, that met no packet: what they stand for never happened"
        )
            or "it is a network of many hosts, whose links are in the table links",
        #[serde(default)]
        unreached_up: Option<u64> = plain("patterns of the path, client to server, that met no packet")
            or "it is a network of many hosts, whose links are in the table links",
        deliveries: u64 = packets("packets delivered to a host"),
        virtual_ns: u64 = ns("virtual time at which the run ended, that of closing included"),
        #[serde(default)]
        cached_ssthresh: Option<u64> = bytes(
            "slow-start threshold that the sender of connection 0 found in its host's cache, headers included"
        ) or "it found none, or the host keeps no cache",
        #[serde(default)]
        cached_rtt_ns: Option<u64> = ns("smoothed round-trip time that it found there")
            or "it found none, or the host keeps no cache",
        #[serde(default)]
        cached_cwnd: Option<u64> = bytes("congestion window that it found there")
            or "it found none, or the host keeps no cache",
        error: Option<String> = plain("why the run failed") or "it did not",
    }
    beside {
        /// What was sent in each interval, where the scenario has some.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        intervals: Vec<IntervalRow>,
        /// How late messages were, where the scenario asks for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<MessageRow>,
        /// What was sent again, where the scenario has it counted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        retransmissions: Vec<RetransmissionRow>,
        /// What connections did, where that is measured.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        transfers: Vec<TransferRow>,
        /// What links did.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links: Vec<LinkRow>,
        /// What connections did by intervals.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        transfers_over_time: Vec<TransferSlice>,
        /// What links did by intervals.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links_over_time: Vec<LinkSlice>,
        /// What became of programs, where hosts have some.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        programs: Vec<ProgramRow>,
    }
}

/// Packets that the path dropped in a direction, and by what where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// All of them.
    pub total: u64,
    /// The same by what dropped them.
    pub by: Option<Drops>,
}

impl From<Drops> for Dropped {
    fn from(by: Drops) -> Self {
        Self { total: by.total(), by: Some(by) }
    }
}

impl Sum for Dropped {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let none = Self { total: 0, by: Some(Drops::default()) };
        all.fold(none, |sum, one| Self {
            total: sum.total + one.total,
            by: sum.by.zip(one.by).map(|(sum, one)| [sum, one].into_iter().sum()),
        })
    }
}

impl Row {
    /// Sets what was dropped on the way down and on the way up.
    fn set_drops(&mut self, down: Dropped, up: Dropped) {
        (self.drops_down, self.drops_up) = (Some(down.total), Some(up.total));
        self.drops_down_pattern = down.by.map(|by| by.pattern);
        self.drops_down_random = down.by.map(|by| by.random);
        self.drops_down_queue = down.by.map(|by| by.queue + by.bucket);
        self.drops_down_aqm = down.by.map(|by| by.aqm);
        self.drops_up_pattern = up.by.map(|by| by.pattern);
        self.drops_up_random = up.by.map(|by| by.random);
        self.drops_up_queue = up.by.map(|by| by.queue + by.bucket);
        self.drops_up_aqm = up.by.map(|by| by.aqm);
    }
}

/// What happened on one link in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets that entered it.
    pub packets: u64,
    /// Packets that it dropped.
    pub drops: Dropped,
    /// Its patterns that met no packet.
    pub unreached: u64,
}

impl Row {
    /// Sets what a connection found in its host's cache.
    pub fn set_cached(&mut self, found: Cached) {
        self.cached_ssthresh = found.ssthresh;
        self.cached_rtt_ns = found.rtt.map(|rtt| rtt.as_nanos());
        self.cached_cwnd = found.cwnd;
    }

    /// Sets the columns of timeouts from the expiries of each host's retransmission timers.
    pub fn set_timeouts(&mut self, hosts: &ByHost<u64>) {
        self.timeouts = hosts.values().sum();
        self.timeouts_server = Some(hosts[SERVER]);
    }

    /// Sets the columns `*_down` and `*_up`, which are sums over links: those from the server, and those from the client.
    pub fn set_links(&mut self, links: &ByLink<LinkCounts>) {
        let (down, up) = down_and_up(links, |link| link.packets);
        (self.packets_down, self.packets_up) = (Some(down), Some(up));
        let (down, up) = down_and_up(links, |link| link.drops);
        self.set_drops(down, up);
        let (down, up) = down_and_up(links, |link| link.unreached);
        (self.unreached_down, self.unreached_up) = (Some(down), Some(up));
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
    /// The connection that the packet belongs to; `None` if it is none of the scenario's.
    pub connection: Option<ConnectionId>,
    /// The packet and what became of it.
    pub row: LogRow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_direction_are_sums_over_its_links() {
        let link = |packets, pattern, unreached| {
            let drops = Drops { pattern, ..Drops::default() }.into();
            LinkCounts { packets, drops, unreached }
        };
        let mut row = Row::default();
        row.set_links(
            &[link(10, 1, 0), link(20, 2, 1), link(300, 4, 0), link(400, 0, 5)].into_iter().collect(),
        );
        row.set_timeouts(&[3, 5].into_iter().collect());
        assert_eq!((row.packets_down, row.packets_up), (Some(310), Some(420)));
        assert_eq!((row.drops_down, row.drops_up), (Some(5), Some(2)));
        assert_eq!((row.drops_down_pattern, row.drops_up_pattern), (Some(5), Some(2)));
        assert_eq!((row.drops_down_queue, row.drops_up_queue), (Some(0), Some(0)));
        assert_eq!((row.unreached_down, row.unreached_up), (Some(0), Some(6)));
        assert_eq!((row.timeouts, row.timeouts_server), (8, Some(3)));
    }
}
