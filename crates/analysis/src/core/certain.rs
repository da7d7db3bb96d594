//! What makes a cause certain: every other reading that its packets could have is excluded.
//!
//! [`TCP`] and [`SCTP`] say of each cause that can be certain which readings rival it, and what excludes each. The judges
//! find which [`Exclusion`]s hold of a retransmission ([`Facts`]); [`tcp`] and [`sctp`] are the only places where a
//! [`Certain`] is made, and there is none without an exclusion for each rival.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::causes::{Cause, SctpCause};
use super::rows::Confidence;

/// Another reading of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rival {
    /// Its sender knew, or sent before, what did not pass here.
    Elsewhere,
    /// The path made a copy of a packet.
    Copy,
    /// The first transmission, another one having been lost before it came here.
    First,
    /// An acknowledgment prompted it.
    Answer,
    /// A timer ran out.
    Timer,
    /// A timer ran out just when an acknowledgment came.
    Chance,
    /// A tail loss probe.
    Probe,
    /// What is sent in a recovery.
    Recovery,
    /// What follows an expiry of the timer that looked like something else.
    Follower,
    /// What an expiry left to be sent again, and Nagle's algorithm held back.
    Held,
    /// A recovery by duplicate ACKs alone.
    Plain,
    /// Going back after a timeout.
    GoBack,
    /// A fast retransmit that waited, at its sender or in a queue before it came here.
    Queued,
    /// The beginning of another recovery.
    Another,
    /// New data, or what is sent with them.
    Data,
    /// What an earlier expiry of the timer left to be sent.
    Expiry,
    /// It was sent for another path.
    OtherPath,
    /// Another number of reports makes this sender send again.
    Threshold,
    /// The timer of a sender that waits for reordering (RACK, RFC 8985 sections 6.2 and 6.3).
    Reordering,
}

/// What excludes a rival: something that the packets show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exclusion {
    /// The handshake shows that the capture is the sender's own.
    AtSender,
    /// It follows later than copies do.
    LaterThanCopies,
    /// It was seen before.
    SeenBefore,
    /// No acknowledgment had come just before.
    NoAnswer,
    /// An acknowledgment had come just before.
    Answer,
    /// That acknowledgment was the report that starts a fast retransmit.
    JustReported,
    /// The timer had run for less than a round trip.
    TimerYoung,
    /// The timer had run for its time, also where each retransmission starts it again.
    TimerRan,
    /// It is not the first that is missing, or the timer had not run for its time.
    NotOverdue,
    /// No timer may have expired since it was sent while it was outstanding.
    NotLeft,
    /// The last segment was not it, or the sender does not probe.
    NotTail,
    /// It is the last segment, while others before it are missing.
    OnlyTail,
    /// A recovery was going on, in which nobody probes.
    Recovering,
    /// The window was closed.
    WindowClosed,
    /// Nothing was outstanding.
    NothingOutstanding,
    /// Nothing above it was reported by SACK.
    NothingSacked,
    /// The last acknowledgment was not a duplicate for it.
    NoDuplicate,
    /// The last acknowledgment did not start a recovery for it.
    NoThirdReport,
    /// The same packet carries a COOKIE-ECHO that was sent again.
    WithCookie,
    /// What began the recovery is certain, and no expiry may have come since.
    LeaderCertain,
    /// Its sender was seen to pass over what was reported by SACK, and not to send that again.
    SackUsed,
    /// Data above it were reported by SACK.
    SackedAbove,
    /// Fewer duplicates or missing reports had come than start a fast retransmit.
    FewReports,
    /// Nothing was sent again for a round trip.
    NothingLately,
    /// All that had been sent when the last retransmission was acknowledged is acknowledged: no recovery reaches
    /// farther.
    RecoveryOver,
    /// Less time had passed than the shortest T3 takes.
    BelowTimeout,
    /// As many reports had come as start a fast retransmit, and no more.
    ExactReports,
    /// T3 had not expired since it was sent.
    NotMarked,
    /// Why it was sent again before is certain.
    KnownBefore,
    /// Its sender uses one path.
    OnePath,
    /// No SACK had come for long.
    Silence,
    /// The packet carries nothing new.
    NothingNew,
    /// Nothing that was sent after it was reported.
    NothingPassed,
    /// It waited longer than a timer for reordering runs.
    BeyondReordering,
    /// Timestamps show that its sender knew what passed here, and had got nothing for some time.
    ToldByStamps,
    /// It was sent since the timer last expired, or was not outstanding then.
    SentSince,
}

impl Rival {
    fn words(self) -> &'static str {
        match self {
            Self::Elsewhere => "nothing escaped the capture",
            Self::Copy => "not a copy made by the path",
            Self::First => "not the first time",
            Self::Answer => "not triggered by an ACK",
            Self::Timer => "no timer",
            Self::Chance => "no coincident timer",
            Self::Probe => "no tail loss probe",
            Self::Recovery => "no recovery",
            Self::Follower => "not the aftermath of a timeout",
            Self::Held => "not held back since a timeout",
            Self::Plain => "no recovery without SACK",
            Self::GoBack => "no go-back-N",
            Self::Queued => "no late fast retransmit",
            Self::Another => "no other recovery",
            Self::Data => "no new data",
            Self::Expiry => "no earlier expiry",
            Self::OtherPath => "no change of path",
            Self::Threshold => "no other threshold",
            Self::Reordering => "no reordering timer",
        }
    }
}

impl Exclusion {
    fn words(self) -> &'static str {
        match self {
            Self::AtSender => "captured at its sender",
            Self::LaterThanCopies => "later than copies come",
            Self::SeenBefore => "seen before",
            Self::NoAnswer => "no ACK just before",
            Self::Answer => "an ACK just before",
            Self::JustReported => "the triggering report came just before",
            Self::TimerYoung => "the timer had run for less than a round trip",
            Self::TimerRan => "the timer had run its time",
            Self::NotOverdue => "no timer was due for it",
            Self::NotLeft => "no timer may have expired since it was first sent",
            Self::NotTail => "not the last segment",
            Self::OnlyTail => "a timer would send the first missing segment",
            Self::Recovering => "no probe is sent in a recovery",
            Self::WindowClosed => "the window was closed",
            Self::NothingOutstanding => "nothing was outstanding",
            Self::NothingSacked => "nothing above it reported by SACK",
            Self::NoDuplicate => "no duplicate ACK just before",
            Self::NoThirdReport => "no report just before that would start one",
            Self::WithCookie => "with a retransmitted COOKIE-ECHO",
            Self::LeaderCertain => "what it follows is certain",
            Self::SackUsed => "its sender was seen to use SACK",
            Self::SackedAbove => "data above it reported by SACK",
            Self::FewReports => "too few reports to start one",
            Self::NothingLately => "nothing sent again for a round trip",
            Self::RecoveryOver => "what an earlier one covered is acknowledged",
            Self::BelowTimeout => "sooner than any T3 expiry",
            Self::ExactReports => "exactly the reports that start it",
            Self::NotMarked => "T3 had not expired",
            Self::KnownBefore => "what came before is certain",
            Self::OnePath => "its sender uses one path",
            Self::Silence => "no SACK for a long time",
            Self::NothingNew => "the packet carries none",
            Self::NothingPassed => "nothing that was sent later was reported",
            Self::BeyondReordering => "it waited longer than RACK does",
            Self::ToldByStamps => "timestamps show that its sender had received nothing for some time",
            Self::SentSince => "sent since the last timeout, or not outstanding then",
        }
    }
}

/// A rival, and what excludes it: any one of these.
type Rule = (Rival, &'static [Exclusion]);

use Exclusion as E;

/// What has to be excluded for a cause of TCP to be certain.
static TCP: &[(Cause, &[Rule])] = &[
    (Cause::Syn, &[(Rival::Copy, &[E::LaterThanCopies])]),
    (Cause::SynAck, &[(Rival::Copy, &[E::LaterThanCopies])]),
    (
        Cause::Fin,
        &[
            (Rival::Answer, &[E::ToldByStamps, E::NoAnswer]),
            (Rival::First, &[E::SeenBefore]),
            (Rival::Elsewhere, &[E::AtSender, E::ToldByStamps]),
        ],
    ),
    (
        Cause::Fast,
        &[
            (Rival::Timer, &[E::JustReported, E::TimerYoung]),
            (Rival::Chance, &[E::NotOverdue]),
            (Rival::GoBack, &[E::NotLeft]),
            (Rival::Recovery, &[E::JustReported, E::NothingLately]),
            (Rival::Another, &[E::RecoveryOver]),
            (Rival::Elsewhere, &[E::AtSender]),
        ],
    ),
    (
        Cause::PartialAck,
        &[
            (Rival::Timer, &[E::Answer]),
            (Rival::Chance, &[E::NotOverdue]),
            (Rival::Follower, &[E::LeaderCertain]),
            (Rival::Another, &[E::NoDuplicate]),
            (Rival::Elsewhere, &[E::AtSender]),
        ],
    ),
    (
        Cause::SackRecovery,
        &[
            (Rival::Timer, &[E::Answer]),
            (Rival::Chance, &[E::NotOverdue]),
            (Rival::Follower, &[E::LeaderCertain]),
            (Rival::Plain, &[E::SackUsed]),
            (Rival::GoBack, &[E::SackedAbove]),
            (Rival::Another, &[E::NoThirdReport]),
            (Rival::Elsewhere, &[E::AtSender]),
        ],
    ),
    (
        Cause::TailProbe,
        &[
            (Rival::Timer, &[E::OnlyTail]),
            (Rival::Answer, &[E::NoAnswer]),
            (Rival::Elsewhere, &[E::AtSender]),
        ],
    ),
    (
        Cause::Timeout,
        &[
            (Rival::Answer, &[E::ToldByStamps, E::NoAnswer]),
            (Rival::Recovery, &[E::TimerRan]),
            (Rival::Reordering, &[E::NothingPassed, E::BeyondReordering]),
            (Rival::Queued, &[E::FewReports, E::ToldByStamps]),
            (Rival::Held, &[E::SentSince]),
            (Rival::Probe, &[E::NotTail, E::Recovering]),
            (Rival::Elsewhere, &[E::AtSender, E::ToldByStamps]),
        ],
    ),
    (
        Cause::GoBackN,
        &[
            (Rival::Timer, &[E::Answer]),
            (Rival::Chance, &[E::NotOverdue]),
            (Rival::Follower, &[E::LeaderCertain]),
            (Rival::Another, &[E::NoDuplicate]),
            (Rival::Recovery, &[E::NothingSacked]),
            (Rival::Elsewhere, &[E::AtSender]),
        ],
    ),
    (Cause::WindowProbe, &[(Rival::Data, &[E::WindowClosed]), (Rival::Elsewhere, &[E::AtSender])]),
    (Cause::KeepAlive, &[(Rival::Data, &[E::NothingOutstanding]), (Rival::Elsewhere, &[E::AtSender])]),
];

static SCTP_REPORTED: &[Rule] = &[
    (Rival::Timer, &[E::BelowTimeout]),
    (Rival::Threshold, &[E::ExactReports]),
    (Rival::Recovery, &[E::KnownBefore]),
    (Rival::Expiry, &[E::NotMarked]),
    (Rival::OtherPath, &[E::OnePath]),
    (Rival::Elsewhere, &[E::AtSender]),
];

/// The same of SCTP. Further chunks of a packet follow its first one, and are as certain.
static SCTP: &[(SctpCause, &[Rule])] = &[
    (SctpCause::WithCookie, &[(Rival::Timer, &[E::WithCookie])]),
    (SctpCause::Fast, SCTP_REPORTED),
    (SctpCause::FastAgain, SCTP_REPORTED),
    (
        SctpCause::Timeout,
        &[
            (Rival::Answer, &[E::Silence]),
            (Rival::Queued, &[E::FewReports]),
            (Rival::Recovery, &[E::TimerRan]),
            (Rival::Data, &[E::NothingNew]),
            (Rival::Expiry, &[E::NotMarked]),
            (Rival::OtherPath, &[E::OnePath]),
            (Rival::First, &[E::SeenBefore]),
            (Rival::Elsewhere, &[E::AtSender]),
        ],
    ),
];

/// The exclusions that hold of a retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Facts(u64);

impl Facts {
    /// Those of `all` that hold.
    pub(crate) fn of(all: &[(Exclusion, bool)]) -> Self {
        all.iter().filter(|(_, holds)| *holds).fold(Self::default(), |facts, (fact, _)| facts.and(*fact))
    }

    /// With another one.
    pub(crate) fn and(self, fact: Exclusion) -> Self {
        Self(self.0 | 1 << fact as u8)
    }

    fn has(self, fact: Exclusion) -> bool {
        self.0 & 1 << fact as u8 != 0
    }
}

/// A proof that nothing but the cause can have been: for each rival, what excludes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certain {
    rules: &'static [Rule],
    by: Facts,
}

/// How sure a judgement is, with its proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The packets allow nothing better than a name.
    Unknown,
    /// Another reading is possible and less plausible.
    Likely,
    /// No other reading fits what was seen.
    Certain(Certain),
}

/// How sure a cause of TCP is, of a retransmission of which `facts` hold: likely, where a rival is left.
pub(crate) fn tcp(cause: Cause, facts: Facts) -> Certainty {
    prove(TCP.iter().find(|(of, _)| *of == cause).map(|(_, rules)| *rules), facts)
}

/// The same of SCTP.
pub(crate) fn sctp(cause: SctpCause, facts: Facts) -> Certainty {
    prove(SCTP.iter().find(|(of, _)| *of == cause).map(|(_, rules)| *rules), facts)
}

fn prove(rules: Option<&'static [Rule]>, facts: Facts) -> Certainty {
    let Some(rules) = rules else { return Certainty::Likely };
    let mut by = Facts::default();
    for (_, exclusions) in rules {
        let Some(exclusion) = exclusions.iter().find(|exclusion| facts.has(**exclusion)) else {
            return Certainty::Likely;
        };
        by = by.and(*exclusion);
    }
    Certainty::Certain(Certain { rules, by })
}

impl Certainty {
    /// Without its proof.
    pub(crate) fn confidence(self) -> Confidence {
        match self {
            Self::Unknown => Confidence::Unknown,
            Self::Likely => Confidence::Likely,
            Self::Certain(_) => Confidence::Certain,
        }
    }

    /// Its proof, if it is certain.
    pub(crate) fn proof(self) -> Option<Certain> {
        match self {
            Self::Certain(proof) => Some(proof),
            Self::Unknown | Self::Likely => None,
        }
    }
}

impl Certain {
    /// Which rivals are excluded by what, in words.
    pub fn words(&self) -> &'static str {
        let found = WORDS.get(&(self.rules.as_ptr() as usize, self.by));
        found.map_or("", String::as_str)
    }

    fn told(&self) -> String {
        let excluded = self.rules.iter().filter_map(|(rival, by)| {
            let by = by.iter().find(|exclusion| self.by.has(**exclusion))?;
            Some(format!("{}: {}", rival.words(), by.words()))
        });
        excluded.collect::<Vec<_>>().join("; ")
    }
}

/// The words of every proof that there can be.
static WORDS: LazyLock<BTreeMap<(usize, Facts), String>> = LazyLock::new(|| {
    let all = TCP.iter().map(|(_, rules)| *rules).chain(SCTP.iter().map(|(_, rules)| *rules));
    all.flat_map(proofs).map(|proof| ((proof.rules.as_ptr() as usize, proof.by), proof.told())).collect()
});

/// Every choice of one exclusion for each rule.
fn proofs(rules: &'static [Rule]) -> Vec<Certain> {
    rules.iter().fold(vec![Certain { rules, by: Facts::default() }], |proofs, (_, by)| {
        let with = |proof: Certain| by.iter().map(move |fact| Certain { by: proof.by.and(*fact), ..proof });
        proofs.into_iter().flat_map(with).collect()
    })
}

#[cfg(test)]
mod tests;
