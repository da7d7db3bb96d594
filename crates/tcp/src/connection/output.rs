//! What may be sent, and the sending of it (FB-OUT-1 to FB-OUT-9; RFC 9293 section 3.8).

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps};

use super::promised::MAX_WINDOW;
use super::{RexmtFor, Tcb, Timers};
use crate::profile::{IdleSince, NagleRule, ProbeRule};
use crate::recovery::{LossRecovery, Permit, Phase, Sent};

/// A segment about to leave.
#[derive(Clone, Copy, Debug)]
struct Plan {
    seq: SeqNumber,
    /// Distance from una to `seq`.
    off: i64,
    len: u32,
    fin: bool,
    /// From a hole of the scoreboard, nxt stays where it is.
    hole: bool,
    /// More may follow at once.
    again: bool,
}

impl Plan {
    /// Neither data nor a FIN: an ACK.
    #[inline]
    fn is_bare(&self) -> bool {
        self.len == 0 && !self.fin && !self.hole
    }
}

/// A segment that has left.
struct Transmitted {
    /// More may follow at once.
    more: bool,
    /// Sequence numbers that it took.
    space: u32,
}

impl Tcb {
    /// Sends all that may be sent now.
    #[inline]
    pub fn output<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        if !self.state.is_synchronised() {
            return;
        }
        if self.has_only_acks() {
            self.output_ack(now);
        } else {
            self.output_all(now, recovery);
        }
    }

    fn output_all<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        let idle = self.note_idle(now);
        let (waiting, max) = (self.has_unsent(), self.snd.max);
        if let Some(device) = &mut self.device {
            device.begin_round();
        }
        self.output_in_turn(now, idle, recovery);
        if self.by_rate.is_some() {
            self.note_app_limited();
        }
        if waiting {
            recovery.after_round(self, now, self.snd.max != max);
        }
        if self.snd.max != max {
            recovery.after_new(self, now);
        }
    }

    /// Data wait that have not been sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.off() < i64::from(self.buffer.len())
    }

    /// Only an ACK or a window update can be due, as at most receivers: no permit needs to be asked for.
    #[inline]
    pub(super) fn has_nothing_to_send(&self) -> bool {
        self.buffer.len() == 0 && !self.state.wants_fin() && !self.marks.force
    }

    /// One segment after another, until one may not leave.
    fn output_in_turn<R: LossRecovery + ?Sized>(&mut self, now: Instant, idle: bool, recovery: &mut R) {
        loop {
            if self.snd.nxt < self.snd.max {
                self.snd.nxt = recovery.next_unsacked(self.snd.nxt);
            }
            let paced = !self.marks.force
                && ((self.by_rate.is_some() && self.waits_for_pace(now)) || self.next_waits_for_turn(now));
            let plan = if paced || self.has_nothing_to_send() {
                self.plan_of_no_data()
            } else {
                self.plan(now, recovery)
            };
            if !self.is_due(&plan, idle) {
                self.keep_a_timer(now);
                return;
            }
            if !self.transmit(now, &plan, recovery).more {
                // Also where only an ACK left: its answer may be all that opens a closed window.
                self.keep_a_timer(now);
                return;
            }
        }
    }

    /// The smallest of the peer's window, cwnd and, where it is in use, the window by bandwidth (FB-OUT-4).
    #[inline]
    pub(crate) fn send_window(&self) -> u32 {
        let window = self.snd.wnd.min(self.window.cwnd);
        match &self.inflight {
            None => window,
            Some(inflight) => window.min(inflight.window()),
        }
    }

    /// What the smallest of the windows leaves.
    #[inline]
    pub fn permit_by_window(&self) -> Permit {
        Permit::next(i64::from(self.buffer.len().min(self.send_window())) - self.off())
    }

    /// cwnd less what is in flight, if that has room for a segment.
    pub(crate) fn room_beside(&self, in_flight: u32) -> Option<u32> {
        let room = self.window.cwnd.saturating_sub(in_flight);
        (room >= self.snd.mss.min(self.window.cwnd.max(1))).then_some(room)
    }

    /// Bytes that wait and that the peer's window allows; negative where more is outstanding.
    #[inline]
    pub(crate) fn unsent(&self) -> i64 {
        i64::from(self.buffer.len().min(self.snd.wnd)) - self.off()
    }

    /// Distance in bytes from the start of the send buffer to nxt.
    #[inline]
    pub(crate) fn off(&self) -> i64 {
        i64::from(self.snd.nxt.diff(self.snd.una))
    }

    /// FB-OUT-1 and FB-OUT-2: is the sender idle, and does it start slowly again?
    #[inline(always)]
    pub(super) fn note_idle(&mut self, now: Instant) -> bool {
        let mut idle = self.marks.last_idle || self.snd.max == self.snd.una;
        self.marks.last_idle = false;
        if !idle {
            return false;
        }
        let waits =
            self.congestion.sets_window() || (self.profile.output.idle_restart_at_data && !self.has_unsent());
        if let Some(restart) = self.profile.output.idle_restart.filter(|_| !waits) {
            let restart = restart.bytes(self.snd.mss);
            // A receiver's window is that most of the time.
            if self.window.cwnd > restart || self.profile.output.idle_halves {
                self.restart_after_idle(now, restart);
            }
        }
        if self.marks.more_to_come {
            self.marks.last_idle = true;
            idle = false;
        }
        idle
    }

    /// After an RTO without traffic the window is at most `restart` bytes, or half for each RTO.
    fn restart_after_idle(&mut self, now: Instant, restart: u32) {
        let config = &self.profile.output;
        let since = match config.idle_since {
            IdleSince::Arrival => self.last_arrival,
            IdleSince::Transmission => self.last_data_sent,
        };
        let mut idle = now.saturating_since(since);
        if !config.idle_halves {
            if idle >= self.rtt.rto() {
                self.window.cwnd = restart;
            }
            return;
        }
        let rto = self.rtt.rto();
        if idle > rto && config.idle_raises_ssthresh && self.window.ssthresh != u32::MAX {
            let cwnd = self.window.cwnd / self.snd.mss;
            let least = ((cwnd >> 1) + (cwnd >> 2)) * self.snd.mss;
            self.window.ssthresh = self.window.ssthresh.max(least);
        }
        while idle > rto && self.window.cwnd > restart {
            idle = Duration::from_nanos(idle.as_nanos() - rto.as_nanos());
            self.window.cwnd = (self.window.cwnd / 2).max(restart);
        }
    }

    fn plan<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) -> Plan {
        let mut window = self.send_window();
        self.grow_send_buffer(window);
        let mut may_fin = self.state.wants_fin();
        let permit = if self.marks.force && window == 0 {
            may_fin &= self.off() >= i64::from(self.buffer.len());
            window = 1;
            Permit::next(i64::from(self.buffer.len().min(1)) - self.off())
        } else {
            if self.marks.force {
                self.timers.persist = Timers::OFF;
                self.persist_shift = 0;
            }
            match () {
                () if self.marks.probing => self.permit_probe(),
                () if self.device.is_some() && self.snd.nxt == self.snd.max && !self.marks.force => {
                    let len = self.permit_packet(now, &recovery.status());
                    Permit::Next { len: len.into(), again: true }
                }
                () => recovery.permit(self),
            }
        };
        let (mut len, hole, again, seq) = match permit {
            Permit::Hole { seq, len } => {
                let data = i64::from(self.buffer.len()) - i64::from(seq.diff(self.snd.una));
                (i64::from(len).min(data.max(0)), true, true, seq)
            }
            Permit::Next { len, again } => (len, false, again && len > 0, self.snd.nxt),
        };
        if len < 0 {
            len = 0;
            if window == 0 {
                self.close_window(now);
            }
        }
        let seq = if hole { seq } else { self.snd.nxt };
        let off = i64::from(seq.diff(self.snd.una));
        let mut again = again;
        let mss = i64::from(self.snd.mss);
        if len > mss {
            len = mss;
            again = true;
        }
        may_fin &= !hole || self.marks.sent_fin;
        // BSD's flags follow from the state alone, so that each ACK shows the FIN again.
        let repeats = self.marks.sent_fin && !hole && self.snd.nxt == self.snd.max;
        may_fin &= !repeats || self.profile.output.fin_on_every_ack;
        let fin = may_fin && off + len >= i64::from(self.buffer.len());
        Plan { seq, off, len: len as u32, fin, hole, again }
    }

    /// An ACK may leave, but no data.
    fn plan_of_no_data(&self) -> Plan {
        Plan { seq: self.snd.nxt, off: self.off(), len: 0, fin: false, hole: false, again: false }
    }

    /// The peer closed its window over data in flight: wait for it by probing.
    fn close_window(&mut self, now: Instant) {
        self.timers.rexmt = Timers::OFF;
        self.snd.nxt = self.snd.una;
        if !self.timers.persist_runs() {
            self.start_persist(now);
        }
    }

    /// The tests of FB-OUT-7, in their order.
    #[inline(always)]
    fn is_due(&self, plan: &Plan, idle: bool) -> bool {
        if plan.len > 0 && self.is_data_due(plan, idle) {
            return true;
        }
        if self.is_window_update_due() || self.marks.ack_now {
            return true;
        }
        plan.fin && (plan.hole || !self.marks.sent_fin || self.snd.nxt == self.snd.una)
    }

    #[inline]
    fn is_data_due(&self, plan: &Plan, idle: bool) -> bool {
        if plan.len == self.snd.mss || plan.hole || self.marks.force || self.is_packet_leaving() {
            return true;
        }
        let ends_buffer = plan.off + i64::from(plan.len) >= i64::from(self.buffer.len());
        let nagle_allows = match self.profile.output.nagle {
            NagleRule::Off => true,
            NagleRule::On => idle,
            NagleRule::Minshall => self.snd.short_end <= self.snd.una,
        };
        if ends_buffer && !self.marks.more_to_come && nagle_allows {
            return true;
        }
        (self.snd.max_wnd > 0 && plan.len >= self.snd.max_wnd / 2) || self.snd.nxt < self.snd.max
    }

    /// Of a packet for the device all leaves, whatever the size of its last segment.
    #[inline]
    fn is_packet_leaving(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.is_under_way())
    }

    /// With data outstanding or waiting, some timer must run (FB-OUT-9).
    #[inline]
    pub(super) fn keep_a_timer(&mut self, now: Instant) {
        if self.timers.rexmt_runs() || self.timers.persist_runs() {
            return;
        }
        if self.snd.max > self.snd.una {
            self.restart_rexmt(now);
        } else if self.buffer.len() > 0 {
            self.persist_shift = 0;
            self.start_persist(now);
        }
    }

    /// `len` bytes from `seq` leave again, outside the order of nxt. Returns how many numbers left.
    pub fn send_hole<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        seq: SeqNumber,
        len: u32,
        recovery: &mut R,
    ) -> u32 {
        self.send_again(now, seq, (len, true), recovery)
    }

    /// What was sent as `[seq, end)` leaves again as it was, with its FIN if it had one. Returns how many numbers left.
    pub(crate) fn send_as_it_was<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        seq: SeqNumber,
        end: SeqNumber,
        recovery: &mut R,
    ) -> u32 {
        let space = end.diff(seq) as u32;
        let had_fin = i64::from(space) > self.data_from(seq);
        self.send_again(now, seq, (space, had_fin), recovery)
    }

    /// Bytes that wait or are out from `seq` on.
    fn data_from(&self, seq: SeqNumber) -> i64 {
        (i64::from(self.buffer.len()) - i64::from(seq.diff(self.snd.una))).max(0)
    }

    /// This many bytes from `seq`, and after the last one the FIN if it may go with them and has left before.
    fn send_again<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        seq: SeqNumber,
        (len, with_fin): (u32, bool),
        recovery: &mut R,
    ) -> u32 {
        let (off, data) = (i64::from(seq.diff(self.snd.una)), self.data_from(seq));
        let len = i64::from(len.min(self.snd.mss)).min(data);
        let fin = with_fin && self.marks.sent_fin && len == data;
        self.transmit(now, &Plan { seq, off, len: len as u32, fin, hole: true, again: false }, recovery).space
    }

    /// Why new data leave.
    #[inline]
    fn new_reason(&self) -> Reason {
        match self.decision {
            Reason::LimitedTransmit | Reason::TailProbe => self.decision,
            _ => Reason::New,
        }
    }

    /// Why what ends at `end` leaves again, from a hole or from nxt: what has just been decided applies to the first
    /// segment that it lets out.
    #[inline(never)]
    fn resend_reason(&mut self, hole: bool, end: SeqNumber, phase: Phase) -> Reason {
        let decision = self.decision;
        if !matches!(decision, Reason::New | Reason::LimitedTransmit) {
            self.decision = Reason::New;
            return decision;
        }
        match phase {
            Phase::Recovery if hole => Reason::SackRecovery,
            // Nothing is repaired, so nxt went back only for a probe of a closed window.
            Phase::Open | Phase::Disorder if end > self.snd.max => Reason::New,
            _ => Reason::GoBackN,
        }
    }

    /// Sends one segment.
    fn transmit<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        plan: &Plan,
        recovery: &mut R,
    ) -> Transmitted {
        if plan.is_bare() && !self.marks.force {
            self.transmit_ack(now);
            return Transmitted { more: plan.again, space: 0 };
        }
        let (mut len, mut fin) = (plan.len, plan.fin);
        let sack = self.sack_option();
        let sack_len = if sack.is_empty() { 0 } else { 4 + 8 * sack.len() as u32 };
        let room = self.snd.mss - sack_len.min(self.snd.mss - 1);
        if len > room {
            len = room; // FB-SEG-3
            fin = false;
        }
        let shows_fin = fin && self.marks.sent_fin && !plan.hole && self.snd.nxt == self.snd.max;
        if shows_fin {
            self.snd.nxt = self.snd.nxt - 1;
        }
        let persisting = self.timers.persist_runs();
        let seq = match plan {
            _ if plan.hole => plan.seq,
            _ if len > 0 || fin || persisting => self.snd.nxt,
            _ => self.snd.max,
        };
        self.count(len, seq == self.snd.max);
        let reason = match len + u32::from(fin && !shows_fin) {
            0 => Reason::Ack,
            _ if self.marks.force && persisting => Reason::WindowProbe,
            _ if seq == self.snd.max => self.new_reason(),
            space => self.resend_reason(plan.hole, seq + space, recovery.status().phase),
        };
        let at = self.begin_departure(now, len, plan.hole);
        let window = self.advertised_window();
        let mut segment = self.segment(at, seq, (len, fin), window);
        segment.sack = sack;
        self.note_outstanding(now, seq, len + u32::from(fin && !shows_fin));
        let sent = Sent { seq, len, fin, hole: plan.hole, is_new: seq == self.snd.max };
        if !shows_fin {
            recovery.on_sent(self, now, &sent);
            if self.by_rate.is_some() {
                self.note_sent_by_rate(now, &sent);
            }
        }
        if plan.hole {
            self.start_rexmt_if_off(now);
        } else if self.marks.force && persisting {
            self.marks.sent_fin |= fin;
            self.snd.max = self.snd.max.max(self.snd.nxt + sent.space());
        } else {
            self.advance_nxt(now, &sent);
            if len > 0 && self.few.is_some() {
                self.schedule_probe(now, recovery.status().phase);
            }
        }
        if let Some(device) = &mut self.device {
            // LK-PUSH-1
            let new = if plan.hole || !sent.is_new { 0 } else { len };
            let push = device.leave(now, new, self.snd.mss);
            let flags = segment.flags.without(Flags::PSH);
            segment.flags = if push { flags.with(Flags::PSH) } else { flags };
            if new > 0 && !device.is_under_way() {
                self.check_space(recovery);
            }
        }
        self.after_ack_sent(segment.window, window);
        if len > 0 {
            self.last_data_sent = now;
            let now = self.ack_clock(now);
            self.rcv.quick.on_data_sent(now);
        }
        let new = sent.is_new && len > 0 && !self.is_bare_probe(reason);
        self.emit_data(reason, segment, new);
        Transmitted { more: plan.again || len < plan.len, space: len + u32::from(fin) }
    }

    /// A probe of a closed window, which is not ECN-capable (RFC 3168 section 6.1.6); Linux probes with data only where the window
    /// takes them.
    #[inline]
    fn is_bare_probe(&self, reason: Reason) -> bool {
        reason == Reason::WindowProbe && self.profile.output.probe == ProbeRule::NextByte
    }

    /// This much from `seq`, with a window in bytes.
    #[inline]
    pub(super) fn segment(
        &self,
        now: Instant,
        seq: SeqNumber,
        (len, fin): (u32, bool),
        window: u32,
    ) -> TcpSegment {
        let off = seq.diff(self.snd.una).max(0) as u32;
        let mut flags = Flags::ACK;
        if fin {
            flags = flags.with(Flags::FIN);
        }
        if len > 0 && off + len == self.buffer.len() {
            flags = flags.with(Flags::PSH);
        }
        let payload =
            if len > 0 { Payload::Stream { offset: self.buffer.offset(off), len } } else { Payload::EMPTY };
        let timestamps = self.marks.timestamps.then(|| Timestamps {
            value: self.timestamp(self.stamped_at.unwrap_or(now)),
            echo: self.rcv.ts_recent,
        });
        TcpSegment {
            seq,
            ack: self.rcv.nxt,
            flags,
            window: (window.min(MAX_WINDOW << self.rcv.scale) >> self.rcv.scale) as u16,
            timestamps,
            payload,
            ..TcpSegment::default()
        }
    }

    /// nxt moves over what has just left; the first transmission may be timed.
    #[inline]
    fn advance_nxt(&mut self, now: Instant, sent: &Sent) {
        self.marks.sent_fin |= sent.fin;
        self.snd.nxt += sent.space();
        // Nagle's rule does not wait for a probe of a closed window (`tcp_write_wakeup`).
        if sent.len > 0 && sent.len < self.snd.mss && !self.marks.force {
            self.snd.short_end = self.snd.nxt;
        }
        if self.snd.nxt > self.snd.max {
            self.snd.max = self.snd.nxt;
            self.start_timing(now, sent.seq);
        }
        if self.snd.nxt != self.snd.una {
            self.start_rexmt_if_off(now); // also for an ACK alone while data are outstanding (FB-OUT-9)
        }
    }

    pub(super) fn start_rexmt_if_off(&mut self, now: Instant) {
        if !self.timers.rexmt_runs() {
            if self.timers.persist_runs() {
                self.timers.persist = Timers::OFF;
                self.persist_shift = 0;
            }
            self.restart_rexmt(now);
        }
    }

    /// The retransmission timer runs from now.
    #[inline]
    pub(crate) fn restart_rexmt(&mut self, now: Instant) {
        self.start_transport_timer(now, self.with_pacing(now, self.rtt.rto()), RexmtFor::Retransmission);
    }

    /// The one timer of the transport runs this long, for this purpose.
    #[inline]
    pub(crate) fn start_transport_timer(&mut self, now: Instant, wait: Duration, why: RexmtFor) {
        self.timers.rexmt = self.clock.deadline(now, wait);
        self.timers.rexmt_for = why;
    }

    /// Stops the retransmission timer.
    pub fn stop_rexmt(&mut self) {
        self.timers.rexmt = Timers::OFF;
    }

    #[inline]
    pub(super) fn count(&mut self, len: u32, is_new: bool) {
        let c = &mut self.counters;
        match (len > 0, is_new) {
            (true, true) => c.data_segments += 1,
            (true, false) => c.retransmits += 1,
            (false, _) => c.pure_acks += 1,
        }
    }

    /// SACK blocks for the next segment: three beside timestamps, else four.
    #[inline]
    pub(super) fn sack_option(&mut self) -> SackBlocks {
        if !self.marks.sack || self.rcv.sacks.is_empty() {
            return SackBlocks::default();
        }
        let room = if self.marks.timestamps { 3 } else { 4 };
        self.rcv.sacks.take(room)
    }
}
