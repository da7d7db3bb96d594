//! Linux 2.6.15: what was lowered needlessly is raised again (LX-ST-11): `tcp_try_undo_*`.

use super::{Linux2615, Phase};
use crate::connection::Tcb;

impl Linux2615 {
    /// `tcp_undo_cwr`: cwnd is what it was, but lets out no burst; `whole`: ssthresh is what it was, too.
    fn undo_cwr(&mut self, tcb: &mut Tcb, whole: bool) {
        let prior = self.packets.prior_ssthresh;
        let raised = match prior {
            0 => tcb.window.ssthresh,
            _ => tcb.congestion.undo_window(&tcb.window),
        };
        tcb.window.cwnd = tcb.window.cwnd.max(raised);
        if whole && prior > tcb.window.threshold_packets() {
            tcb.window.set_threshold_packets(prior);
        }
        self.moderate_packets(tcb);
    }

    /// `tcp_may_undo`: all that was sent again was reported twice, or the echo shows that the original arrived, or
    /// nothing was sent again.
    fn may_undo(&self) -> bool {
        let p = &self.packets;
        let delayed = p.first_resent.is_none_or(|first| p.is_echo_older(first));
        p.undo_marker.is_some() && (p.undo_resent == 0 || delayed)
    }

    /// `tcp_try_undo_recovery`; true if the state stays: without SACK, until something above the mark is acknowledged
    /// (RFC 2582 section 5).
    pub(super) fn undo_recovery(&mut self, tcb: &mut Tcb) -> bool {
        if self.may_undo() {
            self.undo_cwr(tcb, true);
            self.packets.undo_marker = None;
        }
        if tcb.snd.una == self.packets.recover && !tcb.marks.sack {
            self.moderate_packets(tcb);
            return true;
        }
        self.packets.phase = Phase::Open;
        false
    }

    /// `tcp_try_undo_dsack`.
    pub(super) fn undo_by_duplicates(&mut self, tcb: &mut Tcb) {
        if self.packets.undo_marker.is_some() && self.packets.undo_resent == 0 {
            self.undo_cwr(tcb, true);
            self.packets.undo_marker = None;
        }
    }

    /// `tcp_try_undo_partial`: is another packet to be taken for lost? Not if the hole was filled by one that was late.
    pub(super) fn undo_partial(&mut self, tcb: &mut Tcb, acked: u32) -> bool {
        if !self.may_undo() {
            return !tcb.marks.sack || self.packets.queue.reach() > self.packets.reordering;
        }
        if self.packets.queue.resent == 0 {
            self.packets.first_resent = None;
        }
        let reach = if tcb.marks.sack { self.packets.queue.reach() } else { self.packets.duplicates + 1 };
        self.note_reordering(tcb, reach + acked);
        self.undo_cwr(tcb, false);
        false
    }

    /// `tcp_try_undo_loss`.
    pub(super) fn undo_loss(&mut self, tcb: &mut Tcb) -> bool {
        if !self.may_undo() {
            return false;
        }
        self.packets.queue.forgive();
        self.undo_cwr(tcb, true);
        self.packets.timeouts = 0;
        self.packets.undo_marker = None;
        if tcb.marks.sack {
            self.packets.phase = Phase::Open;
        }
        true
    }
}
