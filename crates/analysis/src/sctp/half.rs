//! One direction of an association: the DATA of one side and the SACKs of the other for it.

mod acks;
mod again;
mod packet;

use std::collections::BTreeMap;

use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::Sack;

use super::board::{Board, Entry};
use super::clock::Clock;
use super::data::{DataChunk, DataPacket, Out, Outcome, give};
use super::judge::Occasion;
use super::order::{Order, Orders, is_before};
use super::pending::Pending;
use super::rows::{ChunkRow, SctpCause, SctpSackRow, SctpSideRow, StreamRow, TsnBlock};
use super::trace::Trace;
use super::view::View;
use crate::core::policy::SctpPolicy;
use crate::core::rows::Kind;
use crate::core::side::SideName;
use crate::core::spread::Samples;
use crate::limits::{Limit, Work};
use packet::{Again, Packet};

/// SACKs that moved forward, and the packets with DATA that they covered.
#[derive(Clone, Copy, Debug, Default)]
struct Sacked {
    packets: u64,
    sacks: u64,
}

/// See the head of the file.
#[derive(Debug)]
pub(super) struct Half {
    policy: &'static SctpPolicy,
    initial: Option<u32>,
    board: Board,
    /// One past the highest cumulative TSN seen.
    una: i64,
    pub(super) view: View,
    pub(super) clock: Clock,
    trace: Trace,
    pending: Pending,
    outstanding: u64,
    chunks_outstanding: u64,
    streams: BTreeMap<u16, StreamRow>,
    pub(super) sack_delay: Samples,
    sacked: Sacked,
    /// A gap was open after the last SACK.
    gap_open: bool,
    order: Orders,
    pub(super) work: Work,
    /// It took more steps than it had.
    tired: bool,
    /// TSNs that were forgotten before they were acknowledged.
    forgotten: u64,
    /// Times that all was forgotten for the steps it took.
    given_up: u64,
}

impl Half {
    pub(super) fn new(missing_reports: u32, policy: &'static SctpPolicy) -> Self {
        Self {
            policy,
            initial: None,
            board: Board::default(),
            una: BEFORE_ALL,
            view: View::new(policy),
            clock: Clock::new(policy),
            trace: Trace::new(missing_reports),
            pending: Pending::default(),
            outstanding: 0,
            chunks_outstanding: 0,
            streams: BTreeMap::new(),
            sack_delay: Samples::default(),
            sacked: Sacked::default(),
            gap_open: false,
            order: Orders::default(),
            work: Work::default(),
            tired: false,
            forgotten: 0,
            given_up: 0,
        }
    }

    /// The initial TSN is known.
    pub(super) fn begin(&mut self, initial: u32, row: &mut SctpSideRow) {
        if self.initial.is_none() {
            self.initial = Some(initial);
            self.una = 0;
            row.initial_tsn = Some(initial);
            row.initial_tsn_known = true;
        }
    }

    /// The sender sent the DATA chunks `pieces` in one packet. `sender_loop` is the way to it and back.
    pub(super) fn packet(
        &mut self,
        seen: &DataPacket,
        pieces: &[DataChunk],
        sender_loop: Option<Duration>,
        out: &mut Out<'_>,
    ) -> Outcome {
        let Some(first) = pieces.first() else { return Outcome::default() };
        if std::mem::take(&mut self.tired) {
            self.give_up(self.board.end(), out);
        }
        if self.initial.is_none() {
            self.initial = Some(first.tsn);
            out.row.initial_tsn = Some(first.tsn);
        }
        let again: Vec<i64> =
            pieces.iter().map(|piece| self.unwrap(piece.tsn)).filter(|tsn| *tsn < self.board.end()).collect();
        let with_new = again.len() < pieces.len();
        // What goes in front of new data may be known to have arrived (the listing of pedersen-2006's appendix A.5).
        self.view.catch_up(seen.time, if with_new { &[] } else { &again }, &mut self.board);
        if !with_new {
            self.view.unlearn(&again, sender_loop == Some(Duration::ZERO), &mut self.board, &mut self.work);
        }
        self.trace.packet();
        let order = self.order.packet(seen.ident, &self.policy.copies);
        let mut occasion = self.occasion(seen, sender_loop, order);
        occasion.has_new = with_new || again.iter().any(|tsn| self.is_first(*tsn, &occasion));
        if let Some(lowest) = again.first() {
            occasion.goes_on = self.view.expired_lead.is_some_and(|lead| lead != *lowest);
            // New data wait until nothing is marked (RFC 9260 section 6.1 C).
            occasion.goes_on &= !self.view.moved_on;
            let una = self.una.max(self.view.una);
            occasion.hole_below = self.has_hole(una, *lowest);
        }
        for tsn in &again {
            let view = &self.view;
            occasion.full |= self.board.get(*tsn).is_some_and(|entry| occasion.is_full(entry, view));
        }
        self.view.moved_on |= with_new;
        let mut packet = Packet { seen, occasion, lead: None, position: 0, outcome: Outcome::default() };
        for piece in pieces {
            self.piece(&mut packet, piece, out);
        }
        out.row.data_packets += 1;
        out.row.first_data.get_or_insert(seen.time);
        out.row.last_data = Some(seen.time);
        out.row.max_outstanding = out.row.max_outstanding.max(self.outstanding);
        match packet.lead.map(|lead| (lead.tsn, lead.verdict.0)) {
            Some((lead, SctpCause::Timeout)) => self.expired(lead, seen.time, &again),
            Some((_, SctpCause::Fast | SctpCause::FastAgain)) => {
                self.view.recover.get_or_insert(self.board.end());
            }
            _ => {}
        }
        packet.outcome
    }

    /// Ends it: the rows that still wait, the streams, and the figures.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        self.pending.leave(None, |row| give(row, out));
        out.rows.streams.extend(self.streams.values().map(|stream| StreamRow {
            association: out.association,
            side: out.side,
            ..*stream
        }));
        let limits = &mut out.rows.limits;
        limits.add(Limit::Waiting, self.pending.closed);
        limits.add(Limit::UnderWay, self.view.hurried);
        limits.add(Limit::Tsns, self.forgotten);
        limits.add(Limit::Steps, self.given_up);
        let row = &mut *out.row;
        row.rtt = self.clock.data.spread();
        row.rtt_heartbeat = self.clock.heartbeat.spread();
        row.goodput = rate(row.acked_bytes, row.first_data, row.last_acked);
        row.throughput = rate(row.bytes, row.first_data, row.last_data);
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        let samples = self.clock.heap() + self.sack_delay.heap();
        let streams = self.streams.len() * 2 * size_of::<StreamRow>();
        self.board.heap() + self.view.heap() + self.pending.heap() + samples + streams
    }

    /// Packets with DATA for each SACK that moved forward.
    pub(super) fn packets_per_sack(&self) -> Option<f64> {
        (self.sacked.sacks > 0).then(|| self.sacked.packets as f64 / self.sacked.sacks as f64)
    }

    /// What the other side's SACK says, its TSNs relative; `None` where no initial TSN is known.
    pub(super) fn sack_row(&self, number: u64, time: Instant, sack: &Sack<'_>) -> Option<SctpSackRow> {
        self.initial?;
        let cumulative = self.unwrap(sack.cumulative());
        let at = |offset: u16| cumulative + i64::from(offset);
        Some(SctpSackRow {
            association: 0,
            side: SideName::Client,
            number,
            time,
            cumulative,
            gaps: sack.gaps().map(|gap| TsnBlock { first: at(gap.start), last: at(gap.end) }).collect(),
            duplicates: sack.duplicates().map(|tsn| self.unwrap(tsn)).collect(),
            window: sack.window(),
        })
    }

    /// The TSN nearest to the highest seen.
    fn unwrap(&self, tsn: u32) -> i64 {
        let end = self.board.end();
        let wire = self.initial.unwrap_or(0).wrapping_add(end as u32);
        end + i64::from(tsn.wrapping_sub(wire) as i32)
    }

    fn occasion(&self, seen: &DataPacket, sender_loop: Option<Duration>, order: Option<Order>) -> Occasion {
        Occasion {
            policy: self.policy,
            time: seen.time,
            sender_loop,
            timeout: self.clock.timeout(sender_loop.unwrap_or_default()),
            floor: self.clock.floor(sender_loop.unwrap_or_default()),
            behind: self.view.behind,
            has_new: false,
            ident: seen.ident,
            order,
            hole_below: false,
            goes_on: false,
            with_cookie: seen.with_cookie,
            paths: seen.paths,
            full: false,
            outstanding: self.outstanding,
            chunks: self.chunks_outstanding,
        }
    }

    /// T3 expired, and the chunks `again` were sent again for it: all that is outstanding is marked.
    fn expired(&mut self, lead: i64, now: Instant, again: &[i64]) {
        self.view.mark(lead, self.board.end(), again, &mut self.board);
        self.view.expired = Some(now);
        self.view.expired_lead = Some(lead);
        self.view.moved_on = false;
        self.view.recover = None;
        self.view.expiries += 1;
    }
}

/// Sending.
impl Half {
    fn piece(&mut self, packet: &mut Packet<'_>, piece: &DataChunk, out: &mut Out<'_>) {
        let seen = packet.seen;
        let tsn = self.unwrap(piece.tsn);
        out.row.chunks += 1;
        out.row.bytes += u64::from(piece.len);
        let kind = self.place(tsn, packet, out);
        if kind == Kind::Retransmission {
            self.sent_again(packet, &Again { tsn, piece }, out);
        }
        let (una, mut forgotten) = (self.una, Entry { transmissions: 1, ..Entry::default() });
        let entry = self.board.get(tsn).unwrap_or(&mut forgotten);
        let unique = entry.transmissions == 0;
        let hole = unique && kind == Kind::Retransmission;
        if unique && entry.acked.is_none() && tsn >= una {
            self.outstanding += u64::from(piece.len);
            self.chunks_outstanding += 1;
        }
        if unique || packet.occasion.order == Some(Order::Overtaken) && is_before(seen.ident, entry.ident) {
            entry.ident = seen.ident;
        }
        let counted = kind == Kind::Reordered && !unique;
        entry.transmissions += u32::from(!counted) + u32::from(hole);
        if kind != Kind::Retransmission {
            entry.first = Some((seen.number, seen.time));
        }
        entry.last = seen.time;
        entry.last_number = seen.number;
        entry.path = seen.path;
        entry.len = piece.len;
        let transmission = entry.transmissions;
        self.count(piece, unique, kind, out.row);
        if out.tables.chunks {
            out.rows.chunks.push(ChunkRow {
                association: out.association,
                side: out.side,
                number: seen.number,
                time: seen.time,
                src: seen.src,
                dst: seen.dst,
                tsn,
                stream: piece.stream,
                message: piece.message,
                begin: piece.begin,
                end: piece.end,
                unordered: piece.unordered,
                interleaved: piece.interleaved,
                len: piece.len,
                kind,
                transmission,
                outstanding: self.outstanding,
            });
        }
    }

    /// Makes room for a chunk, and says what it is.
    fn place(&mut self, tsn: i64, packet: &Packet<'_>, out: &mut Out<'_>) -> Kind {
        let now = packet.seen.time;
        if tsn >= self.board.end() {
            // Farther than any window, the capture has a gap; without any SACK, what is old is forgotten.
            if tsn - self.board.end() > FARTHEST {
                self.restart(tsn, out);
            }
            self.extend(tsn + 1, now, out);
            return Kind::New;
        }
        if tsn < self.board.base() {
            // Sent before the capture began, or long acknowledged.
            let below = self.board.base() - tsn;
            let fits = tsn >= self.view.una && self.board.has_room_down_to(tsn);
            if fits && self.work.spend(below as u64) {
                self.board.extend_down(tsn, now, self.view.expiry());
            }
            return Kind::Retransmission;
        }
        if !self.is_first(tsn, &packet.occasion) {
            return Kind::Retransmission;
        }
        if self.board.get(tsn).is_some_and(|entry| entry.acked.is_some()) {
            // It was counted as not seen when a SACK came before it.
            out.row.unseen_chunks = out.row.unseen_chunks.saturating_sub(u64::from(tsn < self.una));
        }
        Kind::Reordered
    }

    /// True if this is the first transmission of a TSN below others that were seen: they overtook it.
    fn is_first(&mut self, tsn: i64, occasion: &Occasion) -> bool {
        let threshold = self.view.threshold();
        let Some(entry) = self.board.get(tsn) else { return false };
        entry.marked = self.view.is_marked(tsn, entry);
        match occasion.order {
            Some(Order::Overtaken) => {
                return entry.transmissions == 0 || is_before(occasion.ident, entry.ident);
            }
            Some(Order::Next) => return false,
            None if entry.transmissions > 0 => return false,
            None => {}
        }
        // A hole is filled. The sender sends again what was reported missing, or after its timer.
        let since = occasion.time.saturating_since(entry.last);
        let told = entry.strikes >= threshold || entry.marked;
        !told && since < occasion.timeout.unwrap_or(self.policy.timer.unsampled)
    }

    fn count(&mut self, piece: &DataChunk, unique: bool, kind: Kind, row: &mut SctpSideRow) {
        let len = u64::from(piece.len);
        let stream = self.streams.entry(piece.stream).or_insert(StreamRow {
            association: 0,
            side: SideName::Client,
            stream: piece.stream,
            chunks: 0,
            unique_chunks: 0,
            messages: 0,
            unordered: 0,
            unique_bytes: 0,
        });
        stream.chunks += 1;
        if unique {
            stream.unique_chunks += 1;
            stream.unique_bytes += len;
            stream.messages += u64::from(piece.end);
            stream.unordered += u64::from(piece.end && piece.unordered);
            row.unique_chunks += 1;
            row.unique_bytes += len;
            row.messages += u64::from(piece.end);
        }
        match kind {
            Kind::Retransmission => {
                row.retransmitted_chunks += 1;
                row.retransmitted_bytes += len;
            }
            Kind::Reordered => row.reordered_chunks += 1,
            _ => {}
        }
    }

    /// Adds the TSNs up to `end`; starts again there where that takes too many steps.
    fn extend(&mut self, end: i64, now: Instant, out: &mut Out<'_>) {
        let more = (end - self.board.end()).max(0) as u64;
        if more > 1 && !self.work.spend(more) {
            self.give_up(end - 1, out);
        }
        self.forgotten += self.board.extend(end, now);
    }

    /// True if something that is kept from `from` to before `to` is not acknowledged.
    fn has_hole(&mut self, from: i64, to: i64) -> bool {
        let acked = self.board.range(from, to).take_while(|(_, entry)| entry.acked.is_some()).count() as u64;
        if !self.work.spend(acked) {
            self.tired = true;
        }
        acked < self.board.count(from, to)
    }

    /// Judging what is outstanding takes too many steps: forgets it, and starts again at `tsn`.
    fn give_up(&mut self, tsn: i64, out: &mut Out<'_>) {
        self.given_up += 1;
        self.restart(tsn, out);
    }

    /// The TSNs leapt farther than any window: the capture has a gap, or another association uses the same tag.
    fn restart(&mut self, tsn: i64, out: &mut Out<'_>) {
        self.pending.leave(None, |row| give(row, out));
        self.board.restart(tsn);
        self.una = BEFORE_ALL;
        self.view = View::new(self.policy);
        (self.outstanding, self.chunks_outstanding) = (0, 0);
    }
}

/// Bits a second.
fn rate(bytes: u64, from: Option<Instant>, to: Option<Instant>) -> Option<f64> {
    let span = to?.saturating_since(from?).as_nanos();
    (span > 0).then(|| bytes as f64 * 8e9 / span as f64)
}

/// TSNs do not leap farther.
const FARTHEST: i64 = 65_536;
/// Before any TSN, and far from overflow.
const BEFORE_ALL: i64 = i64::MIN / 4;
