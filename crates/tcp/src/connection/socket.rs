//! The application's calls.

use rexmit_stack::{Event, Reason};
use rexmit_units::Instant;
use rexmit_wire::{Flags, TcpSegment};

use super::{State, Tcb};
use crate::profile::AckPolicy;
use crate::recovery::LossRecovery;

impl Tcb {
    /// A blocking write's copy loop: as much as there is space for, in pieces, each offered to the wire
    /// (FB-BUF-3, FB-BUF-4).
    pub(super) fn take_write<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        len: u64,
        recovery: &mut R,
    ) -> u64 {
        if !matches!(self.state, State::Established | State::CloseWait) {
            return 0;
        }
        if self.device.is_some() {
            return self.write_packets(now, len, recovery);
        }
        // Never more than the whole buffer, or the writer would sleep for ever.
        let low_water = self.profile.buffers.low_water.0.min(u64::from(self.buffer.limit)).max(1);
        let piece = self.profile.buffers.write_piece.map_or(u64::MAX, |p| p.0.max(1));
        let mut left = len;
        while left > 0 {
            let mut space = u64::from(self.buffer.space());
            if space < left && space < low_water {
                break;
            }
            while left > 0 && space > 0 {
                let n = piece.min(left).min(space);
                left -= n;
                space -= n;
                self.buffer.push(n as u32);
                self.marks.more_to_come = left > 0 && space > 0;
                self.output(now, recovery);
                self.marks.more_to_come = false;
            }
        }
        self.writer_needs = left.min(low_water) as u32;
        len - left
    }

    /// Wakes a blocked writer once there is space enough.
    pub(crate) fn wake_writer(&mut self) {
        // The queue of packets is looked at when all has left that could.
        if self.writer_needs > 0 && self.device.is_none() && self.buffer.space() >= self.writer_needs {
            self.writer_needs = 0;
            self.raise(Event::Writable);
        }
    }

    /// Takes up to `max` bytes from the receive buffer; a window update may follow.
    pub(super) fn give_read<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        max: u64,
        recovery: &mut R,
    ) -> u64 {
        let n = max.min(u64::from(self.rcv.unread));
        if n == 0 {
            return 0;
        }
        self.rcv.unread -= n as u32;
        let rtt = self.rcv.rtt.as_ref().and_then(|rtt| rtt.get());
        if let Some(tuning) = &mut self.rcv.tuning {
            tuning.on_read(now, n as u32, rtt);
        }
        let emptied = self.rcv.unread == 0 && self.rcv.tuning.as_ref().is_none_or(|tuning| tuning.is_empty());
        if self.profile.delayed_ack.policy == AckPolicy::QuickAck
            && self.rcv.quick.is_due_on_read(self.unacked(), emptied)
        {
            self.marks.ack_now = true; // LX-ACK-4
        } else if self.rcv.tuning.as_ref().is_some_and(|tuning| tuning.may_update(self.receive_window())) {
            self.look_at_memory();
        }
        self.marks.reading = true;
        self.output(now, recovery);
        self.marks.reading = false;
        n
    }

    /// No more data from this side.
    pub(super) fn shut<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            // The FIN waits for the handshake (RFC 9293 section 3.10.4).
            State::SynReceived => {
                self.marks.close_wanted = true;
                return;
            }
            State::CloseWait => self.state = State::LastAck,
            State::Listen | State::SynSent => {
                self.enter_closed(Event::Closed);
                return;
            }
            _ => return,
        }
        self.output(now, recovery);
    }

    /// RST, and the connection is gone (RFC 9293 section 3.10.5).
    pub(super) fn reset(&mut self, _now: Instant) {
        if self.state >= State::SynReceived && self.state != State::TimeWait {
            let segment = TcpSegment {
                seq: self.snd.nxt,
                ack: self.rcv.nxt,
                flags: Flags::RST.with(Flags::ACK),
                ..TcpSegment::default()
            };
            self.emit(Reason::Reset, segment);
        }
        self.enter_closed(Event::Closed);
    }
}
