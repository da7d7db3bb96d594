//! When data are acknowledged: at once, with the next segment, or when a timer expires (RFC 9293 section 3.8.6.3; FB-ACK-1
//! to FB-ACK-8). Linux's credit of immediate ACKs is in `receive/quick_ack.rs`.

use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, TcpSegment};

use super::{Tcb, Timers};
use crate::profile::{AckPolicy, CompressionConfig};
use crate::receive::DataInOrder;

impl Tcb {
    /// Is the ACK of an in-order segment held?
    pub(super) fn decide_ack(&mut self, now: Instant, len: u32, flags: Flags) {
        let policy = self.profile.delayed_ack.policy;
        if policy == AckPolicy::QuickAck {
            self.note_data_in_order(now, len, flags);
        }
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
    fn is_due_by_amount(&mut self, unacked: u32) -> bool {
        unacked > self.rcv.quick.full() && self.keeps_window()
    }

    /// A window is reckoned: where little memory is left, no acknowledgment is hurried any more.
    pub(super) fn look_at_memory(&mut self) {
        if self.rcv.tuning.as_ref().is_some_and(|tuning| tuning.is_short()) {
            self.rcv.quick.spend();
        }
    }

    fn note_data_in_order(&mut self, now: Instant, len: u32, flags: Flags) {
        let window = self.rcv.adv.diff(self.rcv.nxt).max(0) as u32;
        let header = if self.marks.timestamps { 12 } else { 0 };
        let data =
            DataInOrder { now, len, window, header, ends: flags.has(Flags::PSH) || flags.has(Flags::FIN) };
        self.rcv.quick.on_data(&self.profile.delayed_ack, &data, self.rtt.rto());
    }

    /// The timer of a held ACK has a quarter of the delay to go, or less (`tcp_send_delayed_ack`).
    fn is_timer_nearly_due(&self, now: Instant) -> bool {
        let config = &self.profile.delayed_ack;
        if !config.due_timer_answers || !self.timers.delack_runs() {
            return false;
        }
        let quarter = Duration::from_nanos(self.rcv.quick.delay(config, self.rtt.srtt()).as_nanos() / 4);
        self.timers.delack <= self.clock.deadline(now, quarter)
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
            self.timers.compressed = now + Duration::from_nanos(wait);
        }
        fin
    }
}
