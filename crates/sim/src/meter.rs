//! What ends have done by intervals: the scenario's log, fed from a world.

use rexmit_scenario::{IntervalLog, IntervalRow, Intervals, Tally};
use rexmit_stack::Endpoint;
use rexmit_traffic::App;
use rexmit_units::Instant;

use crate::world::End;

/// The intervals of a run under way.
pub(crate) struct Meter {
    log: IntervalLog,
    due: Instant,
    /// By number of an end: its number among the senders, and how much it had written when last looked at.
    seen: Vec<Option<(usize, u64)>>,
}

impl Meter {
    /// Of a run with these ends, of whose connections the client's stand before the server's.
    pub fn new(what: &Intervals, ends: &[End]) -> Self {
        let mut senders = Vec::new();
        let seen = ends.iter().enumerate().map(|(n, end)| {
            // A pure receiver writes nothing.
            (!matches!(end.app, App::Receiver(_))).then(|| {
                senders.push(((n / 2) as u32, 1 - n % 2));
                (senders.len() - 1, 0)
            })
        });
        let seen = seen.collect();
        let log = IntervalLog::new(what, senders);
        Self { due: log.due(), log, seen }
    }

    /// Before what happens at `now`.
    #[inline]
    pub fn pass(&mut self, now: Instant, ends: &[End]) {
        if now >= self.due {
            self.log.pass(now, &self.tallies(ends));
            self.due = self.log.due();
        }
    }

    /// After something happened to an end.
    #[inline]
    pub fn look(&mut self, index: usize, end: &End) {
        let Some((sender, before)) = &mut self.seen[index] else { return };
        let written = end.app.progress().bytes_written;
        if written > *before {
            self.log.wrote(*sender, written - *before, &end.connection.snapshot());
            *before = written;
        }
    }

    /// The rows, once the run is over.
    pub fn finish(self, now: Instant, ends: &[End]) -> Vec<IntervalRow> {
        let tallies = self.tallies(ends);
        self.log.finish(now, &tallies)
    }

    fn tallies(&self, ends: &[End]) -> Vec<Tally> {
        let tally = |(connection, host): &(u32, usize)| {
            let index = 2 * *connection as usize;
            let (own, other) = (&ends[index + 1 - host], &ends[index + host]);
            Tally {
                written: own.app.progress().bytes_written,
                delivered: other.app.progress().bytes_read,
                counters: *own.connection.counters(),
            }
        };
        self.log.senders().iter().map(tally).collect()
    }
}
