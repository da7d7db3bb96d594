//! What recovery after RFC 6675 and Linux's rate halving share: duplicates are ACKs with news in their SACK
//! blocks, and what is in flight (the pipe) decides how much may be sent.
//!
//! After a timeout everything that is not SACKed counts as lost and is sent again in order, as the window
//! allows, new data after it. RFC 6675 section 5.1 leaves the order open; Linux does the same (LX-LOSS-1).

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::{Permit, Phase};
use crate::Connection;
use crate::profile::SackRecovery;

impl Connection {
    /// The pipe rules here, and not BSD's windows.
    #[inline]
    pub(crate) fn uses_pipe(&self) -> bool {
        let sack = self.profile.recovery.sack;
        self.marks.sack && !sack.counts_packets() && sack != SackRecovery::Bsd
    }

    /// Bytes that count as in flight for the growth of cwnd.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        if self.recovery.phase != Phase::Open && self.uses_pipe() { self.pipe() } else { self.flight() }
    }

    /// An ACK that acknowledges nothing new; `news` tells of newly SACKed bytes (RFC 6675 section 2: that
    /// alone makes a duplicate, whatever its window and its data).
    pub(crate) fn on_sack_duplicate(&mut self, now: Instant, ack: SeqNumber, news: bool) {
        if ack != self.snd.una || self.flight() == 0 {
            return;
        }
        if self.settle_doubts() {
            self.output(now);
        }
        if self.in_recovery() {
            self.counters.dup_acks += 1;
            if self.halves() {
                self.mark_lost(true);
                self.halve();
            }
            self.output(now); // RFC 6675 section 5 steps (B) and (C)
        } else if news {
            self.recovery.dupacks += 1;
            self.count_duplicate(now);
        }
    }

    /// After an ACK of new data has moved una.
    pub(crate) fn after_new_ack(&mut self, now: Instant, news: bool, was_recovering: bool) {
        if !self.uses_pipe() {
            return;
        }
        if self.in_recovery() {
            if self.halves() {
                if !self.take_back_partial() {
                    self.mark_lost(false);
                }
                self.halve();
            }
            return;
        }
        if was_recovering && self.halves() {
            self.take_back_at_exit();
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh); // LX-ST-10, `tcp_complete_cwr`
            self.moderate();
        } else {
            self.settle_doubts();
        }
        if news {
            // RFC 6675 section 5: DupAcks is cleared by the acknowledgment, then counts this ACK.
            self.recovery.dupacks = 1;
            self.count_duplicate(now);
        } else if self.halves() && self.recovery.phase == Phase::Open && !self.board.is_empty() {
            self.count_duplicate(now);
        }
    }

    /// RFC 6675 section 5 steps (1) to (3): recovery begins, or limited transmit.
    fn count_duplicate(&mut self, now: Instant) {
        self.counters.dup_acks += 1;
        if self.recovery.dupacks <= 1 {
            self.recovery.limited_bytes = 0;
        }
        if self.is_first_lost() && self.may_enter_recovery(self.snd.una) {
            self.enter_recovery(now);
            return;
        }
        if self.recovery.phase == Phase::Open {
            self.recovery.phase = Phase::Disorder;
        }
        if self.halves() {
            self.moderate();
        }
        let max = self.snd.max;
        if self.profile.recovery.limited_transmit > 0 || self.recovery.phase == Phase::Loss {
            if self.recovery.phase == Phase::Disorder {
                self.recovery.decision = Reason::LimitedTransmit;
            }
            self.output(now);
            self.recovery.decision = Reason::New;
        }
        self.recovery.limited_bytes += self.snd.max.diff(max) as u32;
    }

    /// Is the segment at una lost?
    fn is_first_lost(&self) -> bool {
        let threshold = self.duplicates_needed();
        if self.early_threshold().is_some_and(|early| self.recovery.dupacks >= early) {
            return true;
        }
        if self.halves() {
            // LX-ST-5 (b).
            let distance = i64::from(threshold * self.snd.mss);
            return self.board.fack().is_some_and(|f| i64::from(f.diff(self.snd.una)) > distance);
        }
        let una = self.snd.una;
        self.recovery.dupacks >= threshold || self.lost_boundary().is_some_and(|b| b > una)
    }

    /// Where "lost" ends: holes that start below this are lost. `None` before any SACK.
    fn lost_boundary(&self) -> Option<SeqNumber> {
        if self.halves() {
            return Some(self.recovery.lost_to);
        }
        let fack = self.board.fack()?;
        Some(self.board.tail(self.profile.recovery.dupack_threshold, self.snd.mss).1.unwrap_or(fack))
    }

    /// SetPipe (RFC 6675 section 4; LX-ST-1): bytes above the highest SACKed one, of holes not lost, and
    /// resent ones.
    pub(crate) fn pipe(&self) -> u32 {
        let Some(fack) = self.board.fack().filter(|f| *f > self.snd.una) else { return self.flight() };
        let above = self.snd.max.diff(fack).max(0) as u32;
        let holes = match self.recovery.phase {
            Phase::Loss => self.board.bytes_from(self.recovery.recover),
            Phase::Recovery if self.halves() => self.board.bytes_from(self.recovery.lost_to),
            _ if self.halves() => self.board.hole_bytes(),
            _ => self.board.tail(self.profile.recovery.dupack_threshold, self.snd.mss).0,
        };
        above + holes + self.board.resent_bytes()
    }

    /// cwnd - pipe, if it has room for a segment.
    fn room(&self) -> Option<u32> {
        let room = self.window.cwnd.saturating_sub(self.pipe());
        (room >= self.snd.mss.min(self.window.cwnd.max(1))).then_some(room)
    }

    /// Bytes that wait and that the peer's window allows.
    fn unsent(&self) -> i64 {
        i64::from(self.buffer.len().min(self.snd.wnd)) - self.off()
    }

    /// New data only, as far as cwnd exceeds the pipe (RFC 6675 section 5 step (3); LX-ST-4).
    pub(super) fn permit_in_disorder(&self) -> Permit {
        let room = self.room().unwrap_or(0);
        Permit::Next { len: self.unsent().min(i64::from(room)).max(0) }
    }

    /// NextSeg (RFC 6675 section 4): a lost hole, then new data, then any hole, then one rescue.
    pub(super) fn permit_in_recovery(&mut self) -> Permit {
        let Some(room) = self.room() else { return Permit::Next { len: 0 } };
        let hole = self.board.next_hole();
        if let (Some(hole), Some(boundary)) = (hole, self.lost_boundary())
            && hole.rexmit < boundary
        {
            return hole.permit(self.snd.mss);
        }
        let unsent = self.unsent();
        if unsent > 0 {
            return Permit::Next { len: unsent.min(i64::from(room)) };
        }
        if let Some(hole) = hole {
            return hole.permit(self.snd.mss);
        }
        self.rescue().unwrap_or(Permit::Next { len: 0 })
    }

    /// All that was outstanding when the timer expired, then new data.
    pub(super) fn permit_after_timeout(&mut self) -> Permit {
        let Some(room) = self.room() else { return Permit::Next { len: 0 } };
        let recover = self.recovery.recover;
        if let Some(hole) = self.board.next_hole().filter(|h| h.start < recover) {
            return hole.permit(self.snd.mss);
        }
        Permit::Next { len: self.unsent().min(i64::from(room)).max(0) }
    }

    /// Sends the segment at una again; returns where it ends.
    pub(super) fn resend_first(&mut self, now: Instant) -> SeqNumber {
        let end = self.snd.una + self.snd.mss.min(self.flight());
        let end = self.board.next_hole().map_or(end, |h| h.end.min(end).max(self.snd.una));
        self.send_hole(now, self.snd.una, end.diff(self.snd.una) as u32);
        end
    }
}
