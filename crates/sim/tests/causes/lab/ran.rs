//! A case that has been run: its captures and its truth.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::net::IpAddr;

use rexmit_capture::{DEFAULT_EPOCH_NS, Direction, Reader, Record, Writer};
use rexmit_network::two_hosts::{CLIENT, DOWN, SERVER, UP, by_host, peer, server_and_client};
use rexmit_network::{ByHost, ConnectionId, HostId};
use rexmit_path::Fate;
use rexmit_scenario::Sampling;
pub use rexmit_sim::TransmissionRow as Row;
use rexmit_sim::{Outcome, Resolved, RunOptions, Streams, TransmissionRow, run};
use rexmit_units::Instant;
use rexmit_wire::Packet;

use super::{Case, view};

/// Where a capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At the server.
    Server,
    /// At the client.
    Client,
    /// On the path, between the bottleneck that loses the packets of `from` and the other host or, with `before`,
    /// between `from` and that bottleneck.
    Middle,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Server, Self::Client, Self::Middle];
}

/// A case that has been run.
pub struct Ran {
    pub name: String,
    /// The row, the truth of every packet, the path's verdicts and both captures.
    pub outcome: Outcome,
    addresses: ByHost<IpAddr>,
    /// The rows of what a host sent on a connection.
    flows: HashMap<Flow, Vec<usize>>,
    /// Nanoseconds that a host's packets certainly take, less the bottleneck.
    delays: ByHost<u64>,
    /// Made where it is needed.
    likes: OnceCell<HashMap<Like, Vec<usize>>>,
}

/// What one host sends on one connection.
type Flow = (HostId, ConnectionId);
/// What a packet looks like: its sender, its segment without the data as text, and its length.
type Like = (HostId, String, u64);

impl Ran {
    pub fn new(case: &Case) -> Self {
        Self::noting(case, None)
    }

    /// With the states of its ends.
    pub fn noting(case: &Case, state: Option<Sampling>) -> Self {
        let resolved =
            Resolved::from_value(case.scenario.clone()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let options = RunOptions {
            transmissions: true,
            captures: true,
            verdicts: true,
            state,
            ..RunOptions::default()
        };
        let outcome = run(&resolved, &Streams::new(1, &case.name), &options)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let addresses = by_host(|host| resolved.address(host));
        let path = &resolved.scenario.path;
        let delays = server_and_client(least_delay(&path.down()), least_delay(&path.up()));
        Self::of(&case.name, outcome, addresses, delays)
    }

    /// A run whose outcome is there already.
    pub fn of(name: &str, outcome: Outcome, addresses: ByHost<IpAddr>, delays: ByHost<u64>) -> Self {
        let mut flows = HashMap::<Flow, Vec<usize>>::new();
        for (i, row) in outcome.transmissions.iter().enumerate() {
            flows.entry((row.host, row.connection)).or_default().push(i);
        }
        Self { name: name.into(), outcome, addresses, flows, delays, likes: OnceCell::new() }
    }

    /// The truth, by row.
    pub fn rows(&self) -> &[TransmissionRow] {
        &self.outcome.transmissions
    }

    /// The host with this address; the client, where neither has it.
    pub fn host_of(&self, address: IpAddr) -> HostId {
        if address == self.addresses[SERVER] { SERVER } else { CLIENT }
    }

    /// The row of the packet with this IP identification that was sent last before `time`.
    pub fn row_of(&self, flow: Flow, ident: u16, time: Instant) -> Option<usize> {
        let rows = self.flows.get(&flow)?;
        let sent = rows.partition_point(|&i| self.rows()[i].time <= time);
        let back = (sent as u16).wrapping_sub(ident);
        sent.checked_sub(usize::from(back) + 1).map(|i| rows[i])
    }

    /// The same where packets have no identification: a row whose packet was like this one. One that passes at
    /// `time` is preferred to the last one before, and one that is not yet in `seen` to another.
    pub fn row_like(&self, host: HostId, packet: &Packet, time: Instant, seen: &[bool]) -> Option<usize> {
        let likes = self.likes.get_or_init(|| self.index_likes());
        let rows = likes.get(&like(host, packet))?;
        let now = |i: &usize| {
            let row = &self.rows()[*i];
            row.time == time || row.arrived == Some(time)
        };
        let before = |i: &usize| self.rows()[*i].time <= time;
        let found = rows.iter().copied().find(|i| now(i) && !seen[*i]);
        found.or_else(|| rows.iter().copied().rev().find(before))
    }

    /// The rows by what their packets look like: the senders' captures hold them in order.
    fn index_likes(&self) -> HashMap<Like, Vec<usize>> {
        let mut next = HashMap::<Flow, usize>::new();
        let mut likes = HashMap::<Like, Vec<usize>>::new();
        for (host, capture) in self.outcome.captures.iter() {
            for (_, _, packet) in view::packets(capture).filter(|p| self.host_of(p.2.src) == host) {
                let flow = (host, view::connection_of(packet.tcp().expect("TCP alone is sent")));
                let next = next.entry(flow).or_default();
                let row = self.flows[&flow][*next];
                *next += 1;
                likes.entry(like(host, &packet)).or_default().push(row);
            }
        }
        likes
    }

    /// When the packets with data of a host and connection were offered to the path, and whether they waited there for
    /// others: they took longer than any of their size, by more than a full one takes to pass.
    pub fn waits(&self, host: HostId, connection: ConnectionId) -> Vec<(u64, bool)> {
        let link = if host == SERVER { DOWN } else { UP };
        let mut least = HashMap::<u32, u64>::new();
        let mut passed = Vec::new();
        for verdict in &self.outcome.verdicts {
            let row = &verdict.row;
            let Fate::Delivered { at: Some(at) } = row.verdict.fate else { continue };
            if verdict.link != link || verdict.connection != Some(connection) || row.packet.payload == 0 {
                continue;
            }
            let took = at.saturating_since(row.time).as_nanos();
            let least = least.entry(row.packet.ip_len).or_insert(took);
            *least = (*least).min(took);
            passed.push((row.time.as_nanos(), row.packet.ip_len, took));
        }
        passed.into_iter().map(|(time, len, took)| (time, took > least[&len])).collect()
    }

    /// The capture as pcapng; `None` for the middle of a path without delay.
    pub fn capture(&self, place: Place) -> Option<Cow<'_, [u8]>> {
        match place {
            Place::Server => Some(Cow::Borrowed(&self.outcome.captures[SERVER])),
            Place::Client => Some(Cow::Borrowed(&self.outcome.captures[CLIENT])),
            Place::Middle => self.middle().map(Cow::Owned),
        }
    }

    /// What a tap sees that stands 40 % of the way from one host: packets leave that host so much earlier and
    /// arrive there so much later. Half of the cases have it at the server's side, before the losses of `down`
    /// and after those of `up`, and half at the client's. What the emulator does at its entry happens before or
    /// behind the tap all the same, since a constant delay may stand on either side of a bottleneck.
    fn middle(&self) -> Option<Vec<u8>> {
        let at_server = self.name.bytes().map(usize::from).sum::<usize>().is_multiple_of(2);
        let host = if at_server { SERVER } else { CLIENT };
        let [away, back] = [host, peer(host)].map(|sender| self.delays[sender] * 2 / 5);
        if away + back == 0 {
            return None;
        }
        let mut records = self.records(host);
        for record in &mut records {
            let time = record.time.as_nanos() - DEFAULT_EPOCH_NS;
            let outbound = record.direction == Some(Direction::Outbound);
            record.time = Instant::from_nanos(if outbound { time + away } else { time - back });
        }
        records.sort_by_key(|r| r.time);
        let mut writer = Writer::new(Vec::new(), "middle").expect("memory");
        for record in records {
            writer.write_bytes(record.time, &record.data, None, None).expect("memory");
        }
        Some(writer.finish().expect("memory"))
    }

    fn records(&self, host: HostId) -> Vec<Record> {
        let reader = Reader::new(&self.outcome.captures[host][..]).expect("a capture of ours");
        reader.map(|r| r.expect("a whole capture")).collect()
    }
}

fn like(host: HostId, packet: &Packet) -> Like {
    (host, format!("{:?}", view::without_data(packet)), packet.ip_len())
}

fn least_delay(spec: &rexmit_path::DirectionSpec) -> u64 {
    let changed = spec.impairments.changes.iter().filter_map(|c| c.delay);
    let least = changed.chain([spec.delay]).min().unwrap_or(spec.delay).as_nanos();
    // A normal jitter has no bound; none is below four times its spread here.
    let spread = spec.impairments.jitter.as_ref().map_or(0, |j| 4 * j.spread.as_nanos());
    least.saturating_sub(spread)
}
