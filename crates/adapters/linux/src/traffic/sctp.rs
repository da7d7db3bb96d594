//! Of SCTP.

use rexmit_stack::{Counters, Reason, SctpCarries, SctpPackets};
use rexmit_wire::{PROTOCOL_SCTP, Packet, SeqNumber, Transport};

use crate::protocol::Counted;

/// Linux sends a chunk again on this many reports that it is missing [Linux 6.1 net/sctp/outqueue.c, `sctp_mark_missing`].
const REPORTS: u16 = 3;

/// An association, from its packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct SctpTraffic {
    seen: SctpPackets,
    /// Expiries in a row: of T3, and of the timers of handshake and shutdown.
    data_backoff: u32,
    control_backoff: u32,
}

impl SctpTraffic {
    pub fn counters(&self) -> &Counters {
        &self.seen.counters
    }

    pub fn counted(&mut self, gained: Counted) {
        self.seen.counters.timeouts += gained.timeouts;
        self.seen.counters.fast_retransmits += gained.fast_retransmits;
        self.control_backoff += gained.control_timeouts as u32;
        self.data_backoff += (gained.timeouts - gained.control_timeouts) as u32;
    }

    pub fn leaves(&mut self, packet: &Packet, gained: Counted) -> Reason {
        let Transport::Other { protocol: PROTOCOL_SCTP, payload } = &packet.transport else {
            return Reason::Ack;
        };
        match self.seen.leaves(&payload.bytes()).carries {
            SctpCarries::Again if gained.timeouts > gained.control_timeouts => {
                Reason::Timeout { backoff: self.data_backoff }
            }
            SctpCarries::Again if gained.fast_retransmits > 0 => {
                Reason::Fast { duplicates: REPORTS, sacked: 0 }
            }
            SctpCarries::Again => Reason::RetransmitQueue,
            SctpCarries::New => Reason::New,
            SctpCarries::Abort => Reason::Reset,
            SctpCarries::Forward => Reason::Control { backoff: 0 },
            SctpCarries::Control => Reason::Control { backoff: self.control_backoff },
            SctpCarries::Ack => Reason::Ack,
        }
    }

    pub fn arrives(&mut self, packet: &Packet) {
        let arrival = match &packet.transport {
            Transport::Other { protocol: PROTOCOL_SCTP, payload } => self.seen.arrived(&payload.bytes()),
            Transport::Sctp(typed) => self.seen.arrived(&typed.emit()),
            _ => return,
        };
        self.control_backoff = 0;
        if arrival.acknowledges.is_some() {
            self.data_backoff = 0;
        }
    }

    pub fn first(&self) -> Option<SeqNumber> {
        self.seen.initial()
    }

    pub fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.seen.has_received_all(from, end)
    }
}

#[cfg(test)]
mod tests {
    use rexmit_wire::sctp::{self, Chunk, DataChunk, InitChunk, SackChunk};
    use rexmit_wire::{IpFields, Payload};

    use super::*;

    fn packet(chunks: Vec<Chunk>) -> Packet {
        let packet = sctp::Packet { src_port: 1, dst_port: 2, tag: 3, chunks };
        Packet {
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            ip: IpFields::default(),
            transport: Transport::Other {
                protocol: PROTOCOL_SCTP,
                payload: Payload::Bytes(packet.emit().into()),
            },
            damaged: false,
        }
    }

    fn data(tsn: u32) -> Packet {
        let payload = Payload::Stream { offset: 0, len: 100 };
        packet(vec![Chunk::Data(DataChunk { tsn, begin: true, end: true, payload, ..DataChunk::default() })])
    }

    fn init() -> Packet {
        packet(vec![Chunk::Init(Box::new(InitChunk { initial_tsn: 7, ..InitChunk::default() }))])
    }

    fn sack(cumulative: u32) -> Packet {
        packet(vec![Chunk::Sack(SackChunk { cumulative, ..SackChunk::default() })])
    }

    #[test]
    fn counters_that_rose_say_why_data_are_sent_again() {
        let mut traffic = SctpTraffic::default();
        let nothing = Counted::default();
        let control = Counted { timeouts: 1, control_timeouts: 1, ..nothing };
        let expiry = Counted { timeouts: 1, ..nothing };
        let fast = Counted { fast_retransmits: 1, ..nothing };
        assert_eq!(traffic.leaves(&init(), nothing), Reason::Control { backoff: 0 });
        traffic.counted(control);
        assert_eq!(traffic.leaves(&init(), control), Reason::Control { backoff: 1 });
        assert_eq!(traffic.first(), Some(SeqNumber(7)));
        for tsn in 7..12 {
            assert_eq!(traffic.leaves(&data(tsn), nothing), Reason::New);
        }
        for backoff in 1..3 {
            traffic.counted(expiry);
            assert_eq!(traffic.leaves(&data(7), expiry), Reason::Timeout { backoff });
        }
        traffic.arrives(&sack(7));
        assert_eq!(traffic.leaves(&data(8), nothing), Reason::RetransmitQueue);
        traffic.counted(fast);
        assert_eq!(traffic.leaves(&data(9), fast), Reason::Fast { duplicates: 3, sacked: 0 });
        traffic.counted(expiry);
        assert_eq!(traffic.leaves(&data(9), expiry), Reason::Timeout { backoff: 1 });
        let counters = traffic.counters();
        assert_eq!((counters.timeouts, counters.fast_retransmits, counters.retransmits), (4, 1, 5));
    }

    #[test]
    fn a_range_has_arrived_when_all_of_it_has() {
        let mut traffic = SctpTraffic::default();
        for packet in [init(), data(7), data(9)] {
            traffic.arrives(&packet);
        }
        let has = |from: u32, end: u32| traffic.has_received(SeqNumber(from), SeqNumber(end));
        assert!(has(7, 8) && has(9, 10) && !has(7, 10) && !has(10, 11));
    }
}
