//! Linux 2.6.15: FACK and rate halving, in whole packets: net/ipv4/tcp_input.c, whose function names stand at their
//! counterparts (LX-ST-1 to LX-ST-13, LX-LOSS-1).
//!
//! `ack` is `tcp_ack`, `alert` is `tcp_fastretrans_alert`, `undo` the `tcp_try_undo_*`; here are the timer and what
//! leaves.
//!
//! Not modelled: ECN and the state CWR; reports that the receiver takes back (`tcp_check_sack_reneging`): only the
//! timeout forgets them; packets put together when they are sent again (`tcp_retrans_try_collapse`).

mod ack;
mod alert;
mod undo;

use rexmit_stack::Reason;
use rexmit_units::Instant;

use super::packets::{self, Counting, Packets, SentQueue};
use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status};
use crate::congestion::{CongestionControl, Note};
use crate::connection::Tcb;

#[derive(Clone, Debug)]
pub(crate) struct Linux2615 {
    packets: Packets,
    /// Reordering was seen, so that distances are no longer proof (`tcp_disable_fack`).
    reorders: bool,
    /// Every second ACK in rate halving.
    halving: u32,
}

impl Linux2615 {
    pub fn new(tcb: &Tcb) -> Self {
        Self { packets: Packets::new(tcb), reorders: false, halving: 0 }
    }

    /// `tcp_enter_loss` (LX-LOSS-1): all that is not SACKed is lost; the threshold is lowered once an episode.
    fn enter_loss(&mut self, tcb: &mut Tcb, now: Instant) {
        let phase = self.packets.phase;
        let again = phase == Phase::Loss && self.packets.timeouts == 0;
        if matches!(phase, Phase::Open | Phase::Disorder) || tcb.snd.una == self.packets.recover || again {
            self.packets.prior_ssthresh = self.packets.present_ssthresh(tcb);
            tcb.lower_ssthresh(now, tcb.flight());
        }
        tcb.congestion.on_timeout(&mut tcb.window, now);
        let p = &mut self.packets;
        p.duplicates = 0;
        p.undo_resent = 0;
        // What was sent again already leaves nothing to be taken back.
        let may_undo = tcb.profile.recovery.reduction_undo && !p.queue.any_ever_resent();
        p.undo_marker = may_undo.then_some(tcb.snd.una);
        p.queue.lose_all();
        p.reordering = p.reordering.min(tcb.dup_thresh());
        p.phase = Phase::Loss;
        p.recover = tcb.snd.nxt;
    }

    /// In recovery, with nothing new to send, holes that are not proven lost (`tcp_xmit_retransmit_queue`).
    fn resend_forward(&mut self, tcb: &mut Tcb, now: Instant) {
        if self.packets.in_recovery() && tcb.marks.sack && !self.packets.may_send_new(tcb) {
            packets::resend_each(self, tcb, now, SentQueue::next_untouched);
        }
    }

    /// The oldest packet has been out for longer than the timeout: the timer is restarted with each ACK.
    fn is_head_old(&self, tcb: &Tcb, now: Instant) -> bool {
        self.packets.queue.head().is_some_and(|head| is_old(tcb, now, head.at))
    }

    /// Distances are a proof (LX-FR-1), until reordering is seen.
    fn uses_fack(&self, tcb: &Tcb) -> bool {
        tcb.profile.recovery.fack && !self.reorders
    }

    /// `tcp_update_reordering`.
    fn note_reordering(&mut self, tcb: &Tcb, metric: u32) {
        let metric = metric.min(tcb.profile.recovery.max_reordering);
        if metric > self.packets.reordering {
            self.packets.reordering = metric;
            self.reorders = true;
        }
    }

    /// More duplicates than packets out tell of reordering, no less than was known.
    fn limit_duplicates(&mut self, tcb: &Tcb, addend: u32) {
        if let Some(seen) = self.packets.limit_duplicates(addend) {
            let seen = seen.min(tcb.profile.recovery.max_reordering);
            self.packets.reordering = self.packets.reordering.max(seen);
        }
    }
}

/// What left at `at` has been out for longer than the timeout.
fn is_old(tcb: &Tcb, now: Instant, at: Instant) -> bool {
    let ticks = tcb.clock.ticks(now).saturating_sub(tcb.clock.ticks(at));
    tcb.clock.span(ticks) > tcb.rtt.rto()
}

impl Counting for Linux2615 {
    fn packets(&mut self) -> &mut Packets {
        &mut self.packets
    }

    fn before_resend(&mut self, tcb: &mut Tcb, now: Instant, at: Instant) {
        let by_hole = matches!(tcb.decision, Reason::New | Reason::PartialAck);
        if by_hole && self.packets.in_recovery() && is_old(tcb, now, at) {
            tcb.decision = Reason::Age;
        }
    }
}

impl LossRecovery for Linux2615 {
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let una = tcb.snd.una;
        self.take_ack(tcb, arrival);
        tcb.follow_probe_counted(arrival.now, arrival.segment, tcb.snd.una > una, self.packets.phase);
        Rest::TakeAndSend
    }

    /// `tcp_retransmit_timer`.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() || self.packets.queue.len() == 0 {
            return;
        }
        self.enter_loss(tcb, now);
        self.packets.timeouts += 1;
        tcb.back_off();
        tcb.decision = Reason::Timeout { backoff: tcb.rtt.shift() };
        packets::resend(self, tcb, now, 0, true);
        tcb.decision = Reason::New;
        tcb.timers.rexmt = tcb.clock.deadline(now, tcb.rtt.rto());
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        match why {
            Resume::TailProbe => packets::resend_last(self, tcb, now),
            Resume::Reordering => {}
            Resume::Pace => {
                packets::resend_lost(self, tcb, now);
                self.resend_forward(tcb, now);
                tcb.output(now, self);
            }
        }
    }

    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        self.packets.permit(tcb)
    }

    fn on_sent(&mut self, tcb: &mut Tcb, now: Instant, sent: &Sent) {
        let idle = self.packets.in_flight() == 0;
        if self.packets.note_sent(tcb, now, sent) && idle {
            let idle = now.saturating_since(tcb.last_data_sent);
            tcb.congestion.note(&mut tcb.window, &Note::Restart { now, idle });
        }
    }

    fn status(&self) -> Status {
        self.packets.status()
    }
}
