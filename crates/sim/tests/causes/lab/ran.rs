//! A case that has been run: its captures and its truth.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::net::IpAddr;

use rexmit_capture::{DEFAULT_EPOCH_NS, Direction, Reader, Record, Writer};
use rexmit_network::two_hosts::{CLIENT, HOSTS, SERVER};
use rexmit_network::{HostId, Id};
use rexmit_sim::{Outcome, Resolved, RunOptions, Streams, TransmissionRow, run};
use rexmit_units::Instant;
use rexmit_wire::Packet;

use super::{Case, view};

/// Where a capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At the server, the host 0.
    Server,
    /// At the client, the host 1.
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
    /// Of the server and the client.
    addresses: [IpAddr; 2],
    /// By host and connection: the rows of what it sent.
    flows: Vec<Vec<usize>>,
    /// Nanoseconds that a packet certainly takes, down and up, less the bottleneck.
    delays: [u64; 2],
    /// Made where it is needed.
    likes: OnceCell<HashMap<Like, Vec<usize>>>,
}

/// What a packet looks like: its sender, its segment without the data as text, and its length.
type Like = (usize, String, u64);

impl Ran {
    pub fn new(case: &Case) -> Self {
        let resolved =
            Resolved::from_value(case.scenario.clone()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let options =
            RunOptions { transmissions: true, captures: true, verdicts: true, ..RunOptions::default() };
        let outcome = run(&resolved, &Streams::new(1, &case.name), &options)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        let addresses = HOSTS.map(|host| resolved.address(host));
        let path = &resolved.scenario.path;
        Self::of(&case.name, outcome, addresses, [least_delay(&path.down()), least_delay(&path.up())])
    }

    /// A run whose outcome is there already.
    pub fn of(name: &str, outcome: Outcome, addresses: [IpAddr; 2], delays: [u64; 2]) -> Self {
        let mut flows = Vec::new();
        for (i, row) in outcome.transmissions.iter().enumerate() {
            let flow = flow(host(row), row.connection.number());
            if flows.len() <= flow {
                flows.resize(flow + 1, Vec::new());
            }
            flows[flow].push(i);
        }
        Self { name: name.into(), outcome, addresses, flows, delays, likes: OnceCell::new() }
    }

    /// The truth, by row.
    pub fn rows(&self) -> &[TransmissionRow] {
        &self.outcome.transmissions
    }

    /// The host with this address: 0 for the server.
    pub fn host_of(&self, address: IpAddr) -> usize {
        usize::from(address != self.addresses[0])
    }

    /// The row of the packet with this IP identification that was sent last before `time`.
    pub fn row_of(&self, host: usize, connection: u32, ident: u16, time: Instant) -> Option<usize> {
        let rows = self.flows.get(flow(host, connection))?;
        let sent = rows.partition_point(|&i| self.rows()[i].time <= time);
        let back = (sent as u16).wrapping_sub(ident);
        sent.checked_sub(usize::from(back) + 1).map(|i| rows[i])
    }

    /// The same where packets have no identification: a row whose packet was like this one. One that passes at
    /// `time` is preferred to the last one before, and one that is not yet in `seen` to another.
    pub fn row_like(&self, host: usize, packet: &Packet, time: Instant, seen: &[bool]) -> Option<usize> {
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
        let mut next = vec![0; self.flows.len()];
        let mut likes = HashMap::<Like, Vec<usize>>::new();
        for (host, capture) in self.outcome.captures.values().enumerate() {
            for (_, _, packet) in view::packets(capture).filter(|p| self.host_of(p.2.src) == host) {
                let flow = flow(host, view::connection_of(packet.tcp().expect("TCP alone is sent")));
                let row = self.flows[flow][next[flow]];
                next[flow] += 1;
                likes.entry(like(host, &packet)).or_default().push(row);
            }
        }
        likes
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
        let host = self.name.bytes().map(usize::from).sum::<usize>() % 2;
        let [away, back] = [self.delays[host] * 2 / 5, self.delays[1 - host] * 2 / 5];
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

    fn records(&self, host: usize) -> Vec<Record> {
        let reader =
            Reader::new(&self.outcome.captures[HostId::from_index(host)][..]).expect("a capture of ours");
        reader.map(|r| r.expect("a whole capture")).collect()
    }
}

fn like(host: usize, packet: &Packet) -> Like {
    (host, format!("{:?}", view::without_data(packet)), packet.ip_len())
}

/// The number of a flow.
fn flow(host: usize, connection: u32) -> usize {
    2 * connection as usize + host
}

/// The host that sent it: 0 for the server.
pub fn host(row: &TransmissionRow) -> usize {
    row.host.index()
}

fn least_delay(spec: &rexmit_path::DirectionSpec) -> u64 {
    let changed = spec.impairments.changes.iter().filter_map(|c| c.delay);
    let least = changed.chain([spec.delay]).min().unwrap_or(spec.delay).as_nanos();
    // A normal jitter has no bound; none is below four times its spread here.
    let spread = spec.impairments.jitter.as_ref().map_or(0, |j| 4 * j.spread.as_nanos());
    least.saturating_sub(spread)
}
