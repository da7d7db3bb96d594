//! How the other side acknowledges a side's data.

use rexmit_units::{Duration, Instant};

use super::super::acks::{Ack, News};
use super::super::board::Piece;
use super::super::passed::wire_packets;
use crate::rows::{SideName, SideRow};

/// An acknowledgment and what it did.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Answered<'a> {
    /// The acknowledgment.
    pub ack: &'a Ack,
    /// Number of its packet.
    pub number: u64,
    /// Its TSecr, if it has one.
    pub echo: Option<u32>,
    /// What it did.
    pub news: &'a News,
    /// Where acknowledgments were before it.
    pub had: i64,
    /// Duplicates in a row with it.
    pub duplicates: u32,
    /// Data out of order had arrived at the receiver before it.
    pub disorder: bool,
    /// Both sides permitted SACK.
    pub sack: bool,
    /// How soon the sender's packets that pass here can show that it got it; zero at the sender.
    pub soonest_effect: Duration,
    /// Whose data it acknowledges.
    pub side: SideName,
}

/// What an acknowledgment covered for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Covered {
    /// The last piece, as far as it is covered.
    pub newest: Option<Piece>,
    /// How many.
    pub pieces: u32,
    /// Wire packets of them.
    pub packets: u64,
    /// Bytes of them that were not seen.
    pub unseen: i64,
    /// The latest transmission of those before the newest.
    latest: Instant,
    /// Some of those before the newest was not seen.
    hole: bool,
}

impl Covered {
    /// One more piece, in order, of a side whose full segments have `mss` bytes of data.
    pub(in crate::tcp) fn add(&mut self, piece: &Piece, mss: u32) {
        if let Some(before) = self.newest.replace(*piece) {
            self.latest = self.latest.max(before.last);
            self.hole |= before.count == 0;
        }
        let len = piece.end - piece.start;
        self.pieces += 1;
        self.packets += wire_packets(len as u32, mss);
        if piece.count == 0 {
            self.unseen += len;
        }
    }

    /// True if it is the SYN and nothing else.
    pub(super) fn is_syn(&self) -> bool {
        self.newest.is_some_and(|piece| piece.start == 0 && piece.end == 1)
    }

    /// True if data before the newest piece were sent after it, or nobody knows when: tcptrace's second case.
    pub(super) fn is_after_repair(&self, newest: &Piece) -> bool {
        let sent = if newest.count > 1 { newest.last } else { newest.first };
        self.hole || self.latest > sent
    }
}

/// Counts of acknowledgments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// Acknowledgments of data that moved forward, and the packets that they covered.
    pub forward: u64,
    pub covered: u64,
    duplicates: u64,
    sacks: u64,
    dsacks: u64,
    pub reneged: u64,
}

impl Answers {
    /// Counts one.
    pub(super) fn count(&mut self, answered: &Answered<'_>) {
        self.duplicates += u64::from(answered.duplicates > 0);
        self.sacks += u64::from(answered.ack.blocks > 0);
        self.dsacks += u64::from(answered.news.dsack.is_some());
        self.reneged += u64::from(answered.news.reneged);
    }

    /// Writes them into the row of the side that sent them.
    pub(super) fn fill(&self, row: &mut SideRow) {
        row.duplicate_acks = self.duplicates;
        row.sack_acks = self.sacks;
        row.dsacks = self.dsacks;
        row.packets_per_ack = (self.forward > 0).then(|| self.covered as f64 / self.forward as f64);
    }
}
