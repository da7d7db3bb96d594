//! What leaves while packets are counted: `tcp_write_xmit`, `tcp_xmit_retransmit_queue`.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::Phase;
use crate::Connection;
use crate::congestion::{CongestionControl, Note};
use crate::profile::CwndValidation;
use crate::recovery::Permit;

impl Connection {
    /// New data, as far as the window in packets allows (`tcp_cwnd_test`, `tcp_snd_wnd_test`): a packet that
    /// the peer's window cannot take whole waits for its probe. A last packet with a FIN is not held back by cwnd.
    pub(crate) fn permit_packets(&self) -> Permit {
        let quota = self.cwnd_packets().saturating_sub(self.packets.in_flight());
        let (mss, off) = (i64::from(self.snd.mss), self.off());
        let waiting = (i64::from(self.buffer.len()) - off).max(0);
        let room = (i64::from(self.snd.wnd) - off).max(0);
        let fits = match room {
            _ if room >= waiting => waiting,
            // A probe, or half of the largest window (`tcp_write_wakeup`, `tcp_bound_to_half_wnd`).
            _ if self.marks.force || (room < mss && 2 * room >= i64::from(self.snd.max_wnd)) => room,
            _ => room - room % mss,
        };
        let last = self.state.wants_fin() && waiting <= mss && fits == waiting;
        let quota = quota.max(u32::from(last));
        Permit::Next { len: fits.min(i64::from(quota) * mss) }
    }

    /// A segment of `len` numbers from `seq` has left: for the first time, or as packet of the queue again.
    pub(crate) fn note_packet(&mut self, now: Instant, seq: SeqNumber, len: u32, is_new: bool) {
        if len == 0 {
            return;
        }
        if is_new {
            if self.packets.in_flight() == 0 {
                let idle = now.saturating_since(self.last_data_sent);
                self.congestion.note(&mut self.window, &Note::Restart { now, idle });
            }
            self.packets.queue.push(seq, seq + len, now);
            if self.in_recovery() {
                self.packets.prr_out += 1;
            }
        }
    }

    /// After a round of sending: was cwnd the limit (`tcp_cwnd_validate`)?
    pub(crate) fn validate_cwnd(&mut self, now: Instant, sent: bool) {
        let (out, cwnd) = (self.packets.queue.len(), self.cwnd_packets());
        let full = self.packets.in_flight() >= cwnd || self.packets.deferred;
        if !sent && !full {
            return;
        }
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        let l = &mut self.packets.limited;
        if una >= l.until || full || (!l.by_cwnd && out > l.most_out) {
            (l.by_cwnd, l.most_out, l.until) = (full, out, nxt);
        }
        if self.is_cwnd_limited() {
            (self.packets.limited.used, self.packets.limited.since) = (0, now);
            return;
        }
        self.packets.limited.used = self.packets.limited.used.max(out);
        let idle = now.saturating_since(self.packets.limited.since);
        if self.profile.output.validation == CwndValidation::Decay && idle >= self.rtt.rto() {
            self.decay_cwnd(now);
        }
    }

    /// The window goes half the way to what was used of it (`tcp_cwnd_application_limited`; RFC 2861). A
    /// writer that waits for space in the buffer is not idle.
    fn decay_cwnd(&mut self, now: Instant) {
        let first = self.profile.initial_window.bytes(self.snd.mss) / self.window.mss;
        let (used, cwnd) = (self.packets.limited.used.max(first), self.cwnd_packets());
        if self.recovery.phase == Phase::Open && self.writer_needs == 0 {
            if used < cwnd {
                self.set_ssthresh_packets(self.present_ssthresh());
                self.set_cwnd_packets((cwnd + used) >> 1);
            }
            self.packets.limited.used = 0;
        }
        self.packets.limited.since = now;
    }

    /// `tcp_is_cwnd_limited`: in slow start, also with half of the window used.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        let (cwnd, l) = (self.cwnd_packets(), &self.packets.limited);
        l.by_cwnd || (cwnd < self.ssthresh_packets() && cwnd < 2 * l.most_out)
    }

    /// Lost packets leave again, as cwnd allows (`tcp_xmit_retransmit_queue`).
    pub(super) fn resend_lost(&mut self, now: Instant) {
        let mut from = 0;
        while self.packets.in_flight() < self.cwnd_packets() {
            let Some(i) = self.packets.queue.next_lost(from) else { return };
            self.resend_packet(now, i);
            if self.in_recovery() {
                self.packets.prr_out += 1;
            }
            if i == 0 {
                self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
            }
            from = i + 1;
        }
    }

    /// In recovery, with nothing new to send, holes that are not proven lost (`tcp_xmit_retransmit_queue` of 2.6).
    pub(super) fn resend_forward(&mut self, now: Instant) {
        if !self.in_recovery() || !self.marks.sack || self.may_send_new() {
            return;
        }
        let mut from = 0;
        while self.packets.in_flight() < self.cwnd_packets() {
            let Some(i) = self.packets.queue.next_untouched(from) else { return };
            self.resend_packet(now, i);
            if i == 0 {
                self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
            }
            from = i + 1;
        }
    }

    /// Is there new data that the windows let go (`tcp_may_send_now`)?
    pub(super) fn may_send_new(&self) -> bool {
        let waiting = self.off() < i64::from(self.buffer.len());
        waiting && matches!(self.permit_packets(), Permit::Next { len } if len > 0)
    }

    /// `tcp_retransmit_skb`.
    pub(super) fn resend_packet(&mut self, now: Instant, i: usize) {
        let Some(packet) = self.packets.queue.get(i).copied() else { return };
        let una = self.snd.una;
        let by_hole = matches!(self.recovery.decision, Reason::New | Reason::PartialAck);
        if self.halves_packets() && self.in_recovery() && by_hole && self.is_old(now, packet.at) {
            self.recovery.decision = Reason::Age;
        }
        let seq = packet.start.max(una);
        let sent = self.send_hole(now, seq, packet.end.diff(seq) as u32);
        let p = &mut self.packets;
        p.queue.send_again(i, una, sent, (now, self.snd.max));
        p.resends += 1;
        if p.undo_resent < 0 {
            p.undo_resent = 0;
        }
        p.undo_resent += 1;
        if p.first_resent.is_none() {
            let stamp = self.timestamp(now);
            self.packets.first_resent = Some(stamp);
        }
    }

    /// The last packet that is not SACKed leaves again, as a probe (`tcp_send_loss_probe`).
    pub(crate) fn resend_last_packet(&mut self, now: Instant) {
        let last = self.packets.queue.len().checked_sub(1);
        if let Some(last) = last {
            self.resend_packet(now, last as usize);
        }
    }

    /// Why the next packet is sent again, where nothing else was said.
    pub(super) fn name_resends(&mut self, advanced: bool) {
        if self.in_recovery() && !self.marks.sack && advanced && self.recovery.decision == Reason::New {
            self.recovery.decision = Reason::PartialAck;
        }
    }
}
