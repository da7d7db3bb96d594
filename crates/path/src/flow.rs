//! What a packet is within its flow: its number, its segment, whether it repeats data.
//!
//! Kept only where a pattern asks for it. A flow is one direction of a connection, known by its addresses,
//! ports and protocol.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use std::borrow::Cow;

use rexmit_wire::sctp::{self, Chunk};
use rexmit_wire::{Flags, PROTOCOL_SCTP, Packet, QuicKinds, SeqNumber, TcpSegment, Transport, UdpDatagram};

use crate::carried::{Carried, FlowKey};

/// One packet as its flow sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowView {
    /// Number of the flow, from 0, in order of appearance.
    pub index: usize,
    /// Number of the packet in its flow, from 1.
    pub position: u64,
    /// Source and destination port; 0 where the protocol has none.
    pub ports: (u16, u16),
    /// What the TCP segment, the SCTP packet or the datagram of QUIC is; `None` for other protocols.
    pub segment: Option<SegmentView>,
}

/// One TCP segment, one SCTP packet, or one datagram of QUIC, as its flow sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentView {
    /// Control bits, or what stands for them in SCTP ([`control`]); for QUIC, ACK for an acknowledgment alone.
    pub flags: Flags,
    /// Offset of its first byte in the stream; for SCTP, of its lowest TSN from the association's first.
    pub offset: u64,
    /// Bytes of data; for SCTP, TSNs up to its highest.
    pub len: u32,
    /// Its number among the segments with new data, from 1; `None` where it has no new data.
    pub number: Option<u64>,
    /// True where some of its data has been sent before.
    pub repeats: bool,
    /// The kinds of its packets, for QUIC.
    pub quic: QuicKinds,
    /// It carries a DATAGRAM frame, for QUIC.
    pub datagram: bool,
}

impl FlowView {
    /// True if either port is `port`.
    pub fn has_port(&self, port: u16) -> bool {
        self.ports.0 == port || self.ports.1 == port
    }
}

/// Follows every flow of a direction.
#[derive(Default)]
pub(crate) struct FlowTracker {
    // Looked up, never iterated; a fixed hasher all the same, so that no run differs from another.
    index: HashMap<FlowKey, usize, BuildHasherDefault<DefaultHasher>>,
    flows: Vec<FlowState>,
}

#[derive(Default)]
struct FlowState {
    packets: u64,
    /// Sequence number of the first byte of data.
    base: Option<SeqNumber>,
    /// Offset one past the highest byte sent.
    highest: u64,
    /// Segments with new data so far.
    segments: u64,
    /// It has begun as QUIC does.
    is_quic: bool,
}

impl FlowTracker {
    /// Takes the next packet of the direction into account and says what it is.
    pub fn observe(&mut self, packet: &Packet) -> FlowView {
        let key = packet.flow();
        let next = self.flows.len();
        let index = *self.index.entry(key).or_insert(next);
        if index == next {
            self.flows.push(FlowState::default());
        }
        let flow = &mut self.flows[index];
        flow.packets += 1;
        FlowView {
            index,
            position: flow.packets,
            ports: (key.3, key.4),
            segment: match &packet.transport {
                Transport::Tcp(tcp) => Some(flow.observe(tcp)),
                Transport::Udp(datagram) => flow.observe_quic(datagram),
                _ => sctp_of(packet).map(|packet| flow.observe_sctp(&packet)),
            },
        }
    }
}

/// The SCTP packet that a packet carries, read from its bytes where it is not a value.
fn sctp_of(packet: &Packet) -> Option<Cow<'_, sctp::Packet>> {
    match &packet.transport {
        Transport::Sctp(packet) => Some(Cow::Borrowed(packet)),
        Transport::Other { protocol: PROTOCOL_SCTP, payload } => {
            sctp::Packet::parse(&payload.bytes()).ok().map(Cow::Owned)
        }
        _ => None,
    }
}

/// TCP's control bits for the chunks of an SCTP packet: SYN for INIT and INIT-ACK, ACK for INIT-ACK and SACK, FIN for
/// SHUTDOWN, RST for ABORT.
fn control(packet: &sctp::Packet) -> Flags {
    let bits = packet.chunks.iter().map(|chunk| match chunk {
        Chunk::Init(_) => Flags::SYN,
        Chunk::InitAck(_) => Flags::SYN.with(Flags::ACK),
        Chunk::Sack(_) => Flags::ACK,
        Chunk::Shutdown { .. } => Flags::FIN,
        Chunk::Abort { .. } => Flags::RST,
        _ => Flags::default(),
    });
    bits.fold(Flags::default(), Flags::with)
}

impl FlowState {
    fn observe_sctp(&mut self, packet: &sctp::Packet) -> SegmentView {
        for chunk in &packet.chunks {
            if let Chunk::Init(init) | Chunk::InitAck(init) = chunk
                && self.base != Some(SeqNumber(init.initial_tsn))
            {
                *self = Self {
                    packets: self.packets,
                    base: Some(SeqNumber(init.initial_tsn)),
                    ..Self::default()
                };
            }
        }
        let (mut lowest, mut end, mut is_new, mut repeats) = (u64::MAX, 0, false, false);
        for data in packet.data() {
            let tsn = SeqNumber(data.tsn);
            let base = *self.base.get_or_insert(tsn);
            // As with TCP: the number nearest to the highest one sent.
            let offset = self.highest.saturating_add_signed(tsn.diff(base + self.highest as u32).into());
            (lowest, end) = (lowest.min(offset), end.max(offset + 1));
            is_new |= offset >= self.highest;
            repeats |= offset < self.highest;
            self.highest = self.highest.max(offset + 1);
        }
        let number = is_new.then(|| {
            self.segments += 1;
            self.segments
        });
        let len = end.saturating_sub(lowest) as u32;
        let (flags, quic) = (control(packet), QuicKinds::default());
        SegmentView { flags, offset: lowest.min(end), len, number, repeats, quic, datagram: false }
    }

    /// Where its data are in their streams is sealed; `offset` is 0, and `len` the datagram's where it carries any.
    fn observe_quic(&mut self, datagram: &UdpDatagram) -> Option<SegmentView> {
        let quic = QuicKinds::of(&datagram.payload.bytes());
        // A short header alone shows no more than that the flow, which began with long ones, goes on.
        self.is_quic |= quic.has_long() || datagram.sealed.is_some();
        if !self.is_quic || quic.is_empty() {
            return None;
        }
        let sealed = datagram.sealed.unwrap_or_default();
        let number = sealed.new_data.then(|| {
            self.segments += 1;
            self.segments
        });
        let carries = sealed.new_data || sealed.repeats;
        Some(SegmentView {
            flags: if sealed.ack_only { Flags::ACK } else { Flags::default() },
            offset: 0,
            len: if carries { datagram.payload.len() } else { 0 },
            number,
            repeats: sealed.repeats,
            quic,
            datagram: sealed.datagram,
        })
    }

    fn observe(&mut self, tcp: &TcpSegment) -> SegmentView {
        if tcp.flags.has(Flags::SYN) && self.base != Some(tcp.seq + 1) {
            // A new incarnation of the connection: its stream starts afresh.
            *self = Self { packets: self.packets, base: Some(tcp.seq + 1), ..Self::default() };
        }
        let start = if tcp.flags.has(Flags::SYN) { tcp.seq + 1 } else { tcp.seq };
        let base = *self.base.get_or_insert(start);
        // The 32-bit number is taken as the offset nearest to the highest one sent.
        let from_highest = start.diff(base + self.highest as u32);
        let offset = self.highest.saturating_add_signed(i64::from(from_highest));
        let len = tcp.payload.len();
        let (mut number, mut repeats) = (None, false);
        if len > 0 {
            repeats = offset < self.highest;
            let end = offset + u64::from(len);
            if end > self.highest {
                self.highest = end;
                self.segments += 1;
                number = Some(self.segments);
            }
        }
        let quic = QuicKinds::default();
        SegmentView { flags: tcp.flags, offset, len, number, repeats, quic, datagram: false }
    }
}
