//! What happens when time runs out.

use rexmit_stack::{Event, Reason};
use rexmit_units::{Duration, Instant};

use super::{RexmtFor, State, Tcb, Timers};
use crate::congestion::CongestionControl;
use crate::profile::ProbeRule;
use crate::recovery::{LossRecovery, Resume};

impl Tcb {
    /// Acts on each timer that is due, the delayed ACK first.
    pub(super) fn on_timer<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        if self.timers.delack <= now {
            self.timers.delack = Timers::OFF;
            self.rcv.quick.on_expiry(&self.profile.delayed_ack, self.rtt.rto());
            self.marks.ack_now = true;
            self.output(now, recovery);
        }
        if self.timers.compressed <= now {
            self.timers.compressed = Timers::OFF;
            self.marks.ack_now = true;
            // Its timestamp is of the segment that it acknowledges (`tcp_compressed_ack_kick` reads no clock), unless it is the
            // timer of another ACK that lets it go (`tcp_delack_timer_handler`).
            self.stamped_at = (self.rcv.left_over != now).then_some(self.last_arrival);
            self.output(now, recovery);
            self.stamped_at = None;
        }
        if self.timers.pace <= now {
            self.on_pace_timer(now, recovery);
        }
        if self.timers.probe <= now {
            self.timers.probe = Timers::OFF;
            self.on_probe_timer(now, recovery);
        }
        if self.timers.rexmt <= now {
            self.timers.rexmt = Timers::OFF;
            match self.timers.rexmt_for {
                RexmtFor::Retransmission => self.on_rexmt(now, recovery),
                RexmtFor::Probe => recovery.resume(self, now, Resume::TailProbe),
                RexmtFor::Reordering => recovery.resume(self, now, Resume::Reordering),
            }
        }
        if self.timers.persist <= now {
            self.timers.persist = Timers::OFF;
            self.on_persist(now, recovery);
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

    fn on_rexmt<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        self.counters.timeouts += 1;
        self.timers.probe = Timers::OFF;
        self.forget_probe();
        if self.state == State::SynSent {
            self.on_syn_timeout(now);
            return;
        }
        recovery.on_timeout(self, now);
        if self.by_rate.is_some() {
            self.keep_own_window();
        }
    }

    /// Has the present segment been sent again too often? If so, the connection ends.
    pub fn gives_up(&mut self) -> bool {
        let too_often = self.rtt.shift() >= self.profile.recovery.max_retransmits;
        if too_often {
            self.enter_closed(Event::TimedOut);
        }
        too_often
    }

    /// What every expiry does to the windows (RFC 6298 section 5.5, RFC 5681 section 3.1): the interval doubles, no round trip is
    /// timed, ssthresh falls where the profile says so, and cwnd.
    pub fn lower_at_timeout(&mut self, now: Instant, in_recovery: bool) {
        let lowers = self.timeout_lowers_ssthresh(in_recovery);
        self.back_off();
        self.stop_timing();
        self.marks.ack_now = true;
        if lowers {
            self.lower_ssthresh(now, self.flight());
        }
        self.congestion.on_timeout(&mut self.window, now);
    }

    /// An expiry lets out what it may.
    pub fn output_after_timeout(&mut self, now: Instant, recovery: &mut impl LossRecovery) {
        self.decision = Reason::Timeout { backoff: self.rtt.shift() };
        self.output(now, recovery);
        self.decision = Reason::New;
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
        let wait = self.with_pacing(now, Duration::from_nanos(wait));
        self.timers.persist = self.clock.deadline(now, wait);
    }

    /// A window probe: one byte beyond the window, or none before it.
    fn on_persist<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        self.start_persist(now);
        if self.profile.output.probe == ProbeRule::OldSequence && self.snd.wnd == 0 {
            self.send_old_sequence(now);
            return;
        }
        self.marks.force = true;
        self.output(now, recovery);
        self.marks.force = false;
    }
}
