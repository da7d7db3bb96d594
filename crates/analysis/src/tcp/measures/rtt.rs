//! Round-trip times of a side's data, by acknowledgments, by timestamps and by SACK.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};

use super::super::board::Piece;
use super::super::passed::{Out, Passed};
use super::answers::{Answered, Covered};
use crate::core::policy::TcpCounts;
use crate::core::spread::Samples;
use crate::limits::TICKS;
use crate::rows::{Kind, Method, RttRow, SideRow};

/// Samples of one side's data.
#[derive(Debug, Default)]
pub(super) struct Rtt {
    acks: Samples,
    stamps: Samples,
    sacks: Samples,
    /// Of those by acknowledgments, the ones of a single packet in order: a delayed acknowledgment shows in them.
    delays: Samples,
    clock: VecDeque<Tick>,
    /// TSvals that too many came after.
    pub(super) hurried: u64,
    /// When data were last sent again.
    again: Instant,
    ambiguous_retransmitted: u64,
    ambiguous_missing: u64,
    /// Segments outstanding when the timed ones were sent: how many were timed, and the sum.
    timed: u64,
    flights: u64,
}

/// The first packet with data that carried a TSval.
#[derive(Clone, Copy, Debug)]
struct Tick {
    value: u32,
    start: i64,
    end: i64,
    time: Instant,
}

/// The sample of a SYN or SYN-ACK: nothing is counted, it is not data.
pub(super) fn handshake(covered: &Covered, answered: &Answered<'_>, out: &mut Out<'_>) {
    if let Some(piece) = covered.newest.filter(|piece| piece.count == 1) {
        let rtt = answered.ack.time.saturating_since(piece.first);
        write(rtt, Method::Handshake, piece.end, answered, out);
    }
}

impl Rtt {
    /// Data were sent, new or again.
    pub(super) fn sent(&mut self, passed: &Passed<'_>) {
        let Some(stamps) = passed.tcp.timestamps else { return };
        if passed.placed.kind == Kind::Retransmission {
            self.again = passed.time;
        }
        let newer = |tick: &Tick| (stamps.value.wrapping_sub(tick.value) as i32) > 0;
        if self.clock.back().is_none_or(newer) {
            if self.clock.len() == TICKS {
                // Without acknowledgments (a capture of one direction) they would pile up.
                self.clock.pop_front();
                self.hurried += 1;
            }
            self.clock.push_back(Tick {
                value: stamps.value,
                start: passed.seq,
                end: passed.end,
                time: passed.time,
            });
        }
    }

    /// Data were acknowledged.
    ///
    /// As tcptrace has it, an acknowledgment is not a sample in two cases: data before the segment were sent after it, so
    /// that they had been missing and hold it back; or the segment itself was sent twice. A third case is like the
    /// first without a retransmission: data arrived out of order, and the hole before them was filled.
    pub(super) fn covered(
        &mut self,
        covered: &Covered,
        answered: &Answered<'_>,
        out: &mut Out<'_>,
    ) -> Option<Duration> {
        let piece = covered.newest.filter(|piece| piece.count > 0)?;
        let overtook = answered.disorder && covered.pieces > 1;
        let ambiguous = if covered.is_after_repair(&piece) {
            &mut self.ambiguous_missing
        } else if piece.count > 1 {
            &mut self.ambiguous_retransmitted
        } else if overtook {
            &mut self.ambiguous_missing
        } else {
            let rtt = answered.ack.time.saturating_since(piece.first);
            self.acks.add(rtt.as_nanos());
            self.timed += 1;
            self.flights += u64::from(piece.flight);
            if covered.packets == 1 && !answered.disorder {
                self.delays.add(rtt.as_nanos());
            }
            write(rtt, Method::Ack, piece.end, answered, out);
            return Some(rtt);
        };
        *ambiguous += 1;
        None
    }

    /// A segment was newly reported by SACK, above all that had been.
    pub(super) fn reported(&mut self, piece: &Piece, answered: &Answered<'_>, out: &mut Out<'_>) {
        if piece.count != 1 {
            return;
        }
        let rtt = answered.ack.time.saturating_since(piece.first);
        self.sacks.add(rtt.as_nanos());
        write(rtt, Method::Sack, piece.end, answered, out);
    }

    /// An acknowledgment came with an echo.
    ///
    /// RFC 7323 section 4.3 has the receiver echo the earliest packet that it has not acknowledged, so that the first
    /// echo of a value answers the first packet that carried it. It is taken only where the acknowledgment covers just
    /// that packet's data for the first time: an acknowledgment that moves nothing may come at any time. Where data were
    /// missing, the echo is that of the packet that filled the hole, which may share its value with later data; then
    /// only the packet at the hole counts. And where an acknowledgment was lost, a duplicate of the data may have
    /// brought its repetition much later: a duplicate SACK block shows that, or could not.
    pub(super) fn echoed(&mut self, answered: &Answered<'_>, out: &mut Out<'_>) {
        let Some(echo) = answered.echo else { return };
        while let Some(tick) = self.clock.front().copied() {
            let older = tick.value.wrapping_sub(echo) as i32;
            // A packet without data may have carried the value before, and be the one that is answered.
            if older > 0 || (older == 0 && answered.ack.ack < tick.end) {
                return;
            }
            self.clock.pop_front();
            let new = older == 0 && answered.had < tick.end;
            let filled = !answered.disorder || tick.start <= answered.had;
            let repeated = if answered.sack { answered.news.dsack.is_some() } else { self.again > tick.time };
            if new && filled && !repeated {
                let rtt = answered.ack.time.saturating_since(tick.time);
                self.stamps.add(rtt.as_nanos());
                write(rtt, Method::Timestamp, tick.end, answered, out);
            }
        }
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        let samples = [&self.acks, &self.stamps, &self.sacks, &self.delays];
        let samples = samples.into_iter().map(Samples::heap).sum::<usize>();
        samples + self.clock.capacity() * size_of::<Tick>()
    }

    /// Writes what they tell of delayed acknowledgments into the row of the side that sends those.
    pub(super) fn fill_delays(&self, row: &mut SideRow, policy: &TcpCounts) {
        row.ack_delay = self.delays.spread();
        let near = self.acks.min().is_some_and(|quickest| quickest < policy.near_receiver.as_nanos());
        let delayed = row.ack_delay.max >= policy.delayed_ack.as_nanos() as f64;
        row.ack_timer = (near && delayed).then_some(row.ack_delay.max as u64);
    }

    /// Writes all into the row.
    pub(super) fn fill(&self, row: &mut SideRow) {
        row.rtt = self.acks.spread();
        row.rtt_timestamps = self.stamps.spread();
        row.rtt_sack = self.sacks.spread();
        row.ambiguous_retransmitted = self.ambiguous_retransmitted;
        row.ambiguous_missing = self.ambiguous_missing;
        row.f_avg = (self.timed > 0).then(|| self.flights as f64 / self.timed as f64);
    }
}

fn write(rtt: Duration, method: Method, end: i64, answered: &Answered<'_>, out: &mut Out<'_>) {
    if !out.tables.rtt {
        return;
    }
    let (number, time) = (answered.number, answered.ack.time);
    out.rows.rtt.push(RttRow {
        connection: out.connection,
        side: answered.side,
        number,
        time,
        rtt: rtt.as_nanos(),
        method,
        end,
    });
}
