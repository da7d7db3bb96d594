//! What the packets of a QUIC end show of it, read before they are sealed and after they are opened.

use std::collections::BTreeMap;

use rexmit_wire::QuicContent;

use crate::Counters;
use crate::quic::{Frame, Frames};
use crate::ranges::Ranges;

/// A space of packet numbers (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
}

/// What a packet, or a datagram of several, carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicCarries {
    /// Bytes of streams, and ends of streams, for the first time.
    pub new: u64,
    /// Bytes of streams, and ends of streams, that were sent before.
    pub again: u64,
    /// Data of the handshake.
    pub crypto: bool,
    /// An acknowledgment.
    pub ack: bool,
    /// A PING.
    pub ping: bool,
    /// A DATAGRAM frame (RFC 9221).
    pub datagram: bool,
    /// The connection is closed.
    pub close: bool,
    /// Any other frame that asks for an acknowledgment.
    pub other: bool,
}

impl QuicCarries {
    /// It asks for an acknowledgment (RFC 9000 section 13.2).
    pub fn elicits_ack(&self) -> bool {
        self.new + self.again > 0 || self.crypto || self.ping || self.datagram || self.other
    }

    /// It acknowledges, and that is all.
    pub fn is_ack_only(&self) -> bool {
        self.ack && !self.close && !self.elicits_ack()
    }

    /// It carries data of the application: of streams, or a datagram.
    pub fn has_data(&self) -> bool {
        self.new + self.again > 0 || self.datagram
    }

    /// The same for whoever sees the datagram on its way.
    pub fn content(&self) -> QuicContent {
        QuicContent {
            new_data: self.new > 0,
            repeats: self.again > 0,
            ack_only: self.is_ack_only(),
            datagram: self.datagram,
        }
    }

    fn add(&mut self, more: &Self) {
        self.new += more.new;
        self.again += more.again;
        self.crypto |= more.crypto;
        self.ack |= more.ack;
        self.ping |= more.ping;
        self.datagram |= more.datagram;
        self.close |= more.close;
        self.other |= more.other;
    }
}

/// One end of a connection, as its packets show it.
#[derive(Clone, Debug, Default)]
pub struct QuicPackets {
    /// What the packets count: for one with stream data, whether any of it is new; a DATAGRAM frame is new data. Probes
    /// and recoveries are for others to add.
    pub counters: Counters,
    /// By stream, what of it has been sent: its bytes, and its end.
    sent: BTreeMap<u64, Sent>,
    /// By stream, what of it is acknowledged.
    acked: BTreeMap<u64, Ranges>,
    /// By stream of the peer's, what of it has arrived.
    arrived: BTreeMap<u64, Arrived>,
    /// Bytes of those that have arrived in order.
    in_order: u64,
    /// Data packets that ask for an acknowledgment and have none yet: their pieces of streams.
    outstanding: BTreeMap<u64, Vec<Piece>>,
    largest_acked: Option<u64>,
    /// Bytes of DATAGRAM frames that were sealed.
    datagrams: u64,
    /// What the datagram in the making carries.
    making: QuicCarries,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    end: u64,
    fin: bool,
}

#[derive(Clone, Debug, Default)]
struct Arrived {
    ranges: Ranges,
    /// Where the stream ends, once that is known.
    end: Option<u64>,
}

/// A part of a stream, whose end counts as a byte.
#[derive(Clone, Copy, Debug)]
struct Piece {
    id: u64,
    from: u64,
    end: u64,
}

impl QuicPackets {
    /// A packet is about to be sealed into the datagram in the making.
    pub fn seals(&mut self, space: Space, number: u64, plaintext: &[u8]) {
        let mut carries = QuicCarries::default();
        let mut pieces = Vec::new();
        for frame in Frames::new(plaintext) {
            match frame {
                Frame::Padding => {}
                Frame::Ping => carries.ping = true,
                Frame::Ack(_) => carries.ack = true,
                Frame::Crypto => carries.crypto = true,
                Frame::Stream { id, offset, len, fin } => {
                    let sent = self.sent.entry(id).or_default();
                    let end = offset + len;
                    pieces.push(Piece { id, from: offset, end: end + u64::from(fin) });
                    let new = end.saturating_sub(sent.end.max(offset)) + u64::from(fin && !sent.fin);
                    carries.new += new;
                    carries.again += len + u64::from(fin) - new;
                    *sent = Sent { end: sent.end.max(end), fin: sent.fin || fin };
                }
                Frame::Datagram(len) => {
                    carries.datagram = true;
                    self.datagrams += len;
                }
                Frame::Close => carries.close = true,
                Frame::Other => carries.other = true,
            }
        }
        if space == Space::Data && carries.elicits_ack() {
            self.outstanding.insert(number, pieces);
        }
        self.making.add(&carries);
    }

    /// The datagram is complete and leaves.
    pub fn leaves(&mut self) -> QuicCarries {
        let carries = std::mem::take(&mut self.making);
        let counters = &mut self.counters;
        counters.packets += 1;
        counters.data_segments += u64::from(carries.new > 0 || carries.datagram);
        counters.retransmits += u64::from(carries.again > 0);
        counters.pure_acks += u64::from(!carries.has_data());
        carries
    }

    /// Bytes of the peer's streams that have arrived in order, including those that have been read.
    pub fn arrived_in_order(&self) -> u64 {
        self.in_order
    }

    /// How much of one of the peer's streams has arrived in order, and whether that is all of it.
    pub fn arrived_of(&self, stream: u64) -> (u64, bool) {
        self.arrived.get(&stream).map_or((0, false), |arrived| {
            let until = arrived.ranges.until();
            (until, arrived.end == Some(until))
        })
    }

    /// A packet that asks for an acknowledgment has none yet.
    pub fn awaits(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Bytes of streams, and ends of streams, that are acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked.values().map(Ranges::len).sum()
    }

    /// Bytes of DATAGRAM frames that have left. None is sent again.
    pub fn datagrams_sent(&self) -> u64 {
        self.datagrams
    }

    /// A packet of the peer's has been opened; whether it acknowledges anything new.
    pub fn opens(&mut self, space: Space, plaintext: &[u8]) -> bool {
        let mut news = false;
        if space != Space::Data {
            return false;
        }
        for frame in Frames::new(plaintext) {
            let ranges = match frame {
                Frame::Ack(ranges) => ranges,
                Frame::Stream { id, offset, len, fin } => {
                    let arrived = self.arrived.entry(id).or_default();
                    let before = arrived.ranges.until();
                    arrived.ranges.add(offset, offset + len);
                    self.in_order += arrived.ranges.until() - before;
                    if fin {
                        arrived.end = Some(offset + len);
                    }
                    continue;
                }
                _ => continue,
            };
            self.largest_acked = self.largest_acked.max(ranges.first().map(|(_, last)| *last));
            for (first, last) in ranges {
                let Some((&lowest, _)) = self.outstanding.first_key_value() else { break };
                if last < lowest {
                    break;
                }
                let found: Vec<u64> =
                    self.outstanding.range(first..=last).map(|(number, _)| *number).collect();
                for number in found {
                    for piece in self.outstanding.remove(&number).unwrap_or_default() {
                        self.acked.entry(piece.id).or_default().add(piece.from, piece.end);
                    }
                    news = true;
                }
            }
        }
        self.forget_lost();
        news
    }

    /// Those this far below one that is acknowledged are lost by any rule, and what they carried is sent again.
    fn forget_lost(&mut self) {
        let Some(far) = self.largest_acked.and_then(|largest| largest.checked_sub(FAR)) else { return };
        while let Some(entry) = self.outstanding.first_entry()
            && *entry.key() < far
        {
            entry.remove();
        }
    }
}

/// No threshold of packets (RFC 9002 section 6.1.1) is greater.
const FAR: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    /// A STREAM frame with offset and length, of stream 2.
    fn stream(offset: u8, len: u8, fin: bool) -> Vec<u8> {
        let mut frame = vec![0x0e | u8::from(fin), 2, offset, len];
        frame.extend(vec![b'x'; len.into()]);
        frame
    }

    #[test]
    fn what_is_sent_again_is_told_from_what_is_new() {
        let mut packets = QuicPackets::default();
        packets.seals(Space::Data, 0, &stream(0, 10, false));
        assert_eq!(packets.leaves(), QuicCarries { new: 10, ..QuicCarries::default() });
        packets.seals(Space::Data, 1, &stream(5, 10, true));
        assert_eq!(packets.leaves(), QuicCarries { new: 6, again: 5, ..QuicCarries::default() });
        packets.seals(Space::Data, 2, &stream(15, 0, true));
        assert_eq!(packets.leaves(), QuicCarries { again: 1, ..QuicCarries::default() });
        packets.seals(Space::Data, 3, &[0x02, 9, 0, 0, 1]);
        assert!(packets.leaves().is_ack_only());
        let counters = packets.counters;
        assert_eq!((counters.packets, counters.data_segments, counters.retransmits), (4, 2, 2));
        assert_eq!(counters.pure_acks, 1);
    }

    #[test]
    fn packets_of_a_datagram_count_as_one() {
        let mut packets = QuicPackets::default();
        packets.seals(Space::Initial, 0, &[0x06, 0, 1, 9]);
        packets.seals(Space::Data, 0, &stream(0, 3, false));
        let carries = packets.leaves();
        assert!(carries.crypto && carries.has_data() && carries.elicits_ack());
        assert_eq!(packets.counters.packets, 1);
    }

    #[test]
    fn a_datagram_is_new_data_that_is_sent_once() {
        let mut packets = QuicPackets::default();
        packets.seals(Space::Data, 0, &[0x31, 3, 1, 2, 3, 0x30, 9, 9]);
        let carries = packets.leaves();
        assert!(carries.has_data() && carries.elicits_ack() && carries.content().datagram);
        assert!(!carries.content().new_data && !carries.content().repeats);
        let counters = packets.counters;
        assert_eq!((counters.data_segments, counters.retransmits, counters.pure_acks), (1, 0, 0));
        assert_eq!((packets.datagrams_sent(), packets.awaits()), (5, true));
        assert!(packets.opens(Space::Data, &[0x02, 0, 0, 0, 0]));
        assert_eq!((packets.acked(), packets.awaits()), (0, false));
    }

    #[test]
    fn acknowledged_bytes_count_once_whatever_packets_carried_them() {
        let mut packets = QuicPackets::default();
        for (number, offset) in [(0, 0), (1, 10), (2, 20), (3, 10)] {
            packets.seals(Space::Data, number, &stream(offset, 10, false));
            packets.leaves();
        }
        // Of packets 2 and 3: 10 to 30.
        assert!(packets.opens(Space::Data, &[0x02, 3, 0, 0, 1]));
        assert_eq!(packets.acked(), 20);
        // The same, and packets 0 and 1.
        assert!(packets.opens(Space::Data, &[0x02, 3, 0, 0, 3]));
        assert_eq!(packets.acked(), 30);
        assert!(!packets.opens(Space::Data, &[0x02, 3, 0, 0, 3]));
        assert_eq!((packets.arrived_in_order(), packets.arrived_of(2)), (0, (0, false)));
        packets.opens(Space::Data, &stream(10, 10, true));
        assert_eq!((packets.arrived_in_order(), packets.arrived_of(2)), (0, (0, false)));
        packets.opens(Space::Data, &stream(0, 12, false));
        assert_eq!((packets.arrived_in_order(), packets.arrived_of(2)), (20, (20, true)));
        // Those of the handshake have numbers of their own.
        assert!(!packets.opens(Space::Handshake, &[0x02, 3, 0, 0, 3]));
    }
}
