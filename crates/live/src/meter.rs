//! What ends have done by intervals: the scenario's log, fed from real sockets.

use rexmit_scenario::{IntervalLog, IntervalRow, Intervals, Tally};
use rexmit_stack::Counters;
use rexmit_traffic::App;
use rexmit_units::Instant;

use crate::ends::End;

/// The intervals of a run under way.
#[derive(Debug)]
pub struct Meter {
    log: IntervalLog,
    /// By sender: how much it had written when last looked at, and the counters of its socket then, which is gone
    /// once it is closed.
    seen: Vec<(u64, Counters)>,
}

impl Meter {
    /// Of a run with these connections, each with its two ends by host.
    pub(crate) fn new(what: &Intervals, ends: &[[End; 2]]) -> Self {
        let all = ends.iter().enumerate().flat_map(|(n, pair)| [(n, 0, &pair[0]), (n, 1, &pair[1])]);
        let senders = all.filter(|(_, _, end)| !matches!(end.app, App::Receiver(_)));
        let senders: Vec<_> = senders.map(|(n, host, _)| (n as u32, host)).collect();
        let seen = vec![(0, Counters::default()); senders.len()];
        Self { log: IntervalLog::new(what, senders), seen }
    }

    /// When an interval next begins or ends.
    pub fn due(&self) -> Instant {
        self.log.due()
    }

    /// Begins and ends intervals that are due at `now`.
    pub(crate) fn pass(&mut self, now: Instant, ends: &[[End; 2]]) {
        if now >= self.log.due() {
            let tallies = self.tallies(ends);
            self.log.pass(now, &tallies);
        }
    }

    /// After something happened to a connection.
    pub(crate) fn look(&mut self, connection: usize, pair: &[End; 2]) {
        let senders = self.log.senders().iter().enumerate();
        let own: Vec<_> =
            senders.filter(|(_, s)| s.0 as usize == connection).map(|(n, s)| (n, s.1)).collect();
        for (n, host) in own {
            let end = &pair[host];
            let (written, before) = (end.app.progress().bytes_written, self.seen[n].0);
            if written > before
                && let Some(state) = end.socket.snapshot()
            {
                self.log.wrote(n, written - before, &state);
                self.seen[n] = (written, state.counters);
            }
        }
    }

    /// The rows, once the run is over.
    pub(crate) fn finish(mut self, now: Instant, ends: &[[End; 2]]) -> Vec<IntervalRow> {
        let tallies = self.tallies(ends);
        self.log.finish(now, &tallies)
    }

    fn tallies(&mut self, ends: &[[End; 2]]) -> Vec<Tally> {
        let seen = &mut self.seen;
        let tally = |(n, (connection, host)): (usize, &(u32, usize))| {
            let pair = &ends[*connection as usize];
            if let Some(state) = pair[*host].socket.snapshot() {
                seen[n].1 = state.counters;
            }
            Tally {
                written: pair[*host].app.progress().bytes_written,
                delivered: pair[1 - *host].app.progress().bytes_read,
                counters: seen[n].1,
            }
        };
        self.log.senders().iter().enumerate().map(tally).collect()
    }
}
