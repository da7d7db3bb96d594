//! What the packets of a host's connection show: which carry data again, and what has arrived.
//!
//! The kernel does not say why it sends a packet. Sequence numbers, and counters that rose with the step, tell.

mod sctp;
mod tcp;

use rexmit_stack::{Counters, Reason};
use rexmit_wire::{Packet, SeqNumber};

use crate::protocol::Counted;
use sctp::SctpTraffic;
use tcp::TcpTraffic;

/// The sending and the receiving half of a connection, from its packets.
#[derive(Clone, Debug)]
pub(crate) enum Traffic {
    Tcp(TcpTraffic),
    Sctp(SctpTraffic),
}

impl Traffic {
    /// That of a connection which has sent nothing; `messages` says that it is SCTP's.
    pub fn new(messages: bool) -> Self {
        if messages { Self::Sctp(SctpTraffic::default()) } else { Self::Tcp(TcpTraffic::default()) }
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        match self {
            Self::Tcp(tcp) => tcp.counters(),
            Self::Sctp(sctp) => sctp.counters(),
        }
    }

    /// Takes note of what the host has counted in a step in which this connection's end acts, before its packets. The kernel
    /// counts for the host: it is shown with the end that acts.
    pub fn counted(&mut self, gained: Counted) {
        match self {
            Self::Tcp(tcp) => tcp.counted(gained),
            Self::Sctp(sctp) => sctp.counted(gained),
        }
    }

    /// Takes note of a packet that leaves; why it does. `gained` is what the host has counted since the last step.
    pub fn leaves(&mut self, packet: &mut Packet, gained: Counted) -> Reason {
        match self {
            Self::Tcp(tcp) => tcp.leaves(packet, gained),
            Self::Sctp(sctp) => sctp.leaves(packet, gained),
        }
    }

    /// Takes note of a packet that arrives.
    pub fn arrives(&mut self, packet: &Packet) {
        match self {
            Self::Tcp(tcp) => tcp.arrives(packet),
            Self::Sctp(sctp) => sctp.arrives(packet),
        }
    }

    /// Its first sequence number, or TSN.
    pub fn first(&self) -> Option<SeqNumber> {
        match self {
            Self::Tcp(tcp) => tcp.first(),
            Self::Sctp(sctp) => sctp.first(),
        }
    }

    /// True if all of `[from, end)` of the peer's sequence space, or TSNs, has arrived.
    pub fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.has_received(from, end),
            Self::Sctp(sctp) => sctp.has_received(from, end),
        }
    }
}
