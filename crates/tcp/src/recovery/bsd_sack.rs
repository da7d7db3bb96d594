//! SACK recovery of FreeBSD 5.4 to 7.2: one segment at entry, then growth to ssthresh by awnd and by partial
//! ACKs (FB-FR-3, FB-FR-5, FB-FR-6, FB-OUT-5, FB-OUT-6): tcp_input.c, tcp_sack.c.

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::bad_retransmit::BadRetransmit;
use super::duplicates::{Duplicate, Duplicates, send_beyond_window};
use super::scoreboard::Scoreboard;
use super::{Arrival, LossRecovery, Permit, Phase, Rest, Resume, Sent, Status, follow_una};
use crate::connection::{Growth, Tcb};
use crate::profile::BsdPipe;

#[derive(Clone, Debug)]
pub(crate) struct BsdSack {
    phase: Phase,
    /// Highest sequence number sent when recovery began (`snd_recover`).
    recover: SeqNumber,
    /// nxt when recovery began (`sack_newdata`).
    new_data: SeqNumber,
    duplicates: Duplicates,
    board: Scoreboard,
    undo: BadRetransmit,
}

impl BsdSack {
    pub fn new(tcb: &Tcb) -> Self {
        Self {
            phase: Phase::Open,
            recover: tcb.snd.iss,
            new_data: tcb.snd.iss,
            duplicates: Duplicates::default(),
            board: Scoreboard::default(),
            undo: BadRetransmit::default(),
        }
    }

    fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    fn ends(&self, ack: SeqNumber) -> bool {
        self.in_recovery() && ack >= self.recover
    }

    fn on_old_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let now = arrival.now;
        match self.duplicates.take(tcb, arrival, self.in_recovery()) {
            Duplicate::No => return Rest::Take,
            Duplicate::Further => {
                self.open_by_duplicate(tcb);
                tcb.output(now, self);
            }
            Duplicate::Threshold
                if tcb.profile.recovery.sack_entry_guard && arrival.segment.ack < self.recover =>
            {
                self.duplicates.count = 0;
                return Rest::Take;
            }
            Duplicate::Threshold => self.enter(tcb, now),
            Duplicate::Early if tcb.profile.recovery.limited_transmit == 0 => return Rest::Take,
            Duplicate::Early => {
                let credit = self.duplicates.credit(tcb);
                if self.phase == Phase::Open {
                    self.phase = Phase::Disorder;
                }
                let sent = send_beyond_window(tcb, now, credit, self);
                self.duplicates.note_limited(sent, tcb.snd.mss);
            }
        }
        Rest::Skip
    }

    /// One segment, from the first hole; nothing where the scoreboard is empty (FB-FR-3).
    fn enter(&mut self, tcb: &mut Tcb, now: Instant) {
        // RFC 5681 section 3.2 step 2: what limited transmit sent does not count.
        tcb.lower_ssthresh(now, tcb.flight().saturating_sub(self.duplicates.limited_bytes));
        self.phase = Phase::Recovery;
        self.recover = tcb.snd.max;
        self.duplicates.limited_bytes = 0;
        self.new_data = tcb.snd.nxt;
        tcb.begin_fast_retransmit(self.duplicates.count, self.board.sacked_bytes(tcb.snd.una) / tcb.snd.mss);
        tcb.stop_rexmt();
        tcb.window.cwnd = tcb.snd.mss;
        tcb.output(now, self);
    }

    /// One segment more while less than ssthresh is out (FB-FR-5). Without a SACK block ever seen, fack has
    /// no meaning and the window does not grow.
    fn open_by_duplicate(&self, tcb: &mut Tcb) {
        let awnd = match tcb.profile.recovery.bsd_pipe {
            BsdPipe::HighestReport => {
                let Some(fack) = self.board.fack() else { return };
                i64::from(tcb.snd.nxt.diff(fack)) + i64::from(self.board.resent_bytes())
            }
            BsdPipe::Una => {
                let missing = self.board.hole_bytes() - self.board.resent_bytes();
                tcb.off() - i64::from(self.board.sacked_bytes(tcb.snd.una)) - i64::from(missing)
            }
        };
        // The kernel compares as unsigned: a negative awnd is a huge one.
        if awnd >= 0 && awnd < i64::from(tcb.window.ssthresh) {
            tcb.window.cwnd = (tcb.window.cwnd + tcb.snd.mss).min(tcb.window.ssthresh);
        }
    }

    /// An ACK of new data, in the order of FB-CW-3; `news`: it reports more than was known.
    fn on_new_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>, news: bool) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        let ack = segment.ack;
        let (in_flight, was_recovering) = (tcb.flight(), self.in_recovery());
        let skips_growth = !was_recovering && self.board.is_empty() && tcb.takes_fast_path(arrival);
        if self.ends(ack) {
            tcb.window.cwnd = tcb.exit_window(ack);
        } else if was_recovering {
            self.on_partial_ack(tcb, now, ack);
        }
        self.duplicates.count = 0;
        self.undo.undo(tcb, now, &mut self.recover, &mut self.phase);
        let new = tcb.take_new_ack(now, segment, false);
        if !was_recovering && new.opens && !skips_growth {
            let steps = tcb.growth_steps(new.acked, self.phase == Phase::Open && !news);
            tcb.grow(now, &Growth { acked: new.acked, in_flight, during: self.phase.during(), steps });
        }
        if self.ends(ack) {
            self.phase = Phase::Open;
            tcb.end_recovery(now);
        }
        follow_una(&mut self.phase, &mut self.recover, ack);
        tcb.move_una(now, segment, &new);
        if new.all { Rest::TakeAndSend } else { Rest::Take }
    }

    /// One or two segments more than what is out (FB-FR-6), and an answer even without data (FB-FR-7). una
    /// has not moved yet.
    fn on_partial_ack(&mut self, tcb: &mut Tcb, now: Instant, ack: SeqNumber) {
        tcb.stop_rexmt();
        tcb.stop_timing();
        let acked = ack.diff(tcb.snd.una) as u32;
        let segments = if acked / tcb.snd.mss > 2 { 2 } else { 1 };
        let new_data = tcb.snd.nxt.diff(self.new_data).max(0) as u32;
        let cwnd = self.board.resent_bytes() + new_data + segments * tcb.snd.mss;
        let capped = !tcb.profile.recovery.partial_ack_uncapped;
        tcb.window.cwnd = if capped { cwnd.min(tcb.window.ssthresh) } else { cwnd };
        tcb.marks.ack_now = tcb.marks.ack_now || tcb.profile.recovery.partial_ack_answers;
        tcb.output(now, self);
    }
}

impl LossRecovery for BsdSack {
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest {
        let &Arrival { now, segment, .. } = arrival;
        let una = tcb.snd.una;
        let news = (!segment.sack.is_empty() || !self.board.is_empty())
            && self.board.on_ack(una, segment.ack, &segment.sack, tcb.snd.max);
        let rest = if segment.ack <= una {
            self.on_old_ack(tcb, arrival)
        } else {
            self.on_new_ack(tcb, arrival, news)
        };
        tcb.follow_probe(now, segment, segment.ack > una, self.phase);
        rest
    }

    /// All is sent again from una on except what is SACKed (FB-OUT-3).
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant) {
        if tcb.gives_up() {
            return;
        }
        self.undo.remember(tcb, now, self.recover, self.phase);
        tcb.lower_at_timeout(now, self.in_recovery());
        tcb.snd.nxt = tcb.snd.una;
        self.recover = tcb.snd.max;
        self.duplicates.count = 0;
        self.phase = Phase::Loss;
        if tcb.profile.recovery.forget_sack_at_timeout {
            self.board.clear();
        }
        tcb.output_after_timeout(now, self);
    }

    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume) {
        tcb.resume_in_bytes(now, why, self);
    }

    /// In recovery a hole first, never beyond `recover`; then new data as far as cwnd leaves room besides what was
    /// resent (FB-OUT-5, FB-OUT-6).
    fn permit(&mut self, tcb: &mut Tcb) -> Permit {
        if !self.in_recovery() {
            return tcb.permit_by_window();
        }
        let resent = i64::from(self.board.resent_bytes());
        let room = (i64::from(tcb.snd.wnd.min(tcb.window.cwnd)) - resent).max(0);
        if let Some(hole) = self.board.next_hole() {
            let end = hole.end.min(self.recover);
            let left = i64::from(end.diff(hole.rexmit));
            let len = room.min(left);
            if len > 0 {
                return Permit::Hole { seq: hole.rexmit, len: len as u32 };
            }
        }
        if resent == 0 {
            return tcb.permit_by_window();
        }
        let len = tcb.unsent();
        if len <= 0 {
            return Permit::next(len);
        }
        let new_data = i64::from(tcb.snd.nxt.diff(self.new_data));
        let room = (i64::from(tcb.window.cwnd) - new_data - resent).max(0);
        Permit::next(len.min(room))
    }

    fn on_sent(&mut self, _tcb: &mut Tcb, _now: Instant, sent: &Sent) {
        if sent.hole {
            self.board.resent(sent.seq, sent.space());
        }
    }

    fn next_unsacked(&self, nxt: SeqNumber) -> SeqNumber {
        self.board.skip_sacked(nxt)
    }

    fn status(&self) -> Status {
        Status::in_bytes(self.phase)
    }
}
