//! What is counted and timed of one side's data.

use super::board::Piece;
use super::half::Placed;
use crate::packet::{Packet, Tcp};
use crate::rows::{Kind, RetransmissionRow, SideRow};

/// Counts and times of one side.
#[derive(Debug, Default)]
pub(super) struct Measures {
    packets: u64,
    data_packets: u64,
    bytes: u64,
    retransmitted_packets: u64,
    retransmitted_bytes: u64,
    unseen_bytes: u64,
}

impl Measures {
    /// The side sent a packet.
    pub(super) fn packet(&mut self, _packet: &Packet, tcp: &Tcp, placed: &Placed, _damaged: bool) {
        self.packets += 1;
        if tcp.len > 0 {
            self.data_packets += 1;
            self.bytes += u64::from(tcp.len);
            if placed.kind == Kind::Retransmission {
                self.retransmitted_packets += 1;
                self.retransmitted_bytes += u64::from(tcp.len);
            }
        }
    }

    /// `bytes` were acknowledged that were not seen; before `started`, nothing was.
    pub(super) fn unseen(&mut self, bytes: i64, started: bool) {
        if started {
            self.unseen_bytes += bytes as u64;
        }
    }

    /// True if data at `una` had been missing.
    pub(super) fn was_missing(&self, _una: i64) -> bool {
        false
    }

    /// An acknowledgment would give a sample; true if it is unambiguous.
    pub(super) fn ack_sample(&mut self, _rtt: u64, resent: bool, missing: bool, _of: (&Piece, u64)) -> bool {
        !resent && !missing
    }

    /// A retransmission got its last judgement.
    pub(super) fn judged(&mut self, _row: &RetransmissionRow) {}

    /// Writes what was counted into the row.
    pub(super) fn fill(&self, row: &mut SideRow) {
        row.packets = self.packets;
        row.data_packets = self.data_packets;
        row.bytes = self.bytes;
        row.retransmitted_packets = self.retransmitted_packets;
        row.retransmitted_bytes = self.retransmitted_bytes;
        row.unseen_bytes = self.unseen_bytes;
    }
}

#[cfg(test)]
mod tests;
