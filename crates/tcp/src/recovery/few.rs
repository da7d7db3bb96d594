//! What is done where few segments are out: Linux's rules for thin streams, early retransmit (RFC 5827), the restart of
//! the timer less the age of the earliest segment (RFC 7765). Probes for a lost tail are in [`super::probe`].

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::probe::Probe;
use super::{LossRecovery, Resume};
use crate::connection::Tcb;

/// Fewer than this many segments are few (`tcp_stream_is_thin`; RFC 5827 section 3.2; rrthresh of RFC 7765).
const FEW: u32 = 4;
/// This many timeouts do not double the interval (`TCP_THIN_LINEAR_RETRIES`).
const LINEAR: u32 = 6;

/// The segments that are out, and a probe for a lost tail that is not settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Few {
    segments: VecDeque<Segment>,
    pub(super) probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub start: SeqNumber,
    pub end: SeqNumber,
    /// When it left last.
    pub at: Instant,
}

impl Few {
    /// `[start, end)` leaves, for the first time or again.
    pub fn note(&mut self, start: SeqNumber, end: SeqNumber, at: Instant) {
        if self.segments.back().is_none_or(|last| last.end <= start) {
            self.segments.push_back(Segment { start, end, at });
            return;
        }
        for segment in self.segments.iter_mut().filter(|s| s.start < end && start < s.end) {
            segment.at = at;
        }
        if let Some(last) = self.segments.back().filter(|last| last.end < end) {
            let start = last.end;
            self.segments.push_back(Segment { start, end, at });
        }
    }

    /// All before `una` has arrived.
    pub fn acknowledge(&mut self, una: SeqNumber) {
        while self.segments.front().is_some_and(|s| s.end <= una) {
            self.segments.pop_front();
        }
    }

    fn len(&self) -> u32 {
        self.segments.len() as u32
    }

    pub(super) fn last(&self) -> Option<Segment> {
        self.segments.back().copied()
    }
}

impl Tcb {
    /// A segment of `len` numbers leaves.
    #[inline]
    pub(crate) fn note_outstanding(&mut self, now: Instant, seq: SeqNumber, len: u32) {
        if let Some(few) = self.few.as_mut().filter(|_| len > 0) {
            few.acknowledge(self.snd.una);
            few.note(seq, seq + len, now);
        }
    }

    /// Segments out; none where nobody asks.
    pub(super) fn segments_out(&self) -> u32 {
        let una = self.snd.una;
        let Some(few) = &self.few else { return 0 };
        few.len() - few.segments.iter().take_while(|s| s.end <= una).count() as u32
    }

    /// What a way to recover in bytes does when it may go on.
    pub fn resume_in_bytes(&mut self, now: Instant, why: Resume, recovery: &mut impl LossRecovery) {
        if why == Resume::Pace {
            self.output(now, recovery);
            return;
        }
        let last = self.few.as_ref().filter(|_| why == Resume::TailProbe).and_then(|few| few.last());
        let Some(last) = last else { return };
        let start = last.start.max(self.snd.una);
        self.send_hole(now, start, last.end.diff(start) as u32, recovery);
    }

    /// Duplicates that prove a loss (DupThresh of RFC 6675).
    #[inline]
    pub(super) fn dup_thresh(&self) -> u32 {
        self.profile.recovery.dupack_threshold
    }

    /// Segments that wait to be sent.
    fn segments_waiting(&self) -> u32 {
        let bytes = (i64::from(self.buffer.len()) - self.off()).max(0) as u32;
        bytes.div_ceil(self.snd.mss)
    }

    /// The retransmission timer has expired: the next interval is twice as long, but not for a thin stream.
    pub fn back_off(&mut self) {
        let linear = self.profile.thin.linear_timeouts && self.rtt.shift() < LINEAR;
        if linear && self.segments_out() < FEW {
            self.rtt.hold();
        } else {
            self.rtt.backoff();
        }
    }

    /// This many duplicates or reports begin recovery now, where that is fewer than usual.
    pub(super) fn early_threshold(&self) -> Option<u32> {
        let (early, thin) = (self.profile.recovery.early_retransmit, self.profile.thin.fast_retransmit_after);
        if !early && thin == 0 {
            return None;
        }
        let out = self.segments_out();
        if out >= FEW || self.segments_waiting() > 0 {
            return None;
        }
        let by_early = (early && out >= 2).then(|| out - 1);
        let later = self.window.ssthresh != u32::MAX;
        let by_thin = (thin > 0 && self.marks.sack && later).then_some(thin);
        by_early.into_iter().chain(by_thin).min()
    }

    /// Duplicates that begin recovery now.
    pub(crate) fn duplicates_needed(&self) -> u32 {
        let usual = self.dup_thresh();
        self.early_threshold().map_or(usual, |early| early.min(usual))
    }

    /// When the timer that an ACK of new data restarts is due; una has moved, or moves to `una`.
    #[inline]
    pub(crate) fn restarted_rexmt(&mut self, now: Instant, una: SeqNumber) -> Instant {
        let rto = self.rtt.rto();
        if self.few.is_none() {
            return self.clock.deadline(now, self.with_pacing(now, rto));
        }
        self.rexmt_restarted_by_age(now, una, rto)
    }

    /// The same where segments are counted, and the age of the earliest may shorten the timer (RFC 7765 section 4).
    #[inline(never)]
    fn rexmt_restarted_by_age(&mut self, now: Instant, una: SeqNumber, rto: Duration) -> Instant {
        let waiting = self.segments_waiting();
        let few = self.few.as_mut().filter(|_| self.profile.recovery.rto_restart);
        let Some(out) = few else { return self.clock.deadline(now, rto) };
        out.acknowledge(una);
        let few = out.len() + waiting < FEW;
        let earliest = out.segments.front().filter(|_| few);
        let age = earliest.map_or(Duration::ZERO, |s| now.saturating_since(s.at));
        let left = if age < rto { Duration::from_nanos(rto.as_nanos() - age.as_nanos()) } else { rto };
        self.clock.deadline(now, left)
    }
}
