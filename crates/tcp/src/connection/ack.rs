//! What was acknowledged: the order of FB-CW-3 for an ACK of new data.

use rexmit_stack::Event;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{Connection, State, Timers};
use crate::congestion::{Ack, CongestionControl, GrowthCount, RttView};
use crate::profile::RttSource;
use crate::recovery::Phase;

impl Connection {
    /// Takes the acknowledgment of an acceptable segment. `window` is its window in bytes. False if the
    /// rest of the segment is not to be looked at.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        window: u32,
        need_output: &mut bool,
    ) -> bool {
        if segment.ack > self.snd.max {
            self.marks.ack_now = true; // FB-ACKP-1
            self.output(now);
            return false;
        }
        if self.counts_packets() {
            let una = self.snd.una;
            self.on_counted_ack(now, segment, window);
            self.settle_probe(now, segment, self.snd.una > una);
            if self.snd.una > una || self.recovery.phase != Phase::Open {
                self.schedule_probe(now);
            }
            *need_output = true;
            return true;
        }
        let in_flight = self.outstanding();
        self.note_doubts(segment);
        let sack_news = self.marks.sack
            && (!segment.sack.is_empty() || !self.board.is_empty())
            && self.board.on_ack(self.snd.una, segment.ack, &segment.sack, self.snd.max);
        if segment.ack <= self.snd.una {
            let goes_on = self.on_old_ack(now, segment, window, sack_news);
            self.settle_probe(now, segment, false);
            return goes_on;
        }
        let was_recovering = self.in_recovery();
        *need_output |= self.on_new_ack(now, segment, window, (in_flight, sack_news));
        self.after_new_ack(now, sack_news, was_recovering);
        self.settle_probe(now, segment, true);
        self.schedule_probe(now);
        true
    }

    /// An ACK of new data; `in_flight` was outstanding before it, and `sack_news` says whether it reports more. True
    /// if an attempt to send must follow.
    fn on_new_ack(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        window: u32,
        (in_flight, sack_news): (u32, bool),
    ) -> bool {
        let ack = segment.ack;
        let skip_growth = self.takes_fast_path(segment, window);
        let was_recovering = self.in_recovery();
        self.recover_on_new_ack(now, segment);
        self.recovery.dupacks = 0;
        self.undo_bad_retransmit(now);
        self.sample_rtt(now, segment);
        self.measure_bandwidth(now, ack);
        let all = ack == self.snd.max;
        if all {
            self.timers.rexmt = Timers::OFF;
        } else if !self.timers.persist_runs() && !self.keeps_timer(ack) {
            self.timers.rexmt = self.restarted_rexmt(now, ack);
        }
        let acked = ack.diff(self.snd.una) as u32;
        let first_of_passive = !std::mem::replace(&mut self.marks.syn_acknowledged, true);
        let opens = !first_of_passive || self.profile.handshake.third_segment_opens_cwnd;
        let grows = !was_recovering || self.plain_reno_grows();
        if grows && opens && !skip_growth {
            let info = Ack {
                acked,
                now,
                srtt: self.rtt.srtt(),
                in_flight,
                cwnd_limited: in_flight + self.snd.mss > self.window.cwnd,
                during: self.recovery.phase.during(),
            };
            for _ in 0..self.growth_steps(acked, sack_news) {
                self.congestion.on_ack(&mut self.window, &info);
            }
        }
        self.take_acknowledged(acked - u32::from(first_of_passive), segment);
        self.end_recovery(now, ack);
        self.snd.una = ack;
        self.recovery.follow_una(ack, self.marks.sack);
        self.snd.nxt = self.snd.nxt.max(ack);
        // Kept near, or it would seem to lie ahead after 2 GiB.
        self.snd.short_end = self.snd.short_end.max(ack);
        self.after_our_fin(now, ack);
        self.wake_writer();
        all || self.uses_pipe()
    }

    /// How often an ACK of `acked` bytes makes the window grow (LX-ACK-5): the kernel's undisturbed path is an ACK
    /// without news of SACK while nothing is suspected (LX-ST-2).
    pub(crate) fn growth_steps(&self, acked: u32, sack_news: bool) -> u32 {
        let is_open = self.recovery.phase == Phase::Open && !self.recovery.doubts.is_pending();
        match self.profile.congestion.counts {
            GrowthCount::Segments if is_open && !sack_news => acked.div_ceil(self.snd.mss),
            _ => 1,
        }
    }

    /// BSD's header prediction: a pure ACK with an unchanged window outside recovery, while cwnd covers that
    /// window, leaves cwnd alone (FB-CW-2).
    fn takes_fast_path(&self, segment: &TcpSegment, window: u32) -> bool {
        self.profile.window.fast_path_skips_growth
            && self.state == State::Established
            && segment.seq == self.rcv.nxt
            && segment.payload.is_empty()
            && !segment.flags.has(rexmit_wire::Flags::FIN)
            && window != 0
            && window == self.snd.wnd
            && self.snd.nxt == self.snd.max
            && self.window.cwnd >= self.snd.wnd
            && !self.in_recovery()
            && segment.sack.is_empty()
            && self.board.is_empty()
    }

    /// Drops acknowledged bytes from the send buffer; SYN and FIN take sequence numbers but no space.
    pub(crate) fn take_acknowledged(&mut self, acked: u32, segment: &TcpSegment) {
        let bytes = acked.min(self.buffer.len());
        // The window moves with una until this segment's own window is taken (BSD's order).
        self.snd.wnd = self.snd.wnd.saturating_sub(bytes);
        self.buffer.acknowledge(bytes);
        debug_assert!(acked - bytes <= 1, "{acked} {bytes} {segment:?}");
    }

    /// The first timeout was a mistake if new data are acknowledged this soon after it (FB-RTO-7).
    fn undo_bad_retransmit(&mut self, now: Instant) {
        if let Some(undo) = self.recovery.undo.take()
            && self.rtt.shift() == 1
            && self.clock.ticks(now) < undo.until_tick
        {
            self.window.cwnd = undo.cwnd;
            self.window.ssthresh = undo.ssthresh;
            self.recovery.recover = undo.recover;
            self.recovery.phase = if undo.recovering { Phase::Recovery } else { Phase::Open };
            self.snd.nxt = self.snd.max;
            self.congestion.on_spurious();
        }
    }

    /// A round-trip sample, if this ACK of new data gives one.
    pub(crate) fn sample_rtt(&mut self, now: Instant, segment: &TcpSegment) {
        let source = self.profile.rtt_source;
        let nxt = self.snd.nxt;
        if source == RttSource::Packets
            && let Some((_, sent)) = self.timed.take()
        {
            // Of a SYN here: packets of data are looked at one by one.
            let rtt = Duration::from_micros(now.as_nanos() / 1_000 - sent.as_nanos() / 1_000);
            self.rtt.sample(rtt, segment.ack, nxt);
            self.packets.note_rtt(rtt);
            return;
        }
        if self.marks.timestamps
            && source != RttSource::Segment
            && let Some(stamps) = segment.timestamps.filter(|t| t.echo != 0)
        {
            let units = self.timestamp(now).wrapping_sub(stamps.echo);
            if units as i32 <= -1 {
                return; // An echo of what was never sent.
            }
            let age = units;
            let units = match source {
                RttSource::TimestampsPlusTick => units + 1,
                _ => units.max(1),
            };
            let unit = self.profile.clock.timestamp_unit;
            self.timed = None;
            self.take_sample(unit * u64::from(units), (segment.ack, nxt), unit * u64::from(age));
            return;
        }
        if let Some((seq, sent)) = self.timed
            && segment.ack > seq
        {
            self.timed = None;
            let ticks = self.clock.ticks(now) - self.clock.ticks(sent);
            let rtt = self.clock.span(ticks.max(1));
            self.take_sample(rtt, (segment.ack, nxt), self.clock.span(ticks));
        }
    }

    /// FB-INF-1: at every ACK of new data, after its sample.
    fn measure_bandwidth(&mut self, now: Instant, ack: SeqNumber) {
        if !self.profile.congestion.inflight.on {
            return;
        }
        if let Some(view) = self.rtt_view() {
            self.inflight.on_ack(self.clock.ticks(now), ack, self.snd.mss, view);
        }
    }

    /// The round-trip time in the units of FreeBSD (FB-RTT-2).
    fn rtt_view(&self) -> Option<RttView> {
        let tick = self.profile.rtt.tick.as_nanos().max(1);
        let of = |d: Duration, parts: u64| (d.as_nanos() * parts).div_ceil(tick) as i64;
        let (srtt, rttvar) = (self.rtt.srtt()?, self.rtt.rttvar()?);
        Some(RttView { srtt: of(srtt, 32), rttvar: of(rttvar, 16), hz: (1_000_000_000 / tick) as i64 })
    }

    /// Hands a sample to the estimator; `ticks` of it are what was measured.
    fn take_sample(&mut self, rtt: Duration, (ack, nxt): (SeqNumber, SeqNumber), measured: Duration) {
        self.rtt.sample(rtt, ack, nxt);
        if self.profile.congestion.inflight.on
            && let Some(view) = self.rtt_view()
        {
            self.inflight.on_sample(measured.as_nanos() / self.profile.rtt.tick.as_nanos().max(1), view);
        }
    }

    /// Karn's rule for one segment sent again.
    pub(super) fn stop_timing_within(&mut self, seq: SeqNumber, len: u32) {
        if self.timed.is_some_and(|(timed, _)| timed >= seq && timed < seq + len) {
            self.timed = None;
        }
    }

    /// Starts to time the segment at `seq`, if none is being timed (RFC 6298 section 3).
    pub(super) fn start_timing(&mut self, now: Instant, seq: SeqNumber) {
        if self.timed.is_none() {
            self.timed = Some((seq, now));
        }
    }

    /// Karn's rule: nothing that has been sent again is timed.
    pub(crate) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// State changes once our FIN is acknowledged.
    pub(crate) fn after_our_fin(&mut self, now: Instant, ack: SeqNumber) {
        if !self.marks.sent_fin || ack != self.snd.max || !self.state.wants_fin() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => {
                self.state = State::TimeWait;
                self.start_time_wait(now);
                self.raise(Event::Closed);
            }
            State::LastAck => self.enter_closed(Event::Closed),
            _ => {}
        }
    }
}
