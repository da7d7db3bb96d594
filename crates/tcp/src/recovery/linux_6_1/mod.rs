//! Linux 6.1: RFC 6675's threshold counted in packets, proportional rate reduction (RFC 6937), undo by timestamps and
//! D-SACK, F-RTO (RFC 5682): net/ipv4/tcp_input.c, whose function names stand at their counterparts.
//!
//! `ack` is `tcp_ack`, `alert` is `tcp_fastretrans_alert`, `undo` the `tcp_try_undo_*`, `rack` is tcp_recovery.c, `tail` the
//! probes for a lost tail (both RFC 8985), `rate` is tcp_rate.c and `model` what BBR is told; here are timers and what leaves.
//!
//! Not modelled: that a packet of several segments is marked as a whole; the wait of half a round
//! trip after a report that was taken back (`tcp_check_sack_reneging`): only the timeout forgets.

mod ack;
mod alert;
mod model;
mod rack;
mod rate;
mod tail;
mod undo;

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::packets::{self, Counting, Packets};
use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status};
use crate::congestion::{CongestionControl, Note};
use crate::connection::device::Push;
use crate::connection::{RexmtFor, Tcb};
use crate::profile::CwndValidation;
use rack::Rack;
use rate::Rates;
use tail::Tail;

#[derive(Clone, Debug)]
pub(crate) struct Linux61 {
    packets: Packets,
    /// cwnd before it was lowered, in packets.
    prior_cwnd: u32,
    prr_delivered: u32,
    prr_out: u32,
    /// F-RTO is asking whether the timeout was needed.
    frto: bool,
    /// Packets that have arrived.
    delivered: u64,
    /// Duplicates that the peer reported, and packets sent again.
    reported: u64,
    resends: u64,
    limited: Limited,
    /// Losses are found by time, where the profile has that.
    rack: Option<Rack>,
    /// Below this number packets may have left again, so that the order of numbers is not that of departures.
    resent_below: SeqNumber,
    tail: Tail,
    /// The rate of delivery, where congestion control goes by it.
    rates: Option<Box<Rates>>,
    /// Control is told of the share of marks (DCTCP).
    counts_marks: bool,
}

/// Was the window full in the last round trip (`tcp_cwnd_validate`)?
#[derive(Clone, Copy, Debug)]
struct Limited {
    by_cwnd: bool,
    most_out: u32,
    until: SeqNumber,
    /// Most packets out since `since`, while the window was not full.
    used: u32,
    since: Instant,
}

impl Linux61 {
    pub fn new(tcb: &Tcb) -> Self {
        let config = &tcb.profile.recovery;
        let mut packets = Packets::new(tcb);
        let by_rate = tcb.congestion.sets_window();
        packets.queue.notes_arrivals = config.rack || by_rate;
        packets.keeps_cuts = true;
        Self {
            packets,
            rack: config.rack.then(Rack::new),
            resent_below: tcb.snd.iss,
            tail: Tail::default(),
            rates: by_rate.then(Box::default),
            counts_marks: tcb.congestion.needs_ecn(),
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            frto: false,
            delivered: 0,
            reported: 0,
            resends: 0,
            limited: Limited {
                by_cwnd: false,
                most_out: 0,
                until: tcb.snd.iss,
                used: 0,
                since: Instant::ZERO,
            },
        }
    }

    /// A packet is about to leave again.
    fn note_resend(&mut self, tcb: &Tcb) {
        self.resends += 1;
        self.resent_below = tcb.snd.nxt;
        self.packets.queue.delivered = self.delivered as u32;
    }

    /// `tcp_any_retrans_done`.
    fn any_resent(&self) -> bool {
        let queue = &self.packets.queue;
        queue.resent > 0 || queue.head().is_some_and(|p| p.ever_resent)
    }

    /// `tcp_enter_loss`: all that is not SACKed is lost; the threshold is lowered once an episode.
    fn enter_loss(&mut self, tcb: &mut Tcb, now: Instant) {
        let phase = self.packets.phase;
        let fresh = matches!(phase, Phase::Open | Phase::Disorder);
        let repairs = matches!(phase, Phase::Recovery | Phase::Loss);
        self.packets.duplicates = 0;
        match self.rack {
            Some(rack) => self.packets.queue.lose_all_but(|at| rack.is_young(now, at)),
            None => self.packets.queue.lose_all(),
        }
        let again = phase == Phase::Loss && self.packets.timeouts == 0;
        if fresh || self.packets.recover <= tcb.snd.una || again {
            self.packets.prior_ssthresh = self.packets.present_ssthresh(tcb);
            self.prior_cwnd = tcb.window.packets();
            tcb.lower_ssthresh(now, tcb.flight());
            self.tell_of_lost(tcb);
            self.start_undo(tcb);
        }
        tcb.congestion.on_timeout(&mut tcb.window, now);
        tcb.window.set_packets(self.packets.in_flight() + 1);
        self.limited.since = now;
        let least = tcb.dup_thresh();
        if fresh && self.packets.sacked() >= least {
            self.packets.reordering = self.packets.reordering.min(least);
        }
        self.packets.phase = Phase::Loss;
        self.tell_of_loss(tcb, now);
        self.packets.recover = tcb.snd.nxt;
        self.tail.forget();
        tcb.owe_cwr();
        self.frto = tcb.profile.recovery.frto && (!repairs || self.packets.timeouts > 0);
    }

    /// `tcp_init_undo`.
    fn start_undo(&mut self, tcb: &Tcb) {
        self.packets.undo_marker = Some(tcb.snd.una);
        self.packets.undo_resent = match self.packets.queue.resent {
            0 => -1,
            n => i64::from(n),
        };
    }

    /// After a round of sending: was cwnd the limit (`tcp_cwnd_validate`)?
    fn validate_cwnd(&mut self, tcb: &mut Tcb, now: Instant, sent: bool) {
        let (out, cwnd) = (self.packets.queue.len(), tcb.window.packets());
        let deferred = tcb.device.as_ref().is_some_and(|device| device.deferred);
        let full = self.packets.in_flight() >= cwnd || deferred;
        if !sent && !full {
            return;
        }
        let (una, nxt) = (tcb.snd.una, tcb.snd.nxt);
        let l = &mut self.limited;
        if una >= l.until || full || (!l.by_cwnd && out > l.most_out) {
            (l.by_cwnd, l.most_out, l.until) = (full, out, nxt);
        }
        if self.is_cwnd_limited(tcb) {
            (self.limited.used, self.limited.since) = (0, now);
            return;
        }
        self.limited.used = self.limited.used.max(out);
        let idle = now.saturating_since(self.limited.since);
        let decays = tcb.profile.output.validation == CwndValidation::Decay && self.rates.is_none();
        if decays && idle >= tcb.rtt.rto() {
            self.decay_cwnd(tcb, now);
        }
    }

    /// The window goes half the way to what was used of it (`tcp_cwnd_application_limited`; RFC 2861). A
    /// writer that waits for space in the buffer is not idle.
    fn decay_cwnd(&mut self, tcb: &mut Tcb, now: Instant) {
        let first = tcb.profile.initial_window.bytes(tcb.snd.mss) / tcb.window.mss;
        let (used, cwnd) = (self.limited.used.max(first), tcb.window.packets());
        if self.packets.phase == Phase::Open && tcb.writer_needs == 0 {
            if used < cwnd {
                tcb.window.set_threshold_packets(self.packets.present_ssthresh(tcb));
                tcb.window.set_packets((cwnd + used) >> 1);
            }
            self.limited.used = 0;
        }
        self.limited.since = now;
    }

    /// `tcp_is_cwnd_limited`: in slow start, also with half of the window used.
    fn is_cwnd_limited(&self, tcb: &Tcb) -> bool {
        let (cwnd, l) = (tcb.window.packets(), &self.limited);
        l.by_cwnd || (cwnd < tcb.window.threshold_packets() && cwnd < 2 * l.most_out)
    }

    /// Sets the one timer of the transport for a different purpose than before (`tcp_reset_xmit_timer`).
    fn set_timer(&mut self, tcb: &mut Tcb, now: Instant, why: RexmtFor, wait: Duration) {
        let wait = if why == RexmtFor::Reordering { wait } else { tcb.with_pacing(now, wait) };
        tcb.start_transport_timer(now, wait, why);
    }

    /// `tcp_rearm_rto`: the timer runs for the oldest packet, from when it left where it ran for something else.
    fn rearm(&mut self, tcb: &mut Tcb, now: Instant, was: RexmtFor) {
        if self.packets.queue.len() == 0 || was == RexmtFor::Retransmission {
            self.packets.rearm_rexmt(tcb, now);
        } else {
            let left = self.left_of_rto(tcb, now).max(1) as u64;
            self.set_timer(tcb, now, RexmtFor::Retransmission, Duration::from_micros(left));
        }
    }

    /// Until the oldest packet has been out for an RTO, microseconds (`tcp_rto_delta_us`).
    fn left_of_rto(&self, tcb: &Tcb, now: Instant) -> i64 {
        let rto = (tcb.rtt.rto().as_nanos() / 1_000) as i64;
        let left = self.packets.queue.head().map_or(now, |head| head.at);
        rack::micros(left) as i64 + rto - rack::micros(now) as i64
    }

    /// Lost packets leave again, and count for the reduction.
    fn resend_lost(&mut self, tcb: &mut Tcb, now: Instant) {
        let n = packets::resend_lost(self, tcb, now);
        if self.packets.in_reduction() {
            self.prr_out += n;
        }
    }
}

impl Counting for Linux61 {
    fn packets(&mut self) -> &mut Packets {
        &mut self.packets
    }

    fn before_resend(&mut self, tcb: &mut Tcb, _now: Instant, _at: Instant) {
        self.note_resend(tcb);
    }
}

impl LossRecovery for Linux61 {
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        self.take_ack(tcb, arrival);
        Rest::TakeAndSend
    }

    /// `tcp_retransmit_timer`.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() || self.packets.queue.len() == 0 {
            return;
        }
        self.enter_loss(tcb, now);
        self.packets.timeouts += 1;
        tcb.back_off();
        tcb.decision = Reason::Timeout { backoff: tcb.rtt.shift() };
        packets::resend(self, tcb, now, 0, true);
        self.packets.queue.cut(1);
        tcb.decision = Reason::New;
        // Not as other timers of the transport: no packet that is due is waited for.
        tcb.start_transport_timer(now, tcb.rtt.rto(), RexmtFor::Retransmission);
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        match why {
            Resume::TailProbe => self.on_probe_timer(tcb, now),
            Resume::Reordering => self.on_reordering_timer(tcb, now),
            Resume::Pace => {
                self.resend_lost(tcb, now);
                tcb.output(now, self);
            }
        }
    }

    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        self.packets.permit(tcb)
    }

    fn on_sent(&mut self, tcb: &mut Tcb, now: Instant, sent: &Sent) {
        let idle = self.packets.in_flight() == 0;
        self.packets.queue.delivered = self.delivered as u32;
        if self.rates.is_some() {
            self.note_sent_by_rate(tcb, now, sent, idle);
        }
        if tcb.pacing.is_some() && sent.len > 0 {
            tcb.pace_after(sent.len, self.packets.queue.len());
        }
        if self.packets.note_sent(tcb, tcb.left_at(now), sent) {
            if tcb.timers.rexmt_for == RexmtFor::Probe {
                self.rearm(tcb, now, RexmtFor::Probe);
            }
            if idle {
                let idle = now.saturating_since(tcb.last_data_sent);
                tcb.congestion.note(&mut tcb.window, &Note::Restart { now, idle });
            }
            if self.packets.in_reduction() {
                self.prr_out += 1;
            }
        }
    }

    fn before_write(&mut self, tcb: &mut Tcb) {
        self.note_app_limit(tcb);
    }

    fn after_round(&mut self, tcb: &mut Tcb, now: Instant, sent: bool) {
        self.validate_cwnd(tcb, now, sent);
    }

    fn after_new(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.device.as_ref().is_none_or(|device| device.how != Push::Probe) {
            self.schedule_tail_probe(tcb, now, false);
        }
    }

    fn heeds_echoes(&self) -> bool {
        true
    }

    fn status(&self) -> Status {
        self.packets.status()
    }
}
