//! Of TCP.

use rexmit_stack::{Counters, Reason, TcpCarries, TcpPackets};
use rexmit_wire::{Packet, SeqNumber};

use crate::protocol::Counted;

/// A connection, from its packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpTraffic {
    seen: TcpPackets,
}

impl TcpTraffic {
    pub fn counters(&self) -> &Counters {
        &self.seen.counters
    }

    pub fn counted(&mut self, gained: Counted) {
        self.seen.counters.timeouts += gained.timeouts;
        self.seen.counters.fast_retransmits += gained.fast_retransmits;
    }

    pub fn leaves(&mut self, packet: &mut Packet, gained: Counted) -> Reason {
        match self.seen.leaves(packet) {
            TcpCarries::Syn { answer: true, backoff } => Reason::SynAck { backoff },
            TcpCarries::Syn { answer: false, backoff } => Reason::Syn { backoff },
            TcpCarries::New => Reason::New,
            TcpCarries::Ack => Reason::Ack,
            TcpCarries::Reset => Reason::Reset,
            TcpCarries::Again if gained.timeouts > 0 => Reason::Timeout { backoff: 1 },
            TcpCarries::Again if gained.fast_retransmits > 0 => Reason::Fast { duplicates: 0, sacked: 0 },
            TcpCarries::Again => Reason::SackRecovery,
        }
    }

    pub fn arrives(&mut self, packet: &Packet) {
        self.seen.arrives(packet);
    }

    pub fn first(&self) -> Option<SeqNumber> {
        self.seen.first
    }

    pub fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.seen.has_received(from, end)
    }
}
