//! Recovery after the RFCs of today, segment by segment: losses by time (RFC 8985) or by the number of reports
//! (RFC 6675), the rate of RFC 9937 or RFC 6937 or the pipe of RFC 6675 in fast recovery, F-RTO (RFC 5682). Each is a key of
//! its own; where none is on, `rfc6675.rs` serves, which needs no times. Probes for a lost tail (RFC 8985 section 7) are in
//! `probe.rs`.
//!
//! The reordering timer takes the place of the retransmission timer while it runs (RFC 8985 section 8).
//!
//! With RACK, NextSeg has its rules (1) and (2) only: nothing is sent again unless it is lost (RFC 8985 section 6.1).
//!
//! Not modelled: recovery without SACK by these rules (`newreno.rs` serves); undo by D-SACK or by timestamps (RFC 3708,
//! RFC 3522); reports that a receiver takes back are noticed at a timeout alone (RFC 2018 section 8).

mod frto;
mod prr;
mod rack;
mod segments;

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status};
use crate::connection::{Growth, RexmtFor, Tcb, Timers};
use crate::profile::PrrRule;
use frto::{Frto, reports_duplicate};
use prr::{Outstanding, Progress, Prr};
use rack::Rack;
use segments::{Marked, Segments, Verdict};

#[derive(Clone, Debug)]
pub(crate) struct BySegment {
    phase: Phase,
    /// RecoveryPoint.
    recover: SeqNumber,
    /// DupAcks of RFC 6675.
    dupacks: u32,
    /// Bytes of new data that left while something was reported and nothing lost.
    limited_bytes: u32,
    /// One past what RFC 6675's rescue retransmission waits for.
    rescue: SeqNumber,
    segments: Segments,
    rack: Option<Rack>,
    /// The episode of PRR, where there is one.
    prr: Option<Prr>,
    frto: Frto,
    /// When a reduction was last made for a retransmission that was lost.
    reduced_at: Instant,
}

/// What an acknowledgment tells.
#[derive(Clone, Copy, Debug)]
struct Told {
    ack: SeqNumber,
    /// una moves.
    advanced: bool,
    /// Something is newly reported above `ack`.
    news: bool,
    /// Bytes newly acknowledged or reported (DeliveredData).
    delivered: u32,
    /// It carries no data.
    bare: bool,
    /// What was out before it.
    outstanding: Outstanding,
    /// In flight before it, by the pipe.
    in_flight: u32,
}

impl BySegment {
    /// Whether the profile asks for any of these rules.
    pub fn is_wanted(tcb: &Tcb) -> bool {
        let config = &tcb.profile.recovery;
        config.rack || config.frto || config.prr != PrrRule::Off
    }

    pub fn new(tcb: &Tcb) -> Self {
        Self {
            phase: Phase::Open,
            recover: tcb.snd.iss,
            dupacks: 0,
            limited_bytes: 0,
            rescue: tcb.snd.iss,
            segments: Segments::default(),
            rack: tcb.profile.recovery.rack.then(Rack::default),
            prr: None,
            frto: Frto::Off,
            reduced_at: Instant::ZERO,
        }
    }

    fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    fn repairs(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }

    /// Takes what has arrived into the list and into RACK (RFC 8985 section 6.2 steps 1 to 4).
    fn take(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Told {
        let &Arrival { now, segment, .. } = arrival;
        let (una, ack) = (tcb.snd.una, segment.ack);
        let sacked_before = self.segments.sacked();
        let in_flight = if self.phase == Phase::Open { tcb.flight() } else { self.segments.in_flight() };
        self.segments.take(una, ack, &segment.sack, tcb.snd.max);
        let advance = i64::from(ack.diff(una).max(0));
        let delivered = advance + i64::from(self.segments.sacked()) - i64::from(sacked_before);
        if let Some(mut rack) = self.rack {
            rack.take(tcb, now, segment, &self.segments.arrived);
            let reported = reports_duplicate(ack, segment.sack.as_slice());
            rack.take_duplicate(una.max(ack), tcb.snd.max, reported);
            self.rack = Some(rack);
        }
        tcb.note_round_trip(now, self.segments.arrived.iter().filter(|s| !s.resent).map(|s| s.at).max());
        Told {
            ack,
            advanced: ack > una,
            news: self.segments.arrived.iter().any(|s| s.start >= ack),
            delivered: delivered.max(0) as u32,
            bare: segment.payload.is_empty(),
            outstanding: Outstanding { flight: tcb.flight(), sacked_before },
            in_flight,
        }
    }

    /// An ACK of new data, in the order of FB-CW-3.
    fn on_new_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>, told: &Told) {
        let &Arrival { now, segment, .. } = arrival;
        let was_recovering = self.in_recovery();
        let ends = was_recovering && told.ack >= self.recover;
        if ends {
            tcb.window.cwnd = tcb.window.ssthresh; // RFC 9937 section 6.2; RFC 6675 section 5 step 4.2.
        }
        self.dupacks = u32::from(told.news);
        let new = tcb.take_new_ack(now, segment, false);
        tcb.timers.rexmt_for = RexmtFor::Retransmission;
        if !was_recovering && new.opens {
            let steps = tcb.growth_steps(new.acked, self.phase == Phase::Open && !told.news);
            let during = self.phase.during();
            tcb.grow(now, &Growth { acked: new.acked, in_flight: told.in_flight, during, steps });
        }
        if ends {
            (self.phase, self.prr) = (Phase::Open, None);
            tcb.end_recovery(now);
        }
        let repaired = self.phase == Phase::Loss && told.ack >= self.recover;
        tcb.move_una(now, segment, &new);
        self.follow_frto(tcb, now, told);
        if repaired {
            (self.phase, self.frto) = (Phase::Open, Frto::Off);
        }
        if let Some(rack) = self.rack.as_mut().filter(|_| ends || repaired) {
            rack.recovered();
        }
        if !self.repairs() {
            self.recover = self.recover.max(told.ack);
        }
    }

    /// What is lost, by time or by the number of reports; where RACK waits for the rest, its timer runs (RFC 8985
    /// section 6.2 step 5).
    fn find_losses(&mut self, tcb: &mut Tcb, now: Instant) -> Marked {
        if self.frto.is_asked() {
            return Marked::default();
        }
        let Some(rack) = self.rack else { return self.count_reports(tcb) };
        let window = rack.window(tcb, self.repairs(), self.segments.sacked_segments());
        let (marked, left) = rack.detect(&mut self.segments, now, window);
        if let Some(left) = left {
            tcb.timers.rexmt = tcb.clock.deadline(now, left);
            tcb.timers.rexmt_for = RexmtFor::Reordering;
            tcb.timers.probe = Timers::OFF;
        } else if tcb.timers.rexmt_for == RexmtFor::Reordering {
            tcb.restart_rexmt(now);
        }
        marked
    }

    /// IsLost of RFC 6675 section 4, and its section 5 step (1).
    fn count_reports(&mut self, tcb: &Tcb) -> Marked {
        let una = tcb.snd.una;
        let boundary = self.segments.lost_below(tcb.dup_thresh(), tcb.snd.mss).unwrap_or(una);
        let (enough, again) = (self.dupacks >= tcb.duplicates_needed(), !self.repairs());
        self.segments.mark(|segment, _| {
            let counted = segment.start < boundary || (enough && again && segment.start == una);
            match counted {
                true if again || !segment.resent => Verdict::Lost,
                true => Verdict::Keep,
                false => Verdict::Enough,
            }
        })
    }

    /// After the losses that an acknowledgment or the timer has shown: recovery begins or goes on.
    fn follow_losses(&mut self, tcb: &mut Tcb, now: Instant, marked: Marked, told: Option<&Told>) {
        let begins = marked.some && !self.repairs();
        if begins {
            self.enter(tcb, now, told);
        } else if marked.retransmission.is_some_and(|at| at >= self.reduced_at) {
            self.on_lost_retransmission(tcb, now);
        }
        let delivered = told.map_or(0, |told| told.delivered);
        // RFC 9937 section 6.2: where nothing is delivered the window stays; recovery begins with a segment all the same.
        if let Some(prr) = self.prr.as_mut().filter(|_| begins || delivered > 0) {
            let safe = told.is_some_and(|told| told.advanced) && !marked.some;
            let progress = Progress { delivered, in_flight: self.segments.in_flight(), safe };
            tcb.window.cwnd = prr.window(&progress, tcb.window.ssthresh, tcb.snd.mss);
        }
    }

    /// Recovery begins (RFC 6675 section 5 step (4); RFC 9937 section 6.1).
    fn enter(&mut self, tcb: &mut Tcb, now: Instant, told: Option<&Told>) {
        let sacked = self.segments.sacked();
        let now_out = Outstanding { flight: tcb.flight(), sacked_before: sacked };
        tcb.lower_ssthresh(now, tcb.flight().saturating_sub(self.limited_bytes));
        self.phase = Phase::Recovery;
        (self.recover, self.rescue) = (tcb.snd.max, tcb.snd.una + tcb.snd.mss.min(tcb.flight()));
        (self.limited_bytes, self.reduced_at) = (0, now);
        tcb.begin_fast_retransmit(self.dupacks, self.segments.sacked_segments());
        if told.is_none() {
            tcb.decision = tcb.decision.by_reordering_timer();
        }
        match tcb.profile.recovery.prr {
            PrrRule::Off => {
                tcb.window.cwnd = tcb.window.ssthresh;
                // Step 4.3: the first leaves whatever the pipe.
                if let Some(first) = self.segments.first_lost() {
                    tcb.send_hole(now, first.start, first.end.diff(first.start) as u32, self);
                }
            }
            rule => self.prr = Some(Prr::begin(rule, told.map_or(now_out, |told| told.outstanding))),
        }
    }

    /// RFC 8985 section 9.3: without PRR a lost retransmission is a congestion event of its own, once a window.
    fn on_lost_retransmission(&mut self, tcb: &mut Tcb, now: Instant) {
        self.reduced_at = now;
        if tcb.profile.recovery.prr == PrrRule::Off && self.in_recovery() {
            tcb.lower_ssthresh(now, self.segments.in_flight());
            tcb.window.cwnd = tcb.window.cwnd.min(tcb.window.ssthresh);
        }
    }

    /// RFC 8985 section 6.3, or all that is not reported (RFC 6675 section 5.1).
    fn lose_at_timeout(&mut self, tcb: &Tcb, now: Instant) {
        let (una, recover) = (tcb.snd.una, self.recover);
        if let Some(rack) = &self.rack {
            let window = rack.window(tcb, true, 0);
            rack.mark_at_timeout(&mut self.segments, (una, recover), now, window);
        } else {
            self.segments.mark(|s, _| if s.start < recover { Verdict::Lost } else { Verdict::Enough });
        }
    }

    /// cwnd - pipe, if it has room for a segment.
    fn room(&self, tcb: &Tcb) -> Option<u32> {
        tcb.room_beside(self.segments.in_flight())
    }

    /// What is lost, then new data; without RACK what NextSeg has besides (RFC 6675 section 4).
    fn next_seg(&mut self, tcb: &mut Tcb) -> Permit {
        let Some(room) = self.room(tcb) else { return Permit::next(0) };
        if let Some(lost) = self.segments.first_lost() {
            let len = (lost.end.diff(lost.start) as u32).min(tcb.snd.mss);
            return Permit::Hole { seq: lost.start, len };
        }
        let unsent = tcb.unsent();
        if unsent > 0 {
            return Permit::next(unsent.min(i64::from(room)));
        }
        if self.rack.is_none() && self.in_recovery() {
            return self.guess(tcb).unwrap_or(Permit::next(0));
        }
        Permit::next(0)
    }

    /// Rules (3) and (4) of NextSeg: a hole that is not lost yet; then, once an episode and when una has passed the first
    /// retransmission, the last segment.
    fn guess(&mut self, tcb: &mut Tcb) -> Option<Permit> {
        let fack = self.segments.highest_report()?;
        let mss = tcb.snd.mss;
        let hole = self.segments.iter().find(|s| !s.sacked && !s.resent && s.start < fack).copied();
        if let Some(hole) = hole {
            return Some(Permit::Hole { seq: hole.start, len: (hole.end.diff(hole.start) as u32).min(mss) });
        }
        if tcb.snd.una <= self.rescue {
            return None;
        }
        let last = *self.segments.iter().rev().find(|s| !s.sacked)?;
        self.rescue = self.recover;
        let len = (last.end.diff(last.start) as u32).min(mss);
        tcb.decision = Reason::Rescue;
        Some(Permit::Hole { seq: last.end - len, len })
    }

    /// New data as far as cwnd exceeds the pipe (RFC 6675 section 5 step (3); RFC 3042).
    fn permit_in_disorder(&self, tcb: &Tcb) -> Permit {
        let room = self.room(tcb).unwrap_or(0);
        Permit::next(tcb.unsent().min(i64::from(room)).max(0))
    }

    /// An ACK of nothing new may let something leave all the same.
    fn send_after_report(&mut self, tcb: &mut Tcb, now: Instant) {
        if self.phase == Phase::Open
            || (self.phase == Phase::Disorder && tcb.profile.recovery.limited_transmit == 0)
        {
            return;
        }
        let max = tcb.snd.max;
        if self.phase == Phase::Disorder {
            if self.dupacks <= 1 {
                self.limited_bytes = 0;
            }
            tcb.decision = Reason::LimitedTransmit;
        }
        tcb.output(now, self);
        if self.phase == Phase::Disorder {
            self.limited_bytes += tcb.snd.max.diff(max) as u32;
        }
        if tcb.decision == Reason::LimitedTransmit {
            tcb.decision = Reason::New;
        }
    }
}

impl LossRecovery for BySegment {
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        let told = self.take(tcb, arrival);
        if told.advanced {
            self.on_new_ack(tcb, arrival, &told);
        } else {
            if told.news {
                self.dupacks += 1;
                tcb.counters.dup_acks += 1;
            }
            self.follow_frto(tcb, now, &told);
        }
        if !self.repairs() {
            self.phase = if self.segments.sacked() > 0 { Phase::Disorder } else { Phase::Open };
        }
        let marked = self.find_losses(tcb, now);
        self.follow_losses(tcb, now, marked, Some(&told));
        if !told.advanced && tcb.flight() > 0 {
            self.send_after_report(tcb, now);
        }
        // A report stops the probe's timer (RFC 8985 section 7.2).
        tcb.follow_probe_counted(now, segment, told.advanced, self.phase);
        if told.advanced { Rest::TakeAndSend } else { Rest::Take }
    }

    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() {
            return;
        }
        self.frto = Frto::begin(tcb, self.phase);
        tcb.lower_at_timeout(now, self.in_recovery());
        self.recover = tcb.snd.max;
        (self.dupacks, self.limited_bytes, self.prr) = (0, 0, None);
        (self.phase, self.reduced_at) = (Phase::Loss, now);
        // RFC 2018 section 8; and where the oldest is reported, the receiver has taken that back.
        if tcb.profile.recovery.forget_sack_at_timeout || self.segments.head().is_none() {
            self.segments.forget_reports();
        }
        if !self.frto.is_asked() {
            self.lose_at_timeout(tcb, now);
        }
        tcb.decision = Reason::Timeout { backoff: tcb.rtt.shift() };
        // RFC 6298 section 5.4: the oldest leaves, whatever is in flight.
        if let Some(head) = self.segments.head() {
            tcb.send_hole(now, head.start, head.end.diff(head.start) as u32, self);
        }
        tcb.output(now, self);
        tcb.decision = Reason::New;
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        if why != Resume::Reordering {
            tcb.resume_in_bytes(now, why, self);
            return;
        }
        tcb.timers.rexmt_for = RexmtFor::Retransmission;
        let marked = self.find_losses(tcb, now);
        if marked.some && self.in_recovery() {
            tcb.goes_on_by_reordering_timer();
        }
        self.follow_losses(tcb, now, marked, None);
        tcb.output(now, self);
        if !self.in_recovery() || !tcb.decision.begins_recovery() {
            tcb.decision = Reason::New;
        }
    }

    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        match self.phase {
            _ if self.frto.is_asked() => {
                let most = self.frto.credit().min(tcb.unsent().max(0) as u32);
                Permit::next(most.into())
            }
            Phase::Open | Phase::Cwr => tcb.permit_by_window(),
            Phase::Disorder => self.permit_in_disorder(tcb),
            Phase::Recovery | Phase::Loss => self.next_seg(tcb),
        }
    }

    fn on_sent(&mut self, tcb: &mut Tcb, now: Instant, sent: &Sent) {
        self.segments.note(sent.seq, sent.seq + sent.space(), now);
        if let Some(prr) = &mut self.prr {
            prr.note_sent(sent.space());
        }
        if sent.is_new {
            self.frto.note_sent(sent.space());
        }
        if sent.hole {
            tcb.stop_timing_within(sent.seq, sent.len);
        }
    }

    fn next_unsacked(&self, nxt: SeqNumber) -> SeqNumber {
        self.segments.skip_sacked(nxt)
    }

    fn status(&self) -> Status {
        Status::in_bytes(self.phase)
    }
}
