//! Linux 2.6 in bytes, for bulk transfers with SACK: a segment is lost by its distance from the highest SACKed one
//! (FACK), and cwnd goes down by one segment for every second ACK of the recovery (LX-ST-4 to LX-ST-13, LX-LOSS-1).
//!
//! [`super::linux_2_6_15`] has the same states in packets, as the kernel keeps them. After a timeout everything that is
//! not SACKed counts as lost and is sent again in order, as the window allows, new data after it. `undo` takes back
//! what was lowered needlessly.

mod undo;

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::bad_retransmit::BadRetransmit;
use super::scoreboard::Scoreboard;
use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status, follow_una};
use crate::congestion::CongestionControl;
use crate::connection::{Growth, Tcb};
use crate::profile::{HalvingFloor, RecoveryExit};

use undo::Doubts;

/// A burst is at most this many segments (LX-ST-4: `max_burst`).
const BURST: u32 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Linux269 {
    phase: Phase,
    /// What was sent when recovery began (`high_seq`).
    recover: SeqNumber,
    dupacks: u32,
    /// Bytes of new data that duplicates let out since the last ACK of new data.
    limited_bytes: u32,
    /// Every second ACK in rate halving.
    halving: u32,
    /// All before this that is not SACKed is lost.
    lost_to: SeqNumber,
    board: Scoreboard,
    /// Was the last reduction needed?
    doubts: Doubts,
    undo: BadRetransmit,
}

impl Linux269 {
    pub fn new(tcb: &Tcb) -> Self {
        Self {
            phase: Phase::Open,
            recover: tcb.snd.iss,
            dupacks: 0,
            limited_bytes: 0,
            halving: 0,
            lost_to: tcb.snd.iss,
            board: Scoreboard::default(),
            doubts: Doubts::default(),
            undo: BadRetransmit::default(),
        }
    }

    fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    fn ends(&self, ack: SeqNumber) -> bool {
        self.in_recovery() && ack >= self.recover
    }

    /// An ACK that acknowledges nothing new; `news` tells of newly SACKed bytes, which alone make a duplicate.
    fn on_old_ack(&mut self, tcb: &mut Tcb, now: Instant, ack: SeqNumber, news: bool) {
        if ack != tcb.snd.una || tcb.flight() == 0 {
            return;
        }
        if self.settle_doubts(tcb) {
            tcb.output(now, self);
        }
        if self.in_recovery() {
            tcb.counters.dup_acks += 1;
            self.mark_lost(tcb, true);
            self.halve(tcb);
            tcb.output(now, self);
        } else if news {
            self.dupacks += 1;
            self.count_duplicate(tcb, now);
        }
    }

    /// An ACK of new data; `in_flight` was so before its reports were taken.
    fn on_new_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>, in_flight: u32, news: bool) {
        let &Arrival { now, segment, .. } = arrival;
        let ack = segment.ack;
        let was_recovering = self.in_recovery();
        let skips_growth = !was_recovering && self.board.is_empty() && tcb.takes_fast_path(arrival);
        if self.ends(ack) {
            tcb.window.cwnd = match tcb.profile.recovery.exit {
                RecoveryExit::Rfc6582 => tcb.window.ssthresh,
                _ => tcb.exit_window(ack),
            };
        }
        self.dupacks = 0;
        self.undo.undo(tcb, now, &mut self.recover, &mut self.phase);
        let new = tcb.take_new_ack(now, segment, false);
        if !was_recovering && new.opens && !skips_growth {
            let undisturbed = self.phase == Phase::Open && !self.doubts.is_pending() && !news;
            let steps = tcb.growth_steps(new.acked, undisturbed);
            tcb.grow(now, &Growth { acked: new.acked, in_flight, during: self.phase.during(), steps });
        }
        if self.ends(ack) {
            self.phase = Phase::Open;
            tcb.end_recovery(now);
            tcb.congestion.set_credit(self.halving); // LX-ST-13
        }
        follow_una(&mut self.phase, &mut self.recover, ack);
        tcb.move_una(now, segment, &new);
        if self.in_recovery() {
            if !self.take_back_partial(tcb) {
                self.mark_lost(tcb, false);
            }
            self.halve(tcb);
            return;
        }
        if was_recovering {
            self.take_back_at_exit(tcb);
            tcb.window.cwnd = tcb.window.cwnd.min(tcb.window.ssthresh); // LX-ST-10, `tcp_complete_cwr`
            self.moderate(tcb);
        } else {
            self.settle_doubts(tcb);
        }
        if news {
            // This ACK counts.
            self.dupacks = 1;
            self.count_duplicate(tcb, now);
        } else if self.phase == Phase::Open && !self.board.is_empty() {
            self.count_duplicate(tcb, now);
        }
    }

    /// Recovery begins, or a segment more leaves (LX-ST-4).
    fn count_duplicate(&mut self, tcb: &mut Tcb, now: Instant) {
        tcb.counters.dup_acks += 1;
        if self.dupacks <= 1 {
            self.limited_bytes = 0;
        }
        let guarded = tcb.profile.recovery.sack_entry_guard && tcb.snd.una < self.recover;
        if !guarded && self.is_first_lost(tcb) {
            self.enter(tcb, now);
            return;
        }
        if self.phase == Phase::Open {
            self.phase = Phase::Disorder;
        }
        self.moderate(tcb);
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

    /// The ACK that begins recovery counts as its first (LX-ST-6, LX-ST-7).
    fn enter(&mut self, tcb: &mut Tcb, now: Instant) {
        let in_flight = tcb.flight().saturating_sub(self.limited_bytes);
        self.begin_doubts(tcb);
        tcb.lower_ssthresh(now, in_flight);
        self.phase = Phase::Recovery;
        self.recover = tcb.snd.max;
        self.limited_bytes = 0;
        tcb.begin_fast_retransmit(self.dupacks, self.board.sacked_bytes(tcb.snd.una) / tcb.snd.mss);
        self.halving = 0;
        self.lost_to = tcb.snd.una;
        self.mark_lost(tcb, true);
        self.halve(tcb);
        tcb.timers.rexmt = tcb.clock.deadline(now, tcb.rtt.rto());
        tcb.output(now, self);
    }

    /// Is the segment at una lost (LX-ST-5 (b))?
    fn is_first_lost(&self, tcb: &Tcb) -> bool {
        if tcb.early_threshold().is_some_and(|early| self.dupacks >= early) {
            return true;
        }
        let distance = i64::from(tcb.duplicates_needed() * tcb.snd.mss);
        self.board.fack().is_some_and(|fack| i64::from(fack.diff(tcb.snd.una)) > distance)
    }

    /// LX-ST-9: all that lies more than the threshold below the highest SACKed byte; `one` at least where a
    /// duplicate came. What is marked stays marked.
    fn mark_lost(&mut self, tcb: &Tcb, one: bool) {
        let Some(fack) = self.board.fack() else { return };
        let (una, mss) = (tcb.snd.una, tcb.snd.mss);
        let boundary = fack - tcb.dup_thresh() * mss;
        let mut to = self.lost_to;
        if tcb.profile.recovery.fack {
            to = to.max(boundary);
        }
        if one || boundary > una {
            to = to.max(una + mss);
        }
        self.lost_to = to;
    }

    /// One segment less for every second ACK, down to the floor, and never more than one beyond the flight.
    fn halve(&mut self, tcb: &mut Tcb) {
        let mss = tcb.snd.mss;
        self.halving += 1;
        let less = self.halving / 2;
        self.halving %= 2;
        let floor = match tcb.profile.recovery.halving_floor {
            HalvingFloor::Algorithm => tcb.congestion.recovery_floor(&tcb.window),
            HalvingFloor::HalfSsthresh => tcb.window.ssthresh / 2,
        };
        if less > 0 && tcb.window.cwnd > floor {
            tcb.window.cwnd = tcb.window.cwnd.saturating_sub(less * mss);
        }
        tcb.window.cwnd = tcb.window.cwnd.min(self.pipe(tcb) + mss).max(mss);
    }

    /// No more than a short burst beyond what is in flight (LX-ST-4, LX-ST-10).
    fn moderate(&self, tcb: &mut Tcb) {
        let mss = tcb.snd.mss;
        tcb.window.cwnd = tcb.window.cwnd.min(self.pipe(tcb) + BURST * mss).max(mss);
    }

    /// LX-ST-1: bytes above the highest SACKed one, of holes not lost, and resent ones.
    fn pipe(&self, tcb: &Tcb) -> u32 {
        let Some(fack) = self.board.fack().filter(|f| *f > tcb.snd.una) else { return tcb.flight() };
        let above = tcb.snd.max.diff(fack).max(0) as u32;
        let holes = match self.phase {
            Phase::Loss => self.board.bytes_from(self.recover),
            Phase::Recovery => self.board.bytes_from(self.lost_to),
            _ => self.board.hole_bytes(),
        };
        above + holes + self.board.resent_bytes()
    }

    /// cwnd - pipe, if it has room for a segment.
    fn room(&self, tcb: &Tcb) -> Option<u32> {
        tcb.room_beside(self.pipe(tcb))
    }

    /// A lost hole, then new data, then any hole.
    fn permit_in_recovery(&mut self, tcb: &Tcb) -> Permit {
        let Some(room) = self.room(tcb) else { return Permit::next(0) };
        let hole = self.board.next_hole();
        if let Some(hole) = hole.filter(|hole| hole.rexmit < self.lost_to) {
            return hole.permit(tcb.snd.mss);
        }
        let unsent = tcb.unsent();
        if unsent > 0 {
            return Permit::next(unsent.min(i64::from(room)));
        }
        hole.map_or(Permit::next(0), |hole| hole.permit(tcb.snd.mss))
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

impl LossRecovery for Linux269 {
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        let una = tcb.snd.una;
        let in_flight = if self.phase == Phase::Open { tcb.flight() } else { self.pipe(tcb) };
        self.doubts.note(segment, tcb.marks.timestamps);
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

    /// `tcp_enter_loss`: all that is not SACKed is lost.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() {
            return;
        }
        self.undo.remember(tcb, now, self.recover, self.phase);
        let lowers = tcb.timeout_lowers_ssthresh(self.in_recovery());
        tcb.back_off();
        tcb.stop_timing();
        self.recover = tcb.snd.max;
        tcb.marks.ack_now = true;
        self.begin_doubts_of_timeout(tcb, lowers);
        if lowers {
            tcb.lower_ssthresh(now, tcb.flight());
        }
        tcb.congestion.on_timeout(&mut tcb.window, now);
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

    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        match self.phase {
            Phase::Open | Phase::Cwr => tcb.permit_by_window(),
            // New data only (LX-ST-4).
            Phase::Disorder => {
                let room = self.room(tcb).unwrap_or(0);
                Permit::next(tcb.unsent().min(i64::from(room)).max(0))
            }
            Phase::Recovery => self.permit_in_recovery(tcb),
            Phase::Loss => self.permit_after_timeout(tcb),
        }
    }

    fn on_sent(&mut self, tcb: &mut Tcb, now: Instant, sent: &Sent) {
        if sent.hole {
            self.board.resent(sent.seq, sent.space());
            tcb.stop_timing_within(sent.seq, sent.len);
            if tcb.profile.recovery.reduction_undo {
                self.doubts.note_resent(|| tcb.timestamp(now));
            }
        }
    }

    fn next_unsacked(&self, nxt: SeqNumber) -> SeqNumber {
        self.board.skip_sacked(nxt)
    }

    fn status(&self) -> Status {
        Status::in_bytes(self.phase)
    }
}
