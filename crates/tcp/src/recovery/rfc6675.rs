//! SACK recovery after RFC 6675: the pipe decides how much may be sent, NextSeg what.

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::Permit;
use crate::Connection;
use crate::profile::SackRecovery;

impl Connection {
    /// Section 5 step (4): cwnd = ssthresh, the first lost segment leaves at once, whatever the pipe
    /// (step 4.3), and more as the pipe allows.
    pub(super) fn enter_rfc6675(&mut self, now: Instant) {
        self.window.cwnd = self.window.ssthresh;
        self.resend_first(now);
        self.output(now);
    }

    /// Sends the segment at una again.
    pub(super) fn resend_first(&mut self, now: Instant) {
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
        let end = self.snd.una + self.snd.mss.min(self.flight());
        let end = self.board.next_hole().map_or(end, |h| h.end.min(end));
        self.send_hole(now, self.snd.una, end.diff(self.snd.una) as u32);
    }

    /// Where "lost" ends: holes that start below this are lost. `None` before any SACK.
    pub(crate) fn lost_boundary(&self) -> Option<SeqNumber> {
        let fack = self.board.fack()?;
        let threshold = self.profile.recovery.dupack_threshold;
        match self.profile.recovery.sack {
            // FACK: all that lies more than threshold - 1 segments below the highest SACKed byte (LX-ST-9).
            SackRecovery::RateHalving => Some(fack - (threshold - 1) * self.snd.mss),
            _ => Some(self.board.tail(threshold, self.snd.mss).1.unwrap_or(fack)),
        }
    }

    /// SetPipe (section 4): bytes above the highest SACKed byte, of holes not lost, and resent.
    pub(crate) fn pipe(&self) -> u32 {
        let Some(fack) = self.board.fack().filter(|f| *f > self.snd.una) else { return self.flight() };
        let above = self.snd.max.diff(fack).max(0) as u32;
        let threshold = self.profile.recovery.dupack_threshold;
        above + self.board.tail(threshold, self.snd.mss).0 + self.board.resent_bytes()
    }

    /// NextSeg (section 4): a lost hole, then new data, then any hole, then one rescue.
    pub(super) fn permit_by_pipe(&mut self) -> Permit {
        let mss = self.snd.mss;
        let room = self.window.cwnd.saturating_sub(self.pipe());
        if room < mss.min(self.window.cwnd.max(1)) {
            return Permit::Next { len: 0 };
        }
        let hole = self.board.next_hole();
        let boundary = self.lost_boundary();
        if let (Some(hole), Some(boundary)) = (hole, boundary)
            && hole.rexmit < boundary
        {
            let len = (hole.end.diff(hole.rexmit) as u32).min(mss);
            return Permit::Hole { seq: hole.rexmit, len };
        }
        let fresh = i64::from(self.buffer.len().min(self.snd.wnd)) - self.off();
        if fresh > 0 {
            return Permit::Next { len: fresh.min(i64::from(room)) };
        }
        if let Some(hole) = hole {
            let len = (hole.end.diff(hole.rexmit) as u32).min(mss);
            return Permit::Hole { seq: hole.rexmit, len };
        }
        self.rescue().unwrap_or(Permit::Next { len: fresh })
    }

    /// Rule (4): once an episode, the last segment outstanding, if una moved since and nothing else can go.
    fn rescue(&mut self) -> Option<Permit> {
        let fack = self.board.fack()?;
        let unsacked = self.snd.max.diff(fack);
        if self.recovery.rescued || unsacked <= 0 || self.recovery.recover < self.snd.max {
            return None;
        }
        self.recovery.rescued = true;
        let len = (unsacked as u32).min(self.snd.mss);
        Some(Permit::Hole { seq: self.snd.max - len, len })
    }
}
