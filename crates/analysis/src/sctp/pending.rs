//! Rows of retransmissions that wait for an answer.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};

use super::rows::{SctpProof, SctpRetransmissionRow};
use crate::core::rows::Need;
use crate::limits::{WAITING_CHUNKS, Work};

/// Rows in order, each until nothing that follows can change it.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: VecDeque<Waiting>,
    /// How many rows have left.
    gone: u64,
    /// Of these, those that too many came after.
    pub(super) closed: u64,
}

#[derive(Debug)]
struct Waiting {
    row: SctpRetransmissionRow,
    /// The row before of the same TSN.
    previous: Option<u64>,
    acked: bool,
}

impl Pending {
    /// How many rows wait.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row and gives its number; `previous` is the number of the row before of the same TSN.
    pub(super) fn push(&mut self, row: SctpRetransmissionRow, previous: Option<u64>) -> u64 {
        self.rows.push_back(Waiting { acked: row.need == Need::Unnecessary, row, previous });
        self.gone + self.rows.len() as u64 - 1
    }

    /// The TSN whose last row is `last` was acknowledged at `now`; what comes
    /// within `early` answers an earlier transmission.
    pub(super) fn acked(
        &mut self,
        last: Option<u64>,
        now: Instant,
        early: Option<Duration>,
        work: &mut Work,
    ) {
        self.each(last, work, |waiting| {
            waiting.acked = true;
            if waiting.row.need != Need::Unknown {
                return true;
            }
            let since = now.saturating_since(waiting.row.time);
            let early = early.is_some_and(|early| since < early);
            waiting.row.need = if early { Need::Spurious } else { Need::Needed };
            if early {
                waiting.row.proof = SctpProof::EarlyAck;
            }
            true
        });
    }

    /// A SACK seen at `now` reports the TSN whose last row is `last` as received twice.
    pub(super) fn duplicate(
        &mut self,
        last: Option<u64>,
        now: Instant,
        early: Option<Duration>,
        work: &mut Work,
    ) {
        self.each(last, work, |waiting| {
            let since = now.saturating_since(waiting.row.time);
            let arrived = early.is_none_or(|early| since >= early);
            if !arrived || waiting.row.proof == SctpProof::DuplicateTsn {
                return true;
            }
            if waiting.row.need != Need::Unnecessary {
                waiting.row.need = Need::Spurious;
            }
            waiting.row.proof = SctpProof::DuplicateTsn;
            false
        });
    }

    /// Hands out the rows at the head that were answered so long ago that nothing more will come; all of
    /// them without a time.
    pub(super) fn leave(
        &mut self,
        now: Option<(Instant, Duration)>,
        mut take: impl FnMut(SctpRetransmissionRow),
    ) {
        while let Some(head) = self.rows.front() {
            let stays =
                now.is_some_and(|(now, grace)| !head.acked || now.saturating_since(head.row.time) < grace);
            if stays {
                if self.rows.len() <= WAITING_CHUNKS {
                    return;
                }
                self.closed += 1;
            }
            self.gone += 1;
            take(self.rows.pop_front().expect("it is there").row);
        }
    }

    /// Walks back over the rows of a TSN until `visit` says false.
    fn each(&mut self, last: Option<u64>, work: &mut Work, mut visit: impl FnMut(&mut Waiting) -> bool) {
        let mut at = last;
        while let Some(number) = at {
            let index = number.checked_sub(self.gone).map(|index| index as usize);
            let Some(waiting) = index.and_then(|index| self.rows.get_mut(index)) else { return };
            if !work.spend(1) || !visit(waiting) {
                return;
            }
            at = waiting.previous;
        }
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.rows.capacity() * size_of::<Waiting>()
    }
}
