//! Why a DATA chunk was sent again.
//!
//! All retransmitted chunks of a packet have one occasion, so the first of them (the lead) is judged, and the others
//! follow. A fast retransmit leaves within moments of the SACK that made the count of missing reports full; the timer
//! leaves at any moment, but never sooner than the RTT since it was started. Where only one of the two can have been,
//! that is certain; where the times allow both, what fits better is likely.

use rexmit_units::{Duration, Instant};

use super::board::Entry;
use super::order::Order;
use super::rows::{SctpCause, SctpEvidence};
use super::view::View;
use crate::core::certain::{self, Certainty, Exclusion, Facts};
use crate::core::policy::SctpPolicy;

/// What is known of the occasion of a packet with retransmitted chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occasion {
    /// By which thresholds it is judged.
    pub(super) policy: &'static SctpPolicy,
    /// When it was seen.
    pub(super) time: Instant,
    /// The way to the sender and back, if it is known; zero at the sender.
    pub(super) sender_loop: Option<Duration>,
    /// The retransmission timeout that the RTT gives, without a lower bound.
    pub(super) timeout: Option<Duration>,
    /// What no retransmission timeout can be below: the shortest RTT and the clock's granularity.
    pub(super) floor: Option<Duration>,
    /// SACKs have been lost between the place of the capture and the sender, however near that is.
    pub(super) behind: bool,
    /// It carries new DATA as well.
    pub(super) has_new: bool,
    /// Its IP identification.
    pub(super) ident: u16,
    /// Where it stands in the order of sending, if that is known.
    pub(super) order: Option<Order>,
    /// Something below its first retransmitted chunk is outstanding.
    pub(super) hole_below: bool,
    /// It carries a COOKIE-ECHO that was sent again.
    pub(super) with_cookie: bool,
    /// The side sends on more than one path.
    pub(super) paths: bool,
    /// Some retransmitted chunk of it has just had its missing reports made full.
    pub(super) full: bool,
    /// Its first retransmitted chunk is not that of the last expiry, and no new data left since.
    pub(super) goes_on: bool,
    /// Bytes outstanding.
    pub(super) outstanding: u64,
    /// TSNs outstanding.
    pub(super) chunks: u64,
}

impl Occasion {
    /// How long after a SACK a packet may leave and still be an answer to it, as seen here.
    pub(super) fn tolerance(&self) -> Duration {
        let prompt = &self.policy.prompt;
        prompt.at_once + prompt.loop_share.of(self.sender_loop.unwrap_or_default())
    }

    /// True if `entry` has just been reported missing often enough.
    pub(super) fn is_full(&self, entry: &Entry, view: &View) -> bool {
        entry.strikes >= view.threshold() && self.is_fresh(entry)
    }

    fn is_fresh(&self, entry: &Entry) -> bool {
        entry.strikes > 0 && self.since(entry.struck) <= self.tolerance()
    }

    /// Away from the sender: missing reports have had `entry` sent again less than a round trip before, so that no
    /// answer to that can have come, and there are reports enough to have had it sent once more (SC-F-4).
    fn is_repeated(&self, entry: &Entry, view: &View) -> bool {
        let round = self.floor.unwrap_or_default();
        let enough = (entry.fast + 1) * view.threshold();
        !self.at_sender() && entry.fast > 0 && self.since(entry.last) < round && entry.told >= enough
    }

    fn since(&self, earlier: Instant) -> Duration {
        self.time.saturating_since(earlier)
    }

    /// The capture is at the sender for sure.
    pub(super) fn at_sender(&self) -> bool {
        self.sender_loop == Some(Duration::ZERO) && !self.behind
    }

    /// The packets tell when a timer cannot have run out.
    fn shortest_timeout(&self) -> Duration {
        let timer = &self.policy.timer;
        self.timeout.map_or(timer.unsampled, |timeout| timer.run_share.of(timeout))
    }
}

/// A cause and how sure it is.
pub(super) type Verdict = (SctpCause, Certainty);

/// The cause of the first retransmitted chunk of a packet.
pub(super) fn lead(at: &Occasion, entry: &Entry, view: &View) -> Verdict {
    use Certainty::Likely;
    if at.with_cookie {
        let facts = Facts::default().and(Exclusion::WithCookie);
        return (SctpCause::WithCookie, certain::sctp(SctpCause::WithCookie, facts));
    }
    if view.window == Some(0) && at.chunks == 1 {
        return (SctpCause::WindowProbe, Likely);
    }
    let times = Times::new(at, entry, view);
    if at.is_fresh(entry) {
        return struck(at, entry, view, &times);
    }
    if at.full && at.is_repeated(entry, view) {
        return (again(entry), Likely);
    }
    if at.full {
        // Another chunk's reports sent the packet, with all that was outstanding (pedersen-2006 section 4.2.2).
        return (bundled(entry), Likely);
    }
    let silent = view.last_sack.is_none_or(|sack| at.since(sack) > at.tolerance());
    let verdict = if silent { quiet(at, entry, view, &times) } else { answered(at, entry, view, &times) };
    // An expiry sends what is lowest first: that packet was lost before it came here.
    let was_lost = verdict.0 == SctpCause::Timeout && at.hole_below && !at.at_sender() && !at.paths;
    if was_lost { (SctpCause::AfterTimeout, Likely) } else { verdict }
}

/// Too soon for the timer, by what is known of it; nothing else that is known sends again.
fn early(at: &Occasion, entry: &Entry, view: &View) -> Verdict {
    let told = if at.at_sender() {
        entry.strikes >= view.threshold()
    } else {
        entry.reports > 0 || at.is_repeated(entry, view)
    };
    (if told { again(entry) } else { SctpCause::Timeout }, Certainty::Likely)
}

/// The cause of a further retransmitted chunk of a packet whose first one has `lead`.
pub(super) fn further(at: &Occasion, entry: &Entry, view: &View, lead: Verdict) -> Verdict {
    match lead.0 {
        SctpCause::Fast | SctpCause::FastAgain | SctpCause::BundledMissing | SctpCause::BundledInFlight
            if at.is_full(entry, view) =>
        {
            (again(entry), if entry.unclear { Certainty::Likely } else { lead.1 })
        }
        SctpCause::Timeout | SctpCause::BundledMissing | SctpCause::BundledInFlight => {
            (bundled(entry), lead.1)
        }
        SctpCause::Fast | SctpCause::FastAgain
            if entry.strikes >= view.threshold()
                || !at.at_sender() && entry.reports > 0
                || at.is_repeated(entry, view) =>
        {
            (again(entry), Certainty::Likely)
        }
        SctpCause::Fast | SctpCause::FastAgain if entry.marked => {
            (SctpCause::AfterTimeout, Certainty::Likely)
        }
        SctpCause::Fast | SctpCause::FastAgain => (bundled(entry), Certainty::Likely),
        cause => (cause, lead.1),
    }
}

/// The strikes that sent the lead again, where no timer can have.
pub(super) fn strikes_alone(at: &Occasion, entry: &Entry, view: &View) -> Option<u32> {
    let times = Times::new(at, entry, view);
    let timer = !times.too_soon(at) && times.on_time(at);
    (at.is_fresh(entry) && !timer && !entry.marked).then_some(entry.strikes)
}

/// What the judgement of `entry` rests on.
pub(super) fn evidence(at: &Occasion, entry: &Entry, view: &View) -> SctpEvidence {
    let times = Times::new(at, entry, view);
    SctpEvidence {
        reports: entry.reports,
        strikes: entry.strikes,
        outstanding: at.outstanding,
        since_sack: view.last_sack.map(|sack| at.since(sack).as_nanos()),
        since_timer: Some(times.timer.as_nanos()),
        rto: times.rto.map(Duration::as_nanos),
        backoff: 0,
        sender_loop: at.sender_loop.map(Duration::as_nanos),
        window: view.window,
    }
}

/// Times that tell whether a timer can have run out.
struct Times {
    /// Since T3 was started last, if a fast retransmit does not start it again (lksctp 2.6.15, SC-F-5).
    timer: Duration,
    /// The longest that T3 may have run.
    longest: Duration,
    /// The same where its start counts from the first transmission (pedersen-2006 section 4.3.3, with SC-F-5).
    age: Duration,
    /// The timeout that is expected.
    rto: Option<Duration>,
}

impl Times {
    fn new(at: &Occasion, entry: &Entry, view: &View) -> Self {
        let first = entry.first.map_or(entry.last, |(_, time)| time);
        let starts = [Some(first), view.advanced, view.expired];
        let timer = starts.into_iter().flatten().map(|start| at.since(start)).min().unwrap_or_default();
        // T3 may count from the last sending of the oldest chunk instead (pedersen-2006 section 4.3.3).
        let longest = timer.max(at.since(entry.last));
        let least = at.policy.timer.min_rto;
        let floor = view.shortest_timer.unwrap_or(least).min(least);
        let age = view.expired.map_or(at.since(first), |expired| at.since(expired.max(first)));
        Self { timer, longest, age: age.max(longest), rto: at.timeout.map(|timeout| timeout.max(floor)) }
    }

    /// T3 cannot have run out.
    fn too_soon(&self, at: &Occasion) -> bool {
        self.longest < at.shortest_timeout()
    }

    /// T3 should have run out by now.
    fn due(&self, at: &Occasion) -> bool {
        self.rto.is_some_and(|rto| self.longest >= at.policy.timer.run_share.of(rto))
    }

    /// T3 has run for the estimated timeout, however a sender starts it.
    fn ran(&self, at: &Occasion) -> bool {
        self.rto.is_some_and(|rto| self.timer >= at.policy.timer.run_share.of(rto))
    }

    /// T3 should have run out about now, doubled or not.
    fn on_time(&self, at: &Occasion) -> bool {
        let Some(rto) = self.rto else { return false };
        let timer = &at.policy.timer;
        let near = |time: Duration, rto: Duration| {
            time >= timer.run_share.of(rto) && time <= timer.late_share.of(rto)
        };
        let mut doubled = (0..timer.doublings).map(|times| rto * (1 << times));
        doubled.any(|rto| near(self.timer, rto) || near(self.longest, rto))
    }
}

/// The lead was reported missing by a SACK just before.
fn struck(at: &Occasion, entry: &Entry, view: &View, times: &Times) -> Verdict {
    use Certainty::Likely;
    let threshold = view.threshold();
    // SACKs that came together are looked at together.
    let prompt = &at.policy.prompt;
    let together = prompt.together.max(view.sacks_within(at.time, at.tolerance()));
    let crossed = u64::from(entry.strikes) < u64::from(threshold) + together;
    // A sender that takes fewer while its stream is thin takes as many as others otherwise (SC-F-2, RFC 9260).
    let standard = prompt.reports..=prompt.reports_most;
    let exact = crossed || at.at_sender() && standard.contains(&u64::from(entry.strikes));
    if entry.strikes >= threshold {
        let no_timer = at.floor.is_some_and(|floor| times.age < floor);
        let facts = Facts::of(&[
            (Exclusion::BelowTimeout, no_timer),
            (Exclusion::ExactReports, exact),
            // Whether it is the first one or another hangs on what was said before.
            (Exclusion::KnownBefore, !entry.unclear),
            (Exclusion::NotMarked, !entry.marked),
            (Exclusion::OnePath, !at.paths),
            (Exclusion::AtSender, at.at_sender()),
        ]);
        let proven = certain::sctp(again(entry), facts);
        if proven != Likely {
            return (again(entry), proven);
        }
        if times.too_soon(at) {
            return (again(entry), Likely);
        }
        // Away from the sender some of the reports were lost, so their number says little; but where SACKs are few, one
        // just before is not by chance.
        let few = view.sacks_within(at.time, at.tolerance() * prompt.few_answers) <= prompt.few;
        if !exact && !at.at_sender() && few {
            return (again(entry), Likely);
        }
        // What a timeout marked is sent with the first SACKs after it, before this many reports.
        if entry.marked && !exact {
            return (SctpCause::AfterTimeout, Likely);
        }
        let timer = !exact && times.due(at);
        return (if timer { SctpCause::Timeout } else { again(entry) }, Likely);
    }
    if entry.marked {
        return (SctpCause::AfterTimeout, Likely);
    }
    // Fewer reports than a threshold that was seen, or than any standard has: the timer, if it was due.
    let timer = times.on_time(at) && !times.too_soon(at);
    (if timer { SctpCause::Timeout } else { again(entry) }, Likely)
}

/// A SACK came just before, and did not report the lead missing.
fn answered(at: &Occasion, entry: &Entry, view: &View, times: &Times) -> Verdict {
    use Certainty::Likely;
    if at.is_repeated(entry, view) {
        return (again(entry), Likely);
    }
    if entry.marked {
        return (SctpCause::AfterTimeout, Likely);
    }
    let reported = entry.reports >= view.threshold() && at.since(entry.reported) <= at.tolerance();
    if reported || entry.strikes >= view.threshold() && !times.due(at) {
        return (again(entry), Likely);
    }
    if at.has_new && !times.due(at) {
        return (SctpCause::WithNew, Likely);
    }
    if times.too_soon(at) { early(at, entry, view) } else { (SctpCause::Timeout, Likely) }
}

/// No SACK came just before.
fn quiet(at: &Occasion, entry: &Entry, view: &View, times: &Times) -> Verdict {
    use Certainty::Likely;
    let since_expiry = view.expired.map(|time| at.since(time));
    if at.is_repeated(entry, view) {
        return (again(entry), Likely);
    }
    // An expiry sends what is lowest. If that is not the chunk of the expiry before, a SACK came meanwhile, and what was
    // marked follows.
    let follows = at.goes_on && !at.at_sender();
    if entry.marked && (follows || since_expiry.is_some_and(|since| since < at.shortest_timeout())) {
        return (SctpCause::AfterTimeout, Likely);
    }
    if at.has_new && !times.due(at) {
        return (SctpCause::WithNew, Likely);
    }
    if times.too_soon(at) {
        return early(at, entry, view);
    }
    if at.at_sender() && !few_reports(at, entry, view) && !times.due(at) {
        // The answer to these was late.
        return (again(entry), Likely);
    }
    let shortest = at.policy.timer.shortest;
    if times.longest < view.shortest_timer.unwrap_or(shortest).min(shortest) && !at.at_sender() {
        // Too soon for any timer that is known; farther off, the answer to a SACK may be late.
        return early(at, entry, view);
    }
    let long_silent = view.last_sack.is_none_or(|sack| at.since(sack) > at.policy.timer.silence);
    let facts = Facts::of(&[
        (Exclusion::Silence, long_silent),
        (Exclusion::FewReports, few_reports(at, entry, view)),
        (Exclusion::TimerRan, times.ran(at)),
        (Exclusion::NothingNew, !at.has_new),
        (Exclusion::NotMarked, !entry.marked),
        (Exclusion::OnePath, !at.paths),
        (Exclusion::SeenBefore, entry.first.is_some()),
        (Exclusion::AtSender, at.at_sender()),
    ]);
    (SctpCause::Timeout, certain::sctp(SctpCause::Timeout, facts))
}

/// Since it was last sent, fewer reports have come than start a fast retransmit by any standard, or by what was seen.
fn few_reports(at: &Occasion, entry: &Entry, view: &View) -> bool {
    let least = at.policy.prompt.reports.min(u64::from(view.threshold()));
    u64::from(entry.strikes) < least
}

fn again(entry: &Entry) -> SctpCause {
    if entry.fast > 0 { SctpCause::FastAgain } else { SctpCause::Fast }
}

fn bundled(entry: &Entry) -> SctpCause {
    if entry.reports > 0 { SctpCause::BundledMissing } else { SctpCause::BundledInFlight }
}
