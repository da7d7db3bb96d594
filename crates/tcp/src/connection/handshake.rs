//! SYN and SYN-ACK, sent and received; options agreed on.

use std::sync::Arc;

use rexmit_stack::{Event, Reason};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, SeqNumber, TcpSegment, Timestamps};

use super::{ConnectionConfig, Role, State, Tcb, Timers};
use crate::profile::ScaleRule;
use crate::receive::ReceiveTuning;

/// Largest window without scaling.
const MAX_WINDOW: u32 = 65_535;

impl Tcb {
    /// Active open: the first SYN leaves.
    pub(super) fn open(&mut self, now: Instant) {
        if self.state != State::Closed || self.role != Role::Active {
            return;
        }
        self.state = State::SynSent;
        self.last_arrival = now;
        self.start_measuring(now);
        self.send_syn(now);
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
    }

    /// The bandwidth is measured from here on, where it is.
    fn start_measuring(&mut self, now: Instant) {
        if let Some(inflight) = &mut self.inflight {
            inflight.begin(self.clock.ticks(now));
        }
    }

    /// The timestamp clock at `now`; never 0, which would mean "none".
    pub(crate) fn timestamp(&self, now: Instant) -> u32 {
        let unit = self.profile.clock.timestamp_unit;
        let value = if unit == self.profile.clock.tick {
            self.clock.ticks(now)
        } else {
            now.as_nanos() / unit.as_nanos().max(1)
        };
        (value as u32).wrapping_add(1)
    }

    /// The shift count that this side asks for (FB-WIN-2).
    pub(super) fn requested_scale(&self) -> u8 {
        let covered = match self.profile.window.scale {
            ScaleRule::ReceiveBuffer => self.profile.buffers.receive.0,
            ScaleRule::MaxBuffer => self.profile.buffers.max.0,
            ScaleRule::HalfMaxBuffer => {
                return self.profile.buffers.max.0.max(1).ilog2().saturating_sub(15).min(14) as u8;
            }
        };
        (0..14).find(|s| u64::from(MAX_WINDOW) << s >= covered).unwrap_or(14)
    }

    /// The window of a SYN or SYN-ACK, never scaled (RFC 7323 section 2.2).
    fn first_window(&self, mss: u32) -> u32 {
        match &self.profile.window.tuning {
            Some(config) => ReceiveTuning::first_window(config, mss),
            None => self.rcv.limit.min(MAX_WINDOW),
        }
    }

    /// The buffer grows from here on.
    fn start_tuning(&mut self, now: Instant) {
        if let Some(config) = self.profile.window.tuning {
            let promised = self.rcv.adv.diff(self.rcv.nxt).max(0) as u32;
            let header = if self.marks.timestamps { 52 } else { 40 };
            self.rcv.tuning = Some(Box::new(ReceiveTuning::new(config, self.snd.mss, header, promised, now)));
        }
    }

    /// Sends the SYN again, or for the first time.
    pub(super) fn send_syn(&mut self, now: Instant) {
        let plain = self.marks.plain_syn;
        let options = &self.profile.options;
        let (scaling, stamps, sack) =
            (options.window_scaling && !plain, options.timestamps && !plain, options.sack);
        let segment = TcpSegment {
            seq: self.snd.iss,
            ack: SeqNumber(0),
            flags: self.syn_flags(),
            window: self.first_window(self.snd.max_opd) as u16,
            mss: Some(self.snd.max_opd as u16),
            window_scale: scaling.then(|| self.requested_scale()),
            sack_permitted: sack,
            sack_before_timestamps: options.sack_before_timestamps,
            timestamps: stamps.then(|| Timestamps { value: self.timestamp(now), echo: 0 }),
            ..TcpSegment::default()
        };
        if self.snd.max == self.snd.iss {
            self.first_syn_stamp = segment.timestamps.map(|stamps| stamps.value);
            self.timed = Some((self.snd.iss, now));
        } else {
            self.timed = None;
        }
        self.snd.nxt = self.snd.iss + 1;
        self.snd.max = self.snd.nxt;
        self.counters.pure_acks += 1;
        self.emit(Reason::Syn { backoff: self.rtt.shift() }, segment);
    }

    /// A segment reaches LISTEN or SYN-SENT. True if the options are agreed on.
    pub(super) fn on_opening(&mut self, now: Instant, segment: &TcpSegment) -> bool {
        self.last_arrival = now;
        let before = self.state;
        match before {
            State::Listen => self.on_listen(now, segment),
            _ => self.on_syn_sent(now, segment),
        }
        self.state != before && self.state != State::Closed
    }

    /// A segment reaches LISTEN: only a SYN is of interest.
    fn on_listen(&mut self, now: Instant, segment: &TcpSegment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            self.refuse(segment);
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.state = State::SynReceived;
        self.note_peer_syn(segment);
        self.grant_ecn(segment);
        self.snd.nxt = self.snd.iss + 1;
        self.snd.max = self.snd.nxt;
        self.send_syn_ack(now, Reason::SynAck { backoff: 0 });
        self.timers.other = self.clock.deadline(now, self.profile.handshake.syn_ack_timer);
    }

    /// Irs, options and MSS from the peer's SYN.
    fn note_peer_syn(&mut self, syn: &TcpSegment) {
        let options = &self.profile.options;
        self.rcv.nxt = syn.seq + 1;
        self.rcv.adv = self.rcv.nxt;
        self.rcv.last_ack_sent = self.rcv.nxt;
        self.marks.timestamps = options.timestamps && syn.timestamps.is_some() && !self.marks.plain_syn;
        if let Some(stamps) = syn.timestamps {
            self.rcv.ts_recent = stamps.value;
        }
        self.marks.sack = options.sack && syn.sack_permitted;
        if options.window_scaling
            && !self.marks.plain_syn
            && let Some(shift) = syn.window_scale
        {
            self.marks.scaling = true;
            self.snd.scale = shift.min(14);
            self.rcv.scale = self.requested_scale();
        }
        let default = if self.local.ip.is_ipv4() { 536 } else { 1220 };
        self.settle_mss(u32::from(syn.mss.unwrap_or(default)));
    }

    /// Full segment, buffer sizes and the first window follow from the peer's MSS (FB-BUF-1, FB-IW-1).
    fn settle_mss(&mut self, peer: u32) {
        let max_opd = peer.min(self.snd.max_opd).max(32);
        let mss = max_opd - if self.marks.timestamps { 12 } else { 0 };
        self.snd.max_opd = max_opd;
        self.snd.mss = mss;
        if self.profile.buffers.round_to_mss {
            let ceiling = self.profile.buffers.max.0.min(1 << 30) as u32;
            let round = |n: u32| if n > mss { n.next_multiple_of(mss).min(ceiling) } else { n };
            self.buffer.limit = round(self.buffer.limit);
            self.rcv.limit = round(self.rcv.limit);
        }
        self.window.mss = mss;
        self.window.cwnd = self.profile.initial_window.bytes(mss);
        // Linux knows no limit but the peer's window.
        self.window.max = if self.device.is_some() { u32::MAX } else { MAX_WINDOW << self.snd.scale };
        if let Some(segments) = self.profile.congestion.initial_ssthresh {
            self.window.ssthresh = segments.saturating_mul(mss);
        }
    }

    /// Answers the peer's SYN.
    pub(super) fn send_syn_ack(&mut self, now: Instant, reason: Reason) {
        let segment = TcpSegment {
            seq: self.snd.iss,
            ack: self.rcv.nxt,
            flags: self.syn_ack_flags(),
            window: self.first_window(self.snd.mss) as u16,
            mss: Some(self.mtu_segment() as u16),
            window_scale: self.marks.scaling.then(|| self.requested_scale()),
            sack_permitted: self.marks.sack,
            sack_before_timestamps: self.profile.options.sack_before_timestamps,
            timestamps: self
                .marks
                .timestamps
                .then(|| Timestamps { value: self.timestamp(now), echo: self.rcv.ts_recent }),
            ..TcpSegment::default()
        };
        if self.syn_ack_sent == 0 {
            self.first_syn_stamp = segment.timestamps.map(|stamps| stamps.value);
        }
        self.timed = if self.syn_ack_sent == 0 { Some((self.snd.iss, now)) } else { None };
        self.rcv.adv = self.rcv.nxt + u32::from(segment.window);
        self.syn_ack_sent += 1;
        self.counters.pure_acks += 1;
        self.emit(reason, segment);
    }

    /// The largest segment of the interface, options included.
    fn mtu_segment(&self) -> u32 {
        self.mtu.saturating_sub(if self.local.ip.is_ipv4() { 40 } else { 60 }).max(1)
    }

    /// A segment reaches SYN-SENT.
    fn on_syn_sent(&mut self, now: Instant, segment: &TcpSegment) {
        let acks = segment.flags.has(Flags::ACK);
        if acks && (segment.ack <= self.snd.iss || segment.ack > self.snd.max) {
            if !segment.flags.has(Flags::RST) {
                self.refuse(segment);
            }
            return;
        }
        if segment.flags.has(Flags::RST) {
            if acks {
                self.enter_closed(Event::Reset);
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.note_peer_syn(segment);
        self.read_ecn_answer(segment);
        self.begin_from_cache(now, u32::from(segment.window));
        self.rcv.adv = match self.profile.window.tuning {
            Some(_) => self.rcv.nxt + self.first_window(self.mtu_segment()),
            None => self.rcv.nxt + self.rcv.limit.min(MAX_WINDOW << self.rcv.scale),
        };
        if !acks {
            // Both sides opened at once (RFC 9293 section 3.5, figure 7).
            self.state = State::SynReceived;
            self.timers.rexmt = Timers::OFF;
            self.timers.other = self.clock.deadline(now, self.profile.handshake.syn_ack_timer);
            self.send_syn_ack(now, Reason::SynAck { backoff: 0 });
            return;
        }
        self.state = State::Established;
        self.settle_ecn();
        self.start_tuning(now);
        self.rtt.handshake_complete();
        self.snd.una = segment.ack;
        self.marks.syn_acknowledged = true;
        self.sample_rtt(now, segment);
        self.timers.rexmt = Timers::OFF;
        // The window of a SYN-ACK is never scaled (RFC 7323 section 2.2).
        self.snd.wnd = u32::from(segment.window);
        self.snd.max_wnd = self.snd.wnd;
        self.snd.wl1 = segment.seq;
        self.snd.wl2 = segment.ack;
        self.note_handshake_timeouts(segment);
        self.marks.ack_now = true;
        self.raise(Event::Connected);
    }

    /// The handshake's third segment reaches the passive side: the first congestion window is settled.
    pub(super) fn complete_passive_open(&mut self, now: Instant, segment: &TcpSegment) {
        self.start_measuring(now);
        self.start_tuning(now);
        self.settle_ecn();
        self.state = if self.marks.close_wanted { State::FinWait1 } else { State::Established };
        self.rtt.handshake_complete();
        self.timers.other = Timers::OFF;
        if self.role == Role::Passive {
            // FreeBSD makes the connection only now, from its syncache.
            self.begin_from_cache(now, 0);
        }
        if self.marks.syn_ack_timed_out && self.profile.handshake.one_segment_after_syn_ack_timeout {
            self.window.cwnd = self.snd.mss;
        }
        self.note_handshake_timeouts(segment);
        self.raise(Event::Connected);
    }

    /// The peer echoes the timestamp of our first SYN or SYN-ACK (`tcp_try_undo_spurious_syn`).
    fn is_first_syn_echoed(&self, segment: &TcpSegment) -> bool {
        let echo = segment.timestamps.filter(|_| self.marks.timestamps).map(|stamps| stamps.echo);
        echo.is_some() && echo == self.first_syn_stamp
    }

    /// Repeated losses in the handshake leave one segment to begin with (RFC 5681 section 3.1).
    fn note_handshake_timeouts(&mut self, segment: &TcpSegment) {
        let handshake = &self.profile.handshake;
        let again = u64::from(self.syn_ack_sent.saturating_sub(1));
        if handshake.timeouts_may_be_needless
            && (self.counters.timeouts == 0 || self.is_first_syn_echoed(segment))
        {
            return;
        }
        let answers = if handshake.one_segment_after_answers { again } else { 0 };
        let repeated = self.counters.timeouts.max(answers);
        if handshake.one_segment_after_timeouts.is_some_and(|n| repeated >= u64::from(n)) {
            self.window.cwnd = self.snd.mss;
        }
    }

    /// A reset in answer to `segment`, which belongs to nothing here (RFC 9293 section 3.10.7.1).
    pub(super) fn refuse(&mut self, segment: &TcpSegment) {
        let reply = if segment.flags.has(Flags::ACK) {
            TcpSegment { seq: segment.ack, flags: Flags::RST, ..TcpSegment::default() }
        } else {
            TcpSegment {
                ack: segment.seq + segment.seq_len(),
                flags: Flags::RST.with(Flags::ACK),
                ..TcpSegment::default()
            }
        };
        self.emit(Reason::Reset, reply);
    }

    /// A SYN-ACK's timer has run out.
    pub(super) fn on_syn_ack_timeout(&mut self, now: Instant) {
        if self.syn_ack_timeouts >= self.profile.handshake.syn_ack_retries {
            match self.role {
                Role::Passive => self.listen_again(),
                Role::Active => self.enter_closed(Event::TimedOut),
            }
            return;
        }
        self.marks.syn_ack_timed_out = true;
        self.syn_ack_timeouts += 1;
        self.counters.timeouts += 1;
        self.send_syn_ack(now, Reason::SynAck { backoff: self.syn_ack_timeouts });
        self.start_syn_ack_timer(now);
    }

    /// The interval doubles with each expiry (FB-SYN-2).
    pub(super) fn start_syn_ack_timer(&mut self, now: Instant) {
        let interval =
            Duration::from_nanos(self.profile.handshake.syn_ack_timer.as_nanos() << self.syn_ack_timeouts);
        self.timers.other = self.clock.deadline(now, interval);
    }

    /// A passive open that came to nothing: the listener never knew of it.
    pub(super) fn listen_again(&mut self) {
        let fresh = Self::new(ConnectionConfig {
            profile: Arc::clone(&self.profile),
            local: self.local.socket(),
            remote: self.remote.socket(),
            iss: self.snd.iss,
            mtu: self.mtu,
            phase: Duration::ZERO,
            role: self.role,
            host_cache: self.host_cache.as_ref().map(|access| access.share()),
        });
        let old = std::mem::replace(self, fresh);
        // A controller from outside is not part of the profile.
        (self.congestion, self.by_rate) = (old.congestion, old.by_rate);
        (self.clock, self.counters) = (old.clock, old.counters);
        (self.events, self.out) = (old.events, old.out);
    }
}
