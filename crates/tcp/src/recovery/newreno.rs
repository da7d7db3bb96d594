//! Fast recovery without SACK: Reno (RFC 5681 section 3.2) and NewReno (RFC 6582), as BSD orders the steps.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use crate::Connection;
use crate::profile::PlainRecovery;

impl Connection {
    /// The first lost segment is sent again and the window inflated (FB-FR-4; RFC 5681 section 3.2 step 3).
    pub(super) fn enter_newreno(&mut self, now: Instant) {
        let old_nxt = self.snd.nxt;
        self.stop_rexmt();
        self.snd.nxt = self.snd.una;
        self.window.cwnd = self.snd.mss;
        self.output(now);
        let left = if self.is_rfc6582() {
            self.recovery.dupacks
        } else {
            self.recovery.dupacks - self.recovery.limited.min(self.recovery.dupacks)
        };
        self.window.cwnd = self.window.ssthresh + self.snd.mss * left;
        self.snd.nxt = self.snd.nxt.max(old_nxt);
    }

    /// The next hole is sent again and the window deflated (FB-FR-8; RFC 6582 section 3.2 step 3). una has
    /// not moved yet.
    pub(super) fn newreno_partial_ack(&mut self, now: Instant, ack: SeqNumber) {
        let (old_nxt, old_cwnd) = (self.snd.nxt, self.window.cwnd);
        let acked = ack.diff(self.snd.una) as u32;
        let due = self.timers.rexmt;
        self.recovery.partials += 1;
        self.stop_rexmt();
        self.stop_timing();
        self.snd.nxt = ack;
        self.window.cwnd = self.snd.mss + acked;
        self.marks.ack_now = self.marks.ack_now || self.profile.recovery.partial_ack_answers;
        self.recovery.decision = Reason::PartialAck;
        self.output(now);
        self.recovery.decision = Reason::New;
        self.window.cwnd = old_cwnd.saturating_sub(acked);
        if acked >= self.snd.mss || !self.is_rfc6582() {
            self.window.cwnd += self.snd.mss;
        }
        self.snd.nxt = self.snd.nxt.max(old_nxt);
        if self.keeps_timer(ack) {
            self.timers.rexmt = due;
        }
    }

    fn is_rfc6582(&self) -> bool {
        self.profile.recovery.plain == PlainRecovery::Rfc6582
    }

    /// Only the first partial ACK restarts the timer (RFC 6582 section 3.2 step 3).
    pub(crate) fn keeps_timer(&self, ack: SeqNumber) -> bool {
        self.is_rfc6582()
            && !self.marks.sack
            && self.in_recovery()
            && self.recovery.partials > 1
            && ack < self.recovery.recover
    }
}
