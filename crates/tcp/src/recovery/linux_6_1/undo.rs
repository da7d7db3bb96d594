//! What was lowered needlessly is raised again: `tcp_try_undo_*`.

use super::{Linux61, Phase};
use crate::congestion::CongestionControl;
use crate::connection::Tcb;

impl Linux61 {
    /// `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, tcb: &mut Tcb, forgive: bool) {
        if forgive {
            self.packets.queue.forgive();
        }
        if self.packets.prior_ssthresh > 0 {
            if self.rates.is_some() {
                self.tell_of_undo(tcb);
            } else {
                let before = tcb.congestion.dctcp().map(|dctcp| dctcp.window_before());
                let before = before.map_or(self.prior_cwnd, |bytes| bytes / tcb.window.mss);
                let cwnd = tcb.window.packets().max(before);
                tcb.window.set_packets(cwnd);
                tcb.congestion.on_spurious();
            }
            if self.packets.prior_ssthresh > tcb.window.threshold_packets() {
                tcb.window.set_threshold_packets(self.packets.prior_ssthresh);
                tcb.withdraw_cwr();
            }
        }
        self.packets.undo_marker = None;
        self.limited.since = tcb.last_arrival;
        if let Some(rack) = &mut self.rack {
            rack.look_again();
        }
    }

    /// Was nothing sent again, or does the echo show that the original arrived (`tcp_packet_delayed`)?
    pub(super) fn is_packet_delayed(&self, tcb: &Tcb) -> bool {
        if let Some(first) = self.packets.first_resent {
            return self.packets.is_echo_older(first);
        }
        tcb.marks.sack || tcb.snd.una < self.packets.recover
    }

    /// `tcp_may_undo`.
    fn may_undo(&self, tcb: &Tcb) -> bool {
        self.packets.undo_marker.is_some() && (self.packets.undo_resent == 0 || self.is_packet_delayed(tcb))
    }

    /// Without SACK the state lasts until something above the mark is acknowledged, against false fast
    /// retransmits (`tcp_is_non_sack_preventing_reopen`; RFC 6582 section 3.2 step 1).
    fn stays_without_sack(&mut self, tcb: &Tcb) -> bool {
        if tcb.snd.una != self.packets.recover || tcb.marks.sack {
            return false;
        }
        if !self.any_resent() {
            self.packets.first_resent = None;
        }
        true
    }

    /// `tcp_try_undo_recovery`; true if the state stays.
    pub(super) fn undo_at_end(&mut self, tcb: &mut Tcb) -> bool {
        if self.may_undo(tcb) {
            self.undo_reduction(tcb, false);
        } else if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
        if self.stays_without_sack(tcb) {
            return true;
        }
        self.packets.phase = Phase::Open;
        false
    }

    /// All that was sent again was reported twice (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_duplicates(&mut self, tcb: &mut Tcb) -> bool {
        let due = self.packets.undo_marker.is_some() && self.packets.undo_resent == 0;
        if due {
            if let Some(rack) = &mut self.rack {
                rack.persist_longer();
            }
            self.undo_reduction(tcb, false);
        }
        due
    }

    /// `tcp_try_undo_loss`; `spurious`: F-RTO says so.
    pub(super) fn undo_loss(&mut self, tcb: &mut Tcb, spurious: bool) -> bool {
        if !spurious && !self.may_undo(tcb) {
            return false;
        }
        self.undo_reduction(tcb, true);
        self.packets.timeouts = 0;
        if !self.stays_without_sack(tcb) && (spurious || tcb.marks.sack) {
            self.packets.phase = Phase::Open;
        }
        true
    }

    /// A hole filled by a packet that was late, not lost (`tcp_try_undo_partial`). `Some` if it was; true if
    /// nothing more is to be done for this acknowledgment.
    pub(super) fn undo_partial(&mut self, tcb: &mut Tcb, prior_una: rexmit_wire::SeqNumber) -> Option<bool> {
        if self.packets.undo_marker.is_none() || !self.is_packet_delayed(tcb) {
            return None;
        }
        self.learn_reordering(tcb, prior_una);
        if self.packets.queue.resent > 0 {
            return Some(true);
        }
        if !self.any_resent() {
            self.packets.first_resent = None;
        }
        self.undo_reduction(tcb, true);
        self.keep_open(tcb);
        Some(false)
    }

    /// A packet below the highest report arrived without being sent again (`tcp_check_sack_reordering`).
    pub(super) fn learn_reordering(&mut self, tcb: &Tcb, low: rexmit_wire::SeqNumber) {
        let fack = self.packets.queue.fack().unwrap_or(tcb.snd.una);
        let (metric, mss) = (fack.diff(low).max(0) as u32, tcb.snd.mss);
        if let Some(rack) = self.rack.as_mut().filter(|_| low < fack) {
            rack.note_reordering();
        }
        if metric > self.packets.reordering * mss {
            let most = tcb.profile.recovery.max_reordering;
            self.packets.reordering = metric.div_ceil(mss).min(most);
        }
    }
}
