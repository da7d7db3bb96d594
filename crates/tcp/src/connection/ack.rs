//! What was acknowledged: the steps of FB-CW-3 that every way to recover takes, each in its own order.

use rexmit_stack::{Event, Reason};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{State, Tcb, Timers};
use crate::congestion::{Ack, CongestionControl, During, GrowthCount, HystartRule, Loss, RoundTrip, RttView};
use crate::profile::{RecoveryExit, RttSource};
use crate::recovery::{Arrival, LossRecovery, Rest};

/// By what an ACK of new data makes the window grow.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// Bytes in flight before it.
    pub in_flight: u32,
    /// What the sender is doing.
    pub during: During,
    /// How often the window grows.
    pub steps: u32,
}

/// An ACK of new data.
#[derive(Clone, Copy, Debug)]
pub struct NewAck {
    /// Sequence numbers newly acknowledged.
    pub acked: u32,
    /// All that was sent is acknowledged.
    pub all: bool,
    /// The window may grow.
    pub opens: bool,
    /// Our SYN is among what is acknowledged.
    syn: bool,
}

impl Tcb {
    /// Takes the acknowledgment of an acceptable segment. `window` is its window in bytes.
    #[inline]
    pub(super) fn on_ack<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        window: u32,
        recovery: &mut R,
    ) -> Rest {
        if segment.ack > self.snd.max {
            self.marks.ack_now = true; // FB-ACKP-1
            self.output(now, recovery);
            return Rest::Skip;
        }
        if self.by_rate.is_some() {
            self.take_rate_sample(now, segment);
        }
        let echo = self.ecn.is_some() && self.hears_echo(segment) && segment.ack >= self.snd.una;
        let before = if echo { (self.window.cwnd, self.flight()) } else { (0, 0) };
        let rest = recovery.on_ack(self, &Arrival { now, segment, window });
        if echo && !recovery.heeds_echoes() {
            self.react_to_echo(now, before, recovery);
        }
        if self.by_rate.is_some() {
            self.keep_own_window();
        }
        rest
    }

    /// The first steps of an ACK of new data: its sample, and the timer, which `keeps` leaves as it is.
    #[inline]
    pub fn take_new_ack(&mut self, now: Instant, segment: &TcpSegment, keeps: bool) -> NewAck {
        let ack = segment.ack;
        self.sample_rtt(now, segment);
        if self.inflight.is_some() {
            self.measure_bandwidth(now, ack);
        }
        let all = ack == self.snd.max;
        if all {
            self.timers.rexmt = Timers::OFF;
        } else if !self.timers.persist_runs() && !keeps {
            self.timers.rexmt = self.restarted_rexmt(now, ack);
        }
        let syn = !std::mem::replace(&mut self.marks.syn_acknowledged, true);
        let opens = !syn || self.profile.handshake.third_segment_opens_cwnd;
        NewAck { acked: ack.diff(self.snd.una) as u32, all, opens, syn }
    }

    /// The window grows.
    #[inline]
    pub fn grow(&mut self, now: Instant, growth: &Growth) {
        let info = Ack {
            acked: growth.acked,
            now,
            srtt: self.rtt.srtt(),
            in_flight: growth.in_flight,
            cwnd_limited: growth.in_flight + self.snd.mss > self.window.cwnd,
            during: growth.during,
        };
        for _ in 0..growth.steps {
            self.congestion.on_ack(&mut self.window, &info);
        }
    }

    /// The last steps of an ACK of new data: una and what follows it.
    #[inline]
    pub fn move_una(&mut self, now: Instant, segment: &TcpSegment, new: &NewAck) {
        let ack = segment.ack;
        self.take_acknowledged(new.acked - u32::from(new.syn), segment);
        self.snd.una = ack;
        self.snd.nxt = self.snd.nxt.max(ack);
        // Kept near, or it would seem to lie ahead after 2 GiB.
        self.snd.short_end = self.snd.short_end.max(ack);
        self.after_our_fin(now, ack);
        self.wake_writer();
        if self.profile.congestion.hystart != HystartRule::Off {
            self.watch_slow_start(now, segment);
        }
    }

    /// The latest of the segments that have just arrived and were sent only once left at `sent`.
    pub(crate) fn note_round_trip(&mut self, now: Instant, sent: Option<Instant>) {
        self.round_trip = sent.map(|sent| now.saturating_since(sent));
    }

    /// Now less the echoed timestamp, one unit at least; `None` where there is no echo, or one of a value never sent.
    pub fn rtt_by_echo(&self, now: Instant, segment: &TcpSegment) -> Option<Duration> {
        let stamps = segment.timestamps.filter(|t| self.marks.timestamps && t.echo != 0)?;
        let units = self.timestamp(now).wrapping_sub(stamps.echo);
        (units as i32 >= 0).then(|| self.profile.clock.timestamp_unit * u64::from(units.max(1)))
    }

    /// HyStart++ looks at the round trip of each ACK of new data: of the segment that has just arrived where that is
    /// known, else by the echoed timestamp.
    fn watch_slow_start(&mut self, now: Instant, segment: &TcpSegment) {
        let rtt = self.round_trip.take().or_else(|| self.rtt_by_echo(now, segment));
        let round = RoundTrip { rtt, una: self.snd.una, nxt: self.snd.max };
        self.congestion.watch_slow_start(&mut self.window, &round);
    }

    /// A congestion event with this many bytes in flight.
    pub fn lower_ssthresh(&mut self, now: Instant, in_flight: u32) {
        let loss = Loss { in_flight, snd_wnd: self.snd.wnd, now };
        self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
        self.owe_cwr();
    }

    /// Fast recovery begins, for this many duplicates and SACKed segments; its first retransmission may have to wait
    /// (FB-FR-3).
    pub fn begin_fast_retransmit(&mut self, duplicates: u32, sacked: u32) {
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        self.stop_timing();
        self.counters.fast_retransmits += 1;
        self.decision = Reason::Fast { duplicates: count(duplicates), sacked: count(sacked) };
    }

    /// In a recovery a timer for reordering has found more to be lost: unless the first retransmission still waits,
    /// this is why the next segment leaves.
    pub(crate) fn goes_on_by_reordering_timer(&mut self) {
        if self.decision == Reason::New {
            self.decision = Reason::ReorderingTimer { duplicates: 0, sacked: 0, begins: false };
        }
    }

    /// Fast recovery is over, and the window is set.
    pub fn end_recovery(&mut self, now: Instant) {
        self.decision = Reason::New;
        self.congestion.on_recovery_exit(&self.window, now);
    }

    /// The window with which fast recovery ends, at an ACK of new data up to `ack`.
    pub fn exit_window(&self, ack: SeqNumber) -> u32 {
        let (mss, ssthresh) = (self.snd.mss, self.window.ssthresh);
        let flight = self.snd.max.diff(ack) as u32;
        match self.profile.recovery.exit {
            // FB-FR-9.
            RecoveryExit::BsdSlowStart if ack + ssthresh > self.snd.max => flight + mss,
            RecoveryExit::BsdSlowStart | RecoveryExit::Ssthresh => ssthresh,
            RecoveryExit::Rfc6582 => ssthresh.min(flight.max(mss) + mss),
            RecoveryExit::Moderated => self.window.cwnd.min(ssthresh),
        }
    }

    /// Does this expiry of the retransmission timer lower ssthresh? The interval has not been doubled for it.
    pub fn timeout_lowers_ssthresh(&self, in_recovery: bool) -> bool {
        let config = &self.profile.recovery;
        let repeats = self.rtt.shift() > 0 && config.ssthresh_once_per_segment;
        let kept = in_recovery && config.ssthresh_kept_in_recovery;
        !repeats && !kept
    }

    /// How often an ACK of `acked` bytes makes the window grow (LX-ACK-5); `undisturbed`: the kernel's undisturbed
    /// path, an ACK without news of SACK while nothing is suspected (LX-ST-2).
    #[inline]
    pub fn growth_steps(&self, acked: u32, undisturbed: bool) -> u32 {
        match self.profile.congestion.counts {
            GrowthCount::Segments if undisturbed => acked.div_ceil(self.snd.mss),
            _ => 1,
        }
    }

    /// BSD's header prediction: a pure ACK with an unchanged window outside recovery, while cwnd covers that
    /// window, leaves cwnd alone (FB-CW-2). The caller knows of recovery and of holes.
    #[inline]
    pub(crate) fn takes_fast_path(&self, arrival: &Arrival<'_>) -> bool {
        let &Arrival { segment, window, .. } = arrival;
        self.profile.window.fast_path_skips_growth
            && self.state == State::Established
            && segment.seq == self.rcv.nxt
            && segment.payload.is_empty()
            && !segment.flags.has(rexmit_wire::Flags::FIN)
            && window != 0
            && window == self.snd.wnd
            && self.snd.nxt == self.snd.max
            && self.window.cwnd >= self.snd.wnd
            && segment.sack.is_empty()
    }

    /// Drops acknowledged bytes from the send buffer; SYN and FIN take sequence numbers but no space.
    pub(crate) fn take_acknowledged(&mut self, acked: u32, segment: &TcpSegment) {
        let bytes = acked.min(self.buffer.len());
        // The window moves with una until this segment's own window is taken (BSD's order).
        self.snd.wnd = self.snd.wnd.saturating_sub(bytes);
        self.buffer.acknowledge(bytes);
        debug_assert!(acked - bytes <= 1, "{acked} {bytes} {segment:?}");
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
            self.note_rtt(rtt);
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
            self.note_rtt(unit * u64::from(units));
            self.take_sample(unit * u64::from(units), segment.ack, nxt, unit * u64::from(age));
            return;
        }
        if let Some((seq, sent)) = self.timed
            && segment.ack > seq
        {
            self.timed = None;
            let ticks = self.clock.ticks(now) - self.clock.ticks(sent);
            let rtt = self.clock.span(ticks.max(1));
            self.take_sample(rtt, segment.ack, nxt, self.clock.span(ticks));
        }
    }

    /// FB-INF-1: at every ACK of new data, after its sample.
    #[cold]
    fn measure_bandwidth(&mut self, now: Instant, ack: SeqNumber) {
        let (view, ticks) = (self.rtt_view(), self.clock.ticks(now));
        if let (Some(inflight), Some(view)) = (&mut self.inflight, view) {
            inflight.on_ack(ticks, ack, self.snd.mss, view);
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
    fn take_sample(&mut self, rtt: Duration, ack: SeqNumber, nxt: SeqNumber, measured: Duration) {
        self.rtt.sample(rtt, ack, nxt);
        if self.inflight.is_none() {
            return;
        }
        let view = self.rtt_view();
        if let (Some(inflight), Some(view)) = (&mut self.inflight, view) {
            inflight.on_sample(measured.as_nanos() / self.profile.rtt.tick.as_nanos().max(1), view);
        }
    }

    /// Karn's rule for one segment sent again.
    pub(crate) fn stop_timing_within(&mut self, seq: SeqNumber, len: u32) {
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
    pub fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// State changes once our FIN is acknowledged.
    #[inline]
    pub(crate) fn after_our_fin(&mut self, now: Instant, ack: SeqNumber) {
        if self.marks.sent_fin && ack == self.snd.max && self.state.wants_fin() {
            self.on_our_fin_acknowledged(now);
        }
    }

    #[cold]
    fn on_our_fin_acknowledged(&mut self, now: Instant) {
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
