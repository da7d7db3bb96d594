//! The states of Linux 2.6.15, in packets: `tcp_fastretrans_alert` with rate halving (LX-ST-1 to LX-ST-10, LX-LOSS-1).
//!
//! Not modelled: ECN and the state CWR; reports that the receiver takes back (`tcp_check_sack_reneging`): only the
//! timeout forgets them; packets put together when they are sent again (`tcp_retrans_try_collapse`).

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::ack::{Resend, Told};
use super::{News, Phase};
use crate::Connection;
use crate::congestion::{Ack, CongestionControl, Loss};
use crate::profile::HalvingFloor;

/// A burst is at most so many packets (`tcp_max_burst`).
const BURST: u32 = 3;

impl Connection {
    /// An ACK of new data makes the window grow before anything else, but not in Recovery (LX-ST-3).
    pub(super) fn grow_before_alert(&mut self, now: Instant, told: &Told, prior_in_flight: u32) {
        if told.acked == 0 || self.in_recovery() {
            return;
        }
        let acked = self.snd.una.diff(told.prior_una) as u32;
        let info = Ack {
            acked,
            now,
            srtt: self.rtt.srtt(),
            in_flight: prior_in_flight.saturating_mul(self.window.mss),
            cwnd_limited: prior_in_flight >= self.cwnd_packets(),
            during: self.recovery.phase.during(),
        };
        for _ in 0..self.growth_steps(acked, told.sacked) {
            self.congestion.on_ack(&mut self.window, &info);
        }
    }

    /// What an acknowledgment that is not plain makes of the state.
    pub(super) fn alert_halving(&mut self, now: Instant, told: &Told) -> Resend {
        let p = &mut self.packets;
        if p.queue.len() == 0 {
            p.duplicates = 0;
        }
        if told.beyond && self.snd.una < self.recovery.recover && self.recovery.phase != Phase::Open {
            let lost = p.queue.reach().saturating_sub(p.reordering);
            p.queue.lose_first(lost, self.recovery.recover);
        }
        if self.recovery.phase == Phase::Open {
            self.packets.first_resent = None;
        } else if self.snd.una >= self.recovery.recover && self.ends_halving() {
            return Resend::Nothing;
        }
        let mut marks = told.dupack;
        match self.recovery.phase {
            Phase::Recovery => {
                if told.advanced {
                    marks = self.undo_partial_halving(told.acked);
                } else {
                    self.count_dupack_halving(told.dupack);
                }
            }
            Phase::Loss => {
                if told.acked > 0 {
                    self.packets.timeouts = 0;
                }
                if !self.undo_loss_halving() {
                    self.moderate_packets();
                    return Resend::Lost;
                }
                if self.recovery.phase != Phase::Open || !self.leaves_disorder(now, told) {
                    return Resend::Nothing;
                }
            }
            Phase::Open | Phase::Disorder => {
                if !self.leaves_disorder(now, told) {
                    return Resend::Nothing;
                }
            }
        }
        if marks || self.is_head_old(now) {
            self.mark_lost_packets(now);
        }
        self.halve_packets();
        Resend::Lost
    }

    /// All is acknowledged that was out when the state began. True if the state stays all the same.
    fn ends_halving(&mut self) -> bool {
        match self.recovery.phase {
            Phase::Open => {}
            Phase::Disorder => {
                self.undo_by_duplicates_halving();
                // With SACK, duplicates of all that was sent again may still be reported.
                let settled = self.packets.undo_marker.is_none();
                if settled || !self.marks.sack || self.snd.una != self.recovery.recover {
                    self.packets.undo_marker = None;
                    self.recovery.phase = Phase::Open;
                }
            }
            Phase::Loss => {
                self.packets.timeouts = 0;
                return self.undo_recovery_halving();
            }
            Phase::Recovery => {
                if !self.marks.sack {
                    self.packets.duplicates = 0;
                }
                if self.undo_recovery_halving() {
                    return true;
                }
                // `tcp_complete_cwr`; LX-ST-10, LX-ST-13.
                self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
                self.congestion.set_credit(self.recovery.halving);
            }
        }
        false
    }

    /// From Open or Disorder: true once recovery has begun.
    fn leaves_disorder(&mut self, now: Instant, told: &Told) -> bool {
        if !self.marks.sack && told.advanced {
            self.packets.duplicates = 0;
        }
        self.count_dupack_halving(told.dupack);
        if self.recovery.phase == Phase::Disorder {
            self.undo_by_duplicates_halving();
        }
        if !self.is_time_to_halve(now) {
            self.try_to_open_halving();
            return false;
        }
        self.enter_halving(now);
        true
    }

    /// `tcp_add_reno_sack`.
    fn count_dupack_halving(&mut self, dupack: bool) {
        if !self.marks.sack && dupack {
            self.packets.duplicates += 1;
            self.limit_duplicates(0);
        }
    }

    /// `tcp_time_to_recover` (LX-ST-5).
    fn is_time_to_halve(&self, now: Instant) -> bool {
        let (p, least) = (&self.packets, self.profile.recovery.dupack_threshold);
        let far = if self.marks.sack { p.queue.reach() } else { p.duplicates + 1 };
        let early = self.early_threshold().is_some_and(|early| p.sacked() >= early);
        if early || p.queue.lost > 0 || far > p.reordering || self.is_head_old(now) {
            return true;
        }
        let out = p.queue.len();
        out <= p.reordering && p.sacked() >= (out / 2).max(least) && !self.may_send_new()
    }

    /// The oldest packet has been out for longer than the timeout: the timer is restarted with each ACK.
    fn is_head_old(&self, now: Instant) -> bool {
        self.packets.queue.head().is_some_and(|head| self.is_old(now, head.at))
    }

    pub(super) fn is_old(&self, now: Instant, at: Instant) -> bool {
        let ticks = self.clock.ticks(now).saturating_sub(self.clock.ticks(at));
        self.clock.span(ticks) > self.rtt.rto()
    }

    /// LX-ST-6.
    fn enter_halving(&mut self, now: Instant) {
        let fresh = matches!(self.recovery.phase, Phase::Open | Phase::Disorder);
        self.packets.prior_ssthresh = 0;
        self.packets.undo_marker = self.profile.recovery.reduction_undo.then_some(self.snd.una);
        self.packets.undo_resent = i64::from(self.packets.queue.resent);
        if fresh {
            self.packets.prior_ssthresh = self.present_ssthresh();
            let loss = Loss { in_flight: self.flight(), snd_wnd: self.snd.wnd, now };
            self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
        }
        self.recovery.halving = 0;
        self.recovery.recover = self.snd.nxt;
        self.recovery.phase = Phase::Recovery;
        self.counters.fast_retransmits += 1;
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let (duplicates, sacked) = (self.packets.sacked(), self.packets.queue.sacked);
        self.recovery.decision = Reason::Fast { duplicates: count(duplicates), sacked: count(sacked) };
    }

    /// `tcp_update_scoreboard` (LX-ST-9).
    fn mark_lost_packets(&mut self, now: Instant) {
        let mark = self.recovery.recover;
        let by_distance = self.marks.sack && self.uses_fack();
        let p = &mut self.packets;
        let lost = if by_distance { p.queue.reach().saturating_sub(p.reordering).max(1) } else { 1 };
        p.queue.lose_first(lost, mark);
        if self.is_head_old(now) {
            let (clock, rto) = (self.clock, self.rtt.rto());
            let is_old = |at| clock.span(clock.ticks(now).saturating_sub(clock.ticks(at))) > rto;
            self.packets.queue.lose_old(is_old);
        }
    }

    /// Distances are a proof (LX-FR-1), until reordering is seen.
    fn uses_fack(&self) -> bool {
        self.profile.recovery.fack && !self.packets.reorders
    }

    /// `tcp_cwnd_down` (LX-ST-7).
    fn halve_packets(&mut self) {
        self.recovery.halving += 1;
        let less = self.recovery.halving / 2;
        self.recovery.halving %= 2;
        let floor = match self.profile.recovery.halving_floor {
            HalvingFloor::Algorithm => self.congestion.recovery_floor(&self.window) / self.window.mss,
            HalvingFloor::HalfSsthresh => self.ssthresh_packets() / 2,
        };
        let mut cwnd = self.cwnd_packets();
        if less > 0 && cwnd > floor {
            cwnd = cwnd.saturating_sub(less);
        }
        self.set_cwnd_packets(cwnd.min(self.packets.in_flight() + 1));
    }

    /// `tcp_moderate_cwnd`: no more than a short burst beyond what is in flight (LX-ST-4).
    pub(super) fn moderate_packets(&mut self) {
        let most = self.packets.in_flight() + BURST;
        self.set_cwnd_packets(self.cwnd_packets().min(most));
    }

    /// `tcp_try_to_open`: a reduction that may still be taken back leaves the sender in Disorder (LX-ST-10).
    fn try_to_open_halving(&mut self) {
        let p = &mut self.packets;
        if p.queue.resent == 0 {
            p.first_resent = None;
        }
        let doubtful = p.sacked() > 0 || p.queue.resent > 0 || p.undo_marker.is_some();
        let phase = if doubtful { Phase::Disorder } else { Phase::Open };
        if self.recovery.phase != phase {
            self.recovery.phase = phase;
            self.recovery.recover = self.snd.nxt;
        }
        self.moderate_packets();
    }

    /// `tcp_enter_loss` (LX-LOSS-1): all is lost that is not SACKed; the threshold is lowered once an episode.
    pub(super) fn enter_loss_halving(&mut self, now: Instant) {
        let phase = self.recovery.phase;
        let again = phase == Phase::Loss && self.packets.timeouts == 0;
        if matches!(phase, Phase::Open | Phase::Disorder) || self.snd.una == self.recovery.recover || again {
            self.packets.prior_ssthresh = self.present_ssthresh();
            let loss = Loss { in_flight: self.flight(), snd_wnd: self.snd.wnd, now };
            self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
        }
        self.congestion.on_timeout(&mut self.window, now);
        let p = &mut self.packets;
        p.duplicates = 0;
        p.undo_resent = 0;
        // What was sent again already leaves nothing to be taken back.
        let may_undo = self.profile.recovery.reduction_undo && !p.queue.any_ever_resent();
        p.undo_marker = may_undo.then_some(self.snd.una);
        p.queue.lose_all();
        p.reordering = p.reordering.min(self.profile.recovery.dupack_threshold);
        self.recovery.phase = Phase::Loss;
        self.recovery.recover = self.snd.nxt;
    }

    /// The rest of `tcp_sacktag_write_queue`: copies that are lost, reordering.
    pub(super) fn take_blocks_halving(
        &mut self,
        blocks: &[(SeqNumber, SeqNumber)],
        news: &News,
        told: &mut Told,
    ) {
        let Some(reported) = blocks.iter().map(|b| b.1).reduce(SeqNumber::max) else { return };
        told.beyond = reported > self.recovery.recover;
        if self.in_recovery() && self.packets.queue.resent > 0 {
            let patience = (!self.uses_fack()).then_some(self.packets.reordering * self.snd.mss);
            told.sacked |= self.packets.queue.lose_copies(reported, patience);
        }
        if let Some(low) = news.lowest
            && self.recovery.phase != Phase::Loss
        {
            let p = &self.packets.queue;
            let (reach, place) = (p.reach(), p.place(low));
            if place < reach {
                self.note_reordering(reach + 1 - place);
            }
        }
    }

    /// `tcp_update_reordering`.
    pub(super) fn note_reordering(&mut self, metric: u32) {
        let metric = metric.min(self.profile.recovery.max_reordering);
        let p = &mut self.packets;
        if metric > p.reordering {
            p.reordering = metric;
            p.reorders = true;
        }
    }

    /// The peer reports a duplicate (RFC 2883): one retransmission less that may have been needed.
    pub(super) fn take_duplicate_halving(&mut self, (left, right): (SeqNumber, SeqNumber), told: &mut Told) {
        told.duplicate_reported = true;
        let p = &mut self.packets;
        let resent = p.queue.report_duplicate(left, right);
        if let Some(marker) = p.undo_marker.filter(|marker| right > *marker) {
            let forgotten = u32::from(right <= told.prior_una && right > marker);
            p.undo_resent -= i64::from(forgotten + resent);
        }
    }

    /// A sample for an ACK of new data: by the echo, else of what was sent once only (`tcp_ack_update_rtt`).
    pub(super) fn sample_in_ticks(&mut self, now: Instant, segment: &TcpSegment, acked: &News) -> bool {
        if acked.acked == 0 {
            return false;
        }
        let by_packets = || {
            let (first, _) = acked.times.filter(|_| !acked.resent)?;
            let ticks = self.clock.ticks(now).saturating_sub(self.clock.ticks(first));
            Some(self.clock.span(ticks.max(1)))
        };
        let rtt: Option<Duration> = self.rtt_by_echo(now, segment).or_else(by_packets);
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, self.snd.una, self.snd.nxt);
        }
        rtt.is_some()
    }
}
