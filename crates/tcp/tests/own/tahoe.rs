//! Tahoe: three duplicates send the lost segment again and begin slow start at one segment; there is no fast recovery
//! (V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988; tcp_input.c of 4.3BSD-Tahoe).
//!
//! Not here: SACK, limited transmit, and a rule against a second fast retransmit for duplicates that follow a timeout
//! (RFC 6582's `recover`), which Tahoe had none of.

use rexmit_tcp::congestion::CongestionControl;
use rexmit_tcp::recovery::{
    Arrival, Duplicate, Duplicates, Growth, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status, Tcb,
};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

/// All of its state.
#[derive(Clone, Debug)]
pub struct Tahoe {
    duplicates: Duplicates,
    phase: Phase,
    /// What was out at the last loss: when that is acknowledged, nothing is suspected.
    repaired: SeqNumber,
}

impl Tahoe {
    /// One that has seen nothing.
    pub fn new(tcb: &Tcb) -> Self {
        Self { duplicates: Duplicates::default(), phase: Phase::Open, repaired: tcb.snd.una }
    }

    /// The window is one segment, which is the lost one; what comes next is new, or what is out after it.
    fn retransmit(&mut self, tcb: &mut Tcb, now: Instant) {
        tcb.lower_ssthresh(now, tcb.flight());
        tcb.begin_fast_retransmit(self.duplicates.count, 0);
        tcb.stop_rexmt();
        (self.phase, self.repaired) = (Phase::Loss, tcb.snd.max);
        let next = tcb.snd.nxt;
        tcb.snd.nxt = tcb.snd.una;
        tcb.window.cwnd = tcb.snd.mss;
        tcb.output(now, self);
        tcb.snd.nxt = tcb.snd.nxt.max(next);
    }
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        if segment.ack <= tcb.snd.una {
            return match self.duplicates.take(tcb, arrival, false) {
                Duplicate::No => Rest::Take,
                Duplicate::Early | Duplicate::Further => Rest::Skip,
                Duplicate::Threshold => {
                    self.retransmit(tcb, now);
                    Rest::Skip
                }
            };
        }
        let in_flight = tcb.flight();
        self.duplicates.count = 0;
        let new = tcb.take_new_ack(now, segment, false);
        if new.opens {
            let steps = tcb.growth_steps(new.acked, self.phase == Phase::Open);
            tcb.grow(now, &Growth { acked: new.acked, in_flight, during: self.phase.during(), steps });
        }
        if segment.ack >= self.repaired {
            self.phase = Phase::Open;
            self.repaired = segment.ack;
        }
        tcb.move_una(now, segment, &new);
        if new.all { Rest::TakeAndSend } else { Rest::Take }
    }

    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() {
            return;
        }
        if tcb.timeout_lowers_ssthresh(false) {
            tcb.lower_ssthresh(now, tcb.flight());
        }
        tcb.back_off();
        tcb.stop_timing();
        tcb.congestion.on_timeout(&mut tcb.window, now);
        self.duplicates.count = 0;
        (self.phase, self.repaired) = (Phase::Loss, tcb.snd.max);
        tcb.snd.nxt = tcb.snd.una;
        tcb.output_after_timeout(now, self);
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        tcb.resume_in_bytes(now, why, self);
    }

    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        tcb.permit_by_window()
    }

    fn on_sent(&mut self, _tcb: &mut Tcb, _now: Instant, _sent: &Sent) {}

    fn status(&self) -> Status {
        Status::in_bytes(self.phase)
    }
}
