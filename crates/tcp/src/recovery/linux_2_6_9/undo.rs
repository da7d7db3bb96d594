//! Linux 2.6: was a reduction of the window needed? Timestamps and D-SACK tell, and what was not is taken back
//! (LX-ST-11): `undo_marker`, `undo_retrans`, `retrans_stamp` and `prior_ssthresh` of the kernel
//! [L2.6.9 tcp_input.c, tcp_output.c].
//!
//! A recovery that has ended stays in doubt until something above all that was out then is acknowledged; until then
//! the kernel shows the state Disorder, and no ACK takes the undisturbed path (LX-ST-10).
//!
//! Not modelled: the threshold of duplicates that follows reordering, lost retransmissions that a SACK shows (a
//! timeout finds them here), reports that the receiver takes back.

use rexmit_wire::{SeqNumber, TcpSegment};

use super::{Linux269, Phase};
use crate::congestion::CongestionControl;
use crate::connection::Tcb;

/// What is known about the last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubts {
    /// una at the reduction, while it may still be taken back.
    marker: Option<SeqNumber>,
    /// Retransmissions since then that no D-SACK has answered.
    resent: i64,
    /// Timestamp of the first retransmission of the episode.
    first_resent: Option<u32>,
    /// The timestamp that the last packet echoed.
    echo: Option<u32>,
    /// ssthresh before the reduction.
    prior_ssthresh: u32,
    /// All that was out when the recovery ended.
    until: SeqNumber,
    /// The reduction was a timeout's, whose repair lasts.
    of_timeout: bool,
}

impl Doubts {
    /// The last reduction may still be taken back.
    pub fn is_pending(&self) -> bool {
        self.marker.is_some()
    }

    /// `tcp_packet_delayed`: nothing was sent again, or what arrived was sent before that.
    fn is_packet_delayed(&self) -> bool {
        let Some(first) = self.first_resent else { return true };
        self.echo.is_some_and(|echo| (echo.wrapping_sub(first) as i32) < 0)
    }

    /// `tcp_may_undo`.
    fn may_undo(&self) -> bool {
        self.marker.is_some() && (self.resent == 0 || self.is_packet_delayed())
    }

    /// A segment leaves again; `stamp` is its timestamp.
    pub fn note_resent(&mut self, stamp: impl FnOnce() -> u32) {
        self.resent += 1;
        self.first_resent.get_or_insert_with(stamp);
    }

    /// Takes note of what an ACK echoes and of its D-SACK (RFC 2883 section 4): the first block lies below the
    /// acknowledgment, or within the second.
    #[inline]
    pub fn note(&mut self, segment: &TcpSegment, timestamps: bool) {
        if !self.is_pending() {
            return;
        }
        if let Some(stamps) = segment.timestamps.filter(|t| t.echo != 0 && timestamps) {
            self.echo = Some(stamps.echo);
        }
        let blocks = segment.sack.as_slice();
        let Some(&(left, right)) = blocks.first() else { return };
        let within = blocks.get(1).is_some_and(|&(l, r)| l <= left && right <= r);
        if (left < segment.ack || within) && self.marker.is_some_and(|m| right > m) {
            self.resent -= 1;
        }
    }
}

impl Linux269 {
    /// Recovery begins; ssthresh and cwnd are still what they were.
    pub(super) fn begin_doubts(&mut self, tcb: &Tcb) {
        if tcb.profile.recovery.reduction_undo {
            let (marker, prior_ssthresh) = (Some(tcb.snd.una), self.present_threshold(tcb));
            // Nothing is out that was sent again: it would have been acknowledged, or Loss would last.
            let d = &mut self.doubts;
            *d = Doubts { marker, prior_ssthresh, resent: 0, first_resent: None, of_timeout: false, ..*d };
        }
    }

    /// The timer expired (`tcp_enter_loss`); `lowers`: it lowers ssthresh. What was sent again already leaves nothing
    /// to be taken back.
    pub(super) fn begin_doubts_of_timeout(&mut self, tcb: &Tcb, lowers: bool) {
        if !tcb.profile.recovery.reduction_undo {
            return;
        }
        let resent = self.board.resent_bytes() > 0 || tcb.rtt.shift() > 1;
        let prior = self.present_threshold(tcb);
        let d = &mut self.doubts;
        d.resent = 0;
        d.of_timeout = true;
        d.marker = (!resent).then_some(tcb.snd.una);
        if !resent {
            d.first_resent = None;
        }
        if lowers {
            d.prior_ssthresh = prior;
        }
    }

    /// `tcp_current_ssthresh`: outside recovery at least three quarters of cwnd.
    fn present_threshold(&self, tcb: &Tcb) -> u32 {
        let (cwnd, mss) = (tcb.window.cwnd / tcb.snd.mss, tcb.snd.mss);
        match self.phase {
            Phase::Open | Phase::Disorder => tcb.window.ssthresh.max(((cwnd >> 1) + (cwnd >> 2)) * mss),
            Phase::Cwr | Phase::Recovery | Phase::Loss => tcb.window.ssthresh,
        }
    }

    /// An ACK outside recovery: `tcp_try_undo_dsack` in Disorder, `tcp_try_undo_loss` after a timeout. True if the
    /// reduction was taken back.
    pub(super) fn settle_doubts(&mut self, tcb: &mut Tcb) -> bool {
        if !self.doubts.is_pending() || self.in_recovery() {
            return false;
        }
        let lasts = self.phase == Phase::Loss;
        let repaired = std::mem::replace(&mut self.doubts.of_timeout, lasts) && !lasts;
        if repaired {
            self.take_back_at_exit(tcb);
        } else if lasts && self.doubts.may_undo() {
            self.board.forgive(self.recover);
            self.phase = Phase::Open;
            self.take_back(tcb, true);
            self.doubts.marker = None;
        } else if !lasts && self.doubts.resent == 0 {
            self.take_back(tcb, true);
            self.doubts.marker = None;
        } else if !lasts && tcb.snd.una > self.doubts.until {
            self.doubts.marker = None;
        }
        if !lasts {
            self.moderate(tcb);
        }
        !self.doubts.is_pending()
    }

    /// A partial ACK (`tcp_try_undo_partial`): true if the hole was filled by a packet that was late, so that no other
    /// is to be taken for lost.
    pub(super) fn take_back_partial(&mut self, tcb: &mut Tcb) -> bool {
        let delayed = self.doubts.may_undo();
        if delayed {
            if self.board.resent_bytes() == 0 {
                self.doubts.first_resent = None;
            }
            self.take_back(tcb, false);
        }
        delayed
    }

    /// Recovery, or the repair of a timeout, has ended (`tcp_try_undo_recovery`).
    pub(super) fn take_back_at_exit(&mut self, tcb: &mut Tcb) {
        if self.doubts.may_undo() {
            self.take_back(tcb, true);
            self.doubts.marker = None;
        }
        self.doubts.until = tcb.snd.nxt;
    }

    /// `tcp_undo_cwr`: cwnd is twice the lowered threshold again, but lets out no burst; `whole`: ssthresh is what it
    /// was.
    fn take_back(&mut self, tcb: &mut Tcb, whole: bool) {
        let mss = tcb.snd.mss;
        let twice = (tcb.window.ssthresh / mss).saturating_mul(2 * mss);
        tcb.window.cwnd = tcb.window.cwnd.max(twice);
        if whole {
            tcb.window.ssthresh = tcb.window.ssthresh.max(self.doubts.prior_ssthresh);
            tcb.congestion.on_spurious();
        }
        self.moderate(tcb);
    }
}
