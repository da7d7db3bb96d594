//! What is counted and timed of a side's data.

use rexmit_units::{Duration, Instant};

use super::super::loss::{Loss, Lost};
use super::super::passed::{Out, Passed, wire_packets};
use super::answers::{Answered, Answers, Covered};
use super::flow::{Flow, Level};
use super::rtt::Rtt;
use crate::rows::{Kind, RetransmissionRow, SideRow};

/// All that a side's data need.
#[derive(Debug, Default)]
pub(super) struct Data {
    packets: u64,
    /// Super-packets counted as what they became on the wire.
    pub wire_packets: u64,
    bytes: u64,
    fresh: u64,
    retransmitted_packets: u64,
    again: u64,
    reordered: u64,
    /// Bytes acknowledged and not seen.
    pub unseen: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    last_acked: Option<Instant>,
    /// One past the FIN.
    pub fin_end: Option<i64>,
    /// Bytes of data in a full segment.
    mss: u32,
    initial: Initial,
    flow: Flow,
    pub rtt: Rtt,
    pub answers: Answers,
    pub loss: Loss,
}

/// The initial window as used.
#[derive(Clone, Copy, Debug, Default)]
struct Initial {
    bytes: u64,
    /// When data may be an answer to the first acknowledgment of data.
    over: Option<Instant>,
}

impl Data {
    /// A packet with data.
    pub(super) fn packet(&mut self, passed: &Passed<'_>) {
        self.mss = passed.mss;
        self.packets += 1;
        self.wire_packets += wire_packets(passed.tcp.len, passed.mss);
        self.bytes += u64::from(passed.tcp.len);
        self.fresh += u64::from(passed.placed.fresh);
        self.again += u64::from(passed.placed.again);
        match passed.placed.kind {
            Kind::Retransmission => self.retransmitted_packets += 1,
            Kind::Reordered => self.reordered += 1,
            _ => {}
        }
        self.first.get_or_insert(passed.time);
        self.last = Some(passed.time);
    }

    /// Data that are part of the stream; returns how many segments are outstanding with them.
    pub(super) fn sent(&mut self, passed: &Passed<'_>, level: &Level, idle: Duration) -> u32 {
        if passed.placed.kind == Kind::New {
            if self.packets > 1 {
                self.flow.resume(passed.time, idle);
            }
            if self.initial.over.is_none_or(|over| passed.time < over) {
                self.initial.bytes += u64::from(passed.placed.fresh);
            }
        }
        self.rtt.sent(passed);
        self.step(passed.time, level);
        self.flight(level)
    }

    /// An acknowledgment moved forward.
    pub(super) fn covered(
        &mut self,
        covered: &Covered,
        answered: &Answered<'_>,
        out: &mut Out<'_>,
    ) -> Option<Duration> {
        let newest = covered.newest?;
        self.unseen += covered.unseen as u64;
        // A FIN alone is not data.
        let only_fin = self.fin_end == Some(newest.end) && newest.end - newest.start == 1;
        let packets = covered.packets - u64::from(only_fin);
        if packets > 0 {
            self.answers.forward += 1;
            self.answers.covered += packets;
        }
        if only_fin { None } else { self.rtt.covered(covered, answered, out) }
    }

    /// Any acknowledgment.
    pub(super) fn acknowledged(&mut self, answered: &Answered<'_>, level: &Level, out: &mut Out<'_>) {
        let time = answered.ack.time;
        self.rtt.echoed(answered, out);
        self.answers.count(answered);
        if answered.news.advanced > 0 {
            self.last_acked = Some(time);
            if self.initial.over.is_none() && self.first.is_some() {
                self.initial.over = Some(time + answered.soonest_effect);
            }
        }
        self.step(time, level);
    }

    /// A retransmission got its last judgement.
    pub(super) fn judged(&mut self, row: &RetransmissionRow, lost: &Lost, out: &mut Out<'_>) {
        self.loss.judged(row, lost, out);
    }

    /// Writes all into the row; data are acknowledged up to `una`. Without any acknowledgment the capture has one
    /// direction only, and does not tell what is outstanding.
    pub(super) fn fill(&self, row: &mut SideRow, una: Option<i64>) {
        row.data_packets = self.packets;
        row.wire_data_packets = self.wire_packets;
        row.bytes = self.bytes;
        row.unique_bytes = self.fresh;
        row.retransmitted_packets = self.retransmitted_packets;
        row.retransmitted_bytes = self.again;
        row.reordered_packets = self.reordered;
        row.unseen_bytes = self.unseen;
        (row.first_data, row.last_data, row.last_acked) = (self.first, self.last, self.last_acked);
        if let Some(una) = una {
            let fin = self.fin_end.is_some_and(|end| una >= end);
            row.acked_bytes = (una - 1 - i64::from(fin)).max(0) as u64;
            row.initial_window = self.initial.bytes;
            self.flow.fill(row);
        }
        row.goodput = rate(row.acked_bytes, self.first, self.last_acked);
        row.throughput = rate(self.bytes, self.first, self.last);
        row.reneged = self.answers.reneged;
        self.rtt.fill(row);
        self.loss.fill(row);
        let share = |count: u64| (self.wire_packets > 0).then(|| count as f64 / self.wire_packets as f64);
        row.loss_rate = share(row.lost_segments);
        row.loss_event_rate = share(row.loss_events);
    }

    fn step(&mut self, now: Instant, level: &Level) {
        self.flow.step(now, level, level.outstanding, self.mss);
    }

    /// Segments outstanding. Without SACK that is what is on the board, super-packets counted as segments; of what is
    /// reported by SACK the bytes are known, and they are taken for segments of the mean size.
    fn flight(&self, level: &Level) -> u32 {
        let pieces = u64::from(level.pieces);
        let Some(mean) = level.unacknowledged.checked_div(pieces) else { return 0 };
        if level.outstanding == level.unacknowledged && mean <= u64::from(self.mss) {
            return level.pieces;
        }
        level.outstanding.div_ceil(mean.clamp(1, u64::from(self.mss.max(1)))) as u32
    }
}

/// Bits per second.
fn rate(bytes: u64, from: Option<Instant>, to: Option<Instant>) -> Option<f64> {
    let time = to?.saturating_since(from?).as_nanos();
    (time > 0).then(|| bytes as f64 * 8e9 / time as f64)
}
