//! Was a timeout needed? F-RTO with SACK (RFC 5682 section 3.1), and what follows where it was not: the response of
//! Eifel (RFC 4015 section 3).
//!
//! Not modelled: F-RTO without SACK (its section 2.1); the timeout is not made more conservative afterwards (RFC 4015
//! section 3.2, step RTO).

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::{BySegment, Phase, Told};
use crate::congestion::CongestionControl;
use crate::connection::Tcb;

/// How far the question has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// It is not asked.
    #[default]
    Off,
    /// The oldest segment has left again, and nothing else (step 1).
    Head(Before),
    /// Its ACK came; this many bytes of new data may leave (step 2).
    New(Before, u32),
}

/// What the timeout overwrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Before {
    /// The larger of what was in flight and of ssthresh (pipe_prev of RFC 4015 section 3.2).
    pipe: u32,
}

impl Frto {
    /// Step 1, before the timeout changes anything. Where another repair is under way the question is not asked.
    pub fn begin(tcb: &Tcb, phase: Phase) -> Self {
        let repairs = matches!(phase, Phase::Recovery | Phase::Loss) || tcb.rtt.shift() > 0;
        if repairs || !tcb.profile.recovery.frto {
            return Self::Off;
        }
        let threshold = if tcb.window.ssthresh == u32::MAX { 0 } else { tcb.window.ssthresh };
        Self::Head(Before { pipe: tcb.flight().max(threshold) })
    }

    pub fn is_asked(&self) -> bool {
        *self != Self::Off
    }

    /// Bytes of new data that may leave, whatever cwnd.
    pub fn credit(&self) -> u32 {
        if let Self::New(_, credit) = self { *credit } else { 0 }
    }

    /// This many bytes have left.
    pub fn note_sent(&mut self, bytes: u32) {
        if let Self::New(_, credit) = self {
            *credit = credit.saturating_sub(bytes);
        }
    }
}

impl BySegment {
    /// Steps 2 and 3: what an ACK says of the timeout. una has moved.
    pub(super) fn follow_frto(&mut self, tcb: &mut Tcb, now: Instant, told: &Told) {
        let recover = self.recover;
        match self.frto {
            Frto::Off => {}
            Frto::Head(before) => {
                let more = told.advanced && told.ack < recover && tcb.unsent() > 0;
                if more {
                    self.frto = Frto::New(before, 2 * tcb.snd.mss); // Step 2 (b).
                } else if told.advanced || told.news {
                    self.repair_after_timeout(tcb, now); // Step 2 (a).
                }
            }
            Frto::New(before, _) => {
                let above = self.segments.arrived.iter().any(|s| s.end > recover) || told.ack > recover;
                let below = self.segments.arrived.iter().any(|s| s.end <= recover && !s.resent);
                if above || (!below && (told.news || told.bare)) {
                    tcb.window.cwnd = tcb.window.cwnd.min(3 * tcb.snd.mss); // Step 3 (a).
                    self.repair_after_timeout(tcb, now);
                } else if below {
                    self.take_back_timeout(tcb, told.delivered, before); // Step 3 (b).
                }
            }
        }
    }

    /// It was needed: what was out then is lost.
    fn repair_after_timeout(&mut self, tcb: &Tcb, now: Instant) {
        self.frto = Frto::Off;
        self.lose_at_timeout(tcb, now);
    }

    /// It was not: RFC 4015 section 3.2, step ResCC, and RFC 9438 section 4.9.1 for what CUBIC keeps itself.
    fn take_back_timeout(&mut self, tcb: &mut Tcb, delivered: u32, before: Before) {
        self.frto = Frto::Off;
        self.segments.forgive();
        let first = tcb.profile.initial_window.bytes(tcb.snd.mss);
        tcb.window.ssthresh = before.pipe.max(2 * tcb.snd.mss);
        tcb.window.cwnd = self.segments.in_flight().saturating_add(delivered.min(first));
        tcb.congestion.on_spurious();
        tcb.rtt.reset_backoff();
        self.phase = Phase::Open;
        self.recover = tcb.snd.una;
    }
}

/// Whether a report is of a duplicate: below what is acknowledged, or within the next block (RFC 2883 section 4).
pub(super) fn reports_duplicate(ack: SeqNumber, blocks: &[(SeqNumber, SeqNumber)]) -> bool {
    let Some(&(left, right)) = blocks.first() else { return false };
    right <= ack || blocks.get(1).is_some_and(|next| left >= next.0 && right <= next.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2883 section 4: the first block lies below the acknowledgment, or within the second.
    #[test]
    fn reports_of_duplicates() {
        let b = |left, right| (SeqNumber(left), SeqNumber(right));
        assert!(reports_duplicate(SeqNumber(50), &[b(10, 20)]));
        assert!(reports_duplicate(SeqNumber(50), &[b(70, 80), b(60, 90)]));
        assert!(!reports_duplicate(SeqNumber(50), &[b(70, 80), b(90, 99)]));
        assert!(!reports_duplicate(SeqNumber(50), &[]));
    }
}
