//! The states of a sender: `tcp_fastretrans_alert` and `tcp_process_loss`.

use rexmit_units::Instant;

use super::ack::{Resend, Told};
use super::{Linux61, Phase};
use crate::congestion::CongestionControl;
use crate::connection::Tcb;

impl Linux61 {
    /// What an acknowledgment that is not plain makes of the state.
    pub(super) fn alert(&mut self, tcb: &mut Tcb, now: Instant, told: &mut Told) -> Resend {
        let mut marks = told.dupack || (told.sacked && self.reports_reach_far(tcb));
        if told.echo {
            self.packets.prior_ssthresh = 0; // The reduction is due, whatever was lost.
        }
        if self.packets.phase == Phase::Open {
            self.packets.first_resent = None;
        } else if self.packets.phase == Phase::Cwr {
            self.leave_cwr(tcb, now);
        } else if tcb.snd.una >= self.packets.recover && self.packets.in_recovery() {
            if !tcb.marks.sack {
                self.packets.duplicates = 0;
            }
            if self.undo_at_end(tcb) {
                return Resend::Nothing;
            }
            self.end_reduction(tcb, now);
        }
        let mut entered = false;
        match self.packets.phase {
            Phase::Recovery => {
                if !told.advanced {
                    self.count_dupack(tcb, told.dupack);
                } else {
                    match self.undo_partial(tcb, told.prior_una) {
                        Some(true) => return Resend::Nothing,
                        Some(false) => {}
                        None => marks = self.reports_reach_far(tcb),
                    }
                }
                if self.undo_by_duplicates(tcb) {
                    self.try_to_open(tcb, now, told.echo);
                }
                self.identify_losses(tcb, now, told);
                if !self.packets.in_recovery() {
                    if !self.is_time_to_recover(tcb) {
                        return Resend::Nothing;
                    }
                    self.enter_counted_recovery(tcb, now, told.echo);
                }
            }
            Phase::Loss => {
                let resend = self.process_loss(tcb, now, told);
                self.identify_losses(tcb, now, told);
                if self.packets.phase != Phase::Open && !told.copy_lost {
                    return resend;
                }
                match self.leave_disorder(tcb, now, told) {
                    Some(e) => entered = e,
                    None => return resend,
                }
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => match self.leave_disorder(tcb, now, told) {
                Some(e) => entered = e,
                None => return Resend::Nothing,
            },
        }
        if marks {
            self.mark_by_reports(tcb, entered);
        }
        Resend::Lost
    }

    /// From Open, Disorder or CWR: `None` if nothing is proven lost yet, else recovery has begun.
    fn leave_disorder(&mut self, tcb: &mut Tcb, now: Instant, told: &mut Told) -> Option<bool> {
        if !tcb.marks.sack && told.advanced {
            self.packets.duplicates = 0;
        }
        self.count_dupack(tcb, told.dupack);
        if matches!(self.packets.phase, Phase::Open | Phase::Disorder) {
            self.undo_by_duplicates(tcb);
        }
        self.identify_losses(tcb, now, told);
        if !self.is_time_to_recover(tcb) {
            self.try_to_open(tcb, now, told.echo);
            return None;
        }
        self.enter_counted_recovery(tcb, now, told.echo);
        Some(true)
    }

    /// `tcp_add_reno_sack`.
    fn count_dupack(&mut self, tcb: &Tcb, dupack: bool) {
        if tcb.marks.sack || !dupack {
            return;
        }
        let before = self.packets.duplicates;
        self.packets.duplicates += 1;
        self.limit_duplicates(tcb, 0);
        self.delivered += u64::from(self.packets.duplicates.saturating_sub(before));
    }

    /// `tcp_time_to_recover`: RFC 6675's DupThresh, in packets.
    fn is_time_to_recover(&self, tcb: &Tcb) -> bool {
        let early = tcb.early_threshold().is_some_and(|early| self.packets.sacked() >= early);
        let by_count = self.rack.is_none() && self.packets.sacked() + 1 > self.packets.reordering;
        early || self.packets.queue.lost > 0 || by_count
    }

    /// `tcp_force_fast_retransmit`: by the distance of the highest report.
    fn reports_reach_far(&self, tcb: &Tcb) -> bool {
        let far = tcb.snd.una + self.packets.reordering * tcb.snd.mss;
        self.packets.queue.fack().is_some_and(|fack| fack > far)
    }

    /// `tcp_identify_packet_loss`.
    fn identify_losses(&mut self, tcb: &mut Tcb, now: Instant, told: &mut Told) {
        if !tcb.marks.sack {
            self.lose_head_without_sack(tcb, told.advanced);
        } else if self.packets.queue.len() > 0 {
            let copies = self.packets.queue.resent;
            if self.mark_by_time(tcb, now) {
                told.rearms = false;
            }
            told.copy_lost |= copies > self.packets.queue.resent;
        }
    }

    /// `tcp_newreno_mark_lost`: without SACK the head is lost by duplicates or by a partial acknowledgment.
    fn lose_head_without_sack(&mut self, tcb: &Tcb, advanced: bool) {
        if tcb.marks.sack || self.packets.queue.len() == 0 {
            return;
        }
        let p = &self.packets;
        let early = matches!(self.packets.phase, Phase::Open | Phase::Disorder | Phase::Cwr);
        let needed = tcb.early_threshold().map_or(p.reordering, |n| n.min(p.reordering));
        let due = (early && p.duplicates >= needed) || (self.packets.in_recovery() && advanced);
        if due && p.queue.head().is_some_and(|head| !head.lost) {
            self.packets.queue.lose(0);
        }
    }

    /// `tcp_update_scoreboard`.
    fn mark_by_reports(&mut self, tcb: &Tcb, entered: bool) {
        if !tcb.marks.sack || self.rack.is_some() {
            return;
        }
        let p = &mut self.packets;
        match p.queue.sacked.checked_sub(p.reordering) {
            Some(upto) => p.queue.lose_below(upto),
            None if entered && p.queue.head().is_some_and(|head| !head.lost) => p.queue.lose(0),
            None => {}
        }
    }

    /// `tcp_enter_recovery`; `echo`: of an acknowledgment that tells of a mark, so that nothing is undone.
    pub(super) fn enter_counted_recovery(&mut self, tcb: &mut Tcb, now: Instant, echo: bool) {
        if !self.any_resent() {
            self.packets.first_resent = None;
        }
        self.start_undo(tcb);
        let before = if echo { 0 } else { self.packets.present_ssthresh(tcb) };
        self.packets.prior_ssthresh = 0;
        if !self.packets.in_reduction() {
            self.packets.prior_ssthresh = before;
            self.begin_reduction(tcb, now);
        }
        self.tell_of_lost(tcb);
        self.packets.phase = Phase::Recovery;
        tcb.counters.fast_retransmits += 1;
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let (duplicates, sacked) = (self.packets.sacked(), self.packets.queue.sacked);
        tcb.decision = rexmit_stack::Reason::Fast { duplicates: count(duplicates), sacked: count(sacked) };
    }

    /// `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, tcb: &mut Tcb, now: Instant) {
        self.tail.forget();
        self.prior_cwnd = tcb.window.packets();
        self.prr_delivered = 0;
        self.prr_out = 0;
        tcb.lower_ssthresh(now, tcb.flight());
        self.packets.recover = tcb.snd.nxt;
    }

    /// A loss was found, or the timer has expired: DCTCP lowers its threshold as any other (`dctcp_react_to_loss`).
    pub(super) fn tell_of_lost(&mut self, tcb: &mut Tcb) {
        if let Some(dctcp) = tcb.congestion.dctcp() {
            tcb.window.ssthresh = dctcp.react_to_loss(&tcb.window);
        }
    }

    /// `tcp_enter_cwr`: an echo lowers the window over the round trip that follows, and nothing of it is undone.
    fn enter_cwr(&mut self, tcb: &mut Tcb, now: Instant) {
        self.packets.prior_ssthresh = 0;
        if matches!(self.packets.phase, Phase::Open | Phase::Disorder) {
            self.packets.undo_marker = None;
            self.begin_reduction(tcb, now);
            self.packets.phase = Phase::Cwr;
        }
    }

    /// CWR ends when something above its mark is acknowledged, so that the peer has heard of it.
    fn leave_cwr(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.snd.una > self.packets.recover {
            self.take_ssthresh(tcb, now);
            tcb.congestion.on_recovery_exit(&tcb.window, now);
            self.packets.phase = Phase::Open;
        }
    }

    /// `tcp_end_cwnd_reduction`: recovery ends with cwnd = ssthresh, unless it was undone.
    fn end_reduction(&mut self, tcb: &mut Tcb, now: Instant) {
        if self.packets.undo_marker.is_some() {
            self.take_ssthresh(tcb, now);
        }
        tcb.congestion.on_recovery_exit(&tcb.window, now);
    }

    /// The window is ssthresh, except for a controller that sets it itself.
    pub(super) fn take_ssthresh(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.window.ssthresh != u32::MAX && self.rates.is_none() {
            tcb.window.cwnd = tcb.window.ssthresh;
            self.limited.since = now;
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, tcb: &mut Tcb, now: Instant, echo: bool) {
        if !self.any_resent() {
            self.packets.first_resent = None;
        }
        if echo {
            self.enter_cwr(tcb, now);
        }
        if self.packets.phase != Phase::Cwr {
            self.keep_open(tcb);
        }
    }

    /// `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self, tcb: &Tcb) {
        let p = &self.packets;
        let left_out = p.sacked() + p.queue.lost > 0;
        let phase = if left_out || self.any_resent() { Phase::Disorder } else { Phase::Open };
        if self.packets.phase != phase {
            self.packets.phase = phase;
            self.packets.recover = tcb.snd.nxt;
        }
    }

    /// After a timeout: F-RTO (RFC 5682 section 3.1), the end, or more of what was lost.
    fn process_loss(&mut self, tcb: &mut Tcb, now: Instant, told: &mut Told) -> Resend {
        let recovered = tcb.snd.una >= self.packets.recover;
        if told.advanced && self.undo_loss(tcb, false) {
            return Resend::Nothing;
        }
        if self.frto {
            // Step 3.b: what was sent once only has arrived, so not all was lost.
            if told.original && self.undo_loss(tcb, true) {
                return Resend::Nothing;
            }
            if tcb.snd.nxt > self.packets.recover {
                if told.sacked || told.dupack {
                    self.frto = false; // step 3.a
                }
            } else if told.advanced && !recovered {
                // Step 2.b: new data are the question.
                self.packets.recover = tcb.snd.nxt;
                let waiting = tcb.off() < i64::from(tcb.buffer.len());
                if waiting && tcb.off() < i64::from(tcb.snd.wnd) {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_at_end(tcb);
            if self.packets.phase == Phase::Open {
                tcb.congestion.on_recovery_exit(&tcb.window, now);
            }
            return Resend::Nothing;
        }
        if !tcb.marks.sack {
            if tcb.snd.nxt > self.packets.recover && told.dupack {
                self.count_dupack(tcb, true);
            } else if told.advanced {
                self.packets.duplicates = 0;
            }
        }
        Resend::Lost
    }
}
