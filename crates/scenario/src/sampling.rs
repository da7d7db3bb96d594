//! The table of state over time: when a host's state is noted, whatever runs the scenario.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rexmit_network::EndId;
use rexmit_stack::Snapshot;
use rexmit_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::StateRow;

/// When the state of a connection is noted: `changes`, `writes`, or an interval with its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sampling {
    /// Whenever it has changed.
    #[default]
    Changes,
    /// Each time the application has written.
    Writes,
    /// At every multiple of this time, from the start of the run to its last event.
    Every(Duration),
}

impl FromStr for Sampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "changes" => Ok(Self::Changes),
            "writes" => Ok(Self::Writes),
            _ => match text.parse() {
                Ok(interval) if interval >= LEAST => Ok(Self::Every(interval)),
                Ok(_) => Err(format!("{text:?} is too short an interval: give at least {LEAST}")),
                Err(_) => {
                    Err(format!("{text:?} is neither changes nor writes nor an interval such as \"10 ms\""))
                }
            },
        }
    }
}

impl TryFrom<String> for Sampling {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Sampling> for String {
    fn from(sampling: Sampling) -> Self {
        sampling.to_string()
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes => f.write_str("changes"),
            Self::Writes => f.write_str("writes"),
            Self::Every(interval) => interval.fmt(f),
        }
    }
}

/// The shortest interval: below it a run of a minute would fill a disk.
const LEAST: Duration = Duration::from_micros(1);

/// The states of a run as they are noted.
#[derive(Debug, Default)]
pub struct StateLog {
    sampling: Sampling,
    rows: Vec<StateRow>,
    /// Of the ends that there are.
    last: BTreeMap<EndId, Last>,
    /// The next multiple of the interval.
    next: Instant,
}

/// Whether there is something to note. Linux's times go on by themselves.
fn differ(last: &Snapshot, state: &Snapshot) -> bool {
    last.held.by != state.held.by || *last != Snapshot { held: last.held, ..*state }
}

/// What is known of an end.
#[derive(Clone, Copy, Debug)]
struct Last {
    state: Snapshot,
    written: u64,
}

impl StateLog {
    /// An empty one.
    pub fn new(sampling: Sampling) -> Self {
        Self { sampling, ..Self::default() }
    }

    /// The state of an end after an event, when its application has `written` this many bytes. Times never fall; `None`
    /// is an end that no longer exists.
    pub fn note(&mut self, end: EndId, now: Instant, written: u64, state: Option<Snapshot>) {
        self.pass(now);
        let last = self.last.get(&end);
        let wanted = match (self.sampling, last) {
            (Sampling::Changes, last) => {
                last.is_none_or(|last| state.is_none_or(|state| differ(&last.state, &state)))
            }
            (Sampling::Writes, last) => written > last.map_or(0, |last| last.written),
            (Sampling::Every(_), _) => false,
        };
        let Some(state) = state else {
            self.last.remove(&end);
            return;
        };
        self.last.insert(end, Last { state, written });
        if wanted {
            self.rows.push(StateRow { time: now, host: end.host, connection: end.connection, state });
        }
    }

    /// The states noted, in order of time.
    pub fn into_rows(self) -> Vec<StateRow> {
        self.rows
    }

    /// Notes what held at the multiples of the interval before `now`: nothing more happens at them.
    fn pass(&mut self, now: Instant) {
        let Sampling::Every(interval) = self.sampling else { return };
        while self.next < now {
            for (EndId { connection, host }, Last { state, .. }) in &self.last {
                let (host, connection) = (*host, *connection);
                self.rows.push(StateRow { time: self.next, host, connection, state: *state });
            }
            self.next += interval;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rexmit_network::two_hosts::{CLIENT, SERVER, host_name};
    use rexmit_network::{ConnectionId, HostId};

    fn end(host: HostId) -> EndId {
        EndId { connection: ConnectionId::default(), host }
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn window(cwnd: u64) -> Option<Snapshot> {
        Some(Snapshot { cwnd, ..Snapshot::default() })
    }

    /// Time in ms, host and window of each row, of a connection that writes at 0 and 7 ms and ends at 31 ms.
    fn noted(sampling: &str) -> Vec<(u64, &'static str, u64)> {
        let mut log = StateLog::new(sampling.parse().unwrap());
        for (time, written, cwnd) in
            [(0, 0, 1), (0, 10, 1), (7, 20, 1), (10, 20, 2), (10, 20, 3), (23, 20, 3)]
        {
            log.note(end(SERVER), ms(time), written, window(cwnd));
        }
        log.note(end(CLIENT), ms(23), 0, window(9));
        log.note(end(SERVER), ms(31), 20, None);
        log.note(end(CLIENT), ms(45), 0, window(9));
        log.into_rows()
            .iter()
            .map(|r| ((r.time - Instant::ZERO).as_millis_f64() as u64, host_name(r.host), r.state.cwnd))
            .collect()
    }

    #[test]
    fn changes_are_noted_when_they_are() {
        assert_eq!(
            noted("changes"),
            [(0, "server", 1), (10, "server", 2), (10, "server", 3), (23, "client", 9)]
        );
    }

    #[test]
    fn writes_are_noted_whether_or_not_they_changed_anything() {
        assert_eq!(noted("writes"), [(0, "server", 1), (7, "server", 1)]);
    }

    #[test]
    fn at_an_interval_holds_what_was_after_the_last_event_at_that_time() {
        let expected = [
            (0, "server", 1),
            (10, "server", 3),
            (20, "server", 3),
            (30, "server", 3),
            (30, "client", 9),
            (40, "client", 9),
        ];
        assert_eq!(noted("10 ms"), expected);
    }

    #[test]
    fn what_is_no_time_to_sample_at_is_refused() {
        for text in ["", "change", "10", "0 ms", "-1 s", "1 ns"] {
            let error = text.parse::<Sampling>().unwrap_err();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
        for text in ["changes", "writes", "10 ms"] {
            let sampling: Sampling = text.parse().unwrap();
            assert_eq!(sampling.to_string().parse(), Ok(sampling));
        }
    }
}
