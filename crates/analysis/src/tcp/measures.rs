//! What is counted and timed of one side: its packets, its data, and the windows that it offers.
//!
//! Call [`packet`](Measures::packet) with each packet of the side, [`offered`](Measures::offered) with each window,
//! [`sent`](Measures::sent) with what takes part in the stream, [`acknowledged`](Measures::acknowledged) with each
//! answer, and [`fill`](Measures::fill) at the end. A side that sends no data costs little: all that data need is made
//! with the first of them.

mod answers;
mod data;
mod flow;
mod rtt;
mod windows;

use rexmit_units::{Duration, Instant};

use super::board::Piece;
use super::loss::Lost;
use super::passed::{Out, Passed};
use crate::core::policy::TcpCounts;
use crate::rows::{Kind, RetransmissionRow, SideRow};
use data::Data;
use windows::Windows;

pub(super) use answers::{Answered, Covered};
pub(super) use flow::Level;

/// Counts and times of one side.
#[derive(Debug, Default)]
pub(super) struct Measures {
    packets: u64,
    pure_acks: u64,
    copies: u64,
    damaged: u64,
    windows: Windows,
    data: Option<Box<Data>>,
}

impl Measures {
    /// The side sent a packet.
    pub(super) fn packet(&mut self, passed: &Passed<'_>) {
        use rexmit_wire::Flags;
        if passed.placed.kind == Kind::Copy {
            self.copies += 1;
            return;
        }
        self.packets += 1;
        self.damaged += u64::from(passed.damaged);
        if passed.tcp.len > 0 {
            self.data.get_or_insert_default().packet(passed);
        } else if !passed.tcp.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST)) {
            self.pure_acks += 1;
        }
        if passed.tcp.flags.has(Flags::FIN) && !passed.damaged && self.data.is_some() {
            self.data.get_or_insert_default().fin_end = Some(passed.end);
        }
    }

    /// The side offered a window of this many bytes, in its SYN or later; `known` if the SYNs told how windows are
    /// scaled.
    pub(super) fn offered(&mut self, time: Instant, window: u64, syn: bool, known: bool) {
        self.windows.offered(time, window, syn, known);
    }

    /// Data of the side that are not a copy passed. Returns how many segments are outstanding now. A silence counts as
    /// idle from `idle` on.
    pub(super) fn sent(&mut self, passed: &Passed<'_>, level: &Level, idle: Duration) -> u32 {
        self.data.get_or_insert_default().sent(passed, level, idle)
    }

    /// `bytes` were acknowledged that were not seen.
    pub(super) fn unseen(&mut self, bytes: i64) {
        self.data.get_or_insert_default().unseen += bytes as u64;
    }

    /// An acknowledgment of the side's data moved forward; gives the RTT sample if that is unambiguous.
    pub(super) fn covered(
        &mut self,
        covered: &Covered,
        answered: &Answered<'_>,
        out: &mut Out<'_>,
    ) -> Option<Duration> {
        if covered.is_syn() {
            rtt::handshake(covered, answered, out);
            return None;
        }
        self.data.as_mut()?.covered(covered, answered, out)
    }

    /// A segment was reported by SACK, in order; `piece` is what it reports.
    pub(super) fn reported(&mut self, piece: &Piece, answered: &Answered<'_>, out: &mut Out<'_>) {
        if let Some(data) = &mut self.data {
            data.rtt.reported(piece, answered, out);
        }
    }

    /// Any acknowledgment came; last of the hooks for it.
    pub(super) fn acknowledged(&mut self, answered: &Answered<'_>, level: &Level, out: &mut Out<'_>) {
        if let Some(data) = &mut self.data {
            data.acknowledged(answered, level, out);
        }
    }

    /// The number that the next packet with data will have among all on the wire, from 1, retransmissions included.
    pub(super) fn next_order(&self) -> u32 {
        self.data.as_ref().map_or(0, |data| data.wire_packets as u32) + 1
    }

    /// A retransmission got its last judgement.
    pub(super) fn judged(&mut self, row: &RetransmissionRow, lost: &Lost, out: &mut Out<'_>) {
        if let Some(data) = &mut self.data {
            data.judged(row, lost, out);
        }
    }

    /// Writes what was counted of the side into its row. The connection ended at `end`, and the side's data are
    /// acknowledged up to `una`, if any acknowledgment was seen.
    pub(super) fn fill(&self, row: &mut SideRow, end: Instant, una: Option<i64>) {
        row.packets = self.packets;
        row.pure_acks = self.pure_acks;
        row.copies = self.copies;
        row.damaged = self.damaged;
        self.windows.fill(row, end);
        if let Some(data) = &self.data {
            data.fill(row, una);
        }
    }

    /// Writes into the row of the other side how that acknowledged this side's data.
    pub(super) fn fill_answers(&self, row: &mut SideRow, policy: &TcpCounts) {
        if let Some(data) = &self.data {
            data.answers.fill(row);
            data.rtt.fill_delays(row, policy);
        }
    }

    /// TSvals that too many came after.
    pub(super) fn hurried(&self) -> u64 {
        self.data.as_ref().map_or(0, |data| data.rtt.hurried)
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        // An open loss event is about as large as this.
        self.data.as_ref().map_or(0, |data| 2 * size_of::<Data>() + data.rtt.heap())
    }

    /// The last loss event is over.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        if let Some(data) = &mut self.data {
            data.loss.finish(out);
        }
    }
}

#[cfg(test)]
mod tests;
