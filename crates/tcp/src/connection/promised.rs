//! The window that a receiver promises: how large it is, when a larger one is worth an ACK, and what an ACK leaves behind (FB-WIN-1
//! to FB-WIN-5; RFC 9293 section 3.8.6).

use super::Tcb;
use crate::profile::AckPolicy;

/// Largest window without scaling.
pub(super) const MAX_WINDOW: u32 = 65_535;

impl Tcb {
    /// The window can move by two segments or half the buffer (FB-WIN-5).
    #[inline]
    pub(super) fn is_window_update_due(&self) -> bool {
        let config = &self.profile.window;
        if self.state.has_peer_fin() || (config.update_at_read && !self.marks.reading) {
            return false;
        }
        let promised = self.rcv.adv.diff(self.rcv.nxt);
        if let Some(tuning) = &self.rcv.tuning {
            let (promised, last) = (promised.max(0) as u32, self.last_window());
            return tuning.is_update_due(promised, self.rcv.scale, self.rcv.quick.full(), last);
        }
        let space = self.rcv.limit.saturating_sub(self.rcv.unread);
        if space == 0 {
            return false;
        }
        let advance = i64::from(space.min(MAX_WINDOW << self.rcv.scale)) - i64::from(promised);
        if config.update_segments == 0 {
            let promised = promised.max(0) as u32;
            let sensible = space >= self.snd.mss.min(self.rcv.limit / 4);
            return config.update_when_doubled
                && sensible
                && promised <= self.rcv.limit / 2
                && space / 2 >= promised;
        }
        advance >= i64::from(config.update_segments * self.snd.mss)
            || 2 * advance >= i64::from(self.rcv.limit)
    }

    /// The window to advertise: what is free, never less than promised, 0 rather than a silly one (FB-WIN-1). Linux remembers one
    /// that is larger than the field can say (LK-WIN-8).
    #[inline]
    pub(super) fn advertised_window(&self) -> u32 {
        let promised = self.rcv.adv.diff(self.rcv.nxt).max(0) as u32;
        if let Some(tuning) = &self.rcv.tuning {
            let window = tuning.window(self.rcv.scale, self.rcv.quick.full(), self.last_window());
            // Never less than promised, which the shift may round up.
            let kept = promised.next_multiple_of(1 << self.rcv.scale);
            return if window < promised { kept } else { window };
        }
        let mut space = self.rcv.limit.saturating_sub(self.rcv.unread);
        if space < self.rcv.limit / 4 && space < self.snd.mss {
            space = 0;
        }
        space.max(promised).min(MAX_WINDOW << self.rcv.scale)
    }

    /// The window as it was last advertised (`rcv_wnd`).
    pub(super) fn last_window(&self) -> u32 {
        self.rcv.adv.diff(self.rcv.last_ack_sent).max(0) as u32
    }

    /// Any ACK that was owed has now been sent (FB-ACK-2), with a window in bytes and what its field said of it.
    #[inline]
    pub(super) fn after_ack_sent(&mut self, field: u16, window: u32) {
        self.marks.zero_window_sent = field == 0;
        self.rcv.adv = self.rcv.adv.max(self.rcv.nxt + window);
        self.rcv.last_ack_sent = self.rcv.nxt;
        if self.profile.delayed_ack.policy == AckPolicy::QuickAck {
            let owed = self.marks.ack_owed;
            self.look_at_memory();
            self.rcv.quick.on_ack_sent(&self.profile.delayed_ack, owed);
            self.rcv.compressed.on_ack_sent();
        }
        self.marks.ack_now = false;
        self.marks.ack_owed = false;
        self.marks.delay_ack = false;
        self.end_held_acks();
    }
}
