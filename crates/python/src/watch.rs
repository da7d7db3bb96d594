//! What is sent again in a run: the hosts' packets, judged by the analysis as they pass, or from captures.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rexmit_analysis::repeats::{Class, Counts, Repeated, Repeats, Sums, Watcher};
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::{ReadError, Reader};
use rexmit_network::{ByHost, EndId, EndIndex, Ends, HostId, Network};
use rexmit_path::Carried;
use rexmit_sim::{
    HostCell, Observer, Resolved, RetransmissionRow, Streams, Watch, connection_of_ports, open_capture,
};
use rexmit_units::Instant;
use rexmit_wire::Packet;

/// Judges retransmissions where a scenario asks for it.
pub struct Judged;

impl Watch for Judged {
    fn begin(&self, resolved: &Resolved, streams: &Streams) -> Option<Box<dyn Observer>> {
        resolved.scenario.retransmissions.then(|| {
            let senders = Senders::of(resolved, streams);
            let options = options(resolved);
            let watchers = senders.sending().map(|sends| sends.then(|| Watcher::new(&options)));
            Box::new(Interfaces { watchers, senders }) as Box<dyn Observer>
        })
    }
}

/// The retransmissions of a run of `resolved` in captures at its hosts.
///
/// # Errors
/// A capture that cannot be read.
pub fn of_captures(
    resolved: &Resolved,
    captures: &ByHost<Option<String>>,
) -> Result<Vec<RetransmissionRow>, ReadError> {
    let senders = Senders::of(resolved, &any_run());
    let mut found = ByHost::new();
    for path in captures.values() {
        let Some(path) = path else {
            found.push(Vec::new());
            continue;
        };
        let file = open_capture(Path::new(path)).map_err(|source| ReadError::Io { offset: 0, source })?;
        let options = RunOptions { analysis: options(resolved), filter: None };
        found.push(Repeats::of(Run::new(Reader::new(file)?, &options)));
    }
    Ok(senders.rows(found))
}

/// The hosts that send data in some transfer: whose captures tell what is sent again.
pub fn sending_hosts(resolved: &Resolved) -> ByHost<bool> {
    Senders::of(resolved, &any_run()).sending()
}

/// Who sends.
struct Senders {
    /// Of each end its port, and whether it sends data.
    ends: Ends<(u16, bool)>,
    network: Arc<Network>,
}

/// The hosts' interfaces, of which only those of senders are looked at.
struct Interfaces {
    watchers: ByHost<Option<Watcher>>,
    senders: Senders,
}

impl Observer for Interfaces {
    #[inline]
    fn packet(&mut self, host: HostId, now: Instant, packet: &Packet) {
        let Some(watcher) = &mut self.watchers[host] else { return };
        let (.., source, destination) = packet.flow();
        if self.senders.end(host, source, destination).is_some_and(|at| self.senders.ends[at].1) {
            watcher.packet(now, packet);
        }
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        let found = self.watchers.map(|watcher| watcher.map(Watcher::finish).unwrap_or_default());
        self.senders.rows(found)
    }
}

impl Senders {
    fn of(resolved: &Resolved, streams: &Streams) -> Self {
        let mut ends = Ends::new();
        for plan in resolved.connections(streams).into_iter().flatten() {
            ends.push(plan.ends.map(|end| (end.host, (end.socket.port(), end.app.sends()))));
        }
        Self { ends, network: Arc::clone(&resolved.network) }
    }

    /// By host, whether it sends data.
    fn sending(&self) -> ByHost<bool> {
        let mut sending = self.network.by_host(|_| false);
        self.ends
            .iter()
            .filter(|(_, (_, sends))| *sends)
            .for_each(|(at, _)| sending[self.ends.host(at)] = true);
        sending
    }

    /// The end at `host` of the connection of these two ports.
    #[inline]
    fn end(&self, host: HostId, one: u16, other: u16) -> Option<EndIndex> {
        self.ends.find(EndId { connection: connection_of_ports(one, other)?, host })
    }

    /// Rows of what the captures at the hosts show of what these have sent.
    fn rows(&self, found: ByHost<Vec<Repeated>>) -> Vec<RetransmissionRow> {
        let mut sorted: BTreeMap<(EndId, u32, Class), Counts> = BTreeMap::new();
        for (host, repeated) in found.iter() {
            for one in repeated {
                let Some(at) = self.end(host, one.from.port(), one.to.port()) else { continue };
                if self.ends[at] == (one.from.port(), true) {
                    let key = (self.ends.id(at), one.number, one.class);
                    sorted.entry(key).or_default().merge(&one.counts);
                }
            }
        }
        sorted
            .into_iter()
            .map(|((end, n, class), c)| {
                let host = HostCell(self.network.host_name(end.host).clone());
                row(end, host, n, class, &c)
            })
            .collect()
    }
}

/// Streams of some run: who sends is the same in all of them, except for flows that arrive at random.
fn any_run() -> Streams {
    Streams::new(0, "")
}

fn options(resolved: &Resolved) -> Options {
    let default = Options::default();
    let missing_reports = resolved.scenario.sctp_threshold.unwrap_or(default.missing_reports);
    Options { missing_reports, ..default }
}

fn row(end: EndId, host: HostCell, number: u32, class: Class, counts: &Counts) -> RetransmissionRow {
    let ms = |ns: f64| ns / 1e6;
    let of = |sums: &Sums| {
        let (min, max) = sums.range();
        [min as f64, max as f64, sums.mean(), sums.deviation()].map(ms)
    };
    let ([min, max, mean, std], [least, most, middle, spread]) =
        (of(&counts.cumulative), of(&counts.consecutive));
    RetransmissionRow {
        connection: end.connection.number(),
        host,
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
