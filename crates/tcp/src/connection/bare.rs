//! What leaves without data: an ACK, a window update, a probe that looks old.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::{SackBlocks, SeqNumber, TcpSegment};

use super::Tcb;

impl Tcb {
    /// All that can leave is an ACK or a window update, as at most receivers.
    #[inline]
    pub(super) fn has_only_acks(&self) -> bool {
        self.has_nothing_to_send() && self.snd.nxt == self.snd.max && self.by_rate.is_none()
    }

    /// [`output`](Self::output) where no data and no FIN can leave.
    pub(super) fn output_ack(&mut self, now: Instant) {
        self.note_idle(now);
        if let Some(device) = &mut self.device {
            device.begin_round();
        }
        if self.is_window_update_due() || self.marks.ack_now {
            self.transmit_ack(now);
        }
        self.keep_a_timer(now);
    }

    /// Sends an ACK alone.
    pub(super) fn transmit_ack(&mut self, now: Instant) {
        let sack = self.sack_option();
        let seq = if self.timers.persist_runs() { self.snd.nxt } else { self.snd.max };
        if self.snd.nxt != self.snd.una {
            self.start_rexmt_if_off(now); // FB-OUT-9
        }
        if let Some(device) = &mut self.device {
            device.leave(now, 0, self.snd.mss);
        }
        self.send_bare(now, seq, sack, Reason::Ack);
    }

    /// LK-PROBE-1: an ACK that looks old asks for an answer (`tcp_xmit_probe_skb`).
    pub(super) fn send_old_sequence(&mut self, now: Instant) {
        self.send_bare(now, self.snd.una - 1, SackBlocks::default(), Reason::WindowProbe);
    }

    /// Hands over a segment of nothing at `seq`.
    fn send_bare(&mut self, now: Instant, seq: SeqNumber, sack: SackBlocks, reason: Reason) {
        self.count(0, false);
        let at = self.begin_departure(now, 0, false);
        let window = self.advertised_window();
        let segment = TcpSegment { sack, ..self.segment(at, seq, (0, false), window) };
        self.after_ack_sent(segment.window, window);
        self.emit(reason, segment);
    }
}
