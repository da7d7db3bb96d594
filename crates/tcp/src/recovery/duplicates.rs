//! Duplicate ACKs as BSD's tcp_input counts them, and what limited transmit sends for them (RFC 5681 section 2,
//! RFC 3042; FB-DUP-1 to FB-DUP-3).

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::Flags;

use super::{Arrival, LossRecovery};
use crate::connection::Tcb;

/// What an ACK that acknowledges nothing new is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// No duplicate, or an old one.
    No,
    /// One of the first.
    Early,
    /// The one that makes the threshold.
    Threshold,
    /// One more.
    Further,
}

/// Duplicates of the present una.
#[derive(Clone, Copy, Debug, Default)]
pub struct Duplicates {
    /// How many.
    pub count: u32,
    /// Segments sent by limited transmit in this episode.
    pub limited: u32,
    /// Bytes of new data that duplicates let out since the last ACK of new data.
    pub limited_bytes: u32,
}

impl Duplicates {
    /// Counts an ACK at or below una.
    pub fn take(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>, recovering: bool) -> Duplicate {
        let old = arrival.segment.ack != tcb.snd.una;
        if !is_duplicate(tcb, arrival) || !tcb.timers.rexmt_runs() || old {
            self.count = 0; // FB-DUP-2
            return Duplicate::No;
        }
        tcb.counters.dup_acks += 1;
        self.count += 1;
        if recovering {
            return Duplicate::Further;
        }
        let threshold = tcb.duplicates_needed();
        match self.count.cmp(&threshold) {
            std::cmp::Ordering::Less => Duplicate::Early,
            std::cmp::Ordering::Equal => Duplicate::Threshold,
            std::cmp::Ordering::Greater => Duplicate::Further,
        }
    }

    /// Segments that limited transmit may send now (RFC 3042 section 2; FB-DUP-3).
    pub fn credit(&mut self, tcb: &Tcb) -> u32 {
        if self.count == 1 {
            self.limited = 0;
            self.limited_bytes = 0;
        }
        tcb.profile.recovery.limited_transmit.min(self.count).saturating_sub(self.limited)
    }

    /// This many bytes left by limited transmit.
    pub fn note_limited(&mut self, sent: u32, mss: u32) {
        self.limited_bytes += sent;
        if sent > mss {
            self.limited += 2;
        } else if sent > 0 {
            self.limited += 1;
        }
    }
}

/// RFC 5681 section 2; without rule (e) a changed window is no obstacle (FB-DUP-1).
fn is_duplicate(tcb: &Tcb, arrival: &Arrival<'_>) -> bool {
    let &Arrival { segment, window, .. } = arrival;
    let config = &tcb.profile.recovery;
    let same_window = window == tcb.snd.wnd || !config.changed_window_is_no_duplicate;
    let fin_counts = config.bare_fin_is_duplicate;
    let bare = segment.payload.is_empty() && (fin_counts || !segment.flags.has(Flags::FIN));
    bare && same_window
}

/// New segments beyond cwnd, which stays as it is; returns the bytes that left.
pub(super) fn send_beyond_window(
    tcb: &mut Tcb,
    now: Instant,
    credit: u32,
    recovery: &mut impl LossRecovery,
) -> u32 {
    let (cwnd, max) = (tcb.window.cwnd, tcb.snd.max);
    tcb.window.cwnd = tcb.snd.nxt.diff(tcb.snd.una) as u32 + credit * tcb.snd.mss;
    tcb.decision = Reason::LimitedTransmit;
    tcb.output(now, recovery);
    tcb.decision = Reason::New;
    tcb.window.cwnd = cwnd;
    tcb.snd.max.diff(max) as u32
}
