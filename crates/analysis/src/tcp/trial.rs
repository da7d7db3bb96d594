//! A retransmission as the judge sees it, and what the judge remembers of those before.

use rexmit_units::{Duration, Instant};
use rexmit_wire::Flags;

use super::acks::AckState;
use super::board::Before;
use super::clock::Clock;
use super::stamps::Told;
use super::view::SentAt;
use crate::core::certain::Certainty;
use crate::core::policy::TcpPolicy;
use crate::rows::{Cause, Evidence};

/// A retransmission and what was known when it was sent.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    /// By which thresholds it is judged.
    pub policy: &'static TcpPolicy,
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
    /// What was last reported by SACK above all else: when that was seen, and when it had been sent.
    pub reported: Option<Report>,
    /// An acknowledgment with its first number may have passed here.
    pub stepped: bool,
    /// What its timestamps tell.
    pub told: Told,
    /// When a retransmission was lost before it came here, as identifications show.
    pub lost_again: Option<Instant>,
    /// It carries a later timestamp than all that passed here before, and some of that lies above it.
    pub after_higher: bool,
}

/// A report by SACK of what was sent last of all that had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// When it was seen.
    pub at: Instant,
    /// When what it reports was last sent.
    pub sent: Instant,
}

impl Trial<'_> {
    /// From `earlier` until it was seen.
    pub(super) fn since(&self, earlier: Instant) -> Duration {
        self.now.saturating_since(earlier)
    }

    /// True if this many duplicate ACKs, or segments reported by SACK, start a fast retransmit.
    pub(super) fn reaches(&self, count: u32) -> bool {
        u64::from(count) >= self.policy.prompt.duplicates
    }
}

/// What a judgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub cause: Cause,
    pub certainty: Certainty,
    pub evidence: Evidence,
}

/// A cause, and whether other readings are left that nothing can exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The packets do not tell.
    Unknown,
    /// Another reading is left.
    Likely(Cause),
    /// Certain, if all that rivals it is excluded.
    Provable(Cause),
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
    /// One past its last.
    pub end: i64,
    /// When it was seen.
    pub time: Instant,
}

/// What a sender makes of what is reported by SACK, as its retransmissions show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SackUse {
    /// Nothing was to be seen of it.
    #[default]
    Unknown,
    /// It passed over what was reported.
    Used,
    /// It sent that again in a recovery.
    Ignored,
}

/// What the retransmissions of one side have shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    pub phase: Phase,
    /// The last retransmission.
    pub last: Option<Last>,
    /// Expiries in a row without progress.
    pub expiries: u32,
    /// First unacknowledged number at the last of them.
    pub expired_una: i64,
    /// When the timer last expired.
    pub expired_at: Option<Instant>,
    /// When a recovery last began.
    pub began: Option<Instant>,
    /// A tail loss probe was seen that can be nothing else.
    pub probes: bool,
    /// Single segments of a sender of which nothing is known that left just when a probe is due, and no timer;
    pub probes_on_time: u32,
    /// and others that left without an acknowledgment.
    pub timers: u32,
    /// What began the phase is certain, and nothing since may have been an expiry of the timer.
    pub sure: bool,
    /// What its sender makes of SACK.
    pub sack: SackUse,
    /// It sent what did not come here, so that the capture is not its own, however near it seems.
    pub elsewhere: bool,
    /// What was outstanding at the last expiry goes up to here, while it is not acknowledged.
    pub expired_to: i64,
    /// One past the highest number that was sent again and is not acknowledged.
    pub repairing: Option<i64>,
    /// How far the data went when what was sent again was acknowledged: a recovery may have begun as late as that.
    pub repaired_to: i64,
    /// The same of the last retransmission that may have been an expiry.
    pub doubted_to: i64,
}

impl Memory {
    /// Its sender probes for lost tails, by its SYN or as was seen: one of today, which finds losses by time too (RFC 8985).
    pub(super) fn is_of_today(&self, trial: &Trial<'_>) -> bool {
        self.probes || trial.probes
    }

    /// What leaves just when a probe is due is one: so it was before, and not seldom. One alone may be a timer by chance.
    pub(super) fn probes_on_time(&self) -> bool {
        self.probes_on_time > 0 && self.timers <= self.probes_on_time
    }

    /// What a retransmission without an answer shows of its sender's probes.
    pub(super) fn learn_probes(&mut self, due: bool, cause: Cause) {
        self.probes_on_time += u32::from(due);
        self.timers += u32::from(!due && cause == Cause::Timeout);
    }

    /// What the retransmission shows of its sender's use of SACK.
    pub(super) fn learn_sack(&mut self, trial: &Trial<'_>) {
        let view = trial.view;
        if trial.end > trial.seq && view.sacked.covers(&(trial.seq..trial.end)) {
            if matches!(self.phase, Phase::Recovery { .. }) {
                self.sack = SackUse::Ignored;
            }
            return;
        }
        let Some(last) = self.last.filter(|last| view.una < last.end && last.end < trial.seq) else { return };
        let passed_over = view.sacked.bytes_above(last.end) > view.sacked.bytes_above(trial.seq);
        // What goes back after a timeout goes on after a fast retransmit of what is below it, whatever was reported.
        if passed_over && self.sack == SackUse::Unknown && !self.may_be_left(trial) {
            self.sack = SackUse::Used;
        }
    }

    /// All up to `una` is acknowledged, and data reach up to `edge`.
    pub(super) fn progress(&mut self, una: i64, edge: i64) {
        if self.repairing.is_some_and(|end| una >= end) {
            self.repairing = None;
            self.repaired_to = edge;
        }
    }

    /// No recovery that began before can reach as far as what is not acknowledged.
    pub(super) fn is_over(&self, trial: &Trial<'_>) -> bool {
        self.repairing.is_none() && trial.view.una >= self.repaired_to
    }

    /// It was outstanding when the timer last expired.
    pub(super) fn is_left(&self, trial: &Trial<'_>) -> bool {
        trial.seq < self.expired_to && trial.view.una < self.expired_to
    }

    /// It was outstanding when the timer may last have expired.
    pub(super) fn may_be_left(&self, trial: &Trial<'_>) -> bool {
        trial.seq < self.doubted_to && trial.view.una < self.doubted_to
    }

    /// The phase in which a retransmission belongs to what is recovered, `Open` if in none. With SACK, what was sent since
    /// a recovery began is recovered too (RFC 6675 section 4, NextSeg).
    pub(super) fn recovers(&self, trial: &Trial<'_>) -> Phase {
        match self.phase {
            Phase::Loss { recover } if trial.seq >= recover => Phase::Open,
            Phase::Recovery { recover } if trial.seq >= recover && !trial.sack => Phase::Open,
            phase => phase,
        }
    }
}
