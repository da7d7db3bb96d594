//! What happens when time runs out.

use rexmit_stack::{Event, Reason};
use rexmit_units::{Duration, Instant};

use super::{Connection, State, Timers};
use crate::congestion::{CongestionControl, Loss};
use crate::profile::ProbeRule;
use crate::recovery::{Phase, Undo};

impl Connection {
    /// Acts on each timer that is due, the delayed ACK first.
    pub(super) fn on_timer(&mut self, now: Instant) {
        if self.timers.delack <= now {
            self.timers.delack = Timers::OFF;
            self.rcv.quick.on_expiry(&self.profile.delayed_ack, self.rtt.rto());
            self.marks.ack_now = true;
            self.output(now);
        }
        if self.timers.compressed <= now {
            self.timers.compressed = Timers::OFF;
            self.marks.ack_now = true;
            self.output(now);
        }
        if self.timers.probe <= now {
            self.timers.probe = Timers::OFF;
            self.on_probe_timer(now);
        }
        if self.timers.rexmt <= now {
            self.timers.rexmt = Timers::OFF;
            self.on_rexmt(now);
        }
        if self.timers.persist <= now {
            self.timers.persist = Timers::OFF;
            self.on_persist(now);
        }
        if self.timers.other <= now {
            self.timers.other = Timers::OFF;
            match self.state {
                State::SynReceived => self.on_syn_ack_timeout(now),
                State::TimeWait => self.state = State::Closed,
                _ => {}
            }
        }
    }

    fn on_rexmt(&mut self, now: Instant) {
        self.counters.timeouts += 1;
        self.timers.probe = Timers::OFF;
        self.recovery.probe = None;
        if self.state == State::SynSent {
            self.on_syn_timeout(now);
            return;
        }
        if self.counts_packets() {
            self.on_counted_timeout(now);
            return;
        }
        if self.rtt.shift() >= self.profile.recovery.max_retransmits {
            self.enter_closed(Event::TimedOut);
            return;
        }
        let first = self.rtt.shift() == 0;
        if first {
            self.remember_for_undo(now);
        }
        self.back_off();
        self.stop_timing();
        if !self.uses_pipe() {
            self.snd.nxt = self.snd.una;
        }
        self.recovery.recover = self.snd.max;
        self.marks.ack_now = true;
        let loss = Loss { in_flight: self.flight(), snd_wnd: self.snd.wnd, now };
        let config = &self.profile.recovery;
        let kept = (!first && config.ssthresh_once_per_segment)
            || (self.in_recovery() && config.ssthresh_kept_in_recovery);
        self.begin_doubts_of_timeout(!kept);
        if !kept {
            self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
        }
        self.congestion.on_timeout(&mut self.window, now);
        self.recovery.dupacks = 0;
        self.recovery.phase = Phase::Loss;
        if self.profile.recovery.forget_sack_at_timeout {
            self.board.clear();
        }
        if self.uses_pipe() {
            self.board.lose_all(self.snd.una, self.snd.max);
        }
        self.recovery.decision = Reason::Timeout { backoff: self.rtt.shift() };
        self.output(now);
        self.recovery.decision = Reason::New;
    }

    /// FB-RTO-6: what the first timeout overwrites is kept for srtt / 2.
    fn remember_for_undo(&mut self, now: Instant) {
        if !self.profile.recovery.bad_retransmit_undo {
            return;
        }
        let half = self.rtt.srtt().map_or(0, |s| s.as_nanos() / 2);
        let tick = self.clock.span(1).as_nanos();
        self.recovery.undo = Some(Undo {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            recover: self.recovery.recover,
            recovering: self.in_recovery(),
            until_tick: self.clock.ticks(now) + half / tick,
        });
    }

    fn on_syn_timeout(&mut self, now: Instant) {
        let config = &self.profile.handshake;
        if self.rtt.shift() >= config.syn_retries {
            self.enter_closed(Event::TimedOut);
            return;
        }
        let plain_from = config.syn_plain_from;
        self.rtt.backoff_syn();
        if plain_from.is_some_and(|n| self.rtt.shift() >= n) {
            self.marks.plain_syn = true;
        }
        self.send_syn(now);
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
    }

    /// Starts the persist timer: an RTO, doubled at each probe, within the profile's bounds (RFC 9293 section
    /// 3.8.6.1).
    pub(crate) fn start_persist(&mut self, now: Instant) {
        let config = &self.profile.output;
        let wanted = self.rtt.rto().as_nanos() << self.persist_shift.min(12);
        let wait = wanted.clamp(config.persist_min.as_nanos(), config.persist_max.as_nanos());
        self.persist_shift = (self.persist_shift + 1).min(12);
        self.timers.persist = self.clock.deadline(now, Duration::from_nanos(wait));
    }

    /// A window probe: one byte beyond the window, or none before it.
    fn on_persist(&mut self, now: Instant) {
        self.start_persist(now);
        if self.profile.output.probe == ProbeRule::OldSequence && self.snd.wnd == 0 {
            self.send_old_sequence(now);
            return;
        }
        self.marks.force = true;
        self.output(now);
        self.marks.force = false;
    }
}
