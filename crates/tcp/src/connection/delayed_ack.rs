//! When data are acknowledged: at once, with the next segment, or when a timer expires (RFC 9293 section 3.8.6.3; FB-ACK-1
//! to FB-ACK-8). Linux's credit of immediate ACKs is in `receive/quick_ack.rs`.

use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, TcpSegment};

use super::{Tcb, Timers};
use crate::profile::{AckPolicy, CompressionConfig};
use crate::receive::DataInOrder;

impl Tcb {
    /// An in-order segment has come. Called before the window may grow for it, which adds to what a long gap gives.
    pub(super) fn note_in_order(&mut self, now: Instant, len: u32, flags: Flags) {
        let config = &self.profile.delayed_ack;
        if config.policy == AckPolicy::QuickAck && (len > 0 || !config.counts_ticks) {
            self.note_data_in_order(now, len, flags);
        }
    }

    /// Is its ACK held?
    pub(super) fn decide_ack(&mut self, now: Instant, len: u32) {
        let policy = self.profile.delayed_ack.policy;
        if self.ecn.is_some() && len > 0 {
            self.take_mark(now, self.rcv.nxt + len);
        }
        let due = match policy {
            AckPolicy::Immediate => true,
            AckPolicy::TimerToggle => self.timers.delack_runs() || self.marks.zero_window_sent,
            AckPolicy::EverySecond => self.is_second_segment(len),
            AckPolicy::QuickAck => self.is_quick_ack_due(len),
        };
        if due || self.is_timer_nearly_due(now) {
            self.marks.ack_now = true;
        } else if !self.timers.delack_runs() || policy == AckPolicy::QuickAck {
            self.marks.delay_ack = true;
        }
    }

    /// LX-ACK-1; where the buffer's memory is counted, LK-ACK-9.
    fn is_quick_ack_due(&mut self, len: u32) -> bool {
        self.is_due_by_amount(self.unacked() + len)
            || self.marks.zero_window_sent
            || self.rcv.quick.has_credit()
    }

    /// More than a full segment waits, and the window can be kept.
    pub(super) fn is_due_by_amount(&mut self, unacked: u32) -> bool {
        unacked > self.rcv.quick.full() && self.keeps_window()
    }

    /// A window is reckoned: where little memory is left, no acknowledgment is hurried any more.
    pub(super) fn look_at_memory(&mut self) {
        if self.rcv.tuning.as_ref().is_some_and(|tuning| tuning.is_short()) {
            self.rcv.quick.spend();
        }
    }

    fn note_data_in_order(&mut self, now: Instant, len: u32, flags: Flags) {
        let (push, fin) = (flags.has(Flags::PSH), flags.has(Flags::FIN));
        let data = DataInOrder {
            now: self.ack_clock(now),
            len,
            window: self.last_window(),
            header: if self.marks.timestamps { 12 } else { 0 },
            push,
            ends: push || fin,
            tick: self.ack_tick(),
        };
        self.rcv.quick.on_data(&self.profile.delayed_ack, &data, self.rtt.rto());
    }

    /// What delays and gaps are counted in.
    fn ack_tick(&self) -> Duration {
        if self.profile.delayed_ack.counts_ticks { self.clock.span(1) } else { Duration::from_nanos(1) }
    }

    /// The time as these read it: of the last tick.
    pub(super) fn ack_clock(&self, now: Instant) -> Instant {
        if !self.profile.delayed_ack.counts_ticks {
            return now;
        }
        Instant::ZERO + self.clock.span(self.clock.ticks(now))
    }

    /// How many ticks an ACK may wait.
    fn ack_ticks(&self) -> u64 {
        let delay = self.rcv.quick.delay(&self.profile.delayed_ack, self.rtt.srtt());
        delay.as_nanos().div_ceil(self.clock.span(1).as_nanos().max(1))
    }

    /// The timer of a held ACK has a quarter of the delay to go, or less (`tcp_send_delayed_ack`).
    fn is_timer_nearly_due(&self, now: Instant) -> bool {
        let config = &self.profile.delayed_ack;
        if !config.due_timer_answers || !self.timers.delack_runs() {
            return false;
        }
        self.rcv.ack_by <= self.clock.ticks(now) + self.ack_ticks() / 4
    }

    fn is_second_segment(&self, len: u32) -> bool {
        self.marks.zero_window_sent || self.unacked() + len >= 2 * self.snd.mss
    }

    /// Bytes in order that no ACK has covered yet.
    pub(super) fn unacked(&self) -> u32 {
        self.rcv.nxt.diff(self.rcv.last_ack_sent) as u32
    }

    /// Out-of-order or repeated data have come (LX-ACK-2).
    pub(super) fn note_trouble(&mut self) {
        let window = self.last_window();
        self.rcv.quick.on_trouble(&self.profile.delayed_ack, window);
    }

    /// When a held ACK leaves at the latest.
    pub(super) fn ack_deadline(&mut self, now: Instant) -> Instant {
        let config = &self.profile.delayed_ack;
        if config.policy != AckPolicy::QuickAck {
            return self.clock.deadline(now, config.timeout);
        }
        let by = self.clock.ticks(now) + self.ack_ticks();
        if self.timers.delack_runs() && by >= self.rcv.ack_by {
            return self.timers.delack;
        }
        self.rcv.ack_by = by;
        self.clock.deadline(now, self.rcv.quick.delay(config, self.rtt.srtt()))
    }

    /// No ACK is held any more. The timer of one for data in order is not stopped (`inet_csk_clear_xmit_timer`).
    #[inline]
    pub(super) fn end_held_acks(&mut self) {
        if self.timers.delack_runs() {
            self.rcv.left_over = self.timers.delack;
        }
        self.timers.delack = Timers::OFF;
        self.timers.compressed = Timers::OFF;
    }

    /// The window would be no smaller than the last one, before the application reads: otherwise its read is waited for
    /// (`__tcp_ack_snd_check`).
    fn keeps_window(&mut self) -> bool {
        self.look_at_memory();
        let Some(tuning) = &self.rcv.tuning else { return true };
        let last = self.last_window();
        tuning.window(self.rcv.scale, self.rcv.quick.full(), last) >= last
    }

    /// An ACK is held back, and this segment begins a further block of the report: that one leaves first
    /// (`tcp_sack_compress_send_ack`).
    pub(super) fn is_report_full(&self, segment: &TcpSegment) -> bool {
        let Some(blocks) = self.profile.delayed_ack.compression.and_then(|config| config.blocks) else {
            return false;
        };
        let (start, end) = (segment.seq, segment.seq + segment.payload.len());
        let ahead = start > self.rcv.nxt && end > start && !self.state.has_peer_fin();
        ahead
            && self.marks.sack
            && self.rcv.compressed.holds()
            && self.rcv.sacks.is_beyond(start, end, blocks as usize)
    }

    /// Data out of order, or that fill a hole in part, may be acknowledged a little later (LK-ACK-5). True if
    /// a FIN has been reached.
    pub(super) fn take_compressed(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        fin: bool,
        config: &CompressionConfig,
    ) -> bool {
        let len = segment.payload.len();
        let in_order = segment.seq == self.rcv.nxt;
        if in_order {
            self.note_data_in_order(now, len, segment.flags);
        } else if !self.profile.delayed_ack.order_keeps_credit {
            self.note_trouble();
        }
        if self.ecn.is_some() && len > 0 {
            self.take_mark(now, self.rcv.nxt + if in_order { len } else { 0 });
        }
        let fin = self.take_out_of_order(segment, len, fin);
        if self.rcv.compressed.take_answered() {
            self.marks.ack_owed = false;
            return fin;
        }
        // What has moved rcv_nxt, or let the window grow, counts.
        let quick = self.is_due_by_amount(self.unacked())
            || self.marks.zero_window_sent
            || self.rcv.quick.has_credit();
        let filled = in_order && self.rcv.out_of_order.is_empty();
        if filled || quick || !self.marks.sack || self.rcv.compressed.is_due(config, self.rcv.nxt) {
            self.marks.ack_now = true;
        } else if self.timers.compressed == Timers::OFF {
            let rtt = self.rcv.rtt.as_ref().and_then(|rtt| rtt.get()).unwrap_or_default().as_nanos();
            let rtt = self.rtt.srtt().map_or(rtt, |srtt| rtt.min(srtt.as_nanos()));
            let wait = config.delay.as_nanos().min(rtt / 20) + config.slack.as_nanos();
            let due = now + Duration::from_nanos(wait);
            // The timer of an ACK that has left lets it go, too.
            self.timers.compressed = if self.rcv.left_over > now { due.min(self.rcv.left_over) } else { due };
        }
        fin
    }
}
