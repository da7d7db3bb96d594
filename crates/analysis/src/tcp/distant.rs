//! Judgements away from the sender, where its acknowledgments and its packets pass at different times.
//!
//! What the sender knew is known to within what queues add to the loop time. So more weight lies on what packets show
//! by themselves: whether anything came from the sender before, what passed here already, and when the third duplicate
//! acknowledgment for a hole went towards the sender.

use rexmit_units::{Duration, Instant};

use super::clock::LONGEST;
use super::signs::Signs;
use super::trial::{Memory, Phase, Reading, Trial};
use crate::rows::Cause;

/// Judges a retransmission seen away from its sender. What answers acknowledgments is never certain there: the
/// retransmission that began a recovery, or the one of which this is the repetition, may have been lost before it came
/// here. A timeout is, where timestamps prove it.
pub(super) fn decide(memory: &Memory, trial: &Trial<'_>, signs: &Signs) -> Reading {
    let sight = Sight::of(memory, trial, signs);
    let cause = match memory.recovers(trial) {
        Phase::Loss { recover } => after_timeout(&sight, trial, recover),
        Phase::Recovery { .. } => in_recovery(&sight, trial),
        Phase::Open => outside(memory, &sight, trial, signs),
    };
    if cause == Cause::Timeout { Reading::Provable(cause) } else { Reading::Likely(cause) }
}

/// What the packets show.
#[derive(Clone, Copy, Debug)]
struct Sight {
    /// Nothing came from the sender for as long as a timer runs.
    silent: bool,
    /// It is at the left edge of what the receiver misses.
    first: bool,
    /// Part of it passed here before.
    here: bool,
    /// It is the last retransmission once more.
    same: bool,
    /// A partial ACK may have asked for it: one had its number (RFC 6582 section 3.2, step 3).
    asked: bool,
    /// It may answer the third duplicate for its hole.
    answers: bool,
    /// That third duplicate passed here too long ago for this to be the answer.
    too_late: bool,
    /// A third duplicate for data below it passed here lately.
    disordered: bool,
    /// A third duplicate for its hole passed here.
    crossed: bool,
    /// It may answer the first one, with RACK's patience.
    hasty: bool,
    /// Its sender probes for lost tails; such a one finds losses by time as well, waits for reordering, and sends lost copies
    /// again (RFC 8985).
    of_today: bool,
    /// That sender had known of the third duplicate for long, as timestamps show: this is not an answer to that.
    known_long: bool,
    /// By its sender's clock it answers no acknowledgment, and no timer for reordering can have sent it: that of a timeout
    /// had run its time.
    expired: bool,
    /// A retransmission that may have answered the third duplicate was lost before it came here.
    lost_again: bool,
    /// As many reports of the hole that it fills have passed here as start a fast retransmit.
    reported: bool,
}

impl Sight {
    fn of(memory: &Memory, trial: &Trial<'_>, signs: &Signs) -> Self {
        let (clock, far) = (trial.clock, &trial.policy.far);
        let delay = clock.delay();
        let since = |time: Instant| trial.since(time).min(LONGEST);
        let round_trip = clock.rtt().unwrap_or(delay);
        let timer = &trial.policy.timer;
        let timeout = timer.run_share.of(clock.rto().unwrap_or(timer.unsampled_far));
        let hole = |una: i64| trial.seq <= una && una < trial.end;
        let crossed = trial.seen.crossed.filter(|&(_, una)| hole(una)).map(|(at, _)| since(at));
        // What was sent in answer waits in queues, and comes with the packets before it. If the way was idle after it
        // should have come, it was not sent.
        let (soonest, queues) = if trial.sent_at.stamped {
            let grown = trial.sent_at.extra * far.queues_grown;
            (far.soonest_stamped.of(delay), grown + far.queues_stamped.of(delay))
        } else {
            // Without timestamps nothing shows how long queues were in the handshake and are now.
            (far.soonest.of(delay), delay)
        };
        let busy = trial.busy_since.map_or(Duration::ZERO, since);
        let latest = busy + delay + far.late_share.of(delay) + queues + far.late;
        let idle = crossed.is_some_and(|lag| lag > latest);
        let of_today = memory.is_of_today(trial);
        let unprompted = trial.told.unanswered.is_some_and(|time| time >= far.stamped_silence);
        let patient = trial.sack
            && trial.view.first_at.is_some_and(|first| {
                trial.sent_at.time.saturating_since(first) <= far.reordering.of(round_trip) + far.late
            });
        Self {
            silent: trial
                .last_sent
                .is_some_and(|last| since(last) >= timeout.max(far.silence.of(round_trip))),
            first: trial.seq <= trial.view.una || trial.seq <= trial.seen.una,
            here: trial.before.count > 0,
            same: memory.last.is_some_and(|last| last.seq == trial.seq),
            asked: trial.stepped,
            answers: crossed.is_some_and(|lag| lag >= soonest) && !idle,
            too_late: idle,
            crossed: crossed.is_some(),
            disordered: trial.seen.crossed.is_some_and(|(at, una)| {
                una < trial.seq && since(at) >= soonest && since(at) <= latest + round_trip
            }),
            expired: unprompted && signs.timer_likely && !patient && !(of_today && trial.sack),
            lost_again: trial
                .lost_again
                .zip(trial.seen.third_at)
                .is_some_and(|(lost, third)| lost.saturating_since(third) >= soonest),
            known_long: of_today
                && trial.sent_at.stamped
                && trial.view.third_at.is_some_and(|third| {
                    let known = trial.sent_at.time.saturating_since(third);
                    known >= timer.soonest_share.of(round_trip).max(trial.policy.copies.slow_clock)
                }),
            reported: trial.seq == trial.seen.una && trial.reaches(trial.seen.disorders),
            hasty: [trial.seen.first_at, trial.view.first_at]
                .into_iter()
                .flatten()
                .any(|at| since(at) <= latest + far.reordering.of(round_trip)),
            of_today,
        }
    }
}

fn after_timeout(sight: &Sight, trial: &Trial<'_>, recover: i64) -> Cause {
    if sight.first && !sight.same && trial.told.is_fresh {
        // An acknowledgment had come to its sender since the packet before: it goes on, however late that was.
        return Cause::GoBackN;
    }
    if sight.first && (sight.silent || sight.same) {
        return Cause::Timeout;
    }
    // What goes back sends all that was outstanding before anything new.
    let is_past = !trial.sack && trial.edge > recover && sight.here && sight.first && sight.asked;
    match is_past {
        true if sight.answers => Cause::Fast,
        true => Cause::PartialAck,
        false => Cause::GoBackN,
    }
}

fn in_recovery(sight: &Sight, trial: &Trial<'_>) -> Cause {
    let fits = IN_RECOVERY.iter().find(|(_, fits)| fits(sight, trial));
    fits.map_or(Cause::Unknown, |(cause, _)| *cause)
}

/// Whether a rule fits what the packets show.
type Rule = fn(&Sight, &Trial<'_>) -> bool;

/// What is sent in a recovery: the first rule that fits.
const IN_RECOVERY: [(Cause, Rule); 7] = [
    (Cause::Timeout, |sight, _| sight.silent && sight.first),
    (Cause::Timeout, |sight, _| sight.expired && sight.first),
    (Cause::Timeout, |sight, _| sight.same && sight.here),
    (Cause::SackRecovery, |_, trial| trial.sack),
    // Reno's recovery ends with the first partial ACK, and three duplicates start another (RFC 5681 section 3.2).
    (Cause::Fast, |sight, trial| {
        let begins = trial.view.una == trial.seq && trial.reaches(trial.view.disorders);
        sight.first && trial.sent_at.stamped && begins
    }),
    // Without SACK a sender knows of one hole only.
    (Cause::PartialAck, |sight, _| sight.first && sight.asked),
    (Cause::GoBackN, |_, _| true),
];

fn outside(memory: &Memory, sight: &Sight, trial: &Trial<'_>, signs: &Signs) -> Cause {
    if sight.expired && sight.first {
        return Cause::Timeout;
    }
    if trial.sack && (sight.known_long || sight.lost_again && sight.first) && !sight.silent {
        // What began the recovery was lost before it came here.
        return Cause::SackRecovery;
    }
    // Some hosts count the first duplicate as an update of the window.
    let fourth = signs.prompted && trial.view.last_is_disorder && trial.reaches(trial.view.disorders);
    if sight.answers || (sight.first && fourth && trial.sent_at.stamped) {
        return Cause::Fast;
    }
    if !trial.sack && sight.disordered && sight.here && sight.asked && !sight.silent {
        return Cause::PartialAck;
    }
    let disorder = signs.disorder || trial.seen.disorders > 0;
    let soon = trial.sack && disorder && sight.hasty && sight.first;
    if soon && (!sight.silent || sight.of_today) {
        // Early retransmit, RACK, or another threshold.
        return Cause::Fast;
    }
    let later = sight.too_late || (!sight.first && signs.sacked > 0);
    if trial.sack && !sight.silent && later {
        // The retransmission that began it was lost before it came here.
        return Cause::SackRecovery;
    }
    let early = !trial.sack && sight.first && (disorder || sight.crossed) && !signs.timer_likely;
    if !sight.silent && (early || (sight.reported && trial.before.count <= 1)) {
        // It waited in a queue among what other connections sent, which is not to be told from an idle way.
        return Cause::Fast;
    }
    if signs.is_tail && !sight.first && !sight.here {
        return Cause::TailProbe;
    }
    if signs.may_probe(memory, trial) {
        return Cause::TailProbe;
    }
    Cause::Timeout
}
