//! DCTCP as Linux 6.1 computes it (tcp_dctcp.c; LK-DCTCP-1, LK-DCTCP-2): Reno, whose answer to marks follows their share.
//!
//! Linux's differences from RFC 8257: there the share is one of bytes (section 3.3), here of packets; there alpha is a
//! real number, here 1,024ths that end at zero; there the window falls at once, here in the state CWR, over a round trip. The
//! receiver's half is in `connection/ecn.rs`.

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::config::CongestionConfig;
use super::reno::{Reno, whole_segments};
use super::{Ack, CongestionControl, Loss, Window};

/// Alpha of one (`DCTCP_MAX_ALPHA`).
const WHOLE: u32 = 1_024;
/// The weight of a round trip in alpha is 1/2^4 (`dctcp_shift_g`; RFC 8257 section 4.2).
const SHIFT: u32 = 4;

/// DCTCP over Reno.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// ECN was not agreed on: it is Reno.
    fallen_back: bool,
    /// The share of marks, smoothed, in 1,024ths.
    alpha: u32,
    /// The round trip ends when this is acknowledged; none before the first.
    until: Option<SeqNumber>,
    /// Packets that arrived in it, and those of them that acknowledgments with an echo told of.
    delivered: u32,
    marked: u32,
    /// cwnd before it was lowered, bytes.
    before: u32,
}

impl Dctcp {
    /// See [`super::Congestion::new`].
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            reno: Reno::new(config),
            fallen_back: false,
            alpha: WHOLE,
            until: None,
            delivered: 0,
            marked: 0,
            before: 0,
        }
    }

    /// ECN was not agreed on (`dctcp_init`).
    pub(crate) fn fall_back(&mut self) {
        self.fallen_back = true;
    }

    /// Is it more than Reno?
    pub(crate) fn heeds_marks(&self) -> bool {
        !self.fallen_back
    }

    /// The share of marks, smoothed, in 1,024ths.
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// cwnd before it was lowered, bytes (`loss_cwnd`).
    pub(crate) fn window_before(&self) -> u32 {
        self.before
    }

    /// An acknowledgment, with an echo or without, tells that this many packets have arrived.
    pub(crate) fn count(&mut self, delivered: u32, echo: bool) {
        self.delivered = self.delivered.wrapping_add(delivered);
        if echo {
            self.marked = self.marked.wrapping_add(delivered);
        }
    }

    /// An acknowledgment up to `una` has been taken: once a round trip alpha follows the share of marks
    /// (`dctcp_update_alpha`).
    pub(crate) fn update(&mut self, una: SeqNumber, nxt: SeqNumber) {
        if self.until.is_some_and(|until| una < until) {
            return;
        }
        // What is left of it below 1/64 is forgotten at once.
        let less = self.alpha >> SHIFT;
        self.alpha -= if less == 0 { self.alpha } else { less };
        if self.marked > 0 {
            let share = (u64::from(self.marked) << (10 - SHIFT)) / u64::from(self.delivered.max(1));
            self.alpha = self.alpha.saturating_add(share as u32).min(WHOLE);
        }
        (self.until, self.delivered, self.marked) = (Some(nxt), 0, 0);
    }

    /// The threshold after a loss is half of cwnd, whatever alpha says (`dctcp_react_to_loss`; RFC 8257 section 3.5).
    pub(crate) fn react_to_loss(&mut self, w: &Window) -> u32 {
        self.before = w.cwnd;
        whole_segments(w.cwnd / 2, w.mss)
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, w: &mut Window, ack: &Ack) {
        self.reno.on_ack(w, ack);
    }

    /// `dctcp_ssthresh`.
    fn ssthresh_on_loss(&mut self, w: &Window, loss: &Loss) -> u32 {
        let like_reno = self.reno.ssthresh_on_loss(w, loss);
        if self.fallen_back {
            return like_reno;
        }
        self.before = w.cwnd;
        let cwnd = w.cwnd / w.mss;
        let less = (u64::from(cwnd) * u64::from(self.alpha)) >> 11;
        (cwnd - less as u32).max(2).saturating_mul(w.mss)
    }

    fn on_timeout(&mut self, w: &mut Window, now: Instant) {
        self.reno.on_timeout(w, now);
    }

    fn on_recovery_exit(&mut self, w: &Window, now: Instant) {
        self.reno.on_recovery_exit(w, now);
    }

    fn on_spurious(&mut self) {
        self.reno.on_spurious();
    }

    fn name(&self) -> &'static str {
        "dctcp"
    }
}

#[cfg(test)]
#[path = "tests/dctcp.rs"]
mod tests;
