//! Waits in a row for a window of the sender's own: a congestion window grows meanwhile, a send buffer does not.

use rexmit_units::{Duration, Instant};

use super::wait::Own;
use super::written::Written;
use crate::core::held::Held;
use crate::core::rows::Confidence;
use crate::rows::HeldRow;

/// Waits in a row, and what is remembered of those before.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Those after which half as much again was outstanding as in any of them.
    grown: Option<HeldRow>,
    /// Those before it grew by that much for the last time.
    middle: Option<HeldRow>,
    /// Those since.
    flat: Option<HeldRow>,
    waits: u64,
    /// This many are enough to be sure.
    enough: u64,
    /// It has not grown for so long that it is not a congestion window that opens.
    still: bool,
    /// How long the waits were, and those of them that are too long for the gaps of a pace.
    waited: Duration,
    in_gaps: Duration,
    /// This much of them makes it a send buffer's.
    gaps: Duration,
    /// The most that was outstanding since the start, a loss or an idle period.
    most: u64,
    /// What was outstanding when it had grown by half for the last time, and by two segments: more than a send buffer is
    /// short of while its writer waits (Linux's `sk_stream_write_space` waits for a third of it).
    step: u64,
    /// When `most` was reached.
    grew_at: Instant,
    has_lost: bool,
    /// What was outstanding at most before an idle period, until that much is again.
    before_idle: Option<u64>,
    /// What the last wait was.
    pub last: Option<Held>,
}

impl Run {
    /// What lowers the congestion window now.
    pub(super) fn kind(&self) -> Held {
        match () {
            () if self.before_idle.is_some() => Held::IdleRestart,
            () if self.has_lost => Held::AfterLoss,
            () => Held::SlowStart,
        }
    }

    /// A loss lowers the congestion window.
    pub(super) fn lost(&mut self) {
        self.has_lost = true;
        (self.most, self.step) = (0, 0);
        self.before_idle = None;
    }

    /// The side was idle for so long that its congestion window may be lowered.
    pub(super) fn idle(&mut self) {
        self.before_idle = Some(self.most.max(self.before_idle.unwrap_or_default()));
        (self.most, self.step) = (0, 0);
    }

    /// One more wait, after which this much is outstanding.
    pub(super) fn add(&mut self, row: HeldRow, flight: u64, own: &Own, out: &mut Written) {
        let key = |of: &HeldRow| (of.by, of.confidence);
        if self.open().is_some_and(|before| key(&before) != key(&row)) {
            self.end(out);
        }
        self.waits += 1;
        let lasted = row.end.saturating_since(row.start);
        self.waited += lasted;
        if lasted > own.policy.paced_share.of(own.rtt) {
            self.in_gaps += lasted;
        }
        self.gaps = own.policy.gaps_share.of(self.waited);
        self.enough = own.policy.waits;
        self.last = Some(row.by);
        join(&mut self.flat, row);
        if flight >= self.step + self.step / 2 + 2 * own.mss {
            self.step = flight;
            if let Some(middle) = self.middle.take() {
                join(&mut self.grown, middle);
            }
            self.middle = self.flat.take();
        }
        if flight > self.most + own.mss / 2 {
            self.most = flight;
            self.grew_at = row.end;
            if self.still {
                self.end(out);
            }
            if self.before_idle.is_some_and(|before| flight + own.mss >= before) {
                self.before_idle = None;
            }
        }
        let flat_for = row.end.saturating_since(self.grew_at);
        let limit = own.rtt * own.policy.flat_rtts;
        self.still |= !own.rtt.is_zero() && flat_for > limit && row.by != Held::PathRate;
    }

    /// What followed a wait at once.
    pub(super) fn follow(&mut self, row: HeldRow, out: &mut Written) {
        match self.open() {
            Some(run) => join(&mut self.flat, HeldRow { by: run.by, confidence: run.confidence, ..row }),
            None => out.write(row),
        }
    }

    /// The waits of the run.
    fn open(&self) -> Option<HeldRow> {
        self.flat.or(self.middle).or(self.grown)
    }

    /// Another thing holds the side back, or none any more: what came before is written.
    pub(super) fn end(&mut self, out: &mut Written) {
        let enough = self.waits >= self.enough;
        let likely = |row: HeldRow| HeldRow { confidence: Confidence::Likely, ..row };
        if let Some(grown) = self.grown.take() {
            // That it grew later shows that the send buffer had been larger.
            out.write(if enough { grown } else { likely(grown) });
        }
        if let Some(middle) = self.middle.take() {
            out.write(likely(middle));
        }
        if let Some(flat) = self.flat.take() {
            // What leaves evenly over a round trip is paced, or as much as the path passes; what is held by a full buffer
            // waits for the acknowledgments of a burst.
            let by = match self.still {
                true if self.in_gaps >= self.gaps => Held::SendBuffer,
                true => Held::Unknown,
                false => flat.by,
            };
            out.write(likely(HeldRow { by, ..flat }));
        }
        (self.waits, self.still) = (0, false);
        (self.waited, self.in_gaps) = (Duration::ZERO, Duration::ZERO);
    }
}

fn join(to: &mut Option<HeldRow>, row: HeldRow) {
    match to {
        Some(before) => extend(before, &row),
        None => *to = Some(row),
    }
}

fn extend(before: &mut HeldRow, row: &HeldRow) {
    before.end = row.end;
    before.bytes += row.bytes;
    before.last_number = row.last_number;
}
