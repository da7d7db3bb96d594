//! Data and FIN taken in order (FB-ACK-1 to FB-ACK-8); when they are acknowledged is in `delayed_ack.rs`.

use rexmit_stack::Event;
use rexmit_units::Instant;
use rexmit_wire::{Flags, Payload, SeqNumber, TcpSegment};

use super::{State, Tcb};

impl Tcb {
    /// Takes the data and the FIN of a segment cut to the window.
    pub(super) fn on_text(&mut self, now: Instant, segment: &TcpSegment) {
        let len = segment.payload.len();
        let mut fin = segment.flags.has(Flags::FIN);
        if (len == 0 && !fin) || self.state.has_peer_fin() {
            return;
        }
        self.check_place(segment);
        self.measure_rtt(now, segment, len);
        let in_order = segment.seq == self.rcv.nxt;
        if len > 0 && self.rcv.tuning.is_some() && !self.has_room(len, in_order) {
            return;
        }
        self.marks.ack_owed = true;
        let fin_waits = self.profile.delayed_ack.fin_waits && self.state == State::Established;
        if fin && in_order && fin_waits {
            self.rcv.quick.on_fin();
            self.note_end_with_ecn();
        }
        if in_order && self.rcv.out_of_order.is_empty() {
            self.note_in_order(now, len, segment.flags);
            self.note_arrival(segment.seq, len, true);
            self.decide_ack(now, len);
            self.accept(len);
            if len > 0 && self.marks.sack {
                self.rcv.sacks.advance(self.rcv.nxt);
            }
        } else if let Some(config) = self.profile.delayed_ack.compression {
            fin = self.take_compressed(now, segment, fin, &config);
        } else {
            if self.ecn.is_some() && len > 0 {
                self.take_mark(now, self.rcv.nxt + if in_order { len } else { 0 });
            }
            self.marks.ack_now = true;
            if !in_order && !self.profile.delayed_ack.order_keeps_credit {
                self.note_trouble();
            }
            fin = self.take_out_of_order(segment, len, fin);
        }
        if fin {
            self.on_peer_fin(now);
        }
    }

    /// The round-trip time that the receiver sees, where something asks for it. An ACK without data counts as the one that
    /// echoes a timestamp, too (LK-WIN-7).
    pub(super) fn measure_rtt(&mut self, now: Instant, segment: &TcpSegment, len: u32) {
        if self.rcv.rtt.is_none() {
            return;
        }
        let echo = segment.timestamps.filter(|t| self.marks.timestamps && t.echo != 0);
        let age = self.rtt_by_echo(now, segment).filter(|_| len > 0 && len >= self.rcv.quick.full());
        let window = self.last_window();
        let Some(rtt) = &mut self.rcv.rtt else { return };
        if segment.seq == self.rcv.nxt && len > 0 {
            rtt.on_data(now, self.rcv.nxt + len, window);
        }
        if let Some(stamps) = echo {
            rtt.on_echo(stamps.echo, age);
        }
    }

    /// Memory is taken, and the window may grow.
    fn note_arrival(&mut self, seq: SeqNumber, len: u32, in_order: bool) {
        let sack = self.marks.sack;
        let Some(tuning) = self.rcv.tuning.as_mut().filter(|_| len > 0) else { return };
        let grown = if in_order { tuning.on_order(len) } else { tuning.on_disorder(seq, seq + len, sack) };
        if grown {
            self.rcv.quick.on_window_growth();
            self.note_growth_with_ecn();
        }
    }

    /// Data find the limit of the buffer: is there room for them (LK-MEM-1 to LK-MEM-3)?
    fn has_room(&mut self, len: u32, in_order: bool) -> bool {
        let fast = in_order && self.rcv.out_of_order.is_empty() && !self.marks.zero_window_sent;
        let Some(limited) = self.rcv.tuning.as_mut().and_then(|tuning| tuning.limit(len, in_order, fast))
        else {
            return true;
        };
        self.rcv.quick.spend();
        if let Some(end) = limited.pruned {
            self.rcv.out_of_order.cut(end);
            self.rcv.sacks.clear();
        }
        !limited.dropped
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

    fn accept(&mut self, len: u32) {
        self.rcv.nxt += len;
        self.rcv.offset += u64::from(len);
        self.rcv.unread += len;
        if len > 0 {
            self.raise(Event::Readable);
        }
    }

    /// Queues the segment; true if a FIN has been reached.
    pub(super) fn take_out_of_order(&mut self, segment: &TcpSegment, len: u32, fin: bool) -> bool {
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
        // Where a report covers a FIN, one that has come again is a duplicate like data (LK-SACK-3).
        let covers = fin && self.profile.options.sack_covers_fin;
        let again = !covers || self.rcv.out_of_order.holds_fin(end);
        let done = self.rcv.out_of_order.insert(segment.seq, end, fin, self.rcv.nxt);
        self.note_arrival(segment.seq, len, fills);
        if let Some(tuning) = self.rcv.tuning.as_mut().filter(|_| fills) {
            tuning.advance(end);
        }
        self.accept(done.next.diff(self.rcv.nxt) as u32);
        let reported = end + u32::from(covers);
        if reported != segment.seq && self.marks.sack {
            if again && (len == 0 || !done.fresh) && self.profile.options.dsack {
                self.rcv.sacks.report_duplicate(segment.seq, reported);
            }
            // A FIN that has just been reached moves rcv_nxt over it later.
            let nxt = self.rcv.nxt + u32::from(done.fin && reported > end);
            let most = self.profile.options.sack_blocks.map_or(usize::MAX, |n| n as usize);
            self.rcv.sacks.update_within(segment.seq, reported, nxt, most);
        }
        done.fin
    }

    fn on_peer_fin(&mut self, now: Instant) {
        self.rcv.nxt += 1;
        if self.profile.delayed_ack.fin_waits && self.state == State::Established {
            if self.is_due_by_amount(self.unacked()) || self.rcv.quick.has_credit() {
                self.marks.ack_now = true;
            } else {
                self.marks.delay_ack = !self.marks.ack_now;
            }
        } else {
            self.marks.ack_now = true;
        }
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
