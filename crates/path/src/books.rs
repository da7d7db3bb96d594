//! What a direction writes down: counters, the log, and verdicts that were not known at once.

use std::collections::VecDeque;

use rexmit_units::Instant;

use crate::counters::{Counters, LogRow, Stay, Summary};
use crate::verdict::Verdict;

/// The books of a direction.
#[derive(Default)]
pub(crate) struct Books {
    pub counters: Counters,
    /// Beside them: few links of a large network keep more.
    kept: Option<Box<Kept>>,
}

/// What a direction may keep besides its counters.
#[derive(Default)]
struct Kept {
    log: Option<Log>,
    /// Verdicts that became known after their packet was sent, where they are wanted.
    late: Option<VecDeque<Verdict>>,
    /// The packet being sent, and what is known of it meanwhile.
    sending: Option<(u64, Option<Verdict>)>,
}

#[derive(Default)]
struct Log {
    rows: Vec<LogRow>,
    /// Packets before the first row.
    before: u64,
}

impl Log {
    /// The row of a packet by its number in the direction.
    fn row(&mut self, position: u64) -> Option<&mut LogRow> {
        position.checked_sub(self.before + 1).and_then(|i| self.rows.get_mut(i as usize))
    }
}

impl Books {
    /// Keeps a log from now on.
    pub fn keep_log(&mut self) {
        let before = self.counters.packets;
        self.kept().log = Some(Log { rows: Vec::new(), before });
    }

    /// Keeps late verdicts from now on.
    pub fn keep_late(&mut self) {
        self.kept().late.get_or_insert_default();
    }

    /// The log, empty where there is none.
    pub fn log(&self) -> &[LogRow] {
        let log = self.kept.as_ref().and_then(|kept| kept.log.as_ref());
        log.map(|log| log.rows.as_slice()).unwrap_or_default()
    }

    /// True where a log is kept.
    pub fn has_log(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.log.is_some())
    }

    /// The next late verdict.
    pub fn next_late(&mut self) -> Option<Verdict> {
        self.kept.as_mut()?.late.as_mut()?.pop_front()
    }

    /// Adds a row of the log, where there is one.
    #[inline]
    pub fn note(&mut self, time: Instant, packet: Option<Summary>, verdict: Verdict, stay: Option<Stay>) {
        if let (Some(log), Some(packet)) = (self.log_mut(), packet) {
            log.rows.push(LogRow { time, packet, verdict, stay });
        }
    }

    /// Writes into the log how long packet `position` is in the queue, as far as that is known.
    #[inline]
    pub fn stay(&mut self, position: u64, stay: Option<Stay>) {
        if let Some(row) = self.log_mut().and_then(|log| log.row(position)) {
            row.stay = stay;
        }
    }

    /// From here to [`Self::sent`], the verdict on packet `position` is not late.
    pub fn send(&mut self, position: u64) {
        self.kept().sending = Some((position, None));
    }

    /// The verdict on the packet that was being sent, if it is known.
    pub fn sent(&mut self) -> Option<Verdict> {
        self.kept.as_mut()?.sending.take()?.1
    }

    /// The verdict on a packet of `len` bytes has become known.
    pub fn settle(&mut self, verdict: Verdict, len: u64) {
        self.counters.count(&verdict, len);
        let Some(kept) = &mut self.kept else { return };
        if let Some(row) = kept.log.as_mut().and_then(|log| log.row(verdict.position)) {
            row.verdict = verdict;
        }
        match (&mut kept.sending, &mut kept.late) {
            (Some((position, known)), _) if *position == verdict.position => *known = Some(verdict),
            (_, Some(late)) => late.push_back(verdict),
            _ => {}
        }
    }

    #[inline]
    fn log_mut(&mut self) -> Option<&mut Log> {
        self.kept.as_mut()?.log.as_mut()
    }

    fn kept(&mut self) -> &mut Kept {
        self.kept.get_or_insert_default()
    }
}
