//! What speaks for which cause of a retransmission.

use rexmit_units::{Duration, Instant};

use super::trial::{Memory, Phase, SackUse, Trial};
use crate::core::certain::{Exclusion, Facts};
use crate::rows::Evidence;

/// What speaks for which cause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signs {
    /// The capture is the sender's own.
    pub near: bool,
    /// An acknowledgment had arrived just before.
    pub prompted: bool,
    /// So shortly before that nothing else can have come between.
    pub at_once: bool,
    /// The sender had seen enough duplicates, or segments reported by SACK, for a fast retransmit.
    pub entitled: bool,
    /// The last acknowledgment was the one that made it so.
    pub crossing: bool,
    /// It had seen some.
    pub disorder: bool,
    /// It is the first segment that was not acknowledged.
    pub is_first: bool,
    /// It is the last segment that was sent.
    pub is_tail: bool,
    /// It was sent since the timer last expired, or then.
    pub resent: bool,
    /// Something sent after it is acknowledged.
    pub overtaken: bool,
    /// A timer may have run out.
    pub timer_possible: bool,
    /// It had run for as long as the estimated timeout.
    pub timer_likely: bool,
    /// It had run for that long, also where each retransmission starts it again.
    pub timer_sure: bool,
    /// What was sent after it was reported so shortly before that a timer for reordering may have run out.
    pub reordering: bool,
    /// Exactly such a timer has run out: what it sends is due by the last report.
    pub reordering_due: bool,
    /// What was sent after it was last sent has been reported, and no timer had run its time since: a sender that finds
    /// losses by time sends its copies again, too.
    pub copy_lost: bool,
    /// It waited longer than such a timer runs.
    pub beyond_reordering: bool,
    /// A tail loss probe would have left long before.
    pub probe_overdue: bool,
    /// A single outstanding segment left just when a tail loss probe would, and no timer.
    pub probe_due: bool,
    /// It was seen more than once before.
    pub again: bool,
    /// A timer may have run out, if the acknowledgments of this recovery did not start it again (RFC 6582 section 4, the
    /// impatient variant).
    pub impatient: bool,
    /// It is the first segment that was not acknowledged, for the third time, since not every acknowledgment starts every
    /// sender's timer again; or after as long as a timer runs; or, when one may have run out, not at once.
    pub overdue: bool,
    /// The last acknowledgment was a duplicate for it.
    pub duplicate: bool,
    /// That acknowledgment was the report that starts a recovery of it.
    pub third_report: bool,
    /// As many reports had come as start a recovery of it, and the timer had not run its time: it left late, or waited
    /// before it came here.
    pub late_report: bool,
    /// It is acknowledged, and left after a silence of as long as a timer runs: the acknowledgment passed it on its way.
    pub crossed_ack: bool,
    /// A probe's byte goes again with what follows it: the window has opened.
    pub window_opened: bool,
    /// It takes no more than a byte, and the window is closed.
    pub window_closed: bool,
    /// Segments above it that were reported by SACK.
    pub sacked: u32,
    /// How long ago the sender had seen an acknowledgment.
    pub since_ack: Option<Duration>,
}

impl Signs {
    /// Reads the signs, with what was remembered before.
    pub(super) fn of(trial: &Trial<'_>, memory: &Memory) -> Self {
        let expired_at = memory.expired_at;
        let view = trial.view;
        let sent = &trial.sent_at;
        let policy = trial.policy;
        let slack = slack(trial);
        let sacked_bytes = view.sacked.bytes_above(trial.seq);
        let sacked = (sacked_bytes.max(0) as u64).div_ceil(u64::from(trial.mss.max(1))) as u32;
        let is_first = trial.seq <= view.una;
        let between = |from: Instant, to: Instant| to.saturating_since(from);
        let since_ack = view.last.map(|last| between(last, sent.time));
        // The timer restarts with each progress, from the first transmission of the first segment and from each
        // expiry. Some senders start it again with each retransmission.
        let by_first = trial.before.first.map(|piece| between(piece.first, trial.now));
        let by_last = trial.before.last.map(|stamp| between(stamp.time, trial.now));
        let by_expiry = expired_at.map(|time| between(time, trial.now));
        let by_ack = view.advanced_at.map(|time| between(time, sent.time));
        let running = |by_data: Option<Duration>| [by_ack, by_data, by_expiry].into_iter().flatten().min();
        let timeout = policy.timer.run_share.of(trial.clock.rto().unwrap_or(policy.timer.unsampled));
        let ran = |by_data, bound: Duration| running(by_data).is_some_and(|ran| ran >= bound);
        let round_trip = trial.clock.min_rtt().unwrap_or_default();
        let timer_possible = ran(by_first, policy.timer.soonest_share.of(round_trip));
        let recovering = memory.began.filter(|_| matches!(memory.phase, Phase::Recovery { .. }));
        let impatient =
            recovering.is_some_and(|began| trial.since(began) >= policy.timer.soonest_share.of(round_trip));
        let at_once = since_ack.is_some_and(|since| since <= policy.prompt.at_once_share.of(slack));
        let again = trial.before.count > 1;
        let prompted = since_ack.is_some_and(|since| since <= slack);
        let entitled = trial.reaches(sacked) || (is_first && trial.reaches(view.disorders));
        let crossing = view.third_at.is_some_and(|third| view.last == Some(third));
        let opened = prompted && view.window_moved;
        let closed = view.window == Some(0) && trial.len <= 1 && trial.end >= trial.edge;
        Self {
            near: sent.near,
            prompted,
            at_once,
            entitled,
            crossing,
            disorder: view.disorders > 0 || sacked > 0,
            is_first,
            is_tail: trial.end >= trial.edge,
            resent: trial.before.last.zip(expired_at).is_some_and(|(stamp, expired)| stamp.time >= expired),
            overtaken: sent.near && trial.before.last.is_some_and(|stamp| stamp.time < trial.delivered),
            timer_possible,
            timer_likely: ran(by_first, timeout),
            timer_sure: ran(by_last, timeout),
            reordering: may_wait_for_reordering(trial),
            reordering_due: !prompted && is_due_by_reordering(trial, slack),
            copy_lost: trial.sack && is_passed(trial) && !ran(by_first, timeout),
            beyond_reordering: waited_beyond_reordering(trial),
            probe_overdue: latest_probe(trial).is_some_and(|latest| ran(by_first, latest)),
            probe_due: is_first
                && view.disorders == 0
                && sacked == 0
                && is_due_by_probe(trial, running(by_first)),
            again,
            impatient,
            overdue: is_first
                && (again || ran(by_first, timeout) || (!at_once && (timer_possible || impatient))),
            duplicate: is_first && view.last_is_disorder,
            late_report: is_first && entitled && !again && !ran(by_first, timeout),
            crossed_ack: trial.end <= view.una
                && trial.last_sent.is_some_and(|last| trial.since(last) >= timeout),
            third_report: is_first && view.last_is_disorder && entitled && crossing,
            window_opened: trial.seq + 1 == trial.edge && trial.len > 1 && opened,
            window_closed: closed,
            sacked,
            since_ack,
        }
    }

    /// What they exclude.
    pub(super) fn facts(&self, trial: &Trial<'_>, memory: &Memory) -> Facts {
        let last = trial.before.last.map(|stamp| trial.since(stamp.time));
        let round_trip = trial.clock.rtt().unwrap_or_default();
        let told = self.is_told(trial);
        let silent = trial.told.silent.unwrap_or_default();
        let beyond = |longest: Option<Duration>| longest.is_some_and(|longest| silent > longest);
        let timeout =
            trial.policy.timer.run_share.of(trial.clock.rto().unwrap_or(trial.policy.timer.unsampled));
        // A sender that goes by SACK counts each report, one that goes by duplicates only those that leave the window
        // where it is (RFC 5681 section 2).
        let counted = memory.sack == SackUse::Used || trial.reaches(trial.view.duplicates);
        Facts::of(&[
            (Exclusion::AtSender, trial.clock.is_surely_near() && !memory.elsewhere),
            (Exclusion::LaterThanCopies, last.is_none_or(|since| since > trial.policy.timer.syn)),
            (Exclusion::SeenBefore, trial.before.count > 0),
            (Exclusion::NoAnswer, !self.prompted),
            (Exclusion::Answer, self.prompted),
            (Exclusion::JustReported, self.crossing && self.at_once && counted),
            (Exclusion::TimerYoung, !self.timer_possible),
            (Exclusion::TimerRan, (self.near && self.timer_sure) || (told && silent >= timeout)),
            (Exclusion::NotOverdue, !self.overdue),
            (Exclusion::NotLeft, !memory.may_be_left(trial)),
            (Exclusion::NotTail, !(trial.sack && self.is_tail)),
            (Exclusion::OnlyTail, self.is_tail && !self.is_first),
            (Exclusion::Recovering, self.near && memory.recovers(trial) != Phase::Open),
            (Exclusion::ToldByStamps, told),
            (Exclusion::SentSince, self.resent || !memory.is_left(trial)),
            (Exclusion::WindowClosed, self.window_closed),
            (Exclusion::NothingSacked, self.sacked == 0),
            (Exclusion::NoDuplicate, !self.duplicate),
            (Exclusion::NoThirdReport, !self.third_report),
            (Exclusion::LeaderCertain, memory.sure),
            (Exclusion::SackUsed, memory.sack == SackUse::Used),
            (Exclusion::SackedAbove, self.sacked > 0),
            (Exclusion::FewReports, !self.entitled),
            (Exclusion::NothingPassed, trial.before.count > 0 && !is_passed(trial)),
            (
                Exclusion::BeyondReordering,
                (self.near && self.beyond_reordering) || (told && beyond(longest_reordering(trial))),
            ),
            (Exclusion::NothingLately, memory.last.is_none_or(|last| trial.since(last.time) > round_trip)),
            (Exclusion::RecoveryOver, memory.is_over(trial)),
        ])
    }

    /// Timestamps prove that the sender knew all that has passed here, which is acknowledged up to the segment, and that it
    /// had got nothing for longer than it takes to answer. The segment was seen before, or what lies above it, and it
    /// is not a window probe.
    fn is_told(&self, trial: &Trial<'_>) -> bool {
        let silent = trial.told.silent.is_some_and(|silent| silent >= trial.policy.far.stamped_silence);
        let una = trial.seen.una;
        let first = trial.seq <= una && una < trial.end;
        let whole = trial.before.count > 0 && trial.before.unseen == 0;
        silent && first && (whole || trial.after_higher) && trial.len != 1 && !self.window_closed
    }

    /// The part of the evidence that they hold.
    pub(super) fn evidence(&self, trial: &Trial<'_>) -> Evidence {
        let una = trial.view.una;
        Evidence {
            duplicates: trial.view.disorders.max(trial.view.duplicates),
            sacked: self.sacked,
            outstanding: (trial.edge - una - trial.view.sacked_bytes).max(0) as u64,
            since_ack: self.since_ack.map(Duration::as_nanos),
            since_sent: trial.last_sent.map(|sent| trial.since(sent).as_nanos()),
            rto: trial.clock.rto().map(Duration::as_nanos),
            backoff: 0,
            recover: None,
        }
    }

    /// A single outstanding segment that a sender known to probe sends again, for the first time since progress and no
    /// later than a probe may. It may leave as late as the timer expires, in its place, so that this is never certain. Of a
    /// sender of which nothing is known, one that leaves just when a probe is due, as one before did.
    pub(super) fn may_probe(&self, memory: &Memory, trial: &Trial<'_>) -> bool {
        let single = self.is_tail && !self.disorder && trial.before.count <= 1;
        let known = memory.is_of_today(trial) && !self.probe_overdue;
        trial.sack && single && (known || self.probe_due && memory.probes_on_time())
    }
}

/// The timer of a sender that waits for reordering runs out just now: it was set by the last report, for what is left of the
/// round trip that this showed and a quarter of the shortest one (RFC 8985 section 6.2, steps 4 and 5).
fn is_due_by_reordering(trial: &Trial<'_>, slack: Duration) -> bool {
    let Some((stamp, report)) = trial.before.last.zip(trial.reported) else { return false };
    let Some(least) = trial.clock.soonest() else { return false };
    let arrived = trial.view.sacked.bytes_above(trial.seq) > 0;
    let rtt = report.at.saturating_since(report.sent);
    let due = stamp.time + rtt + trial.policy.far.reordering.of(least);
    let margin = trial.policy.timer.reordering_margin;
    let early = trial.now + slack < due;
    trial.sack
        && arrived
        && stamp.time <= report.sent
        && due > report.at
        && !early
        && trial.now <= due + margin
}

/// How long a sender that probes for a lost tail may stay silent at the most: two round trips and the delay of an
/// acknowledgment of a single segment (RFC 8985 section 7.2), and what its round-trip time may differ from ours. `None`
/// without a sample: such a sender waits for a second, or for as long as its timer.
fn latest_probe(trial: &Trial<'_>) -> Option<Duration> {
    let timer = &trial.policy.timer;
    let round_trips = |rtt: Duration| rtt * timer.probe_rtts + timer.probe_rtt_error.of(rtt);
    trial.clock.rtt().map(|rtt| round_trips(rtt) + timer.probe_ack_delay + timer.probe_margin)
}

/// A tail loss probe of a single outstanding segment is due just now: two smoothed round trips and the delay of an
/// acknowledgment since data were last sent or acknowledged (RFC 8985 section 7.2). No timer that is known is due then.
fn is_due_by_probe(trial: &Trial<'_>, ran: Option<Duration>) -> bool {
    let timer = &trial.policy.timer;
    let single = trial.end >= trial.edge && trial.before.count <= 1;
    let since = trial.last_sent.map(|last| trial.since(last));
    let Some((waited, [plain, seeded])) = since.into_iter().chain(ran).min().zip(trial.clock.smoothed())
    else {
        return false;
    };
    let error = timer.probe_error.of(waited).max(timer.probe_tick);
    let near = |due: Duration| waited <= due + error && due <= waited + error;
    let probe = |rtt: Duration| near(rtt * timer.probe_rtts + timer.probe_ack_delay);
    let rto = trial.clock.rto().unwrap_or_default();
    let timers = [rto, rto.max(timer.first_rto), plain + timer.min_rto, seeded + timer.min_rto];
    trial.sack && single && (probe(plain) || probe(seeded)) && !timers.into_iter().any(near)
}

/// What was sent after it has been reported, as far as acknowledgments show: they told of data out of order since it was
/// last sent, or acknowledged what was sent later.
fn is_passed(trial: &Trial<'_>) -> bool {
    let Some(stamp) = trial.before.last else { return true };
    stamp.time < trial.delivered || trial.view.disorder_at.is_some_and(|time| time > stamp.time)
}

/// A report of what was sent after it is so recent that the usual reordering window has just passed (RFC 8985 section
/// 6.2: a quarter of the shortest RTT). A duplicate without a SACK block tells RACK of no arrival: such answer what came
/// twice.
fn may_wait_for_reordering(trial: &Trial<'_>) -> bool {
    let policy = trial.policy;
    let window = policy.far.reordering.of(trial.clock.min_rtt().unwrap_or_default());
    let arrived = trial.view.sacked.bytes_above(trial.seq) > 0;
    let reported = trial.view.disorder_at.filter(|_| trial.sack && arrived && is_passed(trial));
    let since = reported.map(|time| trial.sent_at.time.saturating_since(time));
    since.is_some_and(|since| since <= window + policy.timer.reordering_margin)
}

/// The time of RACK.rtt and of the longest reordering window has passed since it was last sent.
fn waited_beyond_reordering(trial: &Trial<'_>) -> bool {
    let waited = trial.before.last.map(|stamp| trial.since(stamp.time));
    waited.zip(longest_reordering(trial)).is_some_and(|(waited, longest)| waited > longest)
}

/// The time of RACK.rtt and of the longest reordering window. RACK.rtt is no longer than from the last transmission to the
/// last acknowledgment, which may tell of a queue that no sample shows; of what did not pass here before, than from the
/// last acknowledgment to the last packet that its sender sent, and from here to the receiver and back.
fn longest_reordering(trial: &Trial<'_>) -> Option<Duration> {
    let timer = &trial.policy.timer;
    let answered = match trial.before.last {
        Some(stamp) => trial.view.last.map(|last| last.saturating_since(stamp.time)),
        None => trial
            .last_sent
            .zip(trial.seen.last)
            .map(|(sent, last)| sent.saturating_since(last) + trial.clock.greatest().unwrap_or_default()),
    };
    let rtt = trial.clock.greatest()?.max(answered.unwrap_or_default());
    Some(rtt * timer.reordering_rtts + timer.reordering_margin)
}

/// How long after an acknowledgment a packet counts as its answer.
fn slack(trial: &Trial<'_>) -> Duration {
    let (prompt, clock) = (&trial.policy.prompt, trial.clock);
    let part = prompt.share.of(clock.rtt().unwrap_or_default());
    part.max(prompt.least).min(prompt.most) + prompt.loop_share.of(clock.delay())
}
