//! Super-packets: what one end shows as one packet is several at the other.
//!
//! A capture at a sender that leaves segmentation to its network card holds packets of many segments, and one at a
//! receiver that puts arrivals together does so as well. Both are cut where either of them ends, and each part is
//! matched with the newest transmission of its bytes that it can be.

use rexmit_wire::Flags;

use super::{Lane, Part, State, Tie};
use crate::pair::digest::Digest;

/// A packet of the sender whose parts are looked for.
#[derive(Debug)]
struct Open {
    sent: u32,
    seq: i64,
    end: i64,
    /// Ranges that arrived.
    parts: Vec<(i64, i64)>,
}

impl Lane<'_> {
    pub(super) fn match_parts(&self, state: &mut State) {
        let has_data = |packet: &Digest| packet.len > 0;
        let mut open: Vec<Open> = (0..self.sent.len() as u32)
            .filter(|i| !state.sent_done[*i as usize] && has_data(&self.sent[*i as usize]))
            .map(|sent| {
                let packet = &self.sent[sent as usize];
                Open { sent, seq: packet.seq, end: packet.end(), parts: Vec::new() }
            })
            .collect();
        if open.is_empty() {
            return;
        }
        open.sort_unstable_by_key(|open| (open.seq, open.sent));
        let longest = open.iter().map(|open| open.end - open.seq).max().unwrap_or(0);
        for got in 0..self.got.len() as u32 {
            if !state.got_done[got as usize] && has_data(&self.got[got as usize]) {
                self.place(got, longest, &mut open, state);
            }
        }
        for open in open.iter_mut().filter(|open| !open.parts.is_empty()) {
            state.sent_done[open.sent as usize] = true;
            open.parts.sort_unstable();
            for (seq, end) in gaps(open.seq, open.end, &open.parts) {
                state.parts.push(Part { sent: Some(open.sent), got: None, seq, end, tie: Tie::First });
            }
        }
    }

    /// Finds whose bytes an arrival holds.
    fn place(&self, got: u32, longest: i64, open: &mut [Open], state: &mut State) {
        let packet = &self.got[got as usize];
        let (mut seq, end) = (packet.seq + self.shift, packet.end() + self.shift);
        let start = seq;
        let from = open.partition_point(|open| open.seq < seq - longest);
        let to = open.partition_point(|open| open.seq < end);
        let from = from.max(to.saturating_sub(MOST));
        let mut placed = Vec::new();
        while seq < end {
            let fits = |open: &&mut Open| {
                open.seq <= seq && seq < open.end && open.parts.len() < MOST && self.may_hold(open, got)
            };
            // A transmission whose bytes have not arrived comes before one whose have.
            let best = open[from..to].iter_mut().filter(fits).max_by_key(|open| {
                let fresh = !open.parts.iter().any(|part| part.0 <= seq && seq < part.1);
                (fresh, self.is_numbered_so(open, got, start), open.sent)
            });
            let Some(best) = best else { break };
            let until = end.min(best.end);
            let again = best.parts.iter().any(|part| part.0 <= seq && until <= part.1);
            let tie = if again { Tie::Duplicate } else { Tie::First };
            best.parts.push((seq, until));
            placed.push(Part { sent: Some(best.sent), got: Some(got), seq, end: until, tie });
            seq = until;
        }
        if placed.is_empty() {
            return;
        }
        state.got_done[got as usize] = true;
        state.parts.append(&mut placed);
        if seq < end {
            state.parts.push(Part { sent: None, got: Some(got), seq, end, tie: Tie::First });
        }
    }

    fn may_hold(&self, open: &Open, got: u32) -> bool {
        let (sent, arrived) = (&self.sent[open.sent as usize], &self.got[got as usize]);
        let same_stamp = !self.fields.print || sent.tsval == arrived.tsval || merged(sent, arrived);
        same_stamp && sent.len != arrived.len && self.cost(open.sent, got).is_some()
    }

    /// A card that cuts a super-packet numbers the pieces from its identification on.
    fn is_numbered_so(&self, open: &Open, got: u32, seq: i64) -> bool {
        let (sent, arrived) = (&self.sent[open.sent as usize], &self.got[got as usize]);
        let place = (seq - open.seq) / i64::from(arrived.len.max(1));
        self.fields.ident && sent.ident != 0 && arrived.ident.wrapping_sub(sent.ident) == place as u16
    }
}

impl Lane<'_> {
    /// Cuts what is longer than a segment into the segments that it is on the wire: of those that were lost together
    /// nothing else shows how many they were.
    pub(super) fn cut_segments(&self, parts: &mut Vec<Part>) {
        let Some(segment) = self.segment.map(i64::from) else { return };
        let mut rest = Vec::new();
        for part in parts.iter_mut() {
            let (packet, shift) = match (part.sent, part.got) {
                (Some(sent), _) => (&self.sent[sent as usize], 0),
                (None, Some(got)) => (&self.got[got as usize], self.shift),
                (None, None) => continue,
            };
            if i64::from(packet.len) > MOST_SEGMENTS * segment {
                continue;
            }
            let last = packet.end() + shift - i64::from(packet.flags.has(Flags::FIN));
            let borders = (part.seq + segment..part.end.min(last)).step_by(segment as usize);
            let whole = *part;
            let mut at = None;
            for border in borders {
                let seq = at.unwrap_or(whole.seq);
                if at.is_none() {
                    part.end = border;
                } else {
                    rest.push(Part { seq, end: border, ..whole });
                }
                at = Some(border);
            }
            rest.extend(at.map(|seq| Part { seq, ..whole }));
        }
        parts.append(&mut rest);
    }
}

/// Segments in a super-packet; one that claims more, as a header of a hostile capture may, stays whole.
const MOST_SEGMENTS: i64 = 64;

/// Timestamps of segments that are put together are no farther apart: a second of the finest clock that RFC 7323 section
/// 5.4 allows.
const MERGED_TICKS: u32 = 1000;

/// Segments that a receiver puts together have the timestamp of one of them.
fn merged(sent: &Digest, got: &Digest) -> bool {
    got.len > sent.len && (got.tsval.wrapping_sub(sent.tsval) as i32).unsigned_abs() < MERGED_TICKS
}

/// What of a range no part covers; the parts are in order.
fn gaps(seq: i64, end: i64, parts: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut gaps = Vec::new();
    let mut at = seq;
    for part in parts {
        if part.0 > at {
            gaps.push((at, part.0));
        }
        at = at.max(part.1);
    }
    if at < end {
        gaps.push((at, end));
    }
    gaps
}

/// Packets of the sender that an arrival is looked for in, and parts of one: more than segments of a super-packet of
/// 64 KiB, each sent often.
const MOST: usize = 1 << 11;
