//! A capture that shows each packet twice: made by a tap with two ports, or where a router's packets come and go.
//!
//! Single copies are told apart later, by the other capture. Where nearly every packet appears twice the second ones
//! are the tap's; they would be taken for copies that the network made, or hide which packet is which.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

use crate::core::policy::PairPolicy;
use crate::pair::digest::{Digest, Fields, signed};
use crate::pair::flow::Flow;

/// Takes the copies out of a capture, if nearly all of its packets appear twice.
pub(super) fn take_out(flows: &mut [Flow], policy: &PairPolicy) {
    let copies: Vec<[Vec<bool>; 2]> =
        flows.iter().map(|flow| [0, 1].map(|side| copies(&flow.sides[side].packets, policy))).collect();
    let sides = || flows.iter().zip(&copies).flat_map(|(flow, copies)| flow.sides.iter().zip(copies));
    // Equal acknowledgments of a host that does not number its packets may be packets of their own.
    let tells = |packet: &Digest| packet.ident != 0 || packet.end() > packet.seq;
    let told = || sides().flat_map(|(side, copies)| side.packets.iter().zip(copies)).filter(|x| tells(x.0));
    let (all, twice) = (told().count(), told().filter(|(_, copy)| **copy).count());
    if twice as u64 * 100 < all as u64 * policy.doubled || twice == 0 {
        return;
    }
    for (flow, copies) in flows.iter_mut().zip(copies) {
        for (side, copies) in flow.sides.iter_mut().zip(copies) {
            let mut copies = copies.into_iter();
            side.packets.retain(|_| !copies.next().unwrap_or(false));
        }
    }
}

/// Which packets are the second sight of one just before; each has one.
fn copies(packets: &[Digest], policy: &PairPolicy) -> Vec<bool> {
    let mut open: HashMap<u64, VecDeque<i64>, RandomState> = HashMap::default();
    let is_copy = |packet: &Digest| {
        let seen = open.entry(packet.key(Fields { print: true, ident: true })).or_default();
        let lag = signed(if packet.ident == 0 { policy.tap } else { policy.tap_numbered });
        while seen.front().is_some_and(|first| packet.time - first > lag) {
            seen.pop_front();
        }
        let copy = seen.pop_front().is_some();
        if !copy {
            seen.push_back(packet.time);
        }
        copy
    };
    packets.iter().map(is_copy).collect()
}
