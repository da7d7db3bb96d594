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
use super::trial::{Last, Memory, Phase, Reading, Trial, Verdict};
use crate::core::certain::{self, Certainty};
use crate::rows::Cause;

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

    /// Its side sent what did not come here, so that the capture is not its own.
    pub(super) fn sends_elsewhere(&self) -> bool {
        self.memory.elsewhere
    }

    /// All up to `una` is acknowledged, and data reach up to `edge`.
    pub(super) fn progress(&mut self, una: i64, edge: i64) {
        self.memory.progress(una, edge);
    }

    /// Judges the next retransmission.
    pub(super) fn judge(&mut self, trial: &Trial<'_>) -> Verdict {
        self.leave_phase(trial);
        self.memory.learn_sack(trial);
        self.memory.elsewhere |= trial.before.unseen > 0;
        let signs = Signs::of(trial, &self.memory);
        let (cause, certainty) = match self.decide(trial, &signs) {
            Reading::Unknown => (Cause::Unknown, Certainty::Unknown),
            Reading::Likely(cause) => (cause, Certainty::Likely),
            Reading::Provable(cause) => (cause, certain::tcp(cause, signs.facts(trial, &self.memory))),
        };
        self.memory.learn_probes(signs.probe_due, cause);
        self.memory.repairing = self.memory.repairing.max(Some(trial.end));
        self.memory.last = Some(Last { seq: trial.seq, end: trial.end, time: trial.now });
        let mut evidence = signs.evidence(trial);
        let phase = self.memory.phase;
        self.enter_phase(trial, &signs, cause);
        if matches!(self.memory.phase, Phase::Recovery { .. }) && self.memory.phase != phase {
            self.memory.began = Some(trial.now);
        }
        let is_sure = matches!(certainty, Certainty::Certain(_));
        let begins = self.memory.phase != phase
            || matches!(cause, Cause::Fast | Cause::ReorderingTimer | Cause::Timeout);
        // What may have been an expiry leaves doubt of all that follows it.
        let chance = signs.overdue || !signs.prompted;
        self.memory.sure = if begins { is_sure } else { self.memory.sure && (is_sure || !chance) };
        if chance {
            self.memory.doubted_to = trial.edge;
        }
        if matches!(cause, Cause::Timeout | Cause::Syn | Cause::SynAck | Cause::Fin) {
            evidence.backoff = self.memory.expiries;
        }
        evidence.recover = match self.memory.phase {
            Phase::Open => None,
            Phase::Recovery { recover } | Phase::Loss { recover } => Some(recover),
        };
        Verdict { cause, certainty, evidence }
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
            Cause::Fast | Cause::ReorderingTimer => {
                self.memory.phase = Phase::Recovery { recover: trial.edge };
            }
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
                self.memory.expired_to = trial.edge;
                self.memory.phase = Phase::Loss { recover: trial.edge };
            }
            _ => {}
        }
    }

    fn decide(&mut self, trial: &Trial<'_>, signs: &Signs) -> Reading {
        if let Some(plain) = by_kind(trial, signs) {
            return plain;
        }
        if trial.seen.window.is_none() {
            // Not one acknowledgment is in the capture.
            return Reading::Unknown;
        }
        if !signs.near {
            return distant::decide(&self.memory, trial, signs);
        }
        match self.memory.recovers(trial) {
            Phase::Loss { .. } => after_timeout(trial, signs),
            Phase::Recovery { .. } => in_recovery(trial, signs, &self.memory),
            Phase::Open => self.outside(trial, signs),
        }
    }

    /// No recovery goes on.
    fn outside(&mut self, trial: &Trial<'_>, signs: &Signs) -> Reading {
        if let Some(answer) = answered(trial, signs, &self.memory) {
            return answer;
        }
        if signs.is_tail && !signs.is_first && signs.timer_possible {
            self.memory.probes |= signs.near;
            return Reading::Provable(Cause::TailProbe);
        }
        if signs.late_report {
            return Reading::Likely(Cause::Fast);
        }
        if signs.is_tail && !signs.is_first && !signs.prompted && !signs.disorder {
            // The timer of the probe is that of what was sent before it.
            return Reading::Likely(Cause::TailProbe);
        }
        if signs.timer_possible && signs.is_first {
            if signs.may_probe(&self.memory, trial) {
                return Reading::Likely(Cause::TailProbe);
            }
            return Reading::Provable(Cause::Timeout);
        }
        if signs.disorder {
            return Reading::Likely(Cause::Fast);
        }
        if signs.crossed_ack {
            return Reading::Likely(Cause::Timeout);
        }
        Reading::Unknown
    }
}

/// What its kind alone decides.
fn by_kind(trial: &Trial<'_>, signs: &Signs) -> Option<Reading> {
    if trial.flags.has(Flags::SYN) {
        let cause = if trial.flags.has(Flags::ACK) { Cause::SynAck } else { Cause::Syn };
        return Some(Reading::Provable(cause));
    }
    if trial.flags.has(Flags::FIN) && trial.len == 0 {
        return Some(Reading::Provable(Cause::Fin));
    }
    (signs.window_opened || signs.window_closed).then_some(Reading::Provable(Cause::WindowProbe))
}

/// Outside a recovery, an acknowledgment made the sender send it again.
fn answered(trial: &Trial<'_>, signs: &Signs, memory: &Memory) -> Option<Reading> {
    if signs.prompted && signs.entitled {
        return Some(Reading::Provable(Cause::Fast));
    }
    let prompted = signs.at_once && trial.view.last_is_disorder;
    if signs.prompted && signs.disorder && (prompted || !signs.timer_likely) {
        // Early retransmit, RACK, or another threshold.
        return Some(Reading::Likely(Cause::Fast));
    }
    if trial.sack && signs.at_once && signs.overtaken && !signs.disorder {
        // RACK: what was sent later has arrived.
        return Some(Reading::Likely(Cause::Fast));
    }
    // Of a sender of which nothing is known, the other timer may be due as well; and three reports leave RACK nothing to wait
    // for, unless it saw reordering (RFC 8985 section 6.2, step 4).
    if signs.reordering_due && (memory.is_of_today(trial) || !(signs.timer_likely || signs.entitled)) {
        return Some(Reading::Likely(Cause::ReorderingTimer));
    }
    if trial.sack && signs.disorder && signs.timer_possible && (!signs.timer_likely || signs.reordering) {
        // RACK's reordering timer.
        return Some(Reading::Likely(Cause::Fast));
    }
    None
}

fn after_timeout(trial: &Trial<'_>, signs: &Signs) -> Reading {
    if signs.is_first && signs.timer_possible && !signs.prompted && trial.before.count > 0 {
        return Reading::Provable(Cause::Timeout);
    }
    if signs.duplicate && signs.prompted && (signs.resent || (signs.crossing && !trial.sack)) {
        // Going back sends each segment once.
        return Reading::Likely(Cause::Fast);
    }
    // With reports above it, a sender that took its timeout back would be in a recovery (RFC 4015).
    Reading::Provable(Cause::GoBackN)
}

fn in_recovery(trial: &Trial<'_>, signs: &Signs, memory: &Memory) -> Reading {
    if signs.copy_lost && !signs.prompted {
        // By an acknowledgment, by a timer for reordering, or when it is its turn: a sender that paces has that, too.
        return Reading::Likely(Cause::SackRecovery);
    }
    if signs.is_first && signs.timer_possible && !signs.prompted {
        return Reading::Provable(Cause::Timeout);
    }
    // Acknowledgments go on coming in recovery, so that one may precede a timeout by chance. Nothing else sends a
    // segment for the third time, and the timer may have run since the recovery began.
    // Without SACK it is the acknowledgment of new data that makes a recovery go on, and no duplicate.
    let idle = !trial.sack && signs.duplicate && !signs.third_report;
    let by_chance = (signs.timer_possible || signs.impatient) && (!signs.at_once || idle);
    if signs.is_first && signs.again && (by_chance || (signs.near && !signs.prompted)) {
        return Reading::Likely(Cause::Timeout);
    }
    if trial.sack && signs.sacked == 0 && memory.is_left(trial) {
        // Duplicates answered what it sent again although that had arrived; it goes on going back.
        return Reading::Likely(Cause::GoBackN);
    }
    if trial.sack {
        return Reading::Provable(Cause::SackRecovery);
    }
    if !signs.is_first {
        // Without SACK a sender knows of one hole only; it goes back after a timeout that nothing showed.
        return Reading::Likely(Cause::GoBackN);
    }
    if signs.third_report {
        // Reno's recovery ends with the first partial ACK (RFC 5681 section 3.2).
        return Reading::Likely(Cause::Fast);
    }
    Reading::Provable(Cause::PartialAck)
}

#[cfg(test)]
mod tests;
