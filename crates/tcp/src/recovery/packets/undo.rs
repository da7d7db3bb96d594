//! What was lowered needlessly is raised again: `tcp_try_undo_*`.

use super::Phase;
use crate::Connection;
use crate::congestion::CongestionControl;

impl Connection {
    /// `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, forgive: bool) {
        if forgive {
            self.packets.queue.forgive();
        }
        if self.packets.prior_ssthresh > 0 {
            let cwnd = self.cwnd_packets().max(self.packets.prior_cwnd);
            self.set_cwnd_packets(cwnd);
            self.congestion.on_spurious();
            if self.packets.prior_ssthresh > self.ssthresh_packets() {
                self.set_ssthresh_packets(self.packets.prior_ssthresh);
            }
        }
        self.packets.undo_marker = None;
    }

    /// Was nothing sent again, or does the echo show that the original arrived (`tcp_packet_delayed`)?
    pub(super) fn is_packet_delayed(&self) -> bool {
        let p = &self.packets;
        if let Some(first) = p.first_resent {
            return p.echo.is_some_and(|echo| (echo.wrapping_sub(first) as i32) < 0);
        }
        self.marks.sack || self.snd.una < self.recovery.recover
    }

    /// `tcp_may_undo`.
    fn may_undo(&self) -> bool {
        self.packets.undo_marker.is_some() && (self.packets.undo_resent == 0 || self.is_packet_delayed())
    }

    /// Without SACK the state lasts until something above the mark is acknowledged, against false fast
    /// retransmits (`tcp_is_non_sack_preventing_reopen`; RFC 6582 section 3.2 step 1).
    fn stays_without_sack(&mut self) -> bool {
        if self.snd.una != self.recovery.recover || self.marks.sack {
            return false;
        }
        if !self.packets.any_resent() {
            self.packets.first_resent = None;
        }
        true
    }

    /// `tcp_try_undo_recovery`; true if the state stays.
    pub(super) fn undo_at_end(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        }
        if self.stays_without_sack() {
            return true;
        }
        self.recovery.phase = Phase::Open;
        false
    }

    /// All that was sent again was reported twice (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_duplicates(&mut self) -> bool {
        let due = self.packets.undo_marker.is_some() && self.packets.undo_resent == 0;
        if due {
            self.undo_reduction(false);
        }
        due
    }

    /// `tcp_try_undo_loss`; `spurious`: F-RTO says so.
    pub(super) fn undo_loss(&mut self, spurious: bool) -> bool {
        if !spurious && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.packets.timeouts = 0;
        if !self.stays_without_sack() && (spurious || self.marks.sack) {
            self.recovery.phase = Phase::Open;
        }
        true
    }

    /// A hole filled by a packet that was late, not lost (`tcp_try_undo_partial`). `Some` if it was; true if
    /// nothing more is to be done for this acknowledgment.
    pub(super) fn undo_partial(&mut self, prior_una: rexmit_wire::SeqNumber) -> Option<bool> {
        if self.packets.undo_marker.is_none() || !self.is_packet_delayed() {
            return None;
        }
        self.learn_reordering(prior_una);
        if self.packets.queue.resent > 0 {
            return Some(true);
        }
        if !self.packets.any_resent() {
            self.packets.first_resent = None;
        }
        self.undo_reduction(true);
        self.keep_open();
        Some(false)
    }

    /// A packet below the highest report arrived without being sent again (`tcp_check_sack_reordering`).
    pub(super) fn learn_reordering(&mut self, low: rexmit_wire::SeqNumber) {
        let fack = self.packets.queue.fack().unwrap_or(self.snd.una);
        let (metric, mss) = (fack.diff(low).max(0) as u32, self.snd.mss);
        if metric > self.packets.reordering * mss {
            let most = self.profile.recovery.max_reordering;
            self.packets.reordering = metric.div_ceil(mss).min(most);
        }
    }
}
