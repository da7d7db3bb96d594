//! Retransmissions that wait for an answer: was the segment needed?

use std::collections::{BTreeSet, VecDeque};

use rexmit_units::{Duration, Instant};

use super::acks::News;
use super::loss::Lost;
use crate::limits::WAITING_SEGMENTS;
use crate::rows::{Cause, Need, Proof, RetransmissionRow};

/// A retransmission that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Its row so far.
    pub row: RetransmissionRow,
    /// Its TSval, 0 without timestamps.
    pub tsval: u32,
    /// It was the first unacknowledged segment.
    pub first: bool,
    /// When it was acknowledged.
    pub acked_at: Option<Instant>,
    /// What it replaces.
    pub lost: Lost,
    /// The time from its sending to that, where nothing else says whether it was needed.
    pub answered_in: Option<Duration>,
}

/// The retransmissions of one side, in their order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: VecDeque<Waiting>,
    /// Number of the first of them, counted from 0.
    first: u64,
    /// Those that are not acknowledged: one past the last sequence number, and the number.
    open: BTreeSet<(i64, u64)>,
    /// Those that were closed since too many waited: nothing is acknowledged, or the capture has one direction only.
    pub closed: u64,
}

/// An acknowledgment as the waiting ones need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    /// When it was seen.
    pub time: Instant,
    /// Its number.
    pub ack: i64,
    /// Its TSecr, if it has one.
    pub echo: Option<u32>,
    /// What it did.
    pub news: &'a News,
}

impl Pending {
    /// One more.
    pub(super) fn push(&mut self, waiting: Waiting) {
        if waiting.acked_at.is_none() {
            self.open.insert((waiting.row.end, self.first + self.waiting.len() as u64));
        }
        self.waiting.push_back(waiting);
    }

    /// True if none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// An acknowledgment came.
    pub(super) fn answer(&mut self, answer: &Answer<'_>) {
        if let Some((left, right)) = answer.news.dsack {
            self.duplicate_arrived(left, right);
        }
        while let Some(&(end, number)) = self.open.first().filter(|&&(end, _)| end <= answer.ack) {
            self.open.remove(&(end, number));
            let Some(waiting) = self.waiting.get_mut((number - self.first) as usize) else { continue };
            waiting.acked_at = Some(answer.time);
            if waiting.row.need != Need::Unknown {
                continue;
            }
            (waiting.row.need, waiting.row.proof) = waiting.verdict(answer);
            if waiting.row.need == Need::Unknown {
                waiting.answered_in = Some(answer.time.saturating_since(waiting.row.time));
            }
        }
    }

    /// Hands out, in order, those of which nothing more is to be learnt at `now`: they were acknowledged `patience`
    /// ago, or too many wait. An answer within `early` is that of an earlier transmission.
    pub(super) fn release(
        &mut self,
        now: Instant,
        patience: Duration,
        early: Option<Duration>,
        mut out: impl FnMut(Waiting),
    ) {
        while let Some(waiting) = self.waiting.front() {
            let ripe = waiting.acked_at.is_some_and(|at| now.saturating_since(at) > patience);
            if !ripe && self.waiting.len() <= WAITING_SEGMENTS {
                return;
            }
            self.closed += u64::from(!ripe);
            let Some(mut waiting) = self.waiting.pop_front() else { return };
            if waiting.acked_at.is_none() {
                self.open.remove(&(waiting.row.end, self.first));
            }
            self.first += 1;
            waiting.close(early);
            out(waiting);
        }
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.waiting.capacity() * size_of::<Waiting>() + self.open.len() * 2 * size_of::<(i64, u64)>()
    }

    /// Hands out all that are left.
    pub(super) fn drain(&mut self, early: Option<Duration>, mut out: impl FnMut(Waiting)) {
        self.open.clear();
        self.first += self.waiting.len() as u64;
        for mut waiting in self.waiting.drain(..) {
            waiting.close(early);
            out(waiting);
        }
    }

    /// A duplicate SACK block: of several transmissions the last was the one that nobody needed.
    fn duplicate_arrived(&mut self, left: i64, right: i64) {
        let candidate = self.waiting.iter_mut().rev().find(|waiting| {
            waiting.row.seq < right && left < waiting.row.end && waiting.row.proof != Proof::Dsack
        });
        if let Some(waiting) = candidate {
            if waiting.row.need != Need::Unnecessary {
                waiting.row.need = Need::Spurious;
            }
            waiting.row.proof = Proof::Dsack;
        }
    }
}

impl Waiting {
    /// What the acknowledgment that covers it says.
    fn verdict(&self, answer: &Answer<'_>) -> (Need, Proof) {
        // RFC 3522: the echo is that of the first transmission. Only the segment at the left edge sets what is echoed
        // (RFC 7323 section 4.3).
        let stamps = answer.echo.filter(|&echo| echo != 0 && self.tsval != 0 && self.first);
        if let Some(echo) = stamps {
            let older = (echo.wrapping_sub(self.tsval) as i32) < 0;
            return if older { (Need::Spurious, Proof::Timestamps) } else { (Need::Needed, Proof::None) };
        }
        (Need::Unknown, Proof::None)
    }

    /// Nothing more is to be learnt; an answer within `early` is that of an earlier transmission.
    fn close(&mut self, early: Option<Duration>) {
        let Some(since) = self.answered_in.filter(|_| self.row.need == Need::Unknown) else { return };
        // The queues may have been full whenever a sample was taken. They are not emptied at once, unless a silence
        // went before.
        let silence = !matches!(self.row.cause, Cause::Fast | Cause::PartialAck | Cause::SackRecovery);
        let early = !silence && early.is_some_and(|early| since < early);
        let spurious = (Need::Spurious, Proof::EarlyAck);
        (self.row.need, self.row.proof) = if early { spurious } else { (Need::Needed, Proof::None) };
    }
}

#[cfg(test)]
mod tests;
