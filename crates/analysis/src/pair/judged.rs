//! The whole way from two captures to rows.

use super::capture::Capture;
use super::clock::{Clocks, Sight};
use super::crossing::{About, Crossed, Crossing};
use super::delays::Delays;
use super::digest::{Digest, Fields, instant};
use super::evidence::{Answers, Evidence};
use super::flow::Side;
use super::holes::Holes;
use super::lane::{Anchor, Lane, anchors};
use super::near::{Hosts, near_client};
use super::options::Options;
use super::partners::{Partners, partners};
use super::rows::{End, LostAt, NearBy, PairRetransmissionRow, PairRows, PairSummary};
use crate::core::policy::PairPolicy;
use crate::core::side::Sides;
use crate::rows::{Need, RetransmissionRow, SideName};

/// Judges what both captures hold. Here and below a pair `[T; 2]` is of A and B, the captures as they were given.
pub(super) fn judge(options: &Options, captures: [Capture; 2]) -> PairRows {
    let mut rows = PairRows::default();
    {
        let ends = captures.each_ref();
        let policy = &options.analysis.policy.pair;
        let mut pairs: Vec<Pair<'_>> =
            partners(ends).into_iter().map(|found| Pair::new(found, ends, policy)).collect();
        orient(&mut pairs, ends, options);
        let clocks =
            if options.same_clock { Clocks::same(policy) } else { Clocks::estimate(sights(&pairs), policy) };
        rows.clock = clocks.row();
        let retransmissions = ends.map(by_side);
        let judge = Judge { options, ends, clocks: &clocks, retransmissions: &retransmissions };
        for (pair, number) in pairs.iter().zip(1..) {
            judge.pair(pair, number, &mut rows);
        }
        rows.unpaired = unpaired(ends, &pairs);
    }
    let [a, b] = captures;
    (rows.a, rows.b) = (a.rows, b.rows);
    rows
}

/// A connection that both captures hold.
#[derive(Debug)]
struct Pair<'a> {
    partners: Partners,
    /// The packets of client and server, each in A and B.
    sides: Sides<[&'a Side; 2]>,
    fields: Sides<Fields>,
    /// Indices in A and B.
    anchors: Sides<Vec<Anchor>>,
    near: (End, NearBy),
}

impl<'a> Pair<'a> {
    fn new(partners: Partners, ends: [&'a Capture; 2], policy: &PairPolicy) -> Self {
        let side = |end: usize, side: SideName| {
            let flow = &ends[end].flows[partners.connections[end] as usize - 1];
            &flow.sides[partners.sides[end][side as usize]]
        };
        let sides = Sides::from_fn(|name| [side(0, name), side(1, name)]);
        let Sides { client, server } = sides.map(|[a, b]| anchors(&a.packets, &b.packets, policy));
        let fields = Sides { client: client.0, server: server.0 };
        let anchors = Sides { client: client.1, server: server.1 };
        Self { partners, sides, fields, anchors, near: (End::A, NearBy::Assumed) }
    }

    /// The capture near the sender of a side's packets.
    fn near_sender(&self, side: SideName) -> End {
        match side {
            SideName::Client => self.near.0,
            SideName::Server => self.near.0.other(),
        }
    }

    fn hosts(&self, ends: [&Capture; 2]) -> Option<[std::net::IpAddr; 2]> {
        let [in_a, _] = ends;
        let [number, _] = self.partners.connections;
        let [sides, _] = self.partners.sides;
        let flow = &in_a.flows[number as usize - 1];
        flow.addresses.map(|addresses| sides.map(|side| addresses[side].ip()))
    }
}

/// Finds the capture near each client.
fn orient(pairs: &mut [Pair<'_>], ends: [&Capture; 2], options: &Options) {
    let mut hosts = Hosts::default();
    let mut open = Vec::new();
    for (i, pair) in pairs.iter_mut().enumerate() {
        let anchored = SideName::BOTH.map(|side| {
            let [a, b] = pair.sides[side];
            (&a.packets[..], &b.packets[..], &pair.anchors[side][..])
        });
        let found = near_client(anchored, options.same_clock, &options.analysis.policy.pair);
        match (found, pair.hosts(ends)) {
            (Some(near), addresses) => {
                pair.near = near;
                addresses.into_iter().for_each(|addresses| hosts.learn(addresses, near.0));
            }
            (None, addresses) => open.push((i, addresses)),
        }
    }
    for (i, addresses) in open {
        if let Some(addresses) = addresses {
            pairs[i].near = hosts.near_client(addresses);
        }
    }
}

/// The packets that tell of the clocks.
fn sights(pairs: &[Pair<'_>]) -> Vec<Sight> {
    let mut sights = Vec::new();
    for pair in pairs {
        for side in SideName::BOTH {
            let [a, b] = pair.sides[side];
            let forth = pair.near_sender(side) == End::A;
            sights.extend(pair.anchors[side].iter().map(|&(i, j)| {
                let (a, b) = (&a.packets[i as usize], &b.packets[j as usize]);
                Sight { numbers: [a.number, b.number], times: [a.time, b.time], forth }
            }));
        }
    }
    sights
}

type Retransmissions<'a> = std::collections::HashMap<(u32, usize), Vec<&'a RetransmissionRow>>;

/// The retransmissions of a capture, by connection and side.
fn by_side(capture: &Capture) -> Retransmissions<'_> {
    let mut found = Retransmissions::new();
    for row in &capture.rows.retransmissions {
        found.entry((row.connection, row.side as usize)).or_default().push(row);
    }
    found
}

fn unpaired(ends: [&Capture; 2], pairs: &[Pair<'_>]) -> [Vec<u32>; 2] {
    [0, 1].map(|end| {
        let mut alone = vec![true; ends[end].flows.len()];
        for pair in pairs {
            alone[pair.partners.connections[end] as usize - 1] = false;
        }
        (1..).zip(alone).filter(|(_, alone)| *alone).map(|(connection, _)| connection).collect()
    })
}

/// Judges pairs one by one.
struct Judge<'a> {
    options: &'a Options,
    ends: [&'a Capture; 2],
    clocks: &'a Clocks,
    retransmissions: &'a [Retransmissions<'a>; 2],
}

impl Judge<'_> {
    fn pair(&self, pair: &Pair<'_>, number: u32, rows: &mut PairRows) {
        let delays = Sides::from_fn(|side| {
            let near = pair.near_sender(side);
            let [sent, got] = [near, near.other()].map(|end| pair.sides[side][end as usize]);
            delays(sent, got, &pair.anchors[side], near as usize)
        });
        let crossings = Sides::from_fn(|side| self.crossing(pair, number, side, &delays[side]));
        let mut crossed = Sides::from_fn(|side| self.cross(pair, &crossings[side]));
        let holes = Sides::from_fn(|side| {
            let near = pair.near_sender(side) as usize;
            let packets = pair.sides.iter().flat_map(|ends| &ends[near].packets);
            let mut times: Vec<i64> = packets.map(|packet| packet.time).collect();
            times.sort_unstable();
            Holes::of(&times, &crossings[side], &crossed[side])
        });
        for side in SideName::BOTH {
            let (crossing, crossed) = (&crossings[side], &mut crossed[side]);
            // The capture near the sender of the other side's packets is the one that these go to.
            holes[side.other()].excuse(crossing, crossed);
            let about = About {
                connections: pair.partners.connections,
                translated: pair.partners.translated,
                near_by: pair.near.1,
            };
            let mut summary = crossing.summary(crossed, &about);
            let shift = shift(crossing.sent, crossing.got);
            self.causes(pair, &Matched { crossing, crossed, shift }, &mut summary, rows);
            rows.summaries.push(summary);
            if self.options.crossings {
                crossing.rows(crossed, &mut rows.crossings);
            }
        }
    }

    /// A direction of a pair.
    fn crossing<'b>(
        &'b self,
        pair: &'b Pair<'_>,
        number: u32,
        side: SideName,
        delays: &'b Delays,
    ) -> Crossing<'b> {
        let near = pair.near_sender(side);
        let ends = [near, near.other()].map(|end| end as usize);
        let [sent, got] = ends.map(|end| &pair.sides[side][end].packets[..]);
        Crossing {
            pair: number,
            side,
            near,
            sent,
            got,
            spans: ends.map(|end| self.ends[end].span.unwrap_or_default()),
            whole: self.options.whole,
            delays,
            clocks: self.clocks,
        }
    }

    /// What became of its packets.
    fn cross(&self, pair: &Pair<'_>, crossing: &Crossing<'_>) -> Crossed {
        let lane = Lane {
            sent: crossing.sent,
            got: crossing.got,
            fields: pair.fields[crossing.side],
            shift: shift(crossing.sent, crossing.got),
            delays: crossing.delays,
            clocks: self.clocks,
            near: crossing.near as usize,
            segment: self.segment(pair, crossing),
        };
        crossing.judge(lane.parts())
    }

    /// Bytes of data in a full segment of the side, as the capture near it knows them.
    fn segment(&self, pair: &Pair<'_>, crossing: &Crossing<'_>) -> Option<u32> {
        let near = crossing.near as usize;
        let flow = &self.ends[near].flows[pair.partners.connections[near] as usize - 1];
        flow.segments[pair.partners.sides[near][crossing.side as usize]]
    }

    /// The retransmissions of a side.
    fn causes(&self, pair: &Pair<'_>, matched: &Matched<'_>, summary: &mut PairSummary, rows: &mut PairRows) {
        let &Matched { crossing, crossed, shift } = matched;
        let side = crossing.side as usize;
        let (near, far) = (crossing.near as usize, crossing.near.other() as usize);
        let receiver = pair.sides[crossing.side.other()][far];
        let round_trip = self.clocks.round_trip();
        let answers = Answers { packets: &receiver.packets, sacks: &receiver.sacks, round_trip };
        let evidence = Evidence::new(crossing, crossed, answers, shift);
        let of = |end: usize| {
            let key = (pair.partners.connections[end], pair.partners.sides[end][side]);
            self.retransmissions[end].get(&key).map_or(&[][..], Vec::as_slice)
        };
        let from = rows.retransmissions.len();
        // The captures may disagree on who is the client, where neither holds the handshake: all rows of a pair name
        // its sides alike.
        let named = |row: &RetransmissionRow| RetransmissionRow { side: crossing.side, ..row.clone() };
        for row in of(near) {
            let mut judged = named(row);
            let finding = evidence.judge(&mut judged);
            count(summary, finding.lost_at, judged.need);
            let time = finding.arrival.and_then(|(_, part)| crossing.times(&crossed.parts[part]).1);
            rows.retransmissions.push(PairRetransmissionRow {
                pair: crossing.pair,
                seen_at: crossing.near,
                number_received: finding.arrival.map(|(got, _)| crossing.got[got as usize].number),
                time_received: time.map(instant),
                lost_at: finding.lost_at,
                judged,
            });
        }
        for row in of(far).iter().filter(|row| crossed.is_not_sent(crossing.got, row.number)) {
            count(summary, LostAt::Unknown, row.need);
            rows.retransmissions.push(PairRetransmissionRow {
                pair: crossing.pair,
                seen_at: crossing.near.other(),
                number_received: Some(row.number),
                time_received: None,
                lost_at: LostAt::Unknown,
                judged: named(row),
            });
        }
        let time = |row: &PairRetransmissionRow| {
            let end = row.seen_at as usize;
            self.clocks.by_a(end, row.judged.number, super::digest::nanos(row.judged.time))
        };
        rows.retransmissions[from..].sort_by_key(time);
    }
}

/// A direction of a pair whose packets have been matched.
struct Matched<'a> {
    crossing: &'a Crossing<'a>,
    crossed: &'a Crossed,
    /// By how much sequence numbers of the second capture differ from those of the first.
    shift: i64,
}

fn count(summary: &mut PairSummary, lost_at: LostAt, need: Need) {
    match lost_at {
        LostAt::Before => summary.lost_before += 1,
        LostAt::Between => summary.lost_between += 1,
        LostAt::After => summary.lost_after += 1,
        LostAt::Nowhere | LostAt::Unknown => {
            summary.spurious += u64::from(matches!(need, Need::Spurious | Need::Unnecessary));
        }
    }
}

/// How long the anchors of a side took, by both clocks.
fn delays(sent: &Side, got: &Side, anchors: &[Anchor], near: usize) -> Delays {
    let seen = anchors.iter().map(|&(a, b)| {
        let (sender, receiver) = if near == 0 { (a, b) } else { (b, a) };
        let (sent, got) = (&sent.packets[sender as usize], &got.packets[receiver as usize]);
        (sent.time, got.time - sent.time)
    });
    Delays::new(seen.collect())
}

/// Sequence numbers of the first capture less those of the second one.
fn shift(sent: &[Digest], got: &[Digest]) -> i64 {
    match (sent.iter().find(|p| !p.damaged), got.iter().find(|p| !p.damaged)) {
        (Some(sent), Some(got)) => i64::from(got.base().wrapping_sub(sent.base()) as i32),
        _ => 0,
    }
}
