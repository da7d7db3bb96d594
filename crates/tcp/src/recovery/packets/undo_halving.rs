//! Linux 2.6.15: what was lowered needlessly is raised again (LX-ST-11): `tcp_try_undo_*`.

use super::Phase;
use crate::Connection;
use crate::congestion::CongestionControl;

impl Connection {
    /// `tcp_undo_cwr`: cwnd is what it was, but lets out no burst; `whole`: ssthresh is what it was, too.
    fn undo_cwr_halving(&mut self, whole: bool) {
        let prior = self.packets.prior_ssthresh;
        let raised = match prior {
            0 => self.window.ssthresh,
            _ => self.congestion.undo_window(&self.window),
        };
        self.window.cwnd = self.window.cwnd.max(raised);
        if whole && prior > self.ssthresh_packets() {
            self.set_ssthresh_packets(prior);
        }
        self.moderate_packets();
    }

    /// `tcp_may_undo`: all that was sent again was reported twice, or the echo shows that the original arrived, or
    /// nothing was sent again.
    fn may_undo_halving(&self) -> bool {
        let p = &self.packets;
        let delayed = match p.first_resent {
            Some(first) => p.echo.is_some_and(|echo| (echo.wrapping_sub(first) as i32) < 0),
            None => true,
        };
        p.undo_marker.is_some() && (p.undo_resent == 0 || delayed)
    }

    /// `tcp_try_undo_recovery`; true if the state stays: without SACK, until something above the mark is acknowledged
    /// (RFC 2582 section 5).
    pub(super) fn undo_recovery_halving(&mut self) -> bool {
        if self.may_undo_halving() {
            self.undo_cwr_halving(true);
            self.packets.undo_marker = None;
        }
        if self.snd.una == self.recovery.recover && !self.marks.sack {
            self.moderate_packets();
            return true;
        }
        self.recovery.phase = Phase::Open;
        false
    }

    /// `tcp_try_undo_dsack`.
    pub(super) fn undo_by_duplicates_halving(&mut self) {
        if self.packets.undo_marker.is_some() && self.packets.undo_resent == 0 {
            self.undo_cwr_halving(true);
            self.packets.undo_marker = None;
        }
    }

    /// `tcp_try_undo_partial`: is another packet to be taken for lost? Not if the hole was filled by one that was late.
    pub(super) fn undo_partial_halving(&mut self, acked: u32) -> bool {
        if !self.may_undo_halving() {
            return !self.marks.sack || self.packets.queue.reach() > self.packets.reordering;
        }
        if self.packets.queue.resent == 0 {
            self.packets.first_resent = None;
        }
        let reach = if self.marks.sack { self.packets.queue.reach() } else { self.packets.duplicates + 1 };
        self.note_reordering(reach + acked);
        self.undo_cwr_halving(false);
        false
    }

    /// `tcp_try_undo_loss`.
    pub(super) fn undo_loss_halving(&mut self) -> bool {
        if !self.may_undo_halving() {
            return false;
        }
        self.packets.queue.forgive();
        self.undo_cwr_halving(true);
        self.packets.timeouts = 0;
        self.packets.undo_marker = None;
        if self.marks.sack {
            self.recovery.phase = Phase::Open;
        }
        true
    }
}
