//! What the packets of an SCTP end show of it, for code that does not report it: which carry data again, and what has
//! arrived.

use std::collections::{BTreeSet, VecDeque};

use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::{Body, Header};

use crate::Counters;

/// One end of an association, as its packets show it. They do not say why it sends, or how often its timers expire.
#[derive(Clone, Debug, Default)]
pub struct SctpPackets {
    /// What the packets count. Expiries and fast retransmits are for others to add.
    pub counters: Counters,
    received: ReceivedTsns,
    /// Its first TSN.
    initial: Option<SeqNumber>,
    /// The highest TSN sent.
    highest: Option<SeqNumber>,
    /// Chunks that are not cumulatively acknowledged, each with its bytes of data.
    outstanding: VecDeque<(SeqNumber, u32)>,
    /// Bytes of data in them, and in all before them.
    in_flight: u64,
    delivered: u64,
    /// The highest cumulative TSN that the peer has reported.
    acknowledged: Option<SeqNumber>,
}

/// What a packet that arrived holds, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SctpArrival {
    /// It may have made something readable.
    pub data: bool,
    /// It holds an ABORT.
    pub abort: bool,
    /// A chunk of the shutdown, or an ABORT: the association's state may have changed.
    pub closing: bool,
    /// The cumulative TSN that it acknowledges, where that is news.
    pub acknowledges: Option<SeqNumber>,
}

/// What a packet that leaves holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SctpDeparture {
    /// What it is sent for.
    pub carries: SctpCarries,
    /// It moves the peer over what has been given up.
    pub forwards: bool,
    /// It closes the association.
    pub closing: bool,
}

/// What a packet is sent for: of what it holds, the first of this list; of control chunks and an ABORT, the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SctpCarries {
    /// Data, of which some has been sent before.
    Again,
    /// Data for the first time.
    New,
    /// An ABORT.
    Abort,
    /// A FORWARD-TSN.
    Forward,
    /// Another control chunk.
    Control,
    /// Acknowledgments alone.
    #[default]
    Ack,
}

impl SctpPackets {
    /// Takes note of a packet that has arrived, its common header first.
    pub fn arrived(&mut self, packet: &[u8]) -> SctpArrival {
        let mut arrival = SctpArrival::default();
        let Ok(header) = Header::new(packet, packet.len()) else { return arrival };
        for chunk in header.chunks() {
            match chunk.body() {
                Body::Data(data) => {
                    self.received.take(SeqNumber(data.tsn()));
                    arrival.data = true;
                }
                Body::ForwardTsn(forward) => {
                    self.received.pass(SeqNumber(forward.cumulative()));
                    arrival.data = true;
                }
                Body::Init(init) | Body::InitAck(init) => {
                    self.received.begin(SeqNumber(init.initial_tsn()));
                }
                Body::Sack(sack) => {
                    self.acknowledge(SeqNumber(sack.cumulative()), sack.gap_count() > 0, &mut arrival);
                }
                Body::Shutdown { cumulative } => {
                    self.acknowledge(SeqNumber(cumulative), false, &mut arrival);
                    arrival.closing = true;
                }
                Body::ShutdownAck | Body::ShutdownComplete { .. } => arrival.closing = true,
                Body::Abort { .. } => (arrival.abort, arrival.closing) = (true, true),
                _ => {}
            }
        }
        arrival
    }

    fn acknowledge(&mut self, cumulative: SeqNumber, gaps: bool, arrival: &mut SctpArrival) {
        if self.highest.is_some_and(|highest| cumulative.diff(highest) > 0) {
            // It was never sent, though the SHUTDOWN of some code may say so.
            return;
        }
        if self.acknowledged.is_some_and(|old| cumulative.diff(old) <= 0) {
            self.counters.dup_acks += u64::from(gaps);
            return;
        }
        self.acknowledged = Some(cumulative);
        arrival.acknowledges = Some(cumulative);
        while self.outstanding.front().is_some_and(|(tsn, _)| tsn.diff(cumulative) <= 0) {
            let bytes = self.outstanding.pop_front().map_or(0, |(_, bytes)| u64::from(bytes));
            self.in_flight -= bytes;
            self.delivered += bytes;
        }
    }

    /// Takes note of a packet that leaves.
    pub fn leaves(&mut self, packet: &[u8]) -> SctpDeparture {
        self.counters.packets += 1;
        let mut leaving = SctpDeparture::default();
        let (mut again, mut data) = (false, false);
        let Ok(header) = Header::new(packet, packet.len()) else { return leaving };
        for chunk in header.chunks() {
            match chunk.body() {
                Body::Data(chunk) => {
                    data = true;
                    again |= self.carries(SeqNumber(chunk.tsn()), chunk.user_len());
                }
                Body::Sack(_) => {}
                Body::Abort { .. } => (leaving.carries, leaving.closing) = (SctpCarries::Abort, true),
                Body::Shutdown { .. } | Body::ShutdownAck | Body::ShutdownComplete { .. } => {
                    (leaving.carries, leaving.closing) = (SctpCarries::Control, true);
                }
                Body::ForwardTsn(forward) => {
                    (leaving.carries, leaving.forwards) = (SctpCarries::Forward, true);
                    // It may pass over numbers that were given to data and never sent.
                    let cumulative = SeqNumber(forward.cumulative());
                    if self.highest.is_some_and(|highest| cumulative.diff(highest) > 0) {
                        self.highest = Some(cumulative);
                    }
                }
                Body::Init(init) | Body::InitAck(init) => {
                    // Whoever answers an INIT again does so with another TSN; the first data will tell which counts.
                    self.initial = Some(SeqNumber(init.initial_tsn()));
                    leaving.carries = SctpCarries::Control;
                }
                _ => leaving.carries = SctpCarries::Control,
            }
        }
        match (again, data) {
            (true, _) => leaving.carries = SctpCarries::Again,
            (false, true) => leaving.carries = SctpCarries::New,
            (false, false) => self.counters.pure_acks += 1,
        }
        leaving
    }

    /// A chunk leaves; true if it has been sent before.
    fn carries(&mut self, tsn: SeqNumber, bytes: u32) -> bool {
        if self.highest.is_some_and(|highest| tsn.diff(highest) <= 0) {
            self.counters.retransmits += 1;
            return true;
        }
        if self.highest.is_none() {
            self.initial = Some(tsn);
        }
        self.highest = Some(tsn);
        self.outstanding.push_back((tsn, bytes));
        self.in_flight += u64::from(bytes);
        self.counters.data_segments += 1;
        false
    }

    /// Its first TSN, once it has told it.
    pub fn initial(&self) -> Option<SeqNumber> {
        self.initial
    }

    /// The highest TSN sent.
    pub fn highest(&self) -> Option<SeqNumber> {
        self.highest
    }

    /// True if the peer's DATA chunk with this TSN has arrived. What comes while a buffer is full is dropped, which no packet
    /// tells; it counts as taken.
    pub fn has_received(&self, tsn: SeqNumber) -> bool {
        self.received.has(tsn)
    }

    /// The same of all DATA chunks of `[from, end)`.
    pub fn has_received_all(&self, from: SeqNumber, end: SeqNumber) -> bool {
        let count = end.diff(from).max(0) as u32;
        (0..count).all(|n| self.has_received(from + n))
    }

    /// Bytes of data sent and not cumulatively acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes of data cumulatively acknowledged.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
}

/// The peer's TSNs that have arrived.
#[derive(Clone, Debug, Default)]
struct ReceivedTsns {
    /// The lowest that has not; none before the peer has told its first.
    next: Option<SeqNumber>,
    /// Those above.
    above: BTreeSet<u32>,
}

impl ReceivedTsns {
    fn begin(&mut self, first: SeqNumber) {
        self.next.get_or_insert(first);
    }

    fn take(&mut self, tsn: SeqNumber) {
        match self.next {
            Some(next) if tsn.diff(next) > 0 => {
                self.above.insert(tsn.0);
            }
            Some(next) if tsn == next => self.pass(tsn),
            _ => {}
        }
    }

    /// Nothing up to `tsn` is waited for any more: it has come, or the peer has given it up.
    fn pass(&mut self, tsn: SeqNumber) {
        let Some(next) = self.next.as_mut().filter(|next| tsn.diff(**next) >= 0) else { return };
        *next = tsn + 1;
        self.above.retain(|above| SeqNumber(*above).diff(tsn) > 0);
        while self.above.remove(&next.0) {
            *next += 1;
        }
    }

    fn has(&self, tsn: SeqNumber) -> bool {
        self.next.is_some_and(|next| tsn.diff(next) < 0 || self.above.contains(&tsn.0))
    }
}

#[cfg(test)]
mod tests {
    use rexmit_wire::Payload;
    use rexmit_wire::sctp::{Chunk, DataChunk, InitChunk, Packet, SackChunk};

    use super::*;

    /// Close to where the numbers begin again.
    const FIRST: u32 = u32::MAX - 1;

    fn packet(chunks: Vec<Chunk>) -> Vec<u8> {
        Packet { src_port: 1, dst_port: 2, tag: 3, chunks }.emit()
    }

    fn data(n: u32) -> Chunk {
        Chunk::Data(DataChunk {
            tsn: FIRST.wrapping_add(n),
            begin: true,
            end: true,
            payload: Payload::Stream { offset: 0, len: 100 },
            ..DataChunk::default()
        })
    }

    fn sack(n: u32) -> Chunk {
        Chunk::Sack(SackChunk { cumulative: FIRST.wrapping_add(n), ..SackChunk::default() })
    }

    fn init(n: u32) -> Chunk {
        Chunk::Init(Box::new(InitChunk { initial_tsn: FIRST.wrapping_add(n), ..InitChunk::default() }))
    }

    #[test]
    fn what_leaves_is_new_or_sent_again() {
        let mut seen = SctpPackets::default();
        assert_eq!(seen.leaves(&packet(vec![init(7)])).carries, SctpCarries::Control);
        assert_eq!(seen.initial(), Some(SeqNumber(FIRST) + 7));
        assert_eq!(seen.leaves(&packet(vec![data(0), data(1), data(2)])).carries, SctpCarries::New);
        assert_eq!(seen.initial(), Some(SeqNumber(FIRST)), "the first data tell it");
        assert_eq!(seen.leaves(&packet(vec![sack(0), data(1), data(3)])).carries, SctpCarries::Again);
        assert_eq!(seen.leaves(&packet(vec![sack(0)])).carries, SctpCarries::Ack);
        let over = seen.leaves(&packet(vec![Chunk::ShutdownAck]));
        assert_eq!((over.carries, over.closing), (SctpCarries::Control, true));
        let counters = seen.counters;
        assert_eq!((counters.data_segments, counters.retransmits), (4, 1));
        assert_eq!((counters.packets, counters.pure_acks), (5, 3));
    }

    #[test]
    fn acknowledgments_take_from_what_is_in_flight() {
        let mut seen = SctpPackets::default();
        seen.leaves(&packet(vec![data(0), data(1), data(2)]));
        let arrival = seen.arrived(&packet(vec![sack(1)]));
        assert_eq!(arrival.acknowledges, Some(SeqNumber(FIRST) + 1));
        assert_eq!((seen.in_flight(), seen.delivered()), (100, 200));
        assert_eq!(seen.arrived(&packet(vec![sack(1)])).acknowledges, None);
    }

    /// What was never sent is not acknowledged, whatever a peer says; numbers that a FORWARD-TSN passes over were given away.
    #[test]
    fn an_acknowledgment_ends_with_what_was_sent() {
        let mut seen = SctpPackets::default();
        seen.leaves(&packet(vec![data(0), data(1)]));
        let beyond = Chunk::Shutdown { cumulative: FIRST.wrapping_add(7) };
        assert_eq!(seen.arrived(&packet(vec![beyond])).acknowledges, None);
        assert_eq!((seen.in_flight(), seen.delivered()), (200, 0));
        let cumulative = FIRST.wrapping_add(7);
        seen.leaves(&packet(vec![Chunk::ForwardTsn { cumulative, skipped: vec![] }]));
        assert_eq!(seen.arrived(&packet(vec![sack(7)])).acknowledges, Some(SeqNumber(FIRST) + 7));
        assert_eq!((seen.in_flight(), seen.delivered()), (0, 200));
        assert_eq!(seen.leaves(&packet(vec![data(8)])).carries, SctpCarries::New);
    }

    #[test]
    fn tsns_arrive_in_any_order() {
        let at = |n: u32| SeqNumber(FIRST) + n;
        let mut seen = SctpPackets::default();
        seen.arrived(&packet(vec![data(0)]));
        assert!(!seen.has_received(at(0)), "of no association");
        seen.arrived(&packet(vec![init(0)]));
        assert!(seen.arrived(&packet(vec![data(3), data(1)])).data);
        assert!(seen.has_received(at(1)) && seen.has_received(at(3)));
        assert!(!seen.has_received(at(0)) && !seen.has_received(at(2)));
        seen.arrived(&packet(vec![data(0)]));
        assert!(seen.has_received(at(0)) && !seen.has_received(at(2)));
        seen.arrived(&packet(vec![data(2)]));
        assert!(seen.has_received(at(2)) && !seen.has_received(at(4)));
    }
}
