//! What a packet is: a copy, overtaken, or sent before and lost on its way here.

use rexmit_units::{Duration, Instant};
use rexmit_wire::Flags;

use super::{Half, Sent, Terms};
use crate::tcp::board::{Piece, Stamp};

impl Half {
    /// A segment of a single byte once more, and no probe with a byte of a longer one, or of the SYN.
    pub(in crate::tcp) fn is_byte_again(&self, sent: &Sent) -> bool {
        let byte = |piece: &&Piece| piece.count > 0 && piece.end - piece.start == 1;
        sent.len == 1 && sent.seq > 0 && self.board.recall(sent.seq).filter(byte).is_some()
    }

    /// More packets are missing before `sent`, which carries new data, than its data leave a gap for: retransmissions.
    pub(super) fn find_lost_again(&mut self, sent: &Sent, terms: &Terms) {
        if sent.missing == 0 || self.clock.delay().is_zero() {
            return;
        }
        let least = i64::from(sent.len.min(self.last_len)).clamp(1, i64::from(terms.mss));
        let hole = (sent.seq - self.edge + least - 1) / least;
        if i64::from(sent.missing) > hole {
            self.lost_again = Some(sent.stamp.time);
        }
    }

    /// Packets are missing before `sent`: how far did their data go?
    pub(super) fn find_lost(&mut self, sent: &Sent, terms: &Terms) {
        // What is missing may be a retransmission for a hole, lost once more.
        if sent.missing == 0 || self.clock.delay().is_zero() || self.board.has_hole() {
            return;
        }
        // Or one that nobody needed, lost after the hole was filled.
        let round_trip = self.clock.min_rtt().unwrap_or(self.clock.delay());
        let since = |time: Instant| sent.stamp.time.saturating_since(time);
        let missing = &self.policy.missing;
        let repair = round_trip * missing.repair_rtts;
        if self.lost_to == 0 && self.judge.last().is_some_and(|last| since(last.time) < repair) {
            return;
        }
        // The packets of a hole may be as small as those around it.
        let mss = i64::from(terms.mss);
        let usual = i64::from(sent.len.max(self.last_len)).clamp(1, mss);
        let hole = (sent.seq - self.edge + usual - 1) / usual;
        let more = i64::from(sent.missing) - hole;
        // What was lost cannot come again sooner than an answer to what was sent with it.
        let waited = self.last_sent.map_or(Duration::ZERO, since);
        if more <= 0 || waited < missing.soonest_share.of(round_trip) {
            return;
        }
        // Of the missing packets some may have been retransmissions, one for each timeout of the silence.
        let rto = self.clock.rto().unwrap_or(round_trip);
        let mut expiries = 0;
        while expiries < 16 && waited > rto * ((2 << expiries) + 1) {
            expiries += 1;
        }
        let segments = (more - expiries).max(1);
        let typical = i64::from(sent.len).min(mss);
        self.lost_to = self.lost_to.max(sent.end + (segments - 1) * typical);
    }

    /// The same packet again. A sender numbers its packets, so the same identification and timestamp with the same data
    /// is not a second transmission. IPv6 has no such number; there, the clock of the timestamps must have stood still for
    /// longer than a round trip takes, or the packet follows itself.
    pub(super) fn is_copy(&self, sent: &Sent) -> bool {
        let Some(piece) = self.board.recall(sent.seq).filter(|piece| sent.end <= piece.end) else {
            return false;
        };
        let stamp = &sent.stamp;
        if piece.tsval != stamp.tsval || piece.ident != stamp.ident || piece.count == 0 {
            return false;
        }
        if stamp.ident != 0 {
            return true;
        }
        let whole = piece.start == sent.seq && piece.end == sent.end;
        let since = stamp.time.saturating_since(piece.last);
        let policy = &self.policy.copies;
        // At two ports of a tap, within what a retransmission cannot do.
        let soon = self.clock.whole().map_or(policy.tap, |whole| policy.tap.min(policy.tap_share.of(whole)));
        // A SYN that came again is answered, perhaps just when the timer runs out.
        let answer = sent.flags.has(Flags::SYN) && self.asked_again;
        if whole && since <= soon && !answer {
            return true;
        }
        if stamp.tsval != 0 {
            return whole && self.clock.min_rtt().is_some_and(|rtt| rtt >= policy.slow_clock);
        }
        let delay = self.clock.delay();
        let data = sent.len > 0;
        let follows = self.last_sent == Some(piece.last) && since < policy.follows_share.of(delay);
        data && whole && !delay.is_zero() && follows
    }

    /// Data that a packet sent later overtook on their way here.
    pub(super) fn is_overtaken(&self, sent: &Sent) -> bool {
        if let Some(known) = self.board.recall(sent.seq).filter(|piece| piece.count > 0) {
            return is_earlier(&sent.stamp, known, self.policy.copies.idents);
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
        if sent.stamp.tsval != 0 && (self.newest_stamp.wrapping_sub(sent.stamp.tsval) as i32) > 0 {
            // Sent with what follows the hole, and not in answer to what came later.
            return true;
        }
        let later_ident = sent.stamp.ident.wrapping_sub(after.ident) as i16;
        if sent.stamp.ident != 0
            && after.ident != 0
            && after.count == 1
            && u64::from(later_ident.unsigned_abs()) < self.policy.copies.idents
        {
            return later_ident < 0;
        }
        // Without either, what comes sooner than an answer could have reached the sender was overtaken.
        let waited = sent.stamp.time.saturating_since(after.first);
        let policy = &self.policy.copies;
        waited < policy.overtaken_share.of(self.clock.loop_time.unwrap_or(policy.overtaken))
    }
}

/// True if the packet is marked as sent before the one that `piece` was last seen in.
fn is_earlier(stamp: &Stamp, piece: &Piece, idents: u64) -> bool {
    let later = stamp.tsval.wrapping_sub(piece.tsval) as i32;
    if stamp.tsval != 0 && later != 0 {
        return later < 0;
    }
    let later = stamp.ident.wrapping_sub(piece.ident) as i16;
    stamp.ident != 0 && piece.ident != 0 && later < 0 && u64::from(later.unsigned_abs()) <= idents
}
