//! What keeps a sender from sending its next segment, for tables of states.

use rexmit_stack::Hold;

use super::tcb::Timers;
use super::{State, Tcb};
use crate::recovery::Phase;

impl Tcb {
    /// What keeps it from sending more; `None` before the handshake is complete, and once it is closed.
    pub(super) fn held_by(&self, phase: Phase) -> Option<Hold> {
        if !self.state.is_synchronised() || self.state == State::SynReceived {
            return None;
        }
        // Of data that are sent again, `max` is where new data begin.
        let sent = i64::from(self.snd.max.diff(self.snd.una));
        let unsent = i64::from(self.buffer.len()) - sent;
        if unsent <= 0 {
            return Some(if self.writer_needs > 0 { Hold::SendBuffer } else { Hold::Application });
        }
        let next = unsent.min(i64::from(self.snd.mss));
        let left = |window: u32| i64::from(window) - sent;
        Some(match phase {
            _ if left(self.snd.wnd) < next && self.snd.wnd <= self.window.cwnd => Hold::ReceiveWindow,
            Phase::Recovery | Phase::Loss => Hold::Recovery,
            _ if self.timers.pace != Timers::OFF => Hold::Pacing,
            _ if left(self.window.cwnd) < next => Hold::CongestionWindow,
            _ if left(self.snd.wnd) < next => Hold::ReceiveWindow,
            _ if next < i64::from(self.snd.mss) && self.writer_needs > 0 => Hold::SendBuffer,
            _ if next < i64::from(self.snd.mss) => Hold::Nagle,
            // Rules that count in packets, or that wait for a larger packet, hold back a little more.
            _ => Hold::CongestionWindow,
        })
    }
}
