//! What has arrived: is it acceptable, and in which order are its parts taken (RFC 9293 section 3.10.7.4).

use rexmit_stack::{Event, Reason};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Payload, SeqNumber, TcpSegment};

use super::{Role, State, Tcb};
use crate::recovery::{LossRecovery, Rest};

impl Tcb {
    /// A segment arrives in any state but LISTEN and SYN-SENT.
    pub(super) fn on_segment<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        segment: &mut TcpSegment,
        recovery: &mut R,
    ) {
        self.last_arrival = now;
        if self.state == State::Closed {
            if !segment.flags.has(Flags::RST) {
                self.refuse(segment);
            }
        } else {
            self.on_synchronised(now, segment, recovery);
        }
        if self.marks.delay_ack {
            self.marks.delay_ack = false;
            self.timers.delack = self.ack_deadline(now);
        }
    }

    fn on_synchronised<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        segment: &mut TcpSegment,
        recovery: &mut R,
    ) {
        if self.state == State::SynReceived && self.is_repeated_syn(segment) {
            // A repeated SYN is answered at once and is not a step of the timer (FB-SYN-2).
            if let Some(stamps) = segment.timestamps {
                self.rcv.ts_recent = stamps.value;
            }
            self.send_syn_ack(now, Reason::SynAckAnswer);
            if self.profile.handshake.repeated_syn_restarts_timer {
                self.start_syn_ack_timer(now);
            }
            return;
        }
        if segment.flags.has(Flags::RST) {
            if self.is_in_window(segment.seq) {
                self.on_reset();
            }
            return;
        }
        let mut too_old = self.is_too_old(segment);
        if let Some(apart) = self.profile.options.answers_apart.filter(|_| self.state >= State::Established) {
            too_old &= !self.is_disordered_ack(segment);
            let syn = segment.flags.has(Flags::SYN);
            if syn || (too_old && segment.seq_len() == 0) {
                self.answer_rarely(now, apart);
                self.output(now, recovery);
                return;
            }
            if too_old && segment.seq < self.rcv.nxt {
                let end = (segment.seq + segment.payload.len()).min(self.rcv.nxt);
                self.note_duplicate(segment.seq, end);
                self.note_trouble();
            }
        } else if too_old && segment.seq_len() == 0 {
            return; // An ACK that was overtaken says nothing, and an answer would look like a duplicate.
        }
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        let scale = if segment.flags.has(Flags::SYN) { 0 } else { self.snd.scale };
        let is_bare = segment.seq_len() == 0 && self.state >= State::Established;
        if too_old || !self.trim(now, segment) {
            self.marks.ack_now = true;
            self.output(now, recovery);
            return;
        }
        self.note_timestamp(segment);
        if segment.flags.has(Flags::SYN) {
            // RFC 5961 section 4.2: challenge it.
            self.marks.ack_now = true;
            self.output(now, recovery);
            return;
        }
        if !segment.flags.has(Flags::ACK) {
            if self.marks.ack_now {
                self.output(now, recovery);
            }
            return;
        }
        if is_bare {
            self.measure_rtt(now, segment, 0); // LK-WIN-7
        }
        self.on_acceptable(now, segment, scale, recovery);
    }

    /// A reset that is taken: a passive open listens again (RFC 9293 section 3.10.7.4), all else ends.
    fn on_reset(&mut self) {
        if self.state == State::SynReceived && self.role == Role::Passive {
            self.listen_again();
        } else {
            self.enter_closed(Event::Reset);
        }
    }

    fn on_acceptable<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        mut scale: u8,
        recovery: &mut R,
    ) {
        if self.state == State::SynReceived {
            if segment.ack <= self.snd.una || segment.ack > self.snd.max {
                self.refuse(segment);
                return;
            }
            if self.profile.window.third_segment_unscaled {
                scale = 0; // FB-WIN-4
            }
            self.snd.wl1 = segment.seq - 1;
            self.complete_passive_open(now, segment);
        }
        let window = u32::from(segment.window) << scale;
        if !segment.payload.is_empty() {
            self.grow_receive_buffer(segment, window);
        }
        let rest = self.on_ack(now, segment, window, recovery);
        if rest == Rest::Skip {
            return;
        }
        let mut need_output = rest == Rest::TakeAndSend;
        if self.update_window(segment, window) {
            need_output = true;
        }
        if self.ecn.is_some() {
            self.take_cwr(segment);
        }
        if self.is_report_full(segment) {
            self.marks.ack_now = true;
            self.output(now, recovery);
            // No other one is owed for this segment (`tcp_ack_snd_check`).
            self.rcv.compressed.note_answered();
        }
        self.on_text(now, segment);
        if need_output || self.marks.ack_now {
            self.output(now, recovery);
        }
        self.check_space(recovery);
    }

    fn is_repeated_syn(&self, segment: &TcpSegment) -> bool {
        segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) && segment.seq + 1 == self.rcv.nxt
    }

    /// PAWS (RFC 7323 section 5): a timestamp older than the last.
    fn is_too_old(&self, segment: &TcpSegment) -> bool {
        self.marks.timestamps
            && segment.timestamps.is_some_and(|t| SeqNumber(t.value) < SeqNumber(self.rcv.ts_recent))
    }

    /// An ACK that was overtaken a short while ago and says nothing new: it counts as a duplicate (`tcp_disordered_ack`).
    fn is_disordered_ack(&self, segment: &TcpSegment) -> bool {
        let Some(stamps) = segment.timestamps else { return false };
        let age =
            self.profile.clock.timestamp_unit * u64::from(self.rcv.ts_recent.wrapping_sub(stamps.value));
        segment.seq_len() == 0
            && segment.seq == self.rcv.nxt
            && segment.ack == self.snd.una
            && (1..=self.snd.wnd).contains(&(u32::from(segment.window) << self.snd.scale))
            && age <= self.rtt.rto()
    }

    /// What is not acceptable is answered, if nothing was for a while (`tcp_oow_rate_limited`).
    fn answer_rarely(&mut self, now: Instant, apart: Duration) {
        let ticks = |at: Instant| self.clock.ticks(at);
        let soon =
            self.answered.is_some_and(|last| self.clock.span(ticks(now).saturating_sub(ticks(last))) < apart);
        if !soon {
            self.answered = Some(now);
            self.marks.ack_now = true;
        }
    }

    /// Bytes that may still arrive.
    pub(super) fn receive_window(&self) -> u32 {
        let promised = self.rcv.adv.diff(self.rcv.nxt).max(0) as u32;
        if self.rcv.tuning.is_some() {
            return promised;
        }
        self.rcv.limit.saturating_sub(self.rcv.unread).max(promised)
    }

    fn is_in_window(&self, seq: SeqNumber) -> bool {
        seq >= self.rcv.last_ack_sent && seq <= self.rcv.nxt + self.receive_window()
    }

    /// Cuts the segment to the window; false if nothing acceptable remains and an ACK is owed.
    fn trim(&mut self, now: Instant, segment: &mut TcpSegment) -> bool {
        let before = self.rcv.nxt.diff(segment.seq);
        if before > 0 {
            let before = self.drop_old_syn(segment, before);
            let len = segment.payload.len();
            if before as u32 >= len + u32::from(segment.flags.has(Flags::FIN)) {
                return self.keep_old_ack(now, segment);
            }
            let cut = (before as u32).min(len);
            self.note_duplicate(segment.seq, segment.seq + cut);
            segment.payload = skip(&segment.payload, cut);
            segment.seq = self.rcv.nxt;
            self.marks.ack_now = true;
        }
        let right = self.rcv.nxt + self.receive_window();
        let beyond = (segment.seq + segment.payload.len()).diff(right);
        if beyond > 0 {
            let len = segment.payload.len();
            if beyond as u32 >= len {
                // A probe of a zero window is answered but not taken; its acknowledgment counts.
                if segment.seq != self.rcv.nxt {
                    return false;
                }
                self.marks.ack_now = true;
                segment.payload = Payload::EMPTY;
            } else {
                segment.payload = truncate(&segment.payload, len - beyond as u32);
            }
            segment.flags = segment.flags.without(Flags::FIN);
        }
        true
    }

    /// A SYN to the left of the window is the handshake's, repeated, or that of a simultaneous open: it takes its
    /// number and nothing more. Returns how much of the rest is old.
    fn drop_old_syn(&self, segment: &mut TcpSegment, before: i32) -> i32 {
        if !segment.flags.has(Flags::SYN) {
            return before;
        }
        segment.flags = segment.flags.without(Flags::SYN);
        segment.seq += 1;
        before - 1
    }

    /// All of the segment arrived before. Its acknowledgment may still be news (BSD takes it so).
    fn keep_old_ack(&mut self, now: Instant, segment: &mut TcpSegment) -> bool {
        let len = segment.payload.len();
        self.note_duplicate(segment.seq, segment.seq + len);
        self.note_trouble();
        self.marks.ack_now = true;
        // What reaches the last ACK's number still lies in the window, and its answer is one of data (LK-ACK-2).
        let in_window = len > 0 && segment.seq + len >= self.rcv.last_ack_sent;
        self.marks.ack_owed |= in_window;
        if in_window && self.profile.options.answers_apart.is_some() {
            self.note_timestamp(segment); // LK-PAWS-2
            self.measure_rtt(now, segment, len);
        }
        segment.payload = Payload::EMPTY;
        segment.flags = segment.flags.without(Flags::FIN);
        // It stays old: neither its window nor its timestamp may pass for news (BSD's order).
        segment.seq += len;
        if self.state == State::TimeWait {
            self.start_time_wait(now);
        }
        true
    }

    /// Remembers a duplicate for D-SACK, where it is in use.
    fn note_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        if self.profile.options.dsack && self.marks.sack && start != end {
            self.rcv.sacks.report_duplicate(start, end);
        }
    }

    /// RFC 7323 section 4.3: the timestamp of the segment that the last ACK's number lies in.
    fn note_timestamp(&mut self, segment: &TcpSegment) {
        // One that was overtaken may pass as a duplicate; its timestamp stays old.
        if let Some(stamps) = segment.timestamps.filter(|_| !self.is_too_old(segment)) {
            let end = segment.seq + segment.seq_len();
            if segment.seq <= self.rcv.last_ack_sent && self.rcv.last_ack_sent <= end {
                self.rcv.ts_recent = stamps.value;
            }
        }
    }

    /// Takes the window if the segment is newer, by its sequence or acknowledgment number or by a larger
    /// window (FB-WIN-6; RFC 9293 section 3.10.7.4). True if it did.
    pub(crate) fn update_window(&mut self, segment: &TcpSegment, window: u32) -> bool {
        let s = &mut self.snd;
        let newer = s.wl1 < segment.seq
            || (s.wl1 == segment.seq && (s.wl2 < segment.ack || (s.wl2 == segment.ack && window > s.wnd)));
        if newer {
            s.wnd = window;
            s.wl1 = segment.seq;
            s.wl2 = segment.ack;
            s.max_wnd = s.max_wnd.max(window);
        }
        newer
    }

    /// TIME-WAIT starts, or starts again.
    pub(super) fn start_time_wait(&mut self, now: Instant) {
        let wait = Duration::from_nanos(2 * self.profile.clock.msl.as_nanos());
        self.timers.other = self.clock.deadline(now, wait);
    }
}

/// The payload without its first `n` bytes.
fn skip(payload: &Payload, n: u32) -> Payload {
    match payload {
        Payload::Stream { offset, len } => Payload::Stream { offset: offset + u64::from(n), len: len - n },
        Payload::Bytes(b) => Payload::Bytes(b[n as usize..].into()),
    }
}

/// The first `n` bytes of the payload.
fn truncate(payload: &Payload, n: u32) -> Payload {
    match payload {
        Payload::Stream { offset, .. } => Payload::Stream { offset: *offset, len: n },
        Payload::Bytes(b) => Payload::Bytes(b[..n as usize].into()),
    }
}
