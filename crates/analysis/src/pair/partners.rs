//! Which connection of one capture is which of the other.
//!
//! The same addresses and ports make a pair if the numbers of the wire agree. Where something translates addresses,
//! packets vote: sequence and acknowledgment numbers, length and flags together belong to one connection.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use foldhash::fast::RandomState;

use super::capture::Capture;
use super::digest::{Digest, Fields};
use super::flow::Flow;

/// A connection that both captures hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partners {
    /// Numbers of the connection in A and in B.
    pub connections: [u32; 2],
    /// By end: which of its sides is the client, and which the server.
    pub sides: [[usize; 2]; 2],
    /// The addresses differ.
    pub translated: bool,
}

/// The pairs, in the order of A.
pub(super) fn partners(ends: [&Capture; 2]) -> Vec<Partners> {
    let [a, b] = ends;
    let mut taken = vec![false; b.flows.len()];
    let mut found: Vec<Partners> = Vec::new();
    let mut by_address: HashMap<[SocketAddr; 2], VecDeque<usize>, RandomState> = HashMap::default();
    for (i, flow) in b.flows.iter().enumerate() {
        by_address.entry(flow.ends()).or_default().push_back(i);
    }
    let mut left = Vec::new();
    for (i, flow) in a.flows.iter().enumerate() {
        let candidates = by_address.get_mut(&flow.ends());
        let fits = |j: &usize| agrees(flow, &b.flows[*j]);
        let found_at = candidates.and_then(|all| all.remove(all.iter().take(CANDIDATES).position(fits)?));
        match found_at {
            Some(j) => {
                taken[j] = true;
                let flip = flow.addresses != b.flows[j].addresses;
                found.push(Partners::new([i, j], [flow, &b.flows[j]], flip, false));
            }
            None => left.push(i),
        }
    }
    vote(&left, [a, b], &mut taken, &mut found);
    found.sort_by_key(|pair| pair.connections[0]);
    found
}

impl Partners {
    fn new(places: [usize; 2], flows: [&Flow; 2], flip: bool, translated: bool) -> Self {
        let mut sides = [[0, 1], if flip { [1, 0] } else { [0, 1] }];
        // The one that saw who opened the connection names the client.
        if flip && flows[0].initials() == [None, None] && flows[1].initials() != [None, None] {
            sides = [[1, 0], [0, 1]];
        }
        Self { connections: places.map(|place| place as u32 + 1), sides, translated }
    }
}

impl Flow {
    /// Its addresses, the lower one first.
    fn ends(&self) -> [SocketAddr; 2] {
        let mut ends = self.addresses.unwrap_or_else(|| [SocketAddr::from(([0, 0, 0, 0], 0)); 2]);
        ends.sort();
        ends
    }

    fn packets(&self) -> usize {
        self.sides[0].packets.len() + self.sides[1].packets.len()
    }
}

/// True if two connections between the same ends may be one: their numbers lie in the same part of the space.
fn agrees(a: &Flow, b: &Flow) -> bool {
    let theirs_of = if a.addresses == b.addresses { [0, 1] } else { [1, 0] };
    let at = |side: usize| theirs_of[side];
    let (mine, theirs) = (a.initials(), b.initials());
    let known = [0, 1].into_iter().filter_map(|side| Some((mine[side]?, theirs[at(side)]?)));
    let (mut equal, mut other) = (0, 0);
    for (mine, theirs) in known {
        if mine == theirs { equal += 1 } else { other += 1 }
    }
    if equal + other > 0 {
        return other == 0;
    }
    [0, 1].into_iter().any(|side| overlap(&a.sides[side].packets, &b.sides[at(side)].packets))
}

/// True if two series of sequence numbers have some in common.
fn overlap(a: &[Digest], b: &[Digest]) -> bool {
    let (Some(first), Some(other)) = (a.first(), b.first()) else { return false };
    let range = |packets: &[Digest]| {
        let ends = packets.iter().map(|p| (p.seq, p.end()));
        ends.fold((i64::MAX, i64::MIN), |(low, high), (seq, end)| (low.min(seq), high.max(end)))
    };
    let shift = i64::from(other.base().wrapping_sub(first.base()) as i32);
    let (a, b) = (range(a), range(b));
    a.0 <= b.1 + shift && b.0 + shift <= a.1
}

/// Pairs by votes those connections of A that no address pairs.
fn vote(left: &[usize], [a, b]: [&Capture; 2], taken: &mut [bool], found: &mut Vec<Partners>) {
    if left.is_empty() || taken.iter().all(|taken| *taken) {
        return;
    }
    let mut owners: HashMap<u64, (usize, usize), RandomState> = HashMap::default();
    for (j, flow) in b.flows.iter().enumerate().filter(|(j, _)| !taken[*j]) {
        sample(flow, |key, side| {
            owners.insert(key, (j, side));
        });
    }
    for &i in left {
        let flow = &a.flows[i];
        let mut votes: HashMap<(usize, bool), usize, RandomState> = HashMap::default();
        sample(flow, |key, side| {
            if let Some(&(j, other)) = owners.get(&key).filter(|(j, _)| !taken[*j]) {
                *votes.entry((j, side != other)).or_default() += 1;
            }
        });
        // The most votes win, then the first connection: the order of a table of hashes must not matter.
        let best = votes.into_iter().max_by_key(|&((j, flip), votes)| (votes, std::cmp::Reverse((j, flip))));
        let Some(((j, flip), votes)) = best else { continue };
        let few = flow.packets().min(b.flows[j].packets()) <= ENOUGH;
        if votes >= ENOUGH || few {
            taken[j] = true;
            found.push(Partners::new([i, j], [flow, &b.flows[j]], flip, true));
        }
    }
}

/// Gives keys of a connection's packets, of a long one's the same part at both ends.
fn sample(flow: &Flow, mut take: impl FnMut(u64, usize)) {
    let many = flow.packets() > 4096;
    for (side, sent) in flow.sides.iter().enumerate() {
        for packet in sent.packets.iter().filter(|packet| !packet.damaged) {
            let key = packet.key(Fields::FEW);
            if !many || key % 8 == 0 || packet.flags.has(rexmit_wire::Flags::SYN) {
                take(key, side);
            }
        }
    }
}

/// Connections between the same ends that one is compared with.
const CANDIDATES: usize = 256;
/// Packets in common that make two connections one.
const ENOUGH: usize = 3;
