//! What made the sender send a segment again.
//!
//! A retransmission is held against what the sender knew when it sent it: the acknowledgments seen here up to the
//! loop time before (from here to the sender and back; nothing at a sender's own capture). Three questions decide:
//! did an acknowledgment arrive just then, did it entitle the sender to a fast retransmit, and had it been silent for
//! as long as a timer runs?

use rexmit_units::Instant;
use rexmit_wire::Flags;

use super::acks::AckState;
use super::board::Before;
use super::clock::Clock;
use super::distant;
use super::signs::Signs;
use super::view::SentAt;
use crate::rows::{Cause, Confidence, Evidence};

/// A retransmission and what was known when it was sent.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    /// When it was seen.
    pub now: Instant,
    /// When it was sent.
    pub sent_at: SentAt,
    /// First sequence number.
    pub seq: i64,
    /// One past the last.
    pub end: i64,
    /// Bytes of data.
    pub len: u32,
    /// Control bits.
    pub flags: Flags,
    /// Earlier transmissions of it.
    pub before: &'a Before,
    /// The acknowledgments that the sender had seen.
    pub view: &'a AckState,
    /// Those that have passed here.
    pub seen: &'a AckState,
    /// One past the highest number that it had sent.
    pub edge: i64,
    /// Its round-trip times.
    pub clock: &'a Clock,
    /// Its maximum segment size.
    pub mss: u32,
    /// Both sides permitted SACK.
    pub sack: bool,
    /// Its SYN looks like that of a system that probes for tail losses.
    pub probes: bool,
    /// When it last sent data.
    pub last_sent: Option<Instant>,
    /// Since when its packets come without a pause.
    pub busy_since: Option<Instant>,
    /// The latest transmission of what is acknowledged: RACK takes what was sent before for lost.
    pub delivered: Instant,
}

/// What a judgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub cause: Cause,
    pub confidence: Confidence,
    pub evidence: Evidence,
}

/// Where a sender is in its recovery, as its retransmissions show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is being recovered.
    #[default]
    Open,
    /// After a fast retransmit, until `recover` is acknowledged.
    Recovery { recover: i64 },
    /// After a timeout, until `recover` is acknowledged.
    Loss { recover: i64 },
}

/// A retransmission that was judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    /// Its first sequence number.
    pub seq: i64,
    /// When it was seen.
    pub time: Instant,
}

/// Judges the retransmissions of one side in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judge {
    pub(super) phase: Phase,
    /// The last retransmission.
    pub(super) last: Option<Last>,
    /// Expiries in a row without progress.
    expiries: u32,
    /// First unacknowledged number at the last of them.
    expired_una: i64,
    /// When the timer last expired.
    expired_at: Option<Instant>,
    /// A tail loss probe was seen that can be nothing else.
    probes: bool,
}

impl Judge {
    /// Judges the next retransmission.
    pub(super) fn judge(&mut self, trial: &Trial<'_>) -> Verdict {
        self.leave_phase(trial);
        let signs = Signs::of(trial, self.expired_at);
        let (cause, mut confidence) = self.decide(trial, &signs);
        if !trial.clock.is_surely_near() && !trial.flags.has(Flags::SYN) {
            // Where the capture was made is not known.
            confidence = confidence.min(Confidence::Likely);
        }
        self.last = Some(Last { seq: trial.seq, time: trial.now });
        let mut evidence = signs.evidence(trial);
        self.enter_phase(trial, &signs, cause);
        if matches!(cause, Cause::Timeout | Cause::Syn | Cause::SynAck | Cause::Fin) {
            evidence.backoff = self.expiries;
        }
        evidence.recover = match self.phase {
            Phase::Open => None,
            Phase::Recovery { recover } | Phase::Loss { recover } => Some(recover),
        };
        Verdict { cause, confidence, evidence }
    }

    fn leave_phase(&mut self, trial: &Trial<'_>) {
        let una = trial.view.una;
        match self.phase {
            Phase::Recovery { recover } | Phase::Loss { recover } if una >= recover => {
                // Elsewhere the sender's knowledge is not known well; but new data come after what is recovered.
                let round_trip = trial.clock.rtt().unwrap_or(0);
                let since = self.last.map_or(0, |last| trial.now.saturating_since(last.time).as_nanos());
                if trial.sent_at.near || trial.edge > recover || since > 2 * round_trip {
                    self.phase = Phase::Open;
                }
            }
            _ => {}
        }
        if una > self.expired_una {
            self.expiries = 0;
        }
    }

    fn enter_phase(&mut self, trial: &Trial<'_>, signs: &Signs, cause: Cause) {
        match cause {
            Cause::Fast => self.phase = Phase::Recovery { recover: trial.edge },
            Cause::GoBackN => {
                let recover = trial.edge;
                if !matches!(self.phase, Phase::Loss { .. }) {
                    self.phase = Phase::Loss { recover };
                }
            }
            Cause::SackRecovery | Cause::PartialAck if self.phase == Phase::Open => {
                self.phase = Phase::Recovery { recover: trial.edge };
            }
            // BSD shows its FIN again with every acknowledgment.
            Cause::Fin if signs.prompted => {}
            Cause::Timeout | Cause::Syn | Cause::SynAck | Cause::Fin => {
                self.expiries += 1;
                self.expired_una = trial.view.una;
                self.expired_at = Some(trial.now);
                self.phase = Phase::Loss { recover: trial.edge };
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
            return distant::decide(self, trial, signs);
        }
        match self.phase {
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
            self.probes |= signs.near;
            return (Cause::TailProbe, sure_if(signs.near));
        }
        if signs.timer_possible && signs.is_first {
            if self.may_probe(trial, signs) {
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

    /// A single outstanding segment that a sender known to probe sends again, for the first time since progress and no
    /// later than a probe may. It may leave as late as the timer expires, in its place, so that this is never certain.
    pub(super) fn may_probe(&self, trial: &Trial<'_>, signs: &Signs) -> bool {
        let able = (self.probes || trial.probes) && trial.sack;
        able && signs.is_tail && !signs.disorder && trial.before.count <= 1 && !signs.probe_overdue
    }
}

/// Less than any usual timeout of a SYN, nanoseconds.
const SHORTEST_TIMEOUT: u64 = 200_000_000;

/// What its kind alone decides.
fn by_kind(trial: &Trial<'_>, signs: &Signs) -> Option<(Cause, Confidence)> {
    if trial.flags.has(Flags::SYN) {
        let cause = if trial.flags.has(Flags::ACK) { Cause::SynAck } else { Cause::Syn };
        // One that follows at once may be a copy that the path made.
        let last = trial.before.last.map(|stamp| trial.now.saturating_since(stamp.time).as_nanos());
        return Some((cause, sure_if(last.is_none_or(|since| since > SHORTEST_TIMEOUT))));
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
