//! The states of a sender: `tcp_fastretrans_alert` with rate halving (LX-ST-1 to LX-ST-10).

use rexmit_stack::Reason;
use rexmit_units::Instant;

use super::ack::Told;
use super::{Linux2615, Phase, is_old};
use crate::connection::Tcb;
use crate::profile::HalvingFloor;

/// A burst is at most this many packets (`tcp_max_burst`).
const BURST: u32 = 3;

impl Linux2615 {
    /// What an acknowledgment that is not plain makes of the state; true if lost packets leave again now.
    pub(super) fn alert(&mut self, tcb: &mut Tcb, now: Instant, told: &Told) -> bool {
        let p = &mut self.packets;
        if p.queue.len() == 0 {
            p.duplicates = 0;
        }
        if told.beyond && tcb.snd.una < p.recover && p.phase != Phase::Open {
            let lost = p.queue.reach().saturating_sub(p.reordering);
            p.queue.lose_first(lost, p.recover);
        }
        if self.packets.phase == Phase::Open {
            self.packets.first_resent = None;
        } else if tcb.snd.una >= self.packets.recover && self.ends(tcb) {
            return false;
        }
        let mut marks = told.dupack;
        match self.packets.phase {
            Phase::Recovery => {
                if told.advanced {
                    marks = self.undo_partial(tcb, told.acked);
                } else {
                    self.count_dupack(tcb, told.dupack);
                }
            }
            Phase::Loss => {
                if told.acked > 0 {
                    self.packets.timeouts = 0;
                }
                if !self.undo_loss(tcb) {
                    self.moderate_packets(tcb);
                    return true;
                }
                if self.packets.phase != Phase::Open || !self.leaves_disorder(tcb, now, told) {
                    return false;
                }
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                if !self.leaves_disorder(tcb, now, told) {
                    return false;
                }
            }
        }
        if marks || self.is_head_old(tcb, now) {
            self.mark_lost_packets(tcb, now);
        }
        self.halve_packets(tcb);
        true
    }

    /// All that was out when the state began is acknowledged. True if the state stays all the same.
    fn ends(&mut self, tcb: &mut Tcb) -> bool {
        match self.packets.phase {
            Phase::Open | Phase::Cwr => {}
            Phase::Disorder => {
                self.undo_by_duplicates(tcb);
                // With SACK, duplicates of all that was sent again may still be reported.
                let settled = self.packets.undo_marker.is_none();
                if settled || !tcb.marks.sack || tcb.snd.una != self.packets.recover {
                    self.packets.undo_marker = None;
                    self.packets.phase = Phase::Open;
                }
            }
            Phase::Loss => {
                self.packets.timeouts = 0;
                return self.undo_recovery(tcb);
            }
            Phase::Recovery => {
                if !tcb.marks.sack {
                    self.packets.duplicates = 0;
                }
                if self.undo_recovery(tcb) {
                    return true;
                }
                // `tcp_complete_cwr`; LX-ST-10, LX-ST-13.
                tcb.window.cwnd = tcb.window.cwnd.min(tcb.window.ssthresh);
                tcb.congestion.set_credit(self.halving);
            }
        }
        false
    }

    /// From Open or Disorder: true once recovery has begun.
    fn leaves_disorder(&mut self, tcb: &mut Tcb, now: Instant, told: &Told) -> bool {
        if !tcb.marks.sack && told.advanced {
            self.packets.duplicates = 0;
        }
        self.count_dupack(tcb, told.dupack);
        if self.packets.phase == Phase::Disorder {
            self.undo_by_duplicates(tcb);
        }
        if !self.is_time_to_halve(tcb, now) {
            self.try_to_open(tcb);
            return false;
        }
        self.enter(tcb, now);
        true
    }

    /// `tcp_add_reno_sack`.
    fn count_dupack(&mut self, tcb: &mut Tcb, dupack: bool) {
        if !tcb.marks.sack && dupack {
            self.packets.duplicates += 1;
            self.limit_duplicates(tcb, 0);
        }
    }

    /// `tcp_time_to_recover` (LX-ST-5).
    fn is_time_to_halve(&self, tcb: &mut Tcb, now: Instant) -> bool {
        let (p, least) = (&self.packets, tcb.dup_thresh());
        let far = if tcb.marks.sack { p.queue.reach() } else { p.duplicates + 1 };
        let early = tcb.early_threshold().is_some_and(|early| p.sacked() >= early);
        if early || p.queue.lost > 0 || far > p.reordering || self.is_head_old(tcb, now) {
            return true;
        }
        let out = p.queue.len();
        out <= p.reordering && p.sacked() >= (out / 2).max(least) && !self.packets.may_send_new(tcb)
    }

    /// LX-ST-6.
    fn enter(&mut self, tcb: &mut Tcb, now: Instant) {
        let fresh = matches!(self.packets.phase, Phase::Open | Phase::Disorder);
        self.packets.prior_ssthresh = 0;
        self.packets.undo_marker = tcb.profile.recovery.reduction_undo.then_some(tcb.snd.una);
        self.packets.undo_resent = i64::from(self.packets.queue.resent);
        if fresh {
            self.packets.prior_ssthresh = self.packets.present_ssthresh(tcb);
            tcb.lower_ssthresh(now, tcb.flight());
        }
        self.halving = 0;
        self.packets.recover = tcb.snd.nxt;
        self.packets.phase = Phase::Recovery;
        tcb.counters.fast_retransmits += 1;
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let (duplicates, sacked) = (self.packets.sacked(), self.packets.queue.sacked);
        tcb.decision = Reason::Fast { duplicates: count(duplicates), sacked: count(sacked) };
    }

    /// `tcp_update_scoreboard` (LX-ST-9).
    fn mark_lost_packets(&mut self, tcb: &mut Tcb, now: Instant) {
        let mark = self.packets.recover;
        let by_distance = tcb.marks.sack && self.uses_fack(tcb);
        let p = &mut self.packets;
        let lost = if by_distance { p.queue.reach().saturating_sub(p.reordering).max(1) } else { 1 };
        p.queue.lose_first(lost, mark);
        if self.is_head_old(tcb, now) {
            self.packets.queue.lose_old(|at| is_old(tcb, now, at));
        }
    }

    /// `tcp_cwnd_down` (LX-ST-7).
    fn halve_packets(&mut self, tcb: &mut Tcb) {
        self.halving += 1;
        let less = self.halving / 2;
        self.halving %= 2;
        let floor = match tcb.profile.recovery.halving_floor {
            HalvingFloor::Algorithm => tcb.congestion.recovery_floor(&tcb.window) / tcb.window.mss,
            HalvingFloor::HalfSsthresh => tcb.window.threshold_packets() / 2,
        };
        let mut cwnd = tcb.window.packets();
        if less > 0 && cwnd > floor {
            cwnd = cwnd.saturating_sub(less);
        }
        tcb.window.set_packets(cwnd.min(self.packets.in_flight() + 1));
    }

    /// `tcp_moderate_cwnd`: no more than a short burst beyond what is in flight (LX-ST-4).
    pub(super) fn moderate_packets(&mut self, tcb: &mut Tcb) {
        let most = self.packets.in_flight() + BURST;
        tcb.window.set_packets(tcb.window.packets().min(most));
    }

    /// `tcp_try_to_open`: a reduction that may still be taken back leaves the sender in Disorder (LX-ST-10).
    fn try_to_open(&mut self, tcb: &mut Tcb) {
        let p = &mut self.packets;
        if p.queue.resent == 0 {
            p.first_resent = None;
        }
        let doubtful = p.sacked() > 0 || p.queue.resent > 0 || p.undo_marker.is_some();
        let phase = if doubtful { Phase::Disorder } else { Phase::Open };
        if self.packets.phase != phase {
            self.packets.phase = phase;
            self.packets.recover = tcb.snd.nxt;
        }
        self.moderate_packets(tcb);
    }
}
