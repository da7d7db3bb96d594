//! Data and FIN taken in order; when they are acknowledged (FB-ACK-1 to FB-ACK-8).

use rexmit_stack::Event;
use rexmit_units::Instant;
use rexmit_wire::{Flags, Payload, TcpSegment};

use super::{Connection, State};
use crate::profile::AckPolicy;

impl Connection {
    /// Takes the data and the FIN of a segment cut to the window.
    pub(super) fn on_text(&mut self, now: Instant, segment: &TcpSegment) {
        let len = segment.payload.len();
        let mut fin = segment.flags.has(Flags::FIN);
        if (len == 0 && !fin) || self.state.has_peer_fin() {
            return;
        }
        self.check_place(segment);
        if segment.seq == self.rcv.nxt && self.rcv.out_of_order.is_empty() {
            self.decide_ack(len);
            self.accept(len);
            if len > 0 && self.marks.sack {
                self.rcv.sacks.advance(self.rcv.nxt);
            }
        } else {
            self.marks.ack_now = true;
            fin = self.take_out_of_order(segment, len, fin);
        }
        if fin {
            self.on_peer_fin(now);
        }
    }

    /// Every byte must stand where its sequence number says.
    fn check_place(&mut self, segment: &TcpSegment) {
        if let Payload::Stream { offset, len } = segment.payload {
            let expected = self.rcv.offset.wrapping_add(segment.seq.diff(self.rcv.nxt) as i64 as u64);
            if len > 0 && offset != expected {
                self.rcv.misplaced += u64::from(len);
            }
        }
    }

    /// Is the ACK of an in-order segment held?
    fn decide_ack(&mut self, len: u32) {
        let config = &self.profile.delayed_ack;
        let now = match config.policy {
            AckPolicy::Immediate => true,
            AckPolicy::TimerToggle => self.timers.delack_runs() || self.marks.zero_window_sent,
            AckPolicy::EverySecond => self.is_second_segment(len),
            AckPolicy::QuickAck => self.rcv.quick > 0 || self.is_second_segment(len),
        };
        if now {
            self.marks.ack_now = true;
        } else if !self.timers.delack_runs() {
            self.marks.delay_ack = true;
        }
        if config.policy == AckPolicy::QuickAck && len < self.snd.mss {
            self.rcv.short_unread = true;
        }
    }

    fn is_second_segment(&self, len: u32) -> bool {
        let unacked = self.rcv.nxt.diff(self.rcv.last_ack_sent) as u32 + len;
        self.marks.zero_window_sent || unacked >= 2 * self.snd.mss
    }

    fn accept(&mut self, len: u32) {
        self.rcv.nxt += len;
        self.rcv.offset += u64::from(len);
        self.rcv.unread += len;
        if len > 0 {
            self.raise(Event::Readable);
        }
    }

    /// Queues the segment; true if a FIN has been reached.
    fn take_out_of_order(&mut self, segment: &TcpSegment, len: u32, fin: bool) -> bool {
        let fills = segment.seq == self.rcv.nxt;
        let full = self
            .profile
            .buffers
            .reassembly_limit
            .is_some_and(|limit| self.rcv.out_of_order.segments() >= limit);
        if full && !fills {
            return false; // FB-ACK-8
        }
        let end = segment.seq + len;
        let done = self.rcv.out_of_order.insert(segment.seq, end, fin, self.rcv.nxt);
        self.accept(done.next.diff(self.rcv.nxt) as u32);
        if len > 0 && self.marks.sack {
            if !done.fresh && self.profile.options.dsack {
                self.rcv.sacks.report_duplicate(segment.seq, end);
            }
            self.rcv.sacks.update(segment.seq, end, self.rcv.nxt);
        }
        done.fin
    }

    fn on_peer_fin(&mut self, now: Instant) {
        self.rcv.nxt += 1;
        self.marks.ack_now = true;
        self.marks.end_of_stream = true;
        self.raise(Event::EndOfStream);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => {
                self.state = State::TimeWait;
                self.timers.rexmt = super::Timers::OFF;
                self.timers.persist = super::Timers::OFF;
                self.start_time_wait(now);
                self.raise(Event::Closed);
            }
            _ => {}
        }
    }
}
