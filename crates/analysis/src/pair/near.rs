//! Which capture is nearer to the client.
//!
//! What comes back for a packet comes back later the farther the capture is from the other side. So of a packet and the
//! answer to it, the capture near the sender of the first sees more time between them, whatever the clocks show.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;

use super::digest::{Digest, signed};
use super::lane::Anchor;
use super::rows::{End, NearBy};
use crate::core::policy::PairPolicy;

/// The anchors of a side, and the packets that they name in A and B.
pub(super) type Anchored<'a> = (&'a [Digest], &'a [Digest], &'a [Anchor]);

/// The capture near the client, by the packets of client and server.
pub(super) fn near_client(
    sides: [Anchored<'_>; 2],
    same_clock: bool,
    policy: &PairPolicy,
) -> Option<(End, NearBy)> {
    let clock = || if same_clock { by_clock(sides) } else { None };
    by_round_trip(sides, policy)
        .map(|end| (end, NearBy::RoundTrip))
        .or_else(|| clock().map(|end| (end, NearBy::Clock)))
        .or_else(|| by_hops(sides).map(|end| (end, NearBy::Hops)))
}

/// Hosts of which it is known which capture is near.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    near: HashMap<IpAddr, End, RandomState>,
}

impl Hosts {
    /// A connection between `client` and `server`, whose client is near `end`.
    pub(super) fn learn(&mut self, [client, server]: [IpAddr; 2], end: End) {
        self.near.entry(client).or_insert(end);
        self.near.entry(server).or_insert(end.other());
    }

    /// The capture near a client about which nothing else tells.
    pub(super) fn near_client(&self, [client, server]: [IpAddr; 2]) -> (End, NearBy) {
        let of_server = || self.near.get(&server).map(|end| end.other());
        match self.near.get(&client).copied().or_else(of_server) {
            Some(end) => (end, NearBy::Others),
            None => (End::A, NearBy::Assumed),
        }
    }
}

fn by_round_trip(sides: [Anchored<'_>; 2], policy: &PairPolicy) -> Option<End> {
    // Number in A, side, and how much more B's clock shows.
    let mut seen: Vec<(u64, usize, i64)> = Vec::new();
    for (side, (a, b, anchors)) in sides.into_iter().enumerate() {
        seen.extend(anchors.iter().map(|&(i, j)| {
            let (a, b) = (&a[i as usize], &b[j as usize]);
            (a.number, side, b.time - a.time)
        }));
    }
    seen.sort_unstable();
    let turns = seen.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let mut round_trips: Vec<i64> = turns
        .map(|pair| if pair[0].1 == 0 { pair[0].2 - pair[1].2 } else { pair[1].2 - pair[0].2 })
        .collect();
    if round_trips.is_empty() {
        return None;
    }
    let middle = round_trips.len() / 2;
    let (_, median, _) = round_trips.select_nth_unstable(middle);
    let resolution = signed(policy.resolution);
    match *median {
        time if time > resolution => Some(End::A),
        time if time < -resolution => Some(End::B),
        _ => None,
    }
}

fn by_clock(sides: [Anchored<'_>; 2]) -> Option<End> {
    let mut balance = 0_i64;
    for ((a, b, anchors), sign) in sides.into_iter().zip([1, -1]) {
        balance += anchors
            .iter()
            .map(|&(i, j)| sign * (b[j as usize].time - a[i as usize].time).signum())
            .sum::<i64>();
    }
    nearer(balance)
}

/// Each router takes one from the time to live.
fn by_hops(sides: [Anchored<'_>; 2]) -> Option<End> {
    let mut balance = 0_i64;
    for ((a, b, anchors), sign) in sides.into_iter().zip([1, -1]) {
        let hops = |&(i, j): &Anchor| i64::from(a[i as usize].ttl) - i64::from(b[j as usize].ttl);
        balance += anchors.iter().map(|anchor| sign * hops(anchor).signum()).sum::<i64>();
    }
    nearer(balance)
}

fn nearer(balance: i64) -> Option<End> {
    match balance {
        0 => None,
        more if more > 0 => Some(End::A),
        _ => Some(End::B),
    }
}
