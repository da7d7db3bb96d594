//! The states of a sender: `tcp_fastretrans_alert` and `tcp_process_loss`.

use rexmit_units::Instant;

use super::Phase;
use super::ack::{Resend, Told};
use crate::Connection;
use crate::congestion::{CongestionControl, Loss};

impl Connection {
    /// What an acknowledgment that is not plain makes of the state.
    pub(super) fn alert(&mut self, now: Instant, told: &Told) -> Resend {
        let mut marks = told.dupack || (told.sacked && self.reports_reach_far());
        if self.recovery.phase == Phase::Open {
            self.packets.first_resent = None;
        } else if self.snd.una >= self.recovery.recover && self.in_recovery() {
            if !self.marks.sack {
                self.packets.duplicates = 0;
            }
            if self.undo_at_end() {
                return Resend::Nothing;
            }
            self.end_reduction(now);
        }
        let mut entered = false;
        match self.recovery.phase {
            Phase::Recovery => {
                if !told.advanced {
                    self.count_dupack(told.dupack);
                } else {
                    match self.undo_partial(told.prior_una) {
                        Some(true) => return Resend::Nothing,
                        Some(false) => {}
                        None => marks = self.reports_reach_far(),
                    }
                }
                if self.undo_by_duplicates() {
                    self.try_to_open();
                }
                self.lose_head_without_sack(told.advanced);
                if !self.in_recovery() {
                    if !self.is_time_to_recover() {
                        return Resend::Nothing;
                    }
                    self.enter_counted_recovery(now);
                }
            }
            Phase::Loss => {
                let resend = self.process_loss(now, told);
                self.lose_head_without_sack(told.advanced);
                if self.recovery.phase != Phase::Open {
                    return resend;
                }
                match self.leave_disorder(now, told) {
                    Some(e) => entered = e,
                    None => return resend,
                }
            }
            Phase::Open | Phase::Disorder => match self.leave_disorder(now, told) {
                Some(e) => entered = e,
                None => return Resend::Nothing,
            },
        }
        if marks {
            self.mark_by_reports(entered);
        }
        Resend::Lost
    }

    /// From Open or Disorder: `None` if nothing is proven lost yet, else recovery has begun.
    fn leave_disorder(&mut self, now: Instant, told: &Told) -> Option<bool> {
        if !self.marks.sack && told.advanced {
            self.packets.duplicates = 0;
        }
        self.count_dupack(told.dupack);
        if self.recovery.phase != Phase::Loss {
            self.undo_by_duplicates();
        }
        self.lose_head_without_sack(told.advanced);
        if !self.is_time_to_recover() {
            self.try_to_open();
            return None;
        }
        self.enter_counted_recovery(now);
        Some(true)
    }

    /// `tcp_add_reno_sack`.
    fn count_dupack(&mut self, dupack: bool) {
        if self.marks.sack || !dupack {
            return;
        }
        let before = self.packets.duplicates;
        self.packets.duplicates += 1;
        self.limit_duplicates(0);
        self.packets.delivered += u64::from(self.packets.duplicates.saturating_sub(before));
    }

    /// `tcp_time_to_recover`: RFC 6675's DupThresh, in packets.
    fn is_time_to_recover(&self) -> bool {
        let early = self.early_threshold().is_some_and(|early| self.packets.sacked() >= early);
        early || self.packets.queue.lost > 0 || self.packets.sacked() + 1 > self.packets.reordering
    }

    /// `tcp_force_fast_retransmit`: by the distance of the highest report.
    fn reports_reach_far(&self) -> bool {
        let far = self.snd.una + self.packets.reordering * self.snd.mss;
        self.packets.queue.fack().is_some_and(|fack| fack > far)
    }

    /// `tcp_newreno_mark_lost`: without SACK the head is lost by duplicates or by a partial acknowledgment.
    fn lose_head_without_sack(&mut self, advanced: bool) {
        if self.marks.sack || self.packets.queue.len() == 0 {
            return;
        }
        let p = &self.packets;
        let early = matches!(self.recovery.phase, Phase::Open | Phase::Disorder);
        let needed = self.early_threshold().map_or(p.reordering, |n| n.min(p.reordering));
        let due = (early && p.duplicates >= needed) || (self.in_recovery() && advanced);
        if due && p.queue.head().is_some_and(|head| !head.lost) {
            self.packets.queue.lose(0);
        }
    }

    /// `tcp_update_scoreboard`.
    fn mark_by_reports(&mut self, entered: bool) {
        if !self.marks.sack {
            return;
        }
        let p = &mut self.packets;
        match p.queue.sacked.checked_sub(p.reordering) {
            Some(upto) => p.queue.lose_below(upto),
            None if entered && p.queue.head().is_some_and(|head| !head.lost) => p.queue.lose(0),
            None => {}
        }
    }

    /// `tcp_enter_recovery`.
    fn enter_counted_recovery(&mut self, now: Instant) {
        if !self.packets.any_resent() {
            self.packets.first_resent = None;
        }
        self.start_undo();
        self.packets.prior_ssthresh = self.present_ssthresh();
        self.packets.prior_cwnd = self.cwnd_packets();
        self.packets.prr_delivered = 0;
        self.packets.prr_out = 0;
        let loss = Loss { in_flight: self.flight(), snd_wnd: self.snd.wnd, now };
        self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
        self.recovery.recover = self.snd.nxt;
        self.recovery.phase = Phase::Recovery;
        self.counters.fast_retransmits += 1;
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let (duplicates, sacked) = (self.packets.sacked(), self.packets.queue.sacked);
        self.recovery.decision =
            rexmit_stack::Reason::Fast { duplicates: count(duplicates), sacked: count(sacked) };
    }

    /// `tcp_end_cwnd_reduction`: recovery ends with cwnd = ssthresh, unless it was undone.
    fn end_reduction(&mut self, now: Instant) {
        if self.packets.undo_marker.is_some() && self.window.ssthresh != u32::MAX {
            self.window.cwnd = self.window.ssthresh;
            self.packets.limited.since = now;
        }
        self.congestion.on_recovery_exit(&self.window, now);
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self) {
        if !self.packets.any_resent() {
            self.packets.first_resent = None;
        }
        self.keep_open();
    }

    /// `tcp_try_keep_open`.
    pub(super) fn keep_open(&mut self) {
        let p = &self.packets;
        let left_out = p.sacked() + p.queue.lost > 0;
        let phase = if left_out || p.any_resent() { Phase::Disorder } else { Phase::Open };
        if self.recovery.phase != phase {
            self.recovery.phase = phase;
            self.recovery.recover = self.snd.nxt;
        }
    }

    /// After a timeout: F-RTO (RFC 5682 section 3.1), the end, or more of what was lost.
    fn process_loss(&mut self, now: Instant, told: &Told) -> Resend {
        let recovered = self.snd.una >= self.recovery.recover;
        if told.advanced && self.undo_loss(false) {
            return Resend::Nothing;
        }
        if self.packets.frto {
            // Step 3.b: what was sent once only has arrived, so not all was lost.
            if told.original && self.undo_loss(true) {
                return Resend::Nothing;
            }
            if self.snd.nxt > self.recovery.recover {
                if told.sacked || told.dupack {
                    self.packets.frto = false; // step 3.a
                }
            } else if told.advanced && !recovered {
                // Step 2.b: new data are the question.
                self.recovery.recover = self.snd.nxt;
                let waiting = self.off() < i64::from(self.buffer.len());
                if waiting && self.off() < i64::from(self.snd.wnd) {
                    return Resend::New;
                }
                self.packets.frto = false;
            }
        }
        if recovered {
            self.undo_at_end();
            if self.recovery.phase == Phase::Open {
                self.congestion.on_recovery_exit(&self.window, now);
            }
            return Resend::Nothing;
        }
        if !self.marks.sack {
            if self.snd.nxt > self.recovery.recover && told.dupack {
                self.count_dupack(true);
            } else if told.advanced {
                self.packets.duplicates = 0;
            }
        }
        Resend::Lost
    }
}
