//! Probes for a lost tail (RFC 8985 section 7).
//!
//! Not modelled: RACK, which finds what the report on a probe shows. Here that is the business of the usual rules:
//! the threshold of duplicates, FACK, early retransmit.

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{LossRecovery, Permit, Phase, Resume};
use crate::connection::{Tcb, Timers};

/// How long a receiver may wait with the ACK of a single segment (TLP.max_ack_delay).
const ACK_DELAY: Duration = Duration::from_millis(200);
/// Before there is a round-trip time.
const UNKNOWN: Duration = Duration::from_millis(1_000);

/// A probe that has left and is not settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// One past all that was sent (TLP.end_seq).
    end: SeqNumber,
    /// It repeated the last segment (TLP.is_retrans).
    again: bool,
}

impl Tcb {
    fn probe(&self) -> Option<Probe> {
        self.few.as_ref().and_then(|few| few.probe)
    }

    fn set_probe(&mut self, probe: Option<Probe>) {
        if let Some(few) = &mut self.few {
            few.probe = probe;
        }
    }

    /// The retransmission timer has expired: a probe is of no use any more.
    pub(crate) fn forget_probe(&mut self) {
        self.set_probe(None);
    }

    /// An ACK has been taken; `advanced`: una has moved.
    #[inline]
    pub(super) fn follow_probe(&mut self, now: Instant, segment: &TcpSegment, advanced: bool, phase: Phase) {
        if self.few.is_some() {
            self.settle_probe(now, segment, advanced, phase);
            if advanced {
                self.schedule_probe(now, phase);
            }
        }
    }

    /// The same, where an ACK in any state but Open stops the timer: RFC 8985 section 7.2, and so Linux.
    pub(super) fn follow_probe_counted(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        advanced: bool,
        phase: Phase,
    ) {
        if self.few.is_some() {
            self.settle_probe(now, segment, advanced, phase);
            if advanced || phase != Phase::Open {
                self.schedule_probe(now, phase);
            }
        }
    }

    /// After new data have left, or an ACK of new data: a probe is due after two round trips of silence (section 7.2).
    pub(crate) fn schedule_probe(&mut self, now: Instant, phase: Phase) {
        if !self.profile.probes_by_segment() {
            return;
        }
        let out = self.segments_out();
        if !self.marks.sack || phase != Phase::Open || out == 0 || self.probe().is_some() {
            self.timers.probe = Timers::OFF;
            return;
        }
        let mut wait = self.rtt.srtt().map_or(UNKNOWN, |srtt| srtt * 2);
        if out == 1 {
            wait += ACK_DELAY;
        }
        // No later than the timer, in whose place it then leaves; the timer restarts from there.
        self.timers.probe = self.clock.deadline(now, wait).min(self.timers.rexmt);
    }

    /// Section 7.3: new data if there are any and the peer's window has room, else the last segment.
    pub(crate) fn on_probe_timer<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        let last = self.few.as_ref().and_then(|few| few.last());
        if last.is_none_or(|last| last.end <= self.snd.una) {
            return;
        }
        let max = self.snd.max;
        self.decision = Reason::TailProbe;
        let waiting = i64::from(self.buffer.len()) - self.off();
        if waiting > 0 && i64::from(self.snd.wnd) > self.off() && self.snd.nxt == max {
            self.marks.probing = true;
            self.output(now, recovery);
            self.marks.probing = false;
        }
        let again = self.snd.max == max;
        if again {
            recovery.resume(self, now, Resume::TailProbe);
        }
        self.decision = Reason::New;
        self.set_probe(Some(Probe { end: self.snd.max, again }));
        self.timers.probe = Timers::OFF;
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
    }

    /// While a probe is to leave, one segment of new data may, whatever cwnd.
    pub(crate) fn permit_probe(&self) -> Permit {
        let waiting = i64::from(self.buffer.len().min(self.snd.wnd)) - self.off();
        let sent = self.decision != Reason::TailProbe;
        Permit::next(if sent { 0 } else { waiting.clamp(0, i64::from(self.snd.mss)) })
    }

    /// An ACK has been taken (section 7.4): a probe that was needed had repaired a loss, which lowers the window once.
    pub(super) fn settle_probe(&mut self, now: Instant, segment: &TcpSegment, advanced: bool, phase: Phase) {
        let Some(probe) = self.probe() else { return };
        if matches!(phase, Phase::Recovery | Phase::Loss) {
            self.set_probe(None);
            return;
        }
        if segment.ack < probe.end {
            return;
        }
        let blocks = segment.sack.as_slice();
        let reported = blocks.first().is_some_and(|b| b.0 < segment.ack);
        let bare = !advanced && segment.ack == probe.end && blocks.is_empty();
        if probe.again && !reported && !bare {
            if segment.ack == probe.end {
                return; // The original may have arrived as well.
            }
            self.lower_ssthresh(now, self.flight());
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
        self.set_probe(None);
    }
}
