//! Packets to connections, one packet at a time.

use std::collections::HashMap;
use std::mem;
use std::net::SocketAddr;

use rexmit_units::Instant;
use rexmit_wire::{Flags, Packet, SackBlocks, TcpSegment};

use crate::coverage::Coverage;
use crate::sequence::SequenceSpace;
use crate::tsg_rows::{Ack, Connection, SackBlock, Segment, Side};

/// A packet as a capture shows it.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// When it was seen.
    pub time: Instant,
    /// Number of the interface at which it was seen; connections of two interfaces are kept apart.
    pub interface: u32,
    /// The packet; of its data the capture may hold a part only.
    pub packet: &'a Packet,
    /// Bytes of data that it had on the wire.
    pub payload_len: u32,
    /// The capture's comment. It is handed on as a note and decides nothing.
    pub note: Option<&'a str>,
}

/// Sorts packets into connections. Call [`push`](Self::push) for each packet in the order of the capture, then
/// [`finish`](Self::finish).
#[derive(Debug, Default)]
pub struct Tracker {
    /// All connections in the order of their first packets.
    connections: Vec<Tracked>,
    /// The newest connection of each pair of addresses at each interface.
    newest: HashMap<(u32, SocketAddr, SocketAddr), usize>,
}

impl Tracker {
    /// A tracker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next packet; one that is not TCP is passed over.
    pub fn push(&mut self, seen: &Observation<'_>) {
        let Some(tcp) = seen.packet.tcp() else { return };
        let from = SocketAddr::new(seen.packet.src, tcp.src_port);
        let to = SocketAddr::new(seen.packet.dst, tcp.dst_port);
        let key = (seen.interface, from.min(to), from.max(to));
        let known = self.newest.get(&key).copied().filter(|&at| !self.connections[at].is_replaced_by(tcp));
        let at = known.unwrap_or_else(|| {
            self.connections.push(Tracked::new(seen, tcp, from, to));
            self.newest.insert(key, self.connections.len() - 1);
            self.connections.len() - 1
        });
        self.connections[at].push(seen, tcp, from);
    }

    /// The connections, in the order of their first packets.
    pub fn finish(self) -> Vec<Connection> {
        self.connections.into_iter().map(|tracked| tracked.rows).collect()
    }
}

/// A connection and what is remembered of it.
#[derive(Debug)]
struct Tracked {
    rows: Connection,
    client: Sender,
    server: Sender,
    /// A FIN or RST was seen: a new SYN starts another connection.
    closing: bool,
}

impl Tracked {
    fn new(seen: &Observation<'_>, tcp: &TcpSegment, from: SocketAddr, to: SocketAddr) -> Self {
        let answer = tcp.flags.has(Flags::SYN.with(Flags::ACK));
        let (client, server) = if answer { (to, from) } else { (from, to) };
        Self {
            rows: Connection {
                interface: seen.interface,
                interface_name: None,
                opened: false,
                start: seen.time,
                end: seen.time,
                packets: 0,
                client: Side::new(client),
                server: Side::new(server),
            },
            client: Sender::default(),
            server: Sender::default(),
            closing: false,
        }
    }

    /// True if `tcp` opens another connection between the same ports: a SYN with another initial sequence
    /// number after a FIN or RST.
    fn is_replaced_by(&self, tcp: &TcpSegment) -> bool {
        let syn = tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK);
        let known = [self.client.space.initial(), self.server.space.initial()];
        syn && self.closing && !known.contains(&Some(tcp.seq))
    }

    fn push(&mut self, seen: &Observation<'_>, tcp: &TcpSegment, from: SocketAddr) {
        let rows = &mut self.rows;
        rows.packets += 1;
        rows.end = rows.end.max(seen.time);
        rows.opened |= tcp.flags.has(Flags::SYN);
        self.closing |= tcp.flags.any(Flags::FIN.with(Flags::RST));
        let (mut own, mut other) =
            ((&mut rows.client, &mut self.client), (&mut rows.server, &mut self.server));
        if from != own.0.address {
            mem::swap(&mut own, &mut other);
        }
        own.1.send(own.0, seen, tcp);
        if tcp.flags.has(Flags::ACK) && !tcp.flags.has(Flags::RST) {
            let shift = match (own.0.window_shift, other.0.window_shift) {
                // The window of a SYN is never scaled (RFC 7323 section 2.2).
                (Some(shift), Some(_)) if !tcp.flags.has(Flags::SYN) => shift,
                _ => 0,
            };
            other.1.acknowledged(other.0, seen, tcp, i64::from(tcp.window) << shift);
        }
    }
}

/// What is remembered of the data that one side sends.
#[derive(Debug, Default)]
struct Sender {
    space: SequenceSpace,
    coverage: Coverage,
    /// Highest acknowledgment number seen.
    acked: Option<i64>,
    /// Window in bytes of the last acknowledgment.
    window: i64,
    /// Duplicate acknowledgments in a row.
    duplicates: u32,
}

impl Sender {
    /// The side sent `tcp`.
    fn send(&mut self, side: &mut Side, seen: &Observation<'_>, tcp: &TcpSegment) {
        if tcp.flags.has(Flags::SYN) {
            self.space.start_at(tcp.seq);
            side.mss = tcp.mss.or(side.mss);
            // RFC 7323 section 2.3: a shift above 14 counts as 14.
            side.window_shift = tcp.window_scale.map(|shift| shift.min(14)).or(side.window_shift);
            side.sack_permitted |= tcp.sack_permitted;
        }
        let seq = self.space.offset(tcp.seq);
        let in_space = u32::from(tcp.flags.has(Flags::SYN)) + u32::from(tcp.flags.has(Flags::FIN));
        let end = seq + i64::from(seen.payload_len) + i64::from(in_space);
        let highest = self.coverage.highest();
        let (mut transmission, mut late) = (1, false);
        if end > seq {
            let brought = self.coverage.add(seq, end);
            transmission += brought.before;
            late = brought.any_new && highest.is_some_and(|highest| seq < highest);
        }
        side.bytes += u64::from(seen.payload_len);
        side.segments.push(Segment {
            time: seen.time,
            seq,
            end,
            len: seen.payload_len,
            flags: tcp.flags,
            transmission,
            late,
            damaged: seen.packet.damaged,
            note: seen.note.map(Into::into),
        });
    }

    /// The other side sent `tcp`, an acknowledgment, and offers `window` bytes.
    fn acknowledged(&mut self, side: &mut Side, seen: &Observation<'_>, tcp: &TcpSegment, window: i64) {
        let ack = self.space.offset(tcp.ack);
        let outstanding = self.coverage.highest().is_some_and(|highest| highest > ack);
        let bare = seen.payload_len == 0 && !tcp.flags.any(Flags::SYN.with(Flags::FIN));
        let unchanged = self.acked == Some(ack) && self.window == window;
        self.duplicates = if outstanding && bare && unchanged { self.duplicates + 1 } else { 0 };
        self.acked = self.acked.max(Some(ack));
        self.window = window;
        let row = side.acks.len() as u32;
        side.acks.push(Ack {
            time: seen.time,
            ack,
            window_edge: ack + window,
            len: seen.payload_len,
            duplicate: self.duplicates,
            note: seen.note.map(Into::into),
        });
        self.sacked(side, &tcp.sack, ack, (seen.time, row));
    }

    fn sacked(&mut self, side: &mut Side, blocks: &SackBlocks, ack: i64, (time, ack_row): (Instant, u32)) {
        // Blocks lie near the acknowledgment, and do not say where the next number is expected.
        let mut space = self.space;
        let edges: Vec<_> = blocks
            .as_slice()
            .iter()
            .map(|&(left, right)| (space.offset(left), space.offset(right)))
            .collect();
        for (at, &(left, right)) in edges.iter().enumerate() {
            // RFC 2883 section 4: the first block lies below the acknowledgment or inside the second block.
            let inside = edges.get(1).is_some_and(|&(from, to)| from <= left && right <= to);
            let duplicate = at == 0 && (right <= ack || inside);
            side.sacks.push(SackBlock { time, left, right, ack_row, duplicate });
        }
    }
}

#[cfg(test)]
mod tests;
