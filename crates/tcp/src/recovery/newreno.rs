//! Fast recovery without SACK: Reno (RFC 5681 section 3.2) and NewReno (RFC 6582), as BSD orders the steps.

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use crate::Connection;

impl Connection {
    /// The first lost segment is sent again and the window inflated (FB-FR-4; RFC 5681 section 3.2 step 3).
    pub(super) fn enter_newreno(&mut self, now: Instant) {
        let old_nxt = self.snd.nxt;
        self.stop_rexmt();
        self.snd.nxt = self.snd.una;
        self.window.cwnd = self.snd.mss;
        self.output(now);
        let left = self.recovery.dupacks - self.recovery.limited.min(self.recovery.dupacks);
        self.window.cwnd = self.window.ssthresh + self.snd.mss * left;
        self.snd.nxt = self.snd.nxt.max(old_nxt);
    }

    /// The next hole is sent again and the window deflated (FB-FR-8; RFC 6582 section 3.2 step 3). una has
    /// not moved yet.
    pub(super) fn newreno_partial_ack(&mut self, now: Instant, ack: SeqNumber) {
        let (old_nxt, old_cwnd) = (self.snd.nxt, self.window.cwnd);
        let acked = ack.diff(self.snd.una) as u32;
        self.stop_rexmt();
        self.stop_timing();
        self.snd.nxt = ack;
        self.window.cwnd = self.snd.mss + acked;
        self.marks.ack_now = self.marks.ack_now || self.profile.recovery.partial_ack_answers;
        self.output(now);
        self.window.cwnd = old_cwnd.saturating_sub(acked) + self.snd.mss;
        self.snd.nxt = self.snd.nxt.max(old_nxt);
    }
}
