//! ACKs that acknowledge nothing new: duplicates, window updates, limited transmit.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::{Flags, TcpSegment};

use super::Connection;
use crate::recovery::Phase;

impl Connection {
    /// An ACK at or below una. False if the rest of the segment is not to be looked at.
    pub(super) fn on_old_ack(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        window: u32,
        sack_news: bool,
    ) -> bool {
        if self.uses_pipe() {
            self.on_sack_duplicate(now, segment.ack, sack_news);
            return true;
        }
        if !self.is_duplicate(segment, window) {
            self.recovery.dupacks = 0;
            return true;
        }
        if !self.timers.rexmt_runs() || segment.ack != self.snd.una {
            self.recovery.dupacks = 0; // FB-DUP-2
            return true;
        }
        self.counters.dup_acks += 1;
        self.recovery.dupacks += 1;
        if self.in_recovery() {
            self.recover_on_duplicate(now);
            return false;
        }
        let threshold = self.duplicates_needed();
        if self.recovery.dupacks == threshold {
            if !self.may_enter_recovery(segment.ack) {
                self.recovery.dupacks = 0;
                return true;
            }
            self.enter_recovery(now);
            return false;
        }
        if self.recovery.dupacks > threshold {
            self.recover_on_duplicate(now);
            return false;
        }
        if self.profile.recovery.limited_transmit > 0 {
            self.limited_transmit(now);
            return false;
        }
        true
    }

    /// RFC 5681 section 2; without rule (e) a changed window is no obstacle (FB-DUP-1).
    fn is_duplicate(&self, segment: &TcpSegment, window: u32) -> bool {
        let same_window = window == self.snd.wnd || !self.profile.recovery.changed_window_is_no_duplicate;
        let fin_counts = self.profile.recovery.bare_fin_is_duplicate;
        let bare = segment.payload.is_empty() && (fin_counts || !segment.flags.has(Flags::FIN));
        bare && same_window
    }

    /// One new segment for each of the first duplicates, cwnd unchanged (RFC 3042 section 2; FB-DUP-3).
    fn limited_transmit(&mut self, now: Instant) {
        let (cwnd, max) = (self.window.cwnd, self.snd.max);
        if self.recovery.dupacks == 1 {
            self.recovery.limited = 0;
            self.recovery.limited_bytes = 0;
        }
        if self.recovery.phase == Phase::Open {
            self.recovery.phase = Phase::Disorder;
        }
        let credit = self
            .profile
            .recovery
            .limited_transmit
            .min(self.recovery.dupacks)
            .saturating_sub(self.recovery.limited);
        self.window.cwnd = self.snd.nxt.diff(self.snd.una) as u32 + credit * self.snd.mss;
        self.recovery.decision = Reason::LimitedTransmit;
        self.output(now);
        self.recovery.decision = Reason::New;
        let sent = self.snd.max.diff(max) as u32;
        self.recovery.limited_bytes += sent;
        if sent > self.snd.mss {
            self.recovery.limited += 2;
        } else if sent > 0 {
            self.recovery.limited += 1;
        }
        self.window.cwnd = cwnd;
    }
}
