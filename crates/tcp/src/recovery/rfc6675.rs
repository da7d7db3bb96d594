//! SACK recovery after RFC 6675: what happens at its entry, and its one rescue. The rest is in
//! [`super::sack`].
//!
//! The retransmission timer is managed as RFC 6298 section 5 says; of RFC 6675 section 6's latitude to restart
//! it with every retransmission no use is made.

use rexmit_stack::Reason;
use rexmit_units::Instant;

use super::Permit;
use crate::Connection;
use crate::profile::SackRecovery;

impl Connection {
    /// Section 5 step (4): cwnd = ssthresh, the first lost segment leaves at once, whatever the pipe (step
    /// 4.3), and more as the pipe allows (step 4.5).
    pub(super) fn enter_rfc6675(&mut self, now: Instant) {
        self.window.cwnd = self.window.ssthresh;
        // HighRxt starts anew (steps 3.1 and 4.3).
        self.board.forget_resent();
        self.recovery.rescue = self.resend_first(now);
        self.output(now);
    }

    /// Rule (4) of NextSeg: once an episode, once una has passed the first retransmission, the segment with
    /// the highest byte that is not SACKed. HighRxt stays where it is.
    pub(super) fn rescue(&mut self) -> Option<Permit> {
        if self.profile.recovery.sack != SackRecovery::Rfc6675 || self.snd.una <= self.recovery.rescue {
            return None;
        }
        let fack = self.board.fack()?;
        let (from, end) = if self.snd.max > fack {
            (fack.max(self.snd.una), self.snd.max)
        } else {
            let hole = self.board.last_hole()?;
            (hole.start, hole.end)
        };
        self.recovery.rescue = self.recovery.recover;
        let len = (end.diff(from) as u32).min(self.snd.mss);
        self.recovery.decision = Reason::Rescue;
        Some(Permit::Hole { seq: end - len, len })
    }
}
