//! What made the sender send a segment again.
//!
//! A retransmission is held against what the sender knew when it sent it: the acknowledgments seen here up to the
//! loop time before (from here to the sender and back; nothing at a sender's own capture). Three questions decide:
//! did an acknowledgment arrive just then, did it entitle the sender to a fast retransmit, and had it been silent for
//! as long as a timer runs?

use rexmit_units::Duration;
use rexmit_wire::Flags;

use super::distant;
use super::signs::Signs;
use super::trial::{Last, Memory, Phase, Trial, Verdict};
use crate::rows::{Cause, Confidence};

/// Judges the retransmissions of one side in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judge {
    memory: Memory,
}

impl Judge {
    /// The retransmission that was judged last.
    pub(super) fn last(&self) -> Option<Last> {
        self.memory.last
    }

    /// Judges the next retransmission.
    pub(super) fn judge(&mut self, trial: &Trial<'_>) -> Verdict {
        self.leave_phase(trial);
        let signs = Signs::of(trial, self.memory.expired_at);
        let (cause, mut confidence) = self.decide(trial, &signs);
        if !trial.clock.is_surely_near() && !trial.flags.has(Flags::SYN) {
            // Where the capture was made is not known.
            confidence = confidence.min(Confidence::Likely);
        }
        self.memory.last = Some(Last { seq: trial.seq, time: trial.now });
        let mut evidence = signs.evidence(trial);
        self.enter_phase(trial, &signs, cause);
        if matches!(cause, Cause::Timeout | Cause::Syn | Cause::SynAck | Cause::Fin) {
            evidence.backoff = self.memory.expiries;
        }
        evidence.recover = match self.memory.phase {
            Phase::Open => None,
            Phase::Recovery { recover } | Phase::Loss { recover } => Some(recover),
        };
        Verdict { cause, confidence, evidence }
    }

    fn leave_phase(&mut self, trial: &Trial<'_>) {
        let una = trial.view.una;
        match self.memory.phase {
            Phase::Recovery { recover } | Phase::Loss { recover } if una >= recover => {
                // Elsewhere the sender's knowledge is not known well; but new data come after what is recovered.
                let round_trip = trial.clock.rtt().unwrap_or_default();
                let since = self.memory.last.map_or(Duration::ZERO, |last| trial.since(last.time));
                if trial.sent_at.near
                    || trial.edge > recover
                    || since > round_trip * trial.policy.timer.settled_rtts
                {
                    self.memory.phase = Phase::Open;
                }
            }
            _ => {}
        }
        if una > self.memory.expired_una {
            self.memory.expiries = 0;
        }
    }

    fn enter_phase(&mut self, trial: &Trial<'_>, signs: &Signs, cause: Cause) {
        match cause {
            Cause::Fast => self.memory.phase = Phase::Recovery { recover: trial.edge },
            Cause::GoBackN => {
                let recover = trial.edge;
                if !matches!(self.memory.phase, Phase::Loss { .. }) {
                    self.memory.phase = Phase::Loss { recover };
                }
            }
            Cause::SackRecovery | Cause::PartialAck if self.memory.phase == Phase::Open => {
                self.memory.phase = Phase::Recovery { recover: trial.edge };
            }
            // BSD shows its FIN again with every acknowledgment.
            Cause::Fin if signs.prompted => {}
            Cause::Timeout | Cause::Syn | Cause::SynAck | Cause::Fin => {
                self.memory.expiries += 1;
                self.memory.expired_una = trial.view.una;
                self.memory.expired_at = Some(trial.now);
                self.memory.phase = Phase::Loss { recover: trial.edge };
            }
            _ => {}
        }
    }

    fn decide(&mut self, trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
        if let Some(plain) = by_kind(trial, signs) {
            return plain;
        }
        if trial.seen.window.is_none() {
            // Not one acknowledgment is in the capture.
            return (Cause::Unknown, Confidence::Unknown);
        }
        if !signs.near {
            return distant::decide(&self.memory, trial, signs);
        }
        match self.memory.phase {
            Phase::Loss { recover } if trial.seq < recover => after_timeout(trial, signs),
            // With SACK, what was sent since it began is recovered too (RFC 6675 section 4, NextSeg).
            Phase::Recovery { recover } if trial.seq < recover || trial.sack => in_recovery(trial, signs),
            _ => self.outside(trial, signs),
        }
    }

    /// No recovery goes on.
    fn outside(&mut self, trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
        if let Some(answer) = answered(trial, signs) {
            return answer;
        }
        if signs.is_tail && !signs.is_first && signs.timer_possible {
            self.memory.probes |= signs.near;
            return (Cause::TailProbe, sure_if(signs.near));
        }
        if signs.timer_possible && signs.is_first {
            if signs.may_probe(&self.memory, trial) {
                return (Cause::TailProbe, Confidence::Likely);
            }
            let sure = signs.timer_sure && !signs.prompted && !(trial.sack && signs.is_tail);
            return (Cause::Timeout, sure_if(sure));
        }
        if signs.disorder {
            return (Cause::Fast, Confidence::Likely);
        }
        (Cause::Unknown, Confidence::Unknown)
    }
}

/// What its kind alone decides.
fn by_kind(trial: &Trial<'_>, signs: &Signs) -> Option<(Cause, Confidence)> {
    if trial.flags.has(Flags::SYN) {
        let cause = if trial.flags.has(Flags::ACK) { Cause::SynAck } else { Cause::Syn };
        // One that follows at once may be a copy that the path made.
        let last = trial.before.last.map(|stamp| trial.since(stamp.time));
        return Some((cause, sure_if(last.is_none_or(|since| since > trial.policy.timer.syn))));
    }
    if trial.flags.has(Flags::FIN) && trial.len == 0 {
        return Some((Cause::Fin, sure_if(!signs.prompted && trial.before.count > 0)));
    }
    // A probe's byte goes again with what follows it, once the window has opened.
    if trial.seq + 1 == trial.edge && trial.len > 1 && signs.prompted && trial.view.window_moved {
        return Some((Cause::WindowProbe, sure_if(signs.near)));
    }
    let closed = trial.view.window == Some(0);
    if closed && trial.len <= 1 && trial.end >= trial.edge {
        return Some((Cause::WindowProbe, Confidence::Certain));
    }
    None
}

/// Outside a recovery, an acknowledgment made the sender send it again.
fn answered(trial: &Trial<'_>, signs: &Signs) -> Option<(Cause, Confidence)> {
    if signs.prompted && signs.entitled {
        let sure = signs.crossing || !signs.timer_possible;
        return Some((Cause::Fast, sure_if(sure)));
    }
    let prompted = signs.at_once && trial.view.last_is_disorder;
    if signs.prompted && signs.disorder && (prompted || !signs.timer_likely) {
        // Early retransmit, RACK, or another threshold.
        return Some((Cause::Fast, Confidence::Likely));
    }
    if trial.sack && signs.at_once && signs.overtaken && !signs.disorder {
        // RACK: what was sent later has arrived.
        return Some((Cause::SackRecovery, Confidence::Likely));
    }
    if trial.sack && signs.disorder && signs.timer_possible && !signs.timer_likely {
        // RACK's reordering timer.
        return Some((Cause::Fast, Confidence::Likely));
    }
    None
}

fn after_timeout(trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
    if signs.is_first && signs.timer_possible && !signs.prompted && trial.before.count > 0 {
        return (Cause::Timeout, sure_if(signs.timer_sure));
    }
    let duplicate = signs.is_first && trial.view.last_is_disorder;
    if duplicate && signs.prompted && (signs.resent || (signs.crossing && !trial.sack)) {
        // Going back sends each segment once.
        return (Cause::Fast, Confidence::Likely);
    }
    // With reports above it, a sender that took its timeout back would be in a recovery (RFC 4015).
    let alone = signs.sacked == 0;
    (Cause::GoBackN, sure_if(signs.prompted && signs.near && !duplicate && alone))
}

fn in_recovery(trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
    if signs.is_first && signs.timer_possible && !signs.prompted {
        return (Cause::Timeout, sure_if(signs.timer_sure));
    }
    // Acknowledgments go on coming in recovery, so that one may precede a timeout by chance. Nothing else sends a
    // segment for the third time, and the timer may have run since the recovery began.
    let again = trial.before.count > 1;
    let by_chance = signs.timer_likely && trial.view.last_is_disorder && !signs.at_once;
    if signs.is_first && again && (by_chance || (signs.near && !signs.prompted)) {
        return (Cause::Timeout, Confidence::Likely);
    }
    // Or the timer's expiry met an acknowledgment by chance.
    let expired = signs.is_first && again && signs.timer_likely;
    let confidence = sure_if(signs.prompted && !expired);
    if trial.sack {
        // One may have ended and another begun that nothing showed.
        let another = signs.is_first && trial.view.last_is_disorder && signs.entitled && signs.crossing;
        return (Cause::SackRecovery, if another { Confidence::Likely } else { confidence });
    }
    if !signs.is_first {
        // Without SACK a sender knows of one hole only; it goes back after a timeout that nothing showed.
        return (Cause::GoBackN, Confidence::Likely);
    }
    if trial.view.last_is_disorder && signs.entitled && signs.crossing {
        // Reno's recovery ends with the first partial ACK (RFC 5681 section 3.2).
        return (Cause::Fast, Confidence::Likely);
    }
    (Cause::PartialAck, if trial.view.last_is_disorder { Confidence::Likely } else { confidence })
}

pub(super) fn sure_if(sure: bool) -> Confidence {
    if sure { Confidence::Certain } else { Confidence::Likely }
}

#[cfg(test)]
mod tests;
