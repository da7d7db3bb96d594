//! What is sent again in a run: the hosts' packets, judged by the analysis as they pass, or from captures.

use std::collections::BTreeMap;
use std::path::Path;

use rexmit_analysis::repeats::{Class, Counts, Repeated, Repeats, Sums, Watcher};
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::{ReadError, Reader};
use rexmit_path::Carried;
use rexmit_sim::{FIRST_PORT, HOSTS, Observer, Resolved, RetransmissionRow, Watch, open_capture};
use rexmit_units::Instant;
use rexmit_wire::Packet;

/// Judges retransmissions where a scenario asks for it.
pub struct Judged;

impl Watch for Judged {
    fn begin(&self, resolved: &Resolved) -> Option<Box<dyn Observer>> {
        resolved.scenario.retransmissions.then(|| {
            let senders = Senders::of(resolved);
            let options = options(resolved);
            let watchers = [0, 1].map(|host| senders.any(host).then(|| Watcher::new(&options)));
            Box::new(Interfaces { watchers, senders }) as Box<dyn Observer>
        })
    }
}

/// The retransmissions of a run of `resolved` in captures at the server and at the client.
///
/// # Errors
/// A capture that cannot be read.
pub fn of_captures(
    resolved: &Resolved,
    captures: [Option<&str>; 2],
) -> Result<Vec<RetransmissionRow>, ReadError> {
    let senders = Senders::of(resolved);
    let mut found = [Vec::new(), Vec::new()];
    for (found, path) in found.iter_mut().zip(captures) {
        let Some(path) = path else { continue };
        let file = open_capture(Path::new(path)).map_err(|source| ReadError::Io { offset: 0, source })?;
        let options = RunOptions { analysis: options(resolved), filter: None };
        *found = Repeats::of(Run::new(Reader::new(file)?, &options));
    }
    Ok(senders.rows(found))
}

/// The hosts that send data in some transfer: whose captures tell what is sent again.
pub fn sending_hosts(resolved: &Resolved) -> [bool; 2] {
    let senders = Senders::of(resolved);
    [senders.any(0), senders.any(1)]
}

/// Who sends, by connection and host.
struct Senders(Vec<[Sends; 2]>);

/// A host's part in a connection: its port, and whether it sends data.
type Sends = (u16, bool);

/// The two hosts' interfaces, of which only those of senders are looked at.
struct Interfaces {
    watchers: [Option<Watcher>; 2],
    senders: Senders,
}

impl Observer for Interfaces {
    #[inline]
    fn packet(&mut self, host: usize, now: Instant, packet: &Packet) {
        let Some(watcher) = &mut self.watchers[host] else { return };
        let (.., source, destination) = packet.flow();
        let ports = (source, destination);
        if self.senders.connection(ports).is_some_and(|n| self.senders.0[n][host].1) {
            watcher.packet(now, packet);
        }
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        let found = self.watchers.map(|watcher| watcher.map(Watcher::finish).unwrap_or_default());
        self.senders.rows(found)
    }
}

impl Senders {
    fn of(resolved: &Resolved) -> Self {
        let of = |plan: rexmit_sim::ConnectionPlan| {
            [0, 1].map(|host| (plan.sockets[host].port(), plan.apps[host].sends()))
        };
        Self(resolved.connections().map(of).collect())
    }

    fn any(&self, host: usize) -> bool {
        self.0.iter().any(|hosts| hosts[host].1)
    }

    /// The connection of these two ports.
    #[inline]
    fn connection(&self, (one, other): (u16, u16)) -> Option<usize> {
        let number = usize::from(one.max(other).checked_sub(FIRST_PORT)?);
        (number < self.0.len()).then_some(number)
    }

    /// Rows of what the captures at the two hosts show of what these have sent.
    fn rows(&self, found: [Vec<Repeated>; 2]) -> Vec<RetransmissionRow> {
        let mut sorted: BTreeMap<(usize, usize, u32, Class), Counts> = BTreeMap::new();
        for (host, repeated) in found.into_iter().enumerate() {
            for one in repeated {
                let Some(connection) = self.connection((one.from.port(), one.to.port())) else { continue };
                if self.0[connection][host] == (one.from.port(), true) {
                    let key = (connection, host, one.number, one.class);
                    sorted.entry(key).or_default().merge(&one.counts);
                }
            }
        }
        sorted
            .into_iter()
            .map(|((connection, host, n, class), c)| row((connection, host), (n, class), &c))
            .collect()
    }
}

fn options(resolved: &Resolved) -> Options {
    let default = Options::default();
    let missing_reports = resolved.scenario.sctp_threshold.unwrap_or(default.missing_reports);
    Options { missing_reports, ..default }
}

fn row(end: (usize, usize), (number, class): (u32, Class), counts: &Counts) -> RetransmissionRow {
    let ms = |ns: f64| ns / 1e6;
    let of = |sums: &Sums| {
        let (min, max) = sums.range();
        [min as f64, max as f64, sums.mean(), sums.deviation()].map(ms)
    };
    let ([min, max, mean, std], [least, most, middle, spread]) =
        (of(&counts.cumulative), of(&counts.consecutive));
    RetransmissionRow {
        connection: end.0 as u32,
        host: HOSTS[end.1].to_string(),
        protocol: class.protocol().to_string(),
        number,
        class: class.name().to_string(),
        count: counts.count,
        not_needed: counts.not_needed,
        bundled_in_fast: counts.bundled_in_fast,
        cumulative_min_ms: min,
        cumulative_max_ms: max,
        cumulative_mean_ms: mean,
        cumulative_std_ms: std,
        consecutive_min_ms: least,
        consecutive_max_ms: most,
        consecutive_mean_ms: middle,
        consecutive_std_ms: spread,
    }
}
