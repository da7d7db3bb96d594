//! One side of a connection: the data that it sends, and what comes back for them.

use rexmit_units::Instant;
use rexmit_wire::{Flags, Timestamps};

use super::acks::{Ack, AckState, News};
use super::board::{Before, Board, Piece, Stamp};
use super::clock::Clock;
use super::judge::{Judge, Trial, Verdict};
use super::measures::Measures;
use super::missing::Missing;
use super::pending::{Answer, Pending, Waiting};
use super::space::Space;
use super::view::View;
use crate::rows::{Kind, Need, Proof, RetransmissionRow, SideName};

/// The data of one side.
#[derive(Debug)]
pub(super) struct Half {
    /// Who sends them.
    pub side: SideName,
    /// Their sequence numbers.
    pub space: Space,
    /// One past the highest number seen, or acknowledged.
    pub edge: i64,
    /// Data, SYN or FIN was seen.
    pub started: bool,
    /// Acknowledgments as seen here.
    pub acks: AckState,
    /// Round-trip times.
    pub clock: Clock,
    /// What is counted.
    pub measures: Measures,
    /// Packets that did not come here.
    pub missing: Missing,
    /// Data up to here were probably sent before and lost on their way here.
    lost_to: i64,
    board: Board,
    view: View,
    judge: Judge,
    pending: Pending,
    last_sent: Option<Instant>,
    /// The latest transmission of what is acknowledged.
    delivered: Instant,
}

/// A packet that takes sequence space, or probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub seq: i64,
    pub end: i64,
    pub len: u32,
    pub flags: Flags,
    pub stamp: Stamp,
    /// Its TSecr.
    pub echo: Option<u32>,
    /// Packets of its side that are missing before it.
    pub missing: u16,
}

/// What the connection knows and its halves need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Number of the connection.
    pub connection: u32,
    /// Both sides permitted SACK.
    pub sack: bool,
    /// The sender's SYN looks like that of a system that probes for tail losses.
    pub probes: bool,
    /// The receiver's maximum segment size, less options: bytes of data in a full segment.
    pub mss: u32,
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub kind: Kind,
    /// Which transmission of its most repeated byte.
    pub transmission: u32,
}

impl Half {
    /// A side that has sent nothing.
    pub(super) fn new(side: SideName) -> Self {
        Self {
            side,
            space: Space::default(),
            edge: 0,
            started: false,
            acks: AckState::default(),
            clock: Clock::default(),
            measures: Measures::default(),
            missing: Missing::default(),
            lost_to: 0,
            board: Board::default(),
            view: View::default(),
            judge: Judge::default(),
            pending: Pending::default(),
            last_sent: None,
            delivered: Instant::default(),
        }
    }

    /// The side sent a packet that takes sequence space.
    pub(super) fn sent(&mut self, sent: &Sent, terms: &Terms) -> Placed {
        if !self.started {
            self.started = true;
            if self.acks.window.is_none() {
                self.acks.una = sent.seq;
            }
            self.edge = self.edge.max(sent.seq);
        }
        self.view.sent(sent.stamp.time, self.clock.delay(), sent.echo);
        let placed = if sent.seq >= self.edge && sent.end > sent.seq {
            self.sent_new(sent, terms)
        } else {
            self.sent_again(sent, terms)
        };
        if sent.end > self.edge {
            self.edge = sent.end;
            self.space.reached(sent.end);
        }
        if !matches!(placed.kind, Kind::Copy) {
            self.last_sent = Some(sent.stamp.time);
        }
        placed
    }

    /// Bytes sent and not acknowledged, cumulatively or by SACK.
    pub(super) fn outstanding(&self) -> u64 {
        (self.edge - self.acks.una - self.acks.sacked_bytes).max(0) as u64
    }

    /// The other side acknowledged; `echo` is what its timestamps say.
    pub(super) fn acknowledged(&mut self, ack: &Ack, number: u64, echo: Option<Timestamps>) -> News {
        let had = self.acks.una;
        let news = self.acks.apply(ack, self.edge);
        self.view.queue(ack, self.edge, self.clock.delay());
        if ack.ack > self.edge {
            // Acknowledged data were sent, seen here or not.
            self.measures.unseen(ack.ack - self.edge, self.started);
            self.edge = ack.ack;
        }
        self.space.reached(ack.ack.min(self.edge));
        if news.advanced > 0 {
            self.take_progress(ack, had, number);
        }
        if !self.pending.is_empty() {
            let answer = Answer {
                time: ack.time,
                ack: ack.ack,
                echo: echo.map(|stamps| stamps.echo),
                news: &news,
                min_rtt: self.clock.soonest(),
            };
            self.pending.answer(&answer);
        }
        news
    }

    /// Hands out the retransmissions of which nothing more is to be learnt at `now`.
    pub(super) fn release(&mut self, now: Instant, mut out: impl FnMut(RetransmissionRow)) {
        if self.pending.is_empty() {
            return;
        }
        let patience = (3 * self.clock.rtt().unwrap_or(0)).max(500_000_000);
        let measures = &mut self.measures;
        self.pending.release(now, patience, |waiting| {
            measures.judged(&waiting.row);
            out(waiting.row);
        });
    }

    /// Hands out all that are left.
    pub(super) fn finish(&mut self, mut out: impl FnMut(RetransmissionRow)) {
        let measures = &mut self.measures;
        self.pending.drain(|waiting| {
            measures.judged(&waiting.row);
            out(waiting.row);
        });
    }

    /// `una` has moved from `had`: pieces leave the board, and the newest gives an RTT sample if nothing is ambiguous.
    fn take_progress(&mut self, ack: &Ack, had: i64, number: u64) {
        let mut newest: Option<Piece> = None;
        let mut resent = false;
        let delivered = &mut self.delivered;
        self.board.acknowledge(ack.ack, |piece| {
            resent |= piece.count != 1;
            *delivered = (*delivered).max(piece.last);
            newest = Some(*piece);
        });
        let Some(piece) = newest.filter(|piece| piece.count > 0) else { return };
        let missing = self.measures.was_missing(had);
        let rtt = ack.time.saturating_since(piece.first).as_nanos();
        if self.measures.ack_sample(rtt, resent, missing, (&piece, number)) {
            self.clock.sample(rtt);
        }
    }

    /// All of it lies above what was seen. It was sent before all the same, where packets are missing that carried
    /// neither what comes before it nor anything else.
    fn sent_new(&mut self, sent: &Sent, terms: &Terms) -> Placed {
        self.find_lost(sent, terms);
        let known = self.edge;
        self.board.append(known, sent.seq..sent.end, &sent.stamp);
        // What was lost together comes again together.
        let round_trip = self.clock.rtt().unwrap_or(self.clock.delay());
        let waited = self.last_sent.map_or(0, |last| sent.stamp.time.saturating_since(last).as_nanos());
        if sent.missing == 0 && waited > round_trip * 2 {
            self.lost_to = 0;
        }
        if sent.seq >= self.lost_to {
            return Placed { kind: Kind::New, transmission: 1 };
        }
        self.edge = self.lost_to.max(sent.end);
        let before = Before { count: 0, unseen: sent.end - sent.seq, first: None, last: None };
        let verdict = self.ask(sent, &before, terms);
        self.edge = known;
        self.wait(sent, (2, &before, &verdict), terms);
        Placed { kind: Kind::Retransmission, transmission: 2 }
    }

    /// Packets are missing before `sent`: how far did their data go?
    fn find_lost(&mut self, sent: &Sent, terms: &Terms) {
        if sent.missing == 0 || self.clock.delay() == 0 {
            return;
        }
        let mss = i64::from(terms.mss);
        let hole = (sent.seq - self.edge + mss - 1) / mss;
        let more = i64::from(sent.missing) - hole;
        // What was lost cannot come again sooner than an answer to what was sent with it.
        let round_trip = self.clock.min_rtt().unwrap_or(self.clock.delay());
        let waited = self.last_sent.map_or(0, |last| sent.stamp.time.saturating_since(last).as_nanos());
        if more <= 0 || waited < round_trip / 10 * 8 {
            return;
        }
        // Of the missing packets some may have been retransmissions, one for each timeout of the silence.
        let rto = self.clock.rto().unwrap_or(round_trip);
        let mut expiries = 0;
        while expiries < 16 && waited > (rto << expiries) * 2 + rto {
            expiries += 1;
        }
        let segments = (more - expiries).max(1);
        let typical = i64::from(sent.len).min(mss);
        self.lost_to = self.lost_to.max(sent.end + (segments - 1) * typical);
    }

    /// Part of it, at least, lies below the edge.
    fn sent_again(&mut self, sent: &Sent, terms: &Terms) -> Placed {
        let below = sent.seq..sent.end.min(self.edge);
        if self.is_copy(sent) {
            return Placed { kind: Kind::Copy, transmission: 1 };
        }
        if self.is_overtaken(sent) {
            self.board.again(below, &sent.stamp);
            return Placed { kind: Kind::Reordered, transmission: 1 };
        }
        let before = self.board.again(below, &sent.stamp);
        let verdict = self.ask(sent, &before, terms);
        if sent.end > self.edge {
            self.board.append(self.edge, self.edge..sent.end, &sent.stamp);
        }
        let transmission = u32::from(before.count.max(1)) + 1;
        self.wait(sent, (transmission, &before, &verdict), terms);
        Placed { kind: Kind::Retransmission, transmission }
    }

    fn ask(&mut self, sent: &Sent, before: &Before, terms: &Terms) -> Verdict {
        let view = self.view.state(&self.acks);
        self.judge.judge(&Trial {
            now: sent.stamp.time,
            sent_at: self.view.sent_at(sent.stamp.time, self.clock.delay()),
            seq: sent.seq,
            end: sent.end,
            len: sent.len,
            flags: sent.flags,
            before,
            view,
            edge: self.edge,
            clock: &self.clock,
            mss: terms.mss,
            sack: terms.sack,
            probes: terms.probes,
            last_sent: self.last_sent,
            delivered: self.delivered,
        })
    }

    /// Writes the row, which waits for its answer.
    fn wait(
        &mut self,
        sent: &Sent,
        (transmission, before, verdict): (u32, &Before, &Verdict),
        terms: &Terms,
    ) {
        let view = self.view.state(&self.acks);
        let acked = sent.end <= view.una || view.sacked.covers(&(sent.seq..sent.end));
        let since = |time: Instant| sent.stamp.time.saturating_since(time).as_nanos();
        let (need, proof) = if acked && sent.end > sent.seq {
            (Need::Unnecessary, Proof::AckBefore)
        } else if sent.end <= self.acks.una {
            (Need::Spurious, Proof::AckBefore)
        } else {
            (Need::Unknown, Proof::None)
        };
        let row = RetransmissionRow {
            connection: terms.connection,
            side: self.side,
            number: sent.stamp.number,
            time: sent.stamp.time,
            seq: sent.seq,
            end: sent.end,
            len: sent.len,
            transmission,
            first_number: before.first.map(|piece| piece.number),
            delay_first: before.first.map(|piece| since(piece.first)),
            delay_previous: before.last.map(|stamp| since(stamp.time)),
            cause: verdict.cause,
            confidence: verdict.confidence,
            need,
            proof,
            evidence: verdict.evidence,
        };
        let acked_at = (sent.end <= self.acks.una).then_some(sent.stamp.time);
        let first = sent.seq <= view.una;
        self.pending.push(Waiting { row, tsval: sent.stamp.tsval, first, acked_at });
    }

    /// The same packet again: a sender numbers its packets, so the same identification and timestamp with the same
    /// data is no second transmission.
    fn is_copy(&self, sent: &Sent) -> bool {
        let same = |piece: &Piece| {
            sent.stamp.ident != 0
                && piece.ident == sent.stamp.ident
                && piece.tsval == sent.stamp.tsval
                && sent.end <= piece.end
        };
        self.board.recall(sent.seq).is_some_and(same)
    }

    /// Data that a packet sent later overtook on their way here.
    fn is_overtaken(&self, sent: &Sent) -> bool {
        if let Some(known) = self.board.recall(sent.seq).filter(|piece| piece.count > 0) {
            return is_earlier(&sent.stamp, known);
        }
        let Some(hole) = self.board.piece_at(sent.seq).filter(|piece| piece.count == 0) else { return false };
        if sent.end > hole.end {
            return false;
        }
        let Some(after) = self.board.seen_from(hole.end) else { return false };
        // What was sent again carries a later timestamp or identification than the data after the hole.
        let later_stamp = sent.stamp.tsval.wrapping_sub(after.tsval) as i32;
        if sent.stamp.tsval != 0 && later_stamp != 0 {
            return later_stamp < 0;
        }
        let later_ident = sent.stamp.ident.wrapping_sub(after.ident) as i16;
        if sent.stamp.ident != 0 && after.ident != 0 && after.count == 1 && later_ident.unsigned_abs() < 4096
        {
            return later_ident < 0;
        }
        // Without either, what comes sooner than an answer could have reached the sender was overtaken.
        let waited = sent.stamp.time.saturating_since(after.first).as_nanos();
        let soonest = self.clock.loop_time.unwrap_or(3_000_000) / 10 * 9;
        waited < soonest
    }
}

/// True if the packet is marked as sent before the one that `piece` was last seen in.
fn is_earlier(stamp: &Stamp, piece: &Piece) -> bool {
    let later = stamp.tsval.wrapping_sub(piece.tsval) as i32;
    if stamp.tsval != 0 && later != 0 {
        return later < 0;
    }
    let later = stamp.ident.wrapping_sub(piece.ident) as i16;
    stamp.ident != 0 && piece.ident != 0 && (-4096..0).contains(&later)
}
