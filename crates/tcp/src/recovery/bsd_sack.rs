//! SACK recovery of FreeBSD 5.x to 7.x: one segment at entry, then growth to ssthresh by awnd and by partial
//! ACKs (FB-FR-3, FB-FR-5, FB-FR-6, FB-OUT-5, FB-OUT-6).

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::Permit;
use crate::Connection;
use crate::profile::BsdPipe;

impl Connection {
    /// One segment, from the first hole; nothing where the scoreboard is empty (FB-FR-3).
    pub(super) fn enter_bsd_sack(&mut self, now: Instant) {
        self.stop_rexmt();
        self.window.cwnd = self.snd.mss;
        self.output(now);
    }

    /// One segment more while less than ssthresh is out (FB-FR-5). Without a SACK block ever seen, fack has
    /// no meaning and the window does not grow.
    pub(super) fn bsd_sack_on_duplicate(&mut self) {
        let awnd = match self.profile.recovery.bsd_pipe {
            BsdPipe::HighestReport => {
                let Some(fack) = self.board.fack() else { return };
                i64::from(self.snd.nxt.diff(fack)) + i64::from(self.board.resent_bytes())
            }
            BsdPipe::Una => {
                let missing = self.board.hole_bytes() - self.board.resent_bytes();
                self.off() - i64::from(self.board.sacked_bytes(self.snd.una)) - i64::from(missing)
            }
        };
        // The kernel compares as unsigned: a negative awnd is a huge one.
        if awnd >= 0 && awnd < i64::from(self.window.ssthresh) {
            self.window.cwnd = (self.window.cwnd + self.snd.mss).min(self.window.ssthresh);
        }
    }

    /// One or two segments more than what is out (FB-FR-6), and an answer even without data (FB-FR-7). una
    /// has not moved yet.
    pub(super) fn bsd_sack_partial_ack(&mut self, now: Instant, ack: SeqNumber) {
        self.stop_rexmt();
        self.stop_timing();
        let acked = ack.diff(self.snd.una) as u32;
        let segments = if acked / self.snd.mss > 2 { 2 } else { 1 };
        let new_data = self.snd.nxt.diff(self.recovery.new_data).max(0) as u32;
        let cwnd = self.board.resent_bytes() + new_data + segments * self.snd.mss;
        let capped = !self.profile.recovery.partial_ack_uncapped;
        self.window.cwnd = if capped { cwnd.min(self.window.ssthresh) } else { cwnd };
        self.marks.ack_now = self.marks.ack_now || self.profile.recovery.partial_ack_answers;
        self.output(now);
    }

    /// A hole first, never beyond `recover`; then new data as far as cwnd leaves room beside what was
    /// resent (FB-OUT-5, FB-OUT-6).
    pub(super) fn permit_bsd_sack(&mut self) -> Permit {
        let resent = i64::from(self.board.resent_bytes());
        let room = (i64::from(self.snd.wnd.min(self.window.cwnd)) - resent).max(0);
        if let Some(hole) = self.board.next_hole() {
            let end = hole.end.min(self.recovery.recover);
            let left = i64::from(end.diff(hole.rexmit));
            let len = room.min(left);
            if len > 0 {
                return Permit::Hole { seq: hole.rexmit, len: len as u32 };
            }
        }
        if resent == 0 {
            return self.permit_by_window();
        }
        let len = i64::from(self.buffer.len().min(self.snd.wnd)) - self.off();
        if len <= 0 {
            return Permit::Next { len };
        }
        let new_data = i64::from(self.snd.nxt.diff(self.recovery.new_data));
        let room = (i64::from(self.window.cwnd) - new_data - resent).max(0);
        Permit::Next { len: len.min(room) }
    }
}
