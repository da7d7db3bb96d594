//! What a run knows, and no capture shows, of every packet that a model sent: why it left, and whether its receiver
//! needed it.

use std::collections::BTreeMap;
use std::ops::Range;

use rexmit_network::{ConnectionId, EndId, HostId};
use rexmit_stack::{Reason, Transmission};
use rexmit_units::Instant;
use rexmit_wire::{Flags, Packet, SeqNumber, Transport};

use crate::stack::Stack;

/// A packet that a host's TCP sent, a DATA chunk that its SCTP sent, or an SCTP packet without any.
#[derive(Clone, Debug, PartialEq)]
pub struct TransmissionRow {
    /// When it left.
    pub time: Instant,
    /// Who sent it.
    pub host: HostId,
    /// The connection.
    pub connection: ConnectionId,
    /// Number of the packet in its direction of the path, as in the verdicts.
    pub position: u64,
    /// IP identification: the number of the packet in its connection and direction, its low 16 bits.
    pub ident: u16,
    /// First sequence number, relative to the initial one: 0 is the SYN, 1 the first byte of data. Of a chunk, its TSN
    /// relative to the initial one: 0 is the first.
    pub seq: i64,
    /// Of a chunk, its place among the DATA chunks of its packet, from 0.
    pub chunk: Option<u32>,
    /// Bytes of data.
    pub len: u32,
    /// Control bits; none of SCTP.
    pub flags: Flags,
    /// Why it was sent; of a chunk, its packet.
    pub reason: Reason,
    /// How often the most repeated byte of it had been sent, this time included; SYN and FIN count as bytes, and 1
    /// stands for a packet that takes no sequence space.
    pub transmission: u32,
    /// What had become, or would become, of what was sent of it before.
    pub earlier: Earlier,
    /// When it arrived first, undamaged.
    pub arrived: Option<Instant>,
}

/// The fate of the earlier copies of what a packet repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Earlier {
    /// There were none: it repeats nothing.
    None,
    /// Some byte of it had no earlier copy that the receiver took: sending it again was needed.
    Lost,
    /// The receiver took all of it from earlier copies, some of which had not yet arrived.
    OnItsWay,
    /// The receiver had all of it.
    There,
}

impl Earlier {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lost => "lost",
            Self::OnItsWay => "on-its-way",
            Self::There => "there",
        }
    }
}

impl TransmissionRow {
    /// One past its last sequence number, SYN and FIN counted; of a chunk, one past its TSN.
    pub fn end(&self) -> i64 {
        if self.chunk.is_some() {
            return self.seq + 1;
        }
        let bit = |flag| i64::from(self.flags.has(flag));
        self.seq + i64::from(self.len) + bit(Flags::SYN) + bit(Flags::FIN)
    }
}

/// Collects the rows of a run.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    rows: Vec<TransmissionRow>,
    /// By row: the receiver held all of it after it had arrived.
    taken: Vec<bool>,
    /// By the end that sends.
    flows: BTreeMap<EndId, Flow>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Flow {
    /// A sequence number and its distance from the initial one.
    near: Option<(SeqNumber, i64)>,
    /// The rows of each of its packets, in order.
    packets: Vec<Range<usize>>,
    /// Its initial TSN, of SCTP.
    initial: Option<u32>,
}

impl Flow {
    /// The distance of a sequence number from the initial one.
    fn place(&mut self, number: SeqNumber, initial: SeqNumber, counts: bool) -> i64 {
        let near = self.near.get_or_insert((initial, 0));
        let place = near.1 + i64::from(number.diff(near.0));
        if counts {
            *near = (number, place);
        }
        place
    }
}

impl Truth {
    /// A packet leaves `end`, at this place of its link.
    pub fn sent(&mut self, end: EndId, now: Instant, sent: &Transmission, place: Place) {
        let first = self.rows.len();
        let row = TransmissionRow {
            time: now,
            host: end.host,
            connection: end.connection,
            position: place.position,
            ident: sent.packet.ip.ident,
            seq: 0,
            chunk: None,
            len: 0,
            flags: Flags::default(),
            reason: sent.reason,
            transmission: 1,
            earlier: Earlier::None,
            arrived: None,
        };
        let counts = sent.reason != Reason::Reset;
        let flow = self.flows.entry(end).or_default();
        match &sent.packet.transport {
            Transport::Tcp(segment) => {
                let seq = flow.place(segment.seq, place.initial, counts);
                let (len, flags) = (segment.payload.len(), segment.flags);
                self.rows.push(TransmissionRow { seq, len, flags, ..row });
            }
            Transport::Sctp(packet) => {
                flow.initial = Some(place.initial.0);
                for (n, data) in packet.data().enumerate() {
                    let seq = flow.place(SeqNumber(data.tsn), place.initial, counts);
                    let (chunk, len) = (Some(n as u32), data.payload.len());
                    self.rows.push(TransmissionRow { seq, chunk, len, ..row.clone() });
                }
                if self.rows.len() == first {
                    self.rows.push(row);
                }
            }
            Transport::Udp(_) | Transport::Other { .. } => return,
        }
        flow.packets.push(first..self.rows.len());
        self.taken.resize(self.rows.len(), false);
    }

    /// A packet of `sender` has been handled by its receiver, which is `at` now.
    pub fn handled(&mut self, sender: EndId, now: Instant, packet: &Seen, at: &Stack) {
        let Some(flow) = self.flows.get_mut(&sender) else { return };
        // Packets are numbered from 1; of those with this low half, the last one is meant.
        let sent = flow.packets.len();
        let back = (sent as u16).wrapping_sub(packet.ident);
        let Some(rows) = sent.checked_sub(usize::from(back) + 1).and_then(|i| flow.packets.get(i)) else {
            return;
        };
        for n in rows.clone() {
            self.rows[n].arrived.get_or_insert(now);
            let (from, end) = packet.segment.unwrap_or_else(|| {
                let tsn = SeqNumber(flow.initial.unwrap_or_default()) + self.rows[n].seq as u32;
                (tsn, tsn + 1)
            });
            self.taken[n] |= at.has_received(from, end);
        }
    }

    /// The rows, in order of time.
    pub fn finish(mut self) -> Vec<TransmissionRow> {
        let mut space = Vec::new();
        for flow in std::mem::take(&mut self.flows).into_values() {
            space.clear();
            for row in flow.packets.into_iter().flatten() {
                self.compare(row, &mut space);
            }
        }
        self.rows
    }

    /// Compares a row with those before it: `space` holds them as (first number, row), sorted.
    fn compare(&mut self, index: usize, space: &mut Vec<(i64, usize)>) {
        let row = &self.rows[index];
        let (start, end) = (row.seq, row.end());
        if start == end || row.reason == Reason::Reset {
            return;
        }
        let behind = space.partition_point(|s| s.0 < end);
        let near = space[..behind].iter().rev().take_while(|s| s.0 > start - LONGEST);
        let before: Vec<usize> = near.map(|s| s.1).filter(|&i| self.rows[i].end() > start).collect();
        if !before.is_empty() {
            let (transmission, earlier) = self.judge(index, &before);
            self.rows[index].transmission = transmission;
            self.rows[index].earlier = earlier;
        }
        let place = space.partition_point(|s| *s < (start, index));
        space.insert(place, (start, index));
    }

    /// The number of this transmission and the fate of what it repeats; `before` overlap it, and are not empty.
    fn judge(&self, index: usize, before: &[usize]) -> (u32, Earlier) {
        let row = &self.rows[index];
        let mut edges: Vec<i64> = before.iter().map(|&i| self.rows[i].seq.max(row.seq)).collect();
        edges.extend(before.iter().map(|&i| self.rows[i].end()).filter(|e| *e < row.end()));
        let (mut most, mut earlier) = (0, Earlier::There);
        for edge in edges {
            let at =
                before.iter().copied().filter(|&i| (self.rows[i].seq..self.rows[i].end()).contains(&edge));
            let times = at.clone().count();
            if times == 0 {
                continue; // New data follow here.
            }
            most = most.max(times as u32);
            let arrivals = at.filter(|&i| self.taken[i]).filter_map(|i| self.rows[i].arrived);
            earlier = match (arrivals.min(), earlier) {
                (None, _) | (_, Earlier::Lost) => Earlier::Lost,
                (Some(first), _) if first > row.time => Earlier::OnItsWay,
                (Some(_), worse) => worse,
            };
        }
        (most + 1, earlier)
    }
}

/// Where a packet stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number on its link.
    pub position: u64,
    /// The initial sequence number of its sender.
    pub initial: SeqNumber,
}

/// What is needed of a packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    ident: u16,
    /// First sequence number and one past the last, of TCP.
    segment: Option<(SeqNumber, SeqNumber)>,
}

impl Seen {
    /// `None` for a packet that is damaged or of no protocol that is followed.
    pub fn of(packet: &Packet) -> Option<Self> {
        let segment = match &packet.transport {
            Transport::Tcp(segment) => Some((segment.seq, segment.seq + segment.seq_len())),
            Transport::Sctp(_) => None,
            Transport::Udp(_) | Transport::Other { .. } => return None,
        };
        (!packet.damaged).then_some(Self { ident: packet.ip.ident, segment })
    }
}

/// More than the bytes of a packet.
const LONGEST: i64 = 1 << 17;
