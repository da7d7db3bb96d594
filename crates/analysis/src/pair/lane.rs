//! The packets of one side of a pair, at both ends: which is which.
//!
//! First come packets that can be one only: their key is unique at both ends, copies aside. They are anchors, and tell
//! between which captures a packet moves and how long that takes. Then all are matched in three steps: equal packets in
//! their order, super-packets with their parts, damaged packets with what they were.

mod alike;
mod bruised;
mod parts;

use super::clock::Clocks;
use super::delays::Delays;
use super::digest::{Digest, Fields, signed};
use crate::core::policy::PairPolicy;

/// A packet or a part of one, at one end or both; sequence numbers are those of the sender's capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Index in the capture near the sender.
    pub sent: Option<u32>,
    /// Index in the other one.
    pub got: Option<u32>,
    pub seq: i64,
    /// One past the last sequence number.
    pub end: i64,
    pub tie: Tie,
}

/// How the two ends of a part belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// They are one packet; or one end is missing.
    First,
    /// The packet arrived already.
    Duplicate,
    /// Only a copy that was made before the capture near the sender; it did not arrive as such.
    Tap,
}

/// A packet that is one only: its index at both ends.
pub(super) type Anchor = (u32, u32);

/// Fields that survive between the ends, and the anchors in the order of `a`.
pub(super) fn anchors(a: &[Digest], b: &[Digest], policy: &PairPolicy) -> (Fields, Vec<Anchor>) {
    let mut print = Share::default();
    let mut ident = Share::default();
    each_group(a, b, Fields::FEW, |mine, theirs| {
        if let ([mine], [theirs]) = (mine, theirs) {
            let (mine, theirs) = (&a[mine.1 as usize], &b[theirs.1 as usize]);
            if !mine.damaged && !theirs.damaged {
                print.count(mine.print == theirs.print && mine.tsval == theirs.tsval);
                ident.count(mine.ident == theirs.ident && mine.ident != 0);
            }
        }
    });
    let numbered = a.iter().take(64).any(|packet| packet.ident != 0);
    let fields = Fields { print: print.most(true), ident: ident.most(numbered) };
    let mut anchors = Vec::new();
    each_group(a, b, fields, |mine, theirs| {
        let is_one = |packets: &[Digest], group: &[(u64, u32)]| {
            let first = &packets[group[0].1 as usize];
            let apart = |pair: &[(u64, u32)]| {
                packets[pair[1].1 as usize].time - packets[pair[0].1 as usize].time > signed(policy.again)
            };
            group.len() == 1 || (fields.ident && first.ident != 0 && !group.windows(2).any(apart))
        };
        // Of copies of one packet the first counts.
        if is_one(a, mine) && is_one(b, theirs) {
            anchors.push((mine[0].1, theirs[0].1));
        }
    });
    anchors.sort_unstable();
    (fields, anchors)
}

/// The two ends of a lane, the capture near the sender first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane<'a> {
    pub sent: &'a [Digest],
    pub got: &'a [Digest],
    pub fields: Fields,
    /// Sequence numbers of the sender's capture less those of the other one.
    pub shift: i64,
    pub delays: &'a Delays,
    pub clocks: &'a Clocks,
    /// The capture near the sender, 0 for A.
    pub near: usize,
    /// Bytes of data in a full segment, where a SYN tells.
    pub segment: Option<u32>,
}

/// What is known of the packets of a lane so far.
#[derive(Debug)]
struct State {
    parts: Vec<Part>,
    /// By index: nothing more is to be found for it.
    sent_done: Vec<bool>,
    got_done: Vec<bool>,
}

impl Lane<'_> {
    /// Every packet of both ends, matched or not, a super-packet as its segments; in the order of the sender, then of
    /// the receiver.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut state = State {
            parts: Vec::with_capacity(self.sent.len()),
            sent_done: vec![false; self.sent.len()],
            got_done: vec![false; self.got.len()],
        };
        self.match_alike(&mut state);
        self.match_parts(&mut state);
        self.match_bruised(&mut state);
        self.leave_rest(&mut state);
        self.cut_segments(&mut state.parts);
        state.parts.sort_unstable_by_key(|part| {
            let sent = part.sent.map_or(u32::MAX, |sent| sent);
            (sent, part.seq, part.got)
        });
        state.parts
    }

    fn join(&self, sent: u32, got: u32, tie: Tie, state: &mut State) {
        let packet = &self.sent[sent as usize];
        let (seq, end) = (packet.seq, packet.end());
        state.parts.push(Part { sent: Some(sent), got: Some(got), seq, end, tie });
        state.sent_done[sent as usize] = true;
        state.got_done[got as usize] = true;
    }

    fn leave_rest(&self, state: &mut State) {
        for (i, packet) in self.sent.iter().enumerate().filter(|(i, _)| !state.sent_done[*i]) {
            let (seq, end) = (packet.seq, packet.end());
            state.parts.push(Part { sent: Some(i as u32), got: None, seq, end, tie: Tie::First });
        }
        for (i, packet) in self.got.iter().enumerate().filter(|(i, _)| !state.got_done[*i]) {
            let (seq, end) = (packet.seq + self.shift, packet.end() + self.shift);
            state.parts.push(Part { sent: None, got: Some(i as u32), seq, end, tie: Tie::First });
        }
    }

    /// A packet takes at most this much longer than those around it, nanoseconds.
    fn patience(&self) -> i64 {
        signed(self.clocks.policy().patience)
    }

    /// Equal packets of a host that numbers them are two if more lies between them, nanoseconds.
    fn again(&self) -> i64 {
        signed(self.clocks.policy().again)
    }

    /// How much longer or shorter than the packets around it a packet would have taken, nanoseconds; `None` where that
    /// is impossible: it arrives before it was sent, or very late.
    fn cost(&self, sent: u32, got: u32) -> Option<i64> {
        let (sent, got) = (&self.sent[sent as usize], &self.got[got as usize]);
        let Some(usual) = self.delays.around(sent.time) else { return Some(0) };
        let delay = got.time - sent.time;
        let corrected = || {
            let at = |end, packet: &Digest| self.clocks.by_a(end, packet.number, packet.time);
            at(1 - self.near, got) - at(self.near, sent)
        };
        let early = delay < usual.low && corrected() < -signed(self.clocks.policy().slack);
        let possible = !early && delay <= usual.high + self.patience();
        possible.then_some((delay - usual.mid).abs())
    }
}

/// Gives the packets of each key that is at both ends, as (key, index), in their order.
fn each_group(
    a: &[Digest],
    b: &[Digest],
    fields: Fields,
    mut give: impl FnMut(&[(u64, u32)], &[(u64, u32)]),
) {
    let sorted = |packets: &[Digest]| {
        let mut keys: Vec<_> = packets.iter().zip(0..).map(|(packet, i)| (packet.key(fields), i)).collect();
        keys.sort_unstable();
        keys
    };
    let (a, b) = (sorted(a), sorted(b));
    let mut b = b.as_slice();
    for mine in a.chunk_by(|x, y| x.0 == y.0) {
        let key = mine[0].0;
        let from = b.iter().position(|(other, _)| *other >= key).unwrap_or(b.len());
        b = &b[from..];
        let len = b.iter().take_while(|(other, _)| *other == key).count();
        if len > 0 {
            give(mine, &b[..len]);
        }
    }
}

/// Of how many packets something holds.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    yes: u64,
    no: u64,
}

impl Share {
    fn count(&mut self, yes: bool) {
        if yes { self.yes += 1 } else { self.no += 1 }
    }

    /// Whether it holds of most, `otherwise` where none was counted.
    fn most(self, otherwise: bool) -> bool {
        if self.yes + self.no == 0 { otherwise } else { self.yes > self.no }
    }
}
