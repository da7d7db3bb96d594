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
            self.decide_ack(now, len);
            self.accept(len);
            if len > 0 && self.marks.sack {
                self.rcv.sacks.advance(self.rcv.nxt);
            }
        } else {
            self.marks.ack_now = true;
            if segment.seq != self.rcv.nxt {
                self.note_trouble();
            }
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
    fn decide_ack(&mut self, now: Instant, len: u32) {
        let policy = self.profile.delayed_ack.policy;
        let due = match policy {
            AckPolicy::Immediate => true,
            AckPolicy::TimerToggle => self.timers.delack_runs() || self.marks.zero_window_sent,
            AckPolicy::EverySecond => self.is_second_segment(len),
            AckPolicy::QuickAck => self.is_quick_ack_due(now, len),
        };
        if due {
            self.marks.ack_now = true;
        } else if !self.timers.delack_runs() || policy == AckPolicy::QuickAck {
            self.marks.delay_ack = true;
        }
    }

    /// LX-ACK-1. That the window can be kept is taken for granted: the applications here read at once.
    fn is_quick_ack_due(&mut self, now: Instant, len: u32) -> bool {
        let window = self.rcv.adv.diff(self.rcv.nxt).max(0) as u32;
        self.rcv.quick.on_data(&self.profile.delayed_ack, now, (len, window), self.rtt.rto());
        self.marks.zero_window_sent || self.rcv.quick.is_due(self.unacked() + len)
    }

    /// Bytes in order that no ACK has covered yet.
    pub(super) fn unacked(&self) -> u32 {
        self.rcv.nxt.diff(self.rcv.last_ack_sent) as u32
    }

    /// Out-of-order or repeated data have come (LX-ACK-2).
    pub(super) fn note_trouble(&mut self) {
        let window = self.rcv.adv.diff(self.rcv.nxt).max(0) as u32;
        self.rcv.quick.on_trouble(&self.profile.delayed_ack, window);
    }

    /// When a held ACK leaves at the latest.
    pub(super) fn ack_deadline(&self, now: Instant) -> Instant {
        let config = &self.profile.delayed_ack;
        if config.policy != AckPolicy::QuickAck {
            return self.clock.deadline(now, config.timeout);
        }
        let delay = self.rcv.quick.delay(config, self.rtt.srtt());
        self.clock.deadline(now, delay).min(self.timers.delack)
    }

    fn is_second_segment(&self, len: u32) -> bool {
        self.marks.zero_window_sent || self.unacked() + len >= 2 * self.snd.mss
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
