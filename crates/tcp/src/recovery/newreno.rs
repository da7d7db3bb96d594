//! Fast recovery without SACK: Reno (RFC 5681 section 3.2) and NewReno (RFC 6582), as BSD orders the steps.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::bad_retransmit::BadRetransmit;
use super::duplicates::{Duplicate, Duplicates, send_beyond_window};
use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status};
use crate::connection::{Growth, Tcb};
use crate::profile::PlainRecovery;

/// Reno or NewReno, by [`crate::profile::RecoveryConfig::plain`].
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    phase: Phase,
    rule: PlainRecovery,
    /// Highest sequence number sent when recovery began (RFC 6582 `recover`).
    recover: SeqNumber,
    duplicates: Duplicates,
    /// Partial ACKs of this recovery.
    partials: u32,
    undo: BadRetransmit,
}

impl NewReno {
    pub fn new(tcb: &Tcb) -> Self {
        Self {
            phase: Phase::Open,
            rule: tcb.profile.recovery.plain,
            recover: tcb.snd.iss,
            duplicates: Duplicates::default(),
            partials: 0,
            undo: BadRetransmit::default(),
        }
    }

    fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// RFC 6582 section 3.2 step 2.
    fn may_enter(&self, ack: SeqNumber) -> bool {
        self.rule == PlainRecovery::Reno || ack > self.recover
    }

    /// Does this ACK of new data end recovery? With Reno any does.
    fn ends(&self, ack: SeqNumber) -> bool {
        self.in_recovery() && (ack >= self.recover || self.rule == PlainRecovery::Reno)
    }

    fn on_old_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let now = arrival.now;
        match self.duplicates.take(tcb, arrival, self.in_recovery()) {
            Duplicate::No => return Rest::Take,
            Duplicate::Further => {
                tcb.window.cwnd = tcb.window.cwnd.saturating_add(tcb.snd.mss);
                tcb.output(now, self);
            }
            Duplicate::Threshold if !self.may_enter(arrival.segment.ack) => {
                self.duplicates.count = 0;
                return Rest::Take;
            }
            Duplicate::Threshold => self.enter(tcb, now),
            Duplicate::Early if tcb.profile.recovery.limited_transmit == 0 => return Rest::Take,
            Duplicate::Early => {
                let credit = self.duplicates.credit(tcb);
                if self.phase == Phase::Open {
                    self.phase = Phase::Disorder;
                }
                let sent = send_beyond_window(tcb, now, credit, self);
                self.duplicates.note_limited(sent, tcb.snd.mss);
            }
        }
        Rest::Skip
    }

    /// The first lost segment is sent again and the window inflated (FB-FR-4; RFC 5681 section 3.2 steps 2 and 3).
    fn enter(&mut self, tcb: &mut Tcb, now: Instant) {
        // What limited transmit sent does not count.
        tcb.lower_ssthresh(now, tcb.flight().saturating_sub(self.duplicates.limited_bytes));
        self.phase = Phase::Recovery;
        self.recover = tcb.snd.max;
        self.partials = 0;
        self.duplicates.limited_bytes = 0;
        tcb.begin_fast_retransmit(self.duplicates.count, 0);
        let old_nxt = tcb.snd.nxt;
        tcb.stop_rexmt();
        tcb.snd.nxt = tcb.snd.una;
        tcb.window.cwnd = tcb.snd.mss;
        tcb.output(now, self);
        let count = self.duplicates.count;
        let left = if self.rule == PlainRecovery::Rfc6582 {
            count
        } else {
            count - self.duplicates.limited.min(count)
        };
        tcb.window.cwnd = tcb.window.ssthresh + tcb.snd.mss * left;
        tcb.snd.nxt = tcb.snd.nxt.max(old_nxt);
    }

    /// An ACK of new data, in the order of FB-CW-3.
    fn on_new_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        let ack = segment.ack;
        let (in_flight, was_recovering) = (tcb.flight(), self.in_recovery());
        let skips_growth = !was_recovering && tcb.takes_fast_path(arrival);
        if self.ends(ack) {
            tcb.window.cwnd = match self.rule {
                PlainRecovery::Reno => tcb.window.cwnd.min(tcb.window.ssthresh),
                _ => tcb.exit_window(ack),
            };
        } else if was_recovering {
            self.on_partial_ack(tcb, now, ack);
        }
        self.duplicates.count = 0;
        self.undo.undo(tcb, now, &mut self.recover, &mut self.phase);
        let new = tcb.take_new_ack(now, segment, self.keeps_timer(ack));
        // Plain Reno grows cwnd on the very ACK that ends recovery (FB-FR-11).
        let grows = !was_recovering || self.rule == PlainRecovery::Reno;
        if grows && new.opens && !skips_growth {
            let steps = tcb.growth_steps(new.acked, self.phase == Phase::Open);
            tcb.grow(now, &Growth { acked: new.acked, in_flight, during: self.phase.during(), steps });
        }
        if self.ends(ack) {
            self.phase = Phase::Open;
            tcb.end_recovery(now);
        }
        self.follow_una(ack);
        tcb.move_una(now, segment, &new);
        if new.all { Rest::TakeAndSend } else { Rest::Take }
    }

    /// The next hole is sent again and the window deflated (FB-FR-8; RFC 6582 section 3.2 step 3). una has
    /// not moved yet.
    fn on_partial_ack(&mut self, tcb: &mut Tcb, now: Instant, ack: SeqNumber) {
        let (old_nxt, old_cwnd) = (tcb.snd.nxt, tcb.window.cwnd);
        let acked = ack.diff(tcb.snd.una) as u32;
        let due = tcb.timers.rexmt;
        self.partials += 1;
        tcb.stop_rexmt();
        tcb.stop_timing();
        tcb.snd.nxt = ack;
        tcb.window.cwnd = tcb.snd.mss + acked;
        tcb.marks.ack_now = tcb.marks.ack_now || tcb.profile.recovery.partial_ack_answers;
        tcb.decision = Reason::PartialAck;
        tcb.output(now, self);
        tcb.decision = Reason::New;
        tcb.window.cwnd = old_cwnd.saturating_sub(acked);
        if acked >= tcb.snd.mss || self.rule != PlainRecovery::Rfc6582 {
            tcb.window.cwnd += tcb.snd.mss;
        }
        tcb.snd.nxt = tcb.snd.nxt.max(old_nxt);
        if self.keeps_timer(ack) {
            tcb.timers.rexmt = due;
        }
    }

    /// Only the first partial ACK restarts the timer (RFC 6582 section 3.2 step 3).
    fn keeps_timer(&self, ack: SeqNumber) -> bool {
        self.rule == PlainRecovery::Rfc6582 && self.in_recovery() && self.partials > 1 && ack < self.recover
    }

    /// una moves. `recover` must not fall so far behind that it wraps.
    fn follow_una(&mut self, una: SeqNumber) {
        if self.phase == Phase::Disorder || (self.phase == Phase::Loss && una >= self.recover) {
            self.phase = Phase::Open;
        }
        if !self.in_recovery() && una > self.recover && una.diff(self.recover) > 1 << 30 {
            self.recover = una;
        }
    }
}

impl LossRecovery for NewReno {
    #[inline]
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        if arrival.segment.ack <= tcb.snd.una {
            self.on_old_ack(tcb, arrival)
        } else {
            self.on_new_ack(tcb, arrival)
        }
    }

    /// All is sent again from una on (RFC 5681 section 3.1).
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() {
            return;
        }
        self.undo.remember(tcb, now, self.recover, self.phase);
        tcb.lower_at_timeout(now, self.in_recovery());
        tcb.snd.nxt = tcb.snd.una;
        self.recover = tcb.snd.max;
        self.duplicates.count = 0;
        self.phase = Phase::Loss;
        tcb.output_after_timeout(now, self);
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        tcb.resume_in_bytes(now, why, self);
    }

    #[inline]
    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        tcb.permit_by_window()
    }

    #[inline]
    fn on_sent(&mut self, _tcb: &mut Tcb, _now: Instant, _sent: &Sent) {}

    fn status(&self) -> Status {
        Status::in_bytes(self.phase)
    }
}
