//! SACK recovery after RFC 6675: duplicates are ACKs with news in their SACK blocks, and what is in flight (the
//! pipe) decides how much may be sent.
//!
//! After a timeout everything that is not SACKed counts as lost and is sent again in order, as the window
//! allows, new data after it: section 5.1 leaves the order open. The retransmission timer is managed as RFC 6298
//! section 5 says; section 6's latitude to restart it with every retransmission is not used.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::bad_retransmit::BadRetransmit;
use super::scoreboard::Scoreboard;
use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status, follow_una};
use crate::connection::{Growth, Tcb};
use crate::profile::RecoveryExit;

#[derive(Clone, Debug)]
pub(crate) struct Rfc6675 {
    phase: Phase,
    /// RecoveryPoint.
    recover: SeqNumber,
    /// DupAcks.
    dupacks: u32,
    /// Bytes of new data that duplicates let out since the last ACK of new data.
    limited_bytes: u32,
    /// One past RescueRxt.
    rescue: SeqNumber,
    board: Scoreboard,
    undo: BadRetransmit,
}

impl Rfc6675 {
    pub fn new(tcb: &Tcb) -> Self {
        Self {
            phase: Phase::Open,
            recover: tcb.snd.iss,
            dupacks: 0,
            limited_bytes: 0,
            rescue: tcb.snd.iss,
            board: Scoreboard::default(),
            undo: BadRetransmit::default(),
        }
    }

    fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    fn ends(&self, ack: SeqNumber) -> bool {
        self.in_recovery() && ack >= self.recover
    }

    /// An ACK that acknowledges nothing new; `news` tells of newly SACKed bytes (section 2: that alone makes a
    /// duplicate, whatever its window and its data).
    fn on_old_ack(&mut self, tcb: &mut Tcb, now: Instant, ack: SeqNumber, news: bool) {
        if ack != tcb.snd.una || tcb.flight() == 0 {
            return;
        }
        if self.in_recovery() {
            tcb.counters.dup_acks += 1;
            tcb.output(now, self); // section 5 steps (B) and (C)
        } else if news {
            self.dupacks += 1;
            self.count_duplicate(tcb, now);
        }
    }

    /// An ACK of new data, in the order of FB-CW-3; `in_flight` was so before its reports were taken.
    fn on_new_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>, in_flight: u32, news: bool) {
        let &Arrival { now, segment, .. } = arrival;
        let ack = segment.ack;
        let was_recovering = self.in_recovery();
        let skips_growth = !was_recovering && self.board.is_empty() && tcb.takes_fast_path(arrival);
        if self.ends(ack) {
            tcb.window.cwnd = match tcb.profile.recovery.exit {
                // Section 5 step 4.2.
                RecoveryExit::Rfc6582 => tcb.window.ssthresh,
                _ => tcb.exit_window(ack),
            };
        }
        self.dupacks = 0;
        self.undo.undo(tcb, now, &mut self.recover, &mut self.phase);
        let new = tcb.take_new_ack(now, segment, false);
        if !was_recovering && new.opens && !skips_growth {
            let steps = tcb.growth_steps(new.acked, self.phase == Phase::Open && !news);
            tcb.grow(now, &Growth { acked: new.acked, in_flight, during: self.phase.during(), steps });
        }
        if self.ends(ack) {
            self.phase = Phase::Open;
            tcb.end_recovery(now);
        }
        follow_una(&mut self.phase, &mut self.recover, ack);
        tcb.move_una(now, segment, &new);
        if news && !self.in_recovery() {
            // Section 5: DupAcks is cleared by the acknowledgment, then counts this ACK.
            self.dupacks = 1;
            self.count_duplicate(tcb, now);
        }
    }

    /// Section 5 steps (1) to (3): recovery begins, or limited transmit.
    fn count_duplicate(&mut self, tcb: &mut Tcb, now: Instant) {
        tcb.counters.dup_acks += 1;
        if self.dupacks <= 1 {
            self.limited_bytes = 0;
        }
        // Section 5.1: not before all that a timeout found outstanding is acknowledged.
        let guarded = tcb.profile.recovery.sack_entry_guard && tcb.snd.una < self.recover;
        if !guarded && self.is_first_lost(tcb) {
            self.enter(tcb, now);
            return;
        }
        if self.phase == Phase::Open {
            self.phase = Phase::Disorder;
        }
        let max = tcb.snd.max;
        if tcb.profile.recovery.limited_transmit > 0 || self.phase == Phase::Loss {
            if self.phase == Phase::Disorder {
                tcb.decision = Reason::LimitedTransmit;
            }
            tcb.output(now, self);
            tcb.decision = Reason::New;
        }
        self.limited_bytes += tcb.snd.max.diff(max) as u32;
    }

    /// Section 5 step (4): cwnd = ssthresh, the first lost segment leaves at once, whatever the pipe (step
    /// 4.3), and more as the pipe allows (step 4.5).
    fn enter(&mut self, tcb: &mut Tcb, now: Instant) {
        tcb.lower_ssthresh(now, tcb.flight().saturating_sub(self.limited_bytes));
        self.phase = Phase::Recovery;
        self.recover = tcb.snd.max;
        self.limited_bytes = 0;
        tcb.begin_fast_retransmit(self.dupacks, self.board.sacked_bytes(tcb.snd.una) / tcb.snd.mss);
        tcb.window.cwnd = tcb.window.ssthresh;
        // HighRxt starts again (steps 3.1 and 4.3).
        self.board.forget_resent();
        let una = tcb.snd.una;
        let end = una + tcb.snd.mss.min(tcb.flight());
        let end = self.board.next_hole().map_or(end, |h| h.end.min(end).max(una));
        self.rescue = end;
        tcb.send_hole(now, una, end.diff(una) as u32, self);
        tcb.output(now, self);
    }

    /// IsLost(una), or as many duplicates as begin recovery.
    fn is_first_lost(&self, tcb: &Tcb) -> bool {
        self.dupacks >= tcb.duplicates_needed() || self.lost_boundary(tcb).is_some_and(|b| b > tcb.snd.una)
    }

    /// Where "lost" ends (IsLost): holes that start below this are lost. `None` before any SACK.
    fn lost_boundary(&self, tcb: &Tcb) -> Option<SeqNumber> {
        let fack = self.board.fack()?;
        Some(self.board.tail(tcb.dup_thresh(), tcb.snd.mss).start.unwrap_or(fack))
    }

    /// SetPipe (section 4): bytes above the highest SACKed one, of holes not lost, and resent ones.
    fn pipe(&self, tcb: &Tcb) -> u32 {
        let Some(fack) = self.board.fack().filter(|f| *f > tcb.snd.una) else { return tcb.flight() };
        let above = tcb.snd.max.diff(fack).max(0) as u32;
        let holes = match self.phase {
            Phase::Loss => self.board.bytes_from(self.recover),
            _ => self.board.tail(tcb.dup_thresh(), tcb.snd.mss).bytes,
        };
        above + holes + self.board.resent_bytes()
    }

    /// cwnd - pipe, if it has room for a segment.
    fn room(&self, tcb: &Tcb) -> Option<u32> {
        tcb.room_beside(self.pipe(tcb))
    }

    /// NextSeg (section 4): a lost hole, then new data, then any hole, then one rescue.
    fn next_seg(&mut self, tcb: &mut Tcb) -> Permit {
        let Some(room) = self.room(tcb) else { return Permit::next(0) };
        let hole = self.board.next_hole();
        if let (Some(hole), Some(boundary)) = (hole, self.lost_boundary(tcb))
            && hole.rexmit < boundary
        {
            return hole.permit(tcb.snd.mss);
        }
        let unsent = tcb.unsent();
        if unsent > 0 {
            return Permit::next(unsent.min(i64::from(room)));
        }
        if let Some(hole) = hole {
            return hole.permit(tcb.snd.mss);
        }
        self.rescue(tcb).unwrap_or(Permit::next(0))
    }

    /// Rule (4) of NextSeg: once an episode, once una has passed the first retransmission, the segment with
    /// the highest byte that is not SACKed. HighRxt stays where it is.
    fn rescue(&mut self, tcb: &mut Tcb) -> Option<Permit> {
        if tcb.snd.una <= self.rescue {
            return None;
        }
        let fack = self.board.fack()?;
        let (from, end) = if tcb.snd.max > fack {
            (fack.max(tcb.snd.una), tcb.snd.max)
        } else {
            let hole = self.board.last_hole()?;
            (hole.start, hole.end)
        };
        self.rescue = self.recover;
        let len = (end.diff(from) as u32).min(tcb.snd.mss);
        tcb.decision = Reason::Rescue;
        Some(Permit::Hole { seq: end - len, len })
    }

    /// All that was outstanding when the timer expired, then new data.
    fn permit_after_timeout(&mut self, tcb: &Tcb) -> Permit {
        let Some(room) = self.room(tcb) else { return Permit::next(0) };
        let recover = self.recover;
        if let Some(hole) = self.board.next_hole().filter(|h| h.start < recover) {
            return hole.permit(tcb.snd.mss);
        }
        Permit::next(tcb.unsent().min(i64::from(room)).max(0))
    }
}

impl LossRecovery for Rfc6675 {
    #[inline]
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        let una = tcb.snd.una;
        let in_flight = if self.phase == Phase::Open { tcb.flight() } else { self.pipe(tcb) };
        let news = (!segment.sack.is_empty() || !self.board.is_empty())
            && self.board.on_ack(una, segment.ack, &segment.sack, tcb.snd.max);
        if segment.ack <= una {
            self.on_old_ack(tcb, now, segment.ack, news);
            tcb.follow_probe(now, segment, false, self.phase);
            return Rest::Take;
        }
        self.on_new_ack(tcb, arrival, in_flight, news);
        tcb.follow_probe(now, segment, true, self.phase);
        Rest::TakeAndSend
    }

    /// Section 5.1: all that is not SACKed is lost.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() {
            return;
        }
        self.undo.remember(tcb, now, self.recover, self.phase);
        tcb.lower_at_timeout(now, self.in_recovery());
        self.recover = tcb.snd.max;
        self.dupacks = 0;
        self.phase = Phase::Loss;
        if tcb.profile.recovery.forget_sack_at_timeout {
            self.board.clear();
        }
        self.board.lose_all(tcb.snd.una, tcb.snd.max);
        tcb.output_after_timeout(now, self);
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        tcb.resume_in_bytes(now, why, self);
    }

    #[inline]
    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        match self.phase {
            Phase::Open | Phase::Cwr => tcb.permit_by_window(),
            // New data only, as far as cwnd exceeds the pipe (section 5 step (3)).
            Phase::Disorder => {
                let room = self.room(tcb).unwrap_or(0);
                Permit::next(tcb.unsent().min(i64::from(room)).max(0))
            }
            Phase::Recovery => self.next_seg(tcb),
            Phase::Loss => self.permit_after_timeout(tcb),
        }
    }

    #[inline]
    fn on_sent(&mut self, tcb: &mut Tcb, _now: Instant, sent: &Sent) {
        if sent.hole {
            self.board.resent(sent.seq, sent.space());
            tcb.stop_timing_within(sent.seq, sent.len);
        }
    }

    fn next_unsacked(&self, nxt: SeqNumber) -> SeqNumber {
        self.board.skip_sacked(nxt)
    }

    fn status(&self) -> Status {
        Status::in_bytes(self.phase)
    }
}
