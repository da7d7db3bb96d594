//! The whole way from two captures to rows.

use super::Options;
use super::capture::{Capture, Side};
use super::clock::{Clocks, Sight};
use super::crossing::{About, Crossed, Crossing};
use super::delays::Delays;
use super::digest::{Digest, Fields, instant};
use super::evidence::{Answers, Evidence};
use super::holes::Holes;
use super::lane::{Anchor, Lane, anchors};
use super::near::{Hosts, near_client};
use super::partners::{Partners, partners};
use super::rows::{End, LostAt, NearBy, PairRetransmissionRow, PairRows, PairSummary};
use crate::rows::{Need, RetransmissionRow, SideName};

/// Judges what both captures hold.
pub(super) fn judge(options: &Options, captures: [Capture; 2]) -> PairRows {
    let mut rows = PairRows::default();
    {
        let ends = [&captures[0], &captures[1]];
        let mut pairs: Vec<Pair<'_>> =
            partners(ends).into_iter().map(|found| Pair::new(found, ends)).collect();
        orient(&mut pairs, ends, options.same_clock);
        let clocks = if options.same_clock { Clocks::same() } else { Clocks::estimate(sights(&pairs)) };
        rows.clock = clocks.row();
        let retransmissions = [by_side(&captures[0]), by_side(&captures[1])];
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
    sides: [[&'a Side; 2]; 2],
    fields: [Fields; 2],
    /// Indices in A and B.
    anchors: [Vec<Anchor>; 2],
    near: (End, NearBy),
}

impl<'a> Pair<'a> {
    fn new(partners: Partners, ends: [&'a Capture; 2]) -> Self {
        let side = |end: usize, side: usize| {
            let flow = &ends[end].flows[partners.connections[end] as usize - 1];
            &flow.sides[partners.sides[end][side]]
        };
        let sides = [[side(0, 0), side(1, 0)], [side(0, 1), side(1, 1)]];
        let [client, server] = sides.map(|[a, b]| anchors(&a.packets, &b.packets));
        let fields = [client.0, server.0];
        Self { partners, sides, fields, anchors: [client.1, server.1], near: (End::A, NearBy::Assumed) }
    }

    /// The capture near the sender of a side's packets.
    fn near_sender(&self, side: usize) -> End {
        if side == 0 { self.near.0 } else { self.near.0.other() }
    }

    fn hosts(&self, ends: [&Capture; 2]) -> Option<[std::net::IpAddr; 2]> {
        let flow = &ends[0].flows[self.partners.connections[0] as usize - 1];
        let sides = self.partners.sides[0];
        flow.addresses.map(|addresses| sides.map(|side| addresses[side].ip()))
    }
}

/// Finds the capture near each client.
fn orient(pairs: &mut [Pair<'_>], ends: [&Capture; 2], same_clock: bool) {
    let mut hosts = Hosts::default();
    let mut open = Vec::new();
    for (i, pair) in pairs.iter_mut().enumerate() {
        let anchored = [0, 1].map(|side| {
            let [a, b] = pair.sides[side];
            (&a.packets[..], &b.packets[..], &pair.anchors[side][..])
        });
        let found = near_client(anchored, same_clock);
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
        for side in [0, 1] {
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
        let delays = [0, 1].map(|side| {
            let near = pair.near_sender(side) as usize;
            let [sent, got] = [pair.sides[side][near], pair.sides[side][1 - near]];
            delays(sent, got, &pair.anchors[side], near)
        });
        let crossings = [0, 1].map(|side| self.crossing(pair, number, side, &delays[side]));
        let mut crossed = [0, 1].map(|side| self.cross(pair, &crossings[side]));
        let holes = [0, 1].map(|side| {
            let near = pair.near_sender(side) as usize;
            let packets = [0, 1].into_iter().flat_map(|side| &pair.sides[side][near].packets);
            let mut times: Vec<i64> = packets.map(|packet| packet.time).collect();
            times.sort_unstable();
            Holes::of(&times, &crossings[side], &crossed[side])
        });
        for side in [0, 1] {
            let (crossing, crossed) = (&crossings[side], &mut crossed[side]);
            // The capture near the sender of the other side's packets is the one that these go to.
            holes[1 - side].excuse(crossing, crossed);
            let about = About {
                connections: pair.partners.connections,
                translated: pair.partners.translated,
                near_by: pair.near.1,
            };
            let mut summary = crossing.summary(crossed, &about);
            let shift = shift(crossing.sent, crossing.got);
            self.causes(pair, (crossing, crossed, shift), &mut summary, rows);
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
        side: usize,
        delays: &'b Delays,
    ) -> Crossing<'b> {
        let near = pair.near_sender(side) as usize;
        Crossing {
            pair: number,
            side: if side == 0 { SideName::Client } else { SideName::Server },
            near: pair.near_sender(side),
            sent: &pair.sides[side][near].packets,
            got: &pair.sides[side][1 - near].packets,
            spans: [near, 1 - near].map(|end| self.ends[end].span.unwrap_or_default()),
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
            fields: pair.fields[crossing.side as usize],
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
    fn causes(
        &self,
        pair: &Pair<'_>,
        (crossing, crossed, shift): (&Crossing<'_>, &Crossed, i64),
        summary: &mut PairSummary,
        rows: &mut PairRows,
    ) {
        let side = crossing.side as usize;
        let (near, far) = (crossing.near as usize, crossing.near.other() as usize);
        let receiver = pair.sides[1 - side][far];
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
