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
use crate::rows::{Cause, Confidence, Evidence};

/// A retransmission and what was known when it was sent.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    /// When it was seen.
    pub now: Instant,
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
enum Phase {
    /// Nothing is being recovered.
    #[default]
    Open,
    /// After a fast retransmit, until `recover` is acknowledged.
    Recovery { recover: i64 },
    /// After a timeout, until `recover` is acknowledged.
    Loss { recover: i64 },
}

/// Judges the retransmissions of one side in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Judge {
    phase: Phase,
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
        self.leave_phase(trial.view.una);
        let signs = Signs::of(trial, self.expired_at);
        let (cause, confidence) = self.decide(trial, &signs);
        let mut evidence = signs.evidence(trial);
        self.enter_phase(trial, cause);
        if matches!(cause, Cause::Timeout | Cause::Syn | Cause::SynAck | Cause::Fin) {
            evidence.backoff = self.expiries;
        }
        evidence.recover = match self.phase {
            Phase::Open => None,
            Phase::Recovery { recover } | Phase::Loss { recover } => Some(recover),
        };
        Verdict { cause, confidence, evidence }
    }

    fn leave_phase(&mut self, una: i64) {
        match self.phase {
            Phase::Recovery { recover } | Phase::Loss { recover } if una >= recover => {
                self.phase = Phase::Open;
            }
            _ => {}
        }
        if una > self.expired_una {
            self.expiries = 0;
        }
    }

    fn enter_phase(&mut self, trial: &Trial<'_>, cause: Cause) {
        match cause {
            Cause::Fast => self.phase = Phase::Recovery { recover: trial.edge },
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
        if let Some(plain) = by_kind(trial) {
            return plain;
        }
        match self.phase {
            Phase::Loss { recover } if trial.seq < recover => after_timeout(trial, signs),
            Phase::Recovery { recover } if trial.seq < recover => in_recovery(trial, signs),
            _ => self.outside(trial, signs),
        }
    }

    /// No recovery goes on.
    fn outside(&mut self, trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
        if signs.prompted && signs.entitled {
            let sure = signs.crossing || !signs.timer_possible;
            return (Cause::Fast, if sure { Confidence::Certain } else { Confidence::Likely });
        }
        let prompted = signs.at_once && trial.view.last_is_disorder;
        if signs.prompted && signs.disorder && (prompted || !signs.timer_likely) {
            // Early retransmit, RACK, or another threshold.
            return (Cause::Fast, Confidence::Likely);
        }
        if trial.sack && signs.at_once && signs.overtaken && !signs.disorder {
            // RACK: what was sent later has arrived.
            return (Cause::SackRecovery, Confidence::Likely);
        }
        if trial.sack && signs.disorder && signs.timer_possible && !signs.timer_likely {
            // RACK's reordering timer.
            return (Cause::Fast, Confidence::Likely);
        }
        if signs.is_tail && !signs.is_first && signs.timer_possible {
            self.probes = true;
            return (Cause::TailProbe, Confidence::Certain);
        }
        if signs.timer_possible && signs.is_first {
            if self.may_probe(trial, signs) {
                return (Cause::TailProbe, Confidence::Likely);
            }
            let sure = signs.timer_likely && !signs.prompted && !(trial.sack && signs.is_tail);
            return (Cause::Timeout, if sure { Confidence::Certain } else { Confidence::Likely });
        }
        if signs.disorder {
            return (Cause::Fast, Confidence::Likely);
        }
        (Cause::Unknown, Confidence::Unknown)
    }

    /// A single outstanding segment that a sender known to probe sends again, for the first time since progress.
    fn may_probe(&self, trial: &Trial<'_>, signs: &Signs) -> bool {
        let able = (self.probes || trial.probes) && trial.sack;
        able && signs.is_tail && !signs.disorder && trial.before.count <= 1
    }
}

/// What its kind alone decides.
fn by_kind(trial: &Trial<'_>) -> Option<(Cause, Confidence)> {
    if trial.flags.has(Flags::SYN) {
        let cause = if trial.flags.has(Flags::ACK) { Cause::SynAck } else { Cause::Syn };
        return Some((cause, Confidence::Certain));
    }
    if trial.flags.has(Flags::FIN) && trial.len == 0 {
        return Some((Cause::Fin, Confidence::Certain));
    }
    let closed = trial.view.window == Some(0);
    if closed && trial.len <= 1 && trial.end >= trial.edge {
        return Some((Cause::WindowProbe, Confidence::Certain));
    }
    None
}

fn after_timeout(trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
    if signs.is_first && signs.timer_possible && !signs.prompted && trial.before.count > 0 {
        let sure = signs.timer_likely;
        return (Cause::Timeout, if sure { Confidence::Certain } else { Confidence::Likely });
    }
    (Cause::GoBackN, if signs.prompted { Confidence::Certain } else { Confidence::Likely })
}

fn in_recovery(trial: &Trial<'_>, signs: &Signs) -> (Cause, Confidence) {
    if signs.is_first && signs.timer_possible && !signs.prompted {
        let sure = signs.timer_likely;
        return (Cause::Timeout, if sure { Confidence::Certain } else { Confidence::Likely });
    }
    // Acknowledgments go on coming in recovery, so that one may precede a timeout by chance.
    let again = trial.before.count > 1;
    if signs.is_first && again && signs.timer_likely && trial.view.last_is_disorder && !signs.at_once {
        return (Cause::Timeout, Confidence::Likely);
    }
    let confidence = if signs.prompted { Confidence::Certain } else { Confidence::Likely };
    if trial.sack {
        return (Cause::SackRecovery, confidence);
    }
    if signs.is_first && !trial.view.last_is_disorder {
        return (Cause::PartialAck, confidence);
    }
    (Cause::PartialAck, Confidence::Likely)
}

/// What speaks for which cause.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// An acknowledgment had arrived just before.
    prompted: bool,
    /// So shortly before that nothing else can have come between.
    at_once: bool,
    /// The sender had seen enough duplicates, or segments reported by SACK, for a fast retransmit.
    entitled: bool,
    /// The last acknowledgment was the one that made it so.
    crossing: bool,
    /// It had seen some.
    disorder: bool,
    /// It is the first segment that was not acknowledged.
    is_first: bool,
    /// It is the last segment that was sent.
    is_tail: bool,
    /// Something sent after it is acknowledged.
    overtaken: bool,
    /// A timer may have run out.
    timer_possible: bool,
    /// It had run for as long as the estimated timeout.
    timer_likely: bool,
    sacked: u32,
    since_ack: Option<u64>,
}

/// Duplicate ACKs, or segments reported by SACK, that start a fast retransmit (RFC 5681 section 3.2).
const THRESHOLD: u32 = 3;

impl Signs {
    fn of(trial: &Trial<'_>, expired_at: Option<Instant>) -> Self {
        let view = trial.view;
        let delay = trial.clock.delay();
        let at_sender = |time: Instant| (trial.now.saturating_since(time).as_nanos()).saturating_sub(delay);
        let since_ack = view.last.map(at_sender);
        let slack = slack(trial.clock);
        let sacked_bytes = view.sacked.bytes_above(trial.seq);
        let sacked = (sacked_bytes.max(0) as u64).div_ceil(u64::from(trial.mss.max(1))) as u32;
        let is_first = trial.seq <= view.una;
        let entitled = sacked >= THRESHOLD || (is_first && view.disorders >= THRESHOLD);
        let crossing = view.third_at.is_some_and(|third| view.last == Some(third));
        // The timer runs anew from each progress and from each transmission of the first segment.
        let sent = trial.before.last.map(|stamp| trial.now.saturating_since(stamp.time).as_nanos());
        let starts = [view.advanced_at.map(at_sender), sent];
        let running = starts.into_iter().flatten().min();
        let expired = expired_at.map(|time| trial.now.saturating_since(time).as_nanos());
        let running = running.map(|time| expired.map_or(time, |expired| time.min(expired)));
        let long = |bound: u64| running.is_some_and(|running| running >= bound);
        Self {
            prompted: since_ack.is_some_and(|since| since <= slack),
            at_once: since_ack.is_some_and(|since| since <= slack / 4),
            entitled,
            crossing,
            disorder: view.disorders > 0 || sacked > 0,
            is_first,
            is_tail: trial.end >= trial.edge,
            overtaken: trial.before.last.is_some_and(|stamp| stamp.time < trial.delivered),
            timer_possible: long(trial.clock.min_rtt().unwrap_or(0) / 10 * 9),
            timer_likely: long(trial.clock.rto().unwrap_or(180_000_000) / 10 * 8),
            sacked,
            since_ack,
        }
    }

    fn evidence(&self, trial: &Trial<'_>) -> Evidence {
        let una = trial.view.una;
        Evidence {
            duplicates: trial.view.disorders.max(trial.view.duplicates),
            sacked: self.sacked,
            outstanding: (trial.edge - una - trial.view.sacked_bytes).max(0) as u64,
            since_ack: self.since_ack,
            since_sent: trial.last_sent.map(|sent| trial.now.saturating_since(sent).as_nanos()),
            rto: trial.clock.rto(),
            backoff: 0,
            recover: None,
        }
    }
}

/// How long after an acknowledgment a packet counts as its answer, nanoseconds.
fn slack(clock: &Clock) -> u64 {
    let part = clock.rtt().unwrap_or(0) / 20;
    let jitter = clock.delay() / 2;
    part.clamp(1_000_000, 5_000_000) + jitter
}
