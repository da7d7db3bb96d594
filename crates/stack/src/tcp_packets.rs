//! What the packets of a TCP end show of it, for code that does not report it: which carry data again, and what has
//! arrived.

use rexmit_wire::{Flags, Packet, Payload, SeqNumber, TcpSegment, Transport};

use crate::Counters;
use crate::ranges::Ranges;

/// One end of a connection, as its packets show it. They do not say why it sends, or how often its timers expire.
#[derive(Clone, Debug, Default)]
pub struct TcpPackets {
    /// What the packets count. Expiries and fast retransmits are for others to add.
    pub counters: Counters,
    /// Its first sequence number.
    pub first: Option<SeqNumber>,
    /// One past the highest sequence number sent.
    highest: Option<SeqNumber>,
    /// Bytes of the stream before it.
    sent: u64,
    /// SYNs sent again.
    syns: u32,
    received: Received,
}

/// What a packet is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpCarries {
    /// A SYN.
    Syn {
        /// It answers the peer's.
        answer: bool,
        /// SYNs before it.
        backoff: u32,
    },
    /// Data or a FIN for the first time.
    New,
    /// Data or a FIN of which some has been sent before: a segment that is cut differently may also carry new data.
    Again,
    /// Neither.
    Ack,
    /// A reset.
    Reset,
}

impl TcpPackets {
    /// Takes note of a packet that leaves. Its data become the part of the stream that they are, so that whoever takes the
    /// packet can check their place.
    pub fn leaves(&mut self, packet: &mut Packet) -> TcpCarries {
        self.counters.packets += 1;
        let Transport::Tcp(segment) = &mut packet.transport else { return TcpCarries::Ack };
        let len = segment.payload.len();
        if segment.flags.has(Flags::SYN) {
            let again = self.first.is_some();
            self.first = Some(segment.seq);
            self.highest = Some(segment.seq + 1);
            self.counters.pure_acks += 1;
            self.syns += u32::from(again);
            return TcpCarries::Syn { answer: segment.flags.has(Flags::ACK), backoff: self.syns };
        }
        self.name_the_bytes(segment);
        if segment.flags.has(Flags::RST) {
            self.counters.pure_acks += 1;
            return TcpCarries::Reset;
        }
        let end = segment.seq + len + u32::from(segment.flags.has(Flags::FIN));
        if len == 0 {
            self.counters.pure_acks += 1;
        }
        let highest = self.highest.unwrap_or(segment.seq);
        if end.diff(segment.seq) == 0 {
            return TcpCarries::Ack;
        }
        let repeats = segment.seq.diff(highest) < 0;
        if end.diff(highest) > 0 {
            self.highest = Some(end);
            self.sent += end.diff(highest) as u64;
        }
        if repeats {
            self.counters.retransmits += u64::from(len > 0);
            return TcpCarries::Again;
        }
        self.counters.data_segments += u64::from(len > 0);
        TcpCarries::New
    }

    fn name_the_bytes(&self, segment: &mut TcpSegment) {
        let (Some(highest), Payload::Bytes(bytes)) = (self.highest, &segment.payload) else { return };
        let offset = self.sent.wrapping_add_signed(segment.seq.diff(highest).into());
        if Payload::wrong_bytes(offset, bytes) == 0 {
            segment.payload = Payload::Stream { offset, len: bytes.len() as u32 };
        }
    }

    /// Takes note of a packet that arrives.
    pub fn arrives(&mut self, packet: &Packet) {
        let Some(segment) = packet.tcp() else { return };
        if segment.flags.has(Flags::SYN) {
            self.received = Received::from(segment.seq + 1);
        } else {
            self.received.take(segment.seq, segment.payload.len());
        }
    }

    /// True if all of `[from, end)` of the peer's sequence space has arrived. What code drops because its buffer is full
    /// counts as arrived.
    pub fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.received.has(from, end)
    }
}

/// What has arrived of a peer's sequence space.
#[derive(Clone, Debug, Default)]
struct Received {
    /// The number of the first byte of data.
    first: Option<SeqNumber>,
    /// Bytes from there on.
    bytes: Ranges,
}

impl From<SeqNumber> for Received {
    fn from(first: SeqNumber) -> Self {
        Self { first: Some(first), bytes: Ranges::default() }
    }
}

impl Received {
    /// The place of a number: the one nearest to the first that is missing; 0 for what lies before all.
    fn place(&self, number: SeqNumber) -> Option<u64> {
        let until = self.bytes.until();
        let away = number.diff(self.first? + until as u32);
        Some(until.saturating_add_signed(away.into()))
    }

    fn take(&mut self, seq: SeqNumber, len: u32) {
        if let (Some(from), Some(end)) = (self.place(seq), self.place(seq + len)) {
            self.bytes.add(from, end);
        }
    }

    fn has(&self, from: SeqNumber, end: SeqNumber) -> bool {
        let place = |number| self.place(number);
        place(from).zip(place(end)).is_some_and(|(from, end)| self.bytes.has(from, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_as_they_arrive_in_any_order() {
        let at = |n: u32| SeqNumber(u32::MAX - 5) + n;
        let mut received = Received::from(at(0));
        for (from, len) in [(10, 5), (20, 5), (15, 5), (3, 4)] {
            received.take(at(from), len);
        }
        assert!(received.has(at(10), at(25)) && received.has(at(3), at(7)));
        assert!(!received.has(at(0), at(1)) && !received.has(at(7), at(10)) && !received.has(at(20), at(26)));
        received.take(at(0), 3);
        assert!(received.has(at(0), at(7)) && !received.has(at(0), at(8)));
        received.take(at(5), 9);
        assert!(received.has(at(0), at(25)));
    }

    #[test]
    fn a_segment_that_begins_with_old_data_is_sent_again_whatever_is_behind_them() {
        let mut packets = TcpPackets::default();
        let mut leave = |flags, seq: u32, len: u32| {
            let segment = TcpSegment {
                flags,
                seq: SeqNumber(seq),
                payload: Payload::Stream { offset: 0, len },
                ..TcpSegment::default()
            };
            let mut packet = Packet {
                src: [10, 0, 0, 1].into(),
                dst: [10, 0, 0, 2].into(),
                ip: rexmit_wire::IpFields::default(),
                transport: Transport::Tcp(segment),
                damaged: false,
            };
            packets.leaves(&mut packet)
        };
        assert_eq!(leave(Flags::SYN, 99, 0), TcpCarries::Syn { answer: false, backoff: 0 });
        assert_eq!(leave(Flags::ACK, 100, 50), TcpCarries::New);
        assert_eq!(leave(Flags::ACK, 100, 120), TcpCarries::Again);
        assert_eq!(leave(Flags::ACK, 220, 10), TcpCarries::New);
        assert_eq!(leave(Flags::ACK, 100, 120), TcpCarries::Again);
        assert_eq!(leave(Flags::ACK, 230, 0), TcpCarries::Ack);
        assert_eq!((packets.counters.data_segments, packets.counters.retransmits), (2, 2));
    }
}
