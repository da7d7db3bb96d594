//! Whether a retransmission was needed, as both captures show it.
//!
//! What an earlier transmission met is known where both captures hold it, or only one. If all bytes arrived at the
//! capture near the receiver, the receiver's acknowledgments there tell whether it got them.

use rexmit_units::Duration;

use super::crossing::{Crossed, Crossing};
use super::digest::{Digest, NO_ACK, signed};
use super::lane::Tie;
use super::rows::{Fate, LostAt};
use crate::rows::{Cause, Need, Proof, RetransmissionRow};

/// What the capture near the receiver shows of its acknowledgments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers<'a> {
    /// Packets of the receiver, in the order of that capture.
    pub packets: &'a [Digest],
    /// Their SACK blocks: number of the packet, first sequence number, one past the last.
    pub sacks: &'a [(u64, i64, i64)],
    /// Smallest delay from one capture to the other and back, nanoseconds.
    pub round_trip: Option<i64>,
}

/// Judges the retransmissions of a direction.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    crossing: &'a Crossing<'a>,
    crossed: &'a Crossed,
    answers: Answers<'a>,
    /// Sequence numbers of the sender's capture less those of the other one.
    shift: i64,
    /// Parts by their first sequence number.
    order: Vec<u32>,
    longest: i64,
    /// Smallest time from an arrival at the capture near the receiver to its acknowledgment there.
    beyond: Option<i64>,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub lost_at: LostAt,
    /// Its index in the other capture, and the index of its part.
    pub arrival: Option<(u32, usize)>,
}

/// What earlier transmissions of some bytes met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    /// There were none, and could not have been.
    New,
    Unseen,
    Lost,
    Unknown,
    /// The first arrival that counts.
    Arrived(u32),
}

impl<'a> Evidence<'a> {
    pub(super) fn new(
        crossing: &'a Crossing<'a>,
        crossed: &'a Crossed,
        answers: Answers<'a>,
        shift: i64,
    ) -> Self {
        let parts = &crossed.parts;
        let mut order: Vec<u32> = (0..parts.len() as u32).collect();
        order.retain(|i| parts[*i as usize].end > parts[*i as usize].seq);
        order.sort_unstable_by_key(|i| (parts[*i as usize].seq, *i));
        let longest = parts.iter().map(|part| part.end - part.seq).max().unwrap_or(0);
        let beyond = beyond(crossing.got, answers.packets);
        Self { crossing, crossed, answers, shift, order, longest, beyond }
    }

    /// Judges a retransmission that the capture near the sender holds, and tells its row.
    pub(super) fn judge(&self, row: &mut RetransmissionRow) -> Finding {
        let sent = self.crossing.sent;
        let Ok(own) = sent.binary_search_by_key(&row.number, |packet| packet.number) else {
            return Finding { lost_at: LostAt::Unknown, arrival: None };
        };
        let arrival = self.arrival(own as u32);
        if matches!(row.cause, Cause::WindowProbe | Cause::KeepAlive) {
            return Finding { lost_at: LostAt::Unknown, arrival };
        }
        let earlier = self.earlier(own as u32, row.seq..row.end);
        let lost_at = self.place(&earlier, arrival.map(|arrival| arrival.0), row);
        match lost_at {
            LostAt::Before | LostAt::Between | LostAt::After => {
                (row.need, row.proof) = (Need::Needed, Proof::None);
            }
            LostAt::Nowhere if row.need != Need::Unnecessary => {
                row.need = Need::Spurious;
                if row.proof == Proof::None {
                    row.proof = Proof::Arrived;
                }
            }
            LostAt::Nowhere | LostAt::Unknown => {}
        }
        Finding { lost_at, arrival }
    }

    /// Where a packet of the sender arrived first.
    fn arrival(&self, own: u32) -> Option<(u32, usize)> {
        let parts = &self.crossed.parts;
        let from = parts.partition_point(|part| part.sent.is_some_and(|sent| sent < own));
        let mine = parts[from..].iter().take_while(|part| part.sent == Some(own));
        mine.enumerate().filter_map(|(i, part)| Some((part.got?, from + i))).min()
    }

    fn place(&self, earlier: &[Earlier], again: Option<u32>, row: &RetransmissionRow) -> LostAt {
        let has = |what: Earlier| earlier.contains(&what);
        let newest = earlier.iter().filter_map(|earlier| match earlier {
            Earlier::Arrived(got) => Some(*got),
            _ => None,
        });
        match newest.max() {
            _ if has(Earlier::Lost) => LostAt::Between,
            _ if has(Earlier::Unseen) => LostAt::Before,
            _ if has(Earlier::Unknown) => LostAt::Unknown,
            None => LostAt::Unknown,
            Some(got) => self.after(got, again, row),
        }
    }

    /// All of it arrived at the capture near the receiver, the last of it as packet `got`: did the receiver get it?
    fn after(&self, got: u32, again: Option<u32>, row: &RetransmissionRow) -> LostAt {
        let arrivals = self.crossing.got;
        let (arrived, seq, end) = (&arrivals[got as usize], row.seq - self.shift, row.end - self.shift);
        // Answers to the retransmission tell nothing of what was before it.
        let until = again.map_or(u64::MAX, |again| arrivals[again as usize].number);
        let acks = self.answers.packets;
        let from = acks.partition_point(|ack| ack.number < arrived.number);
        let sacks = self.answers.sacks;
        let mut blocks = &sacks[sacks.partition_point(|sack| sack.0 < arrived.number)..];
        let ways = self.crossing.clocks.policy().beyond_ways as i64;
        let patience = self.beyond.map(|beyond| ways * beyond + self.slack());
        for ack in acks[from..].iter().take_while(|ack| ack.number < until).take(ANSWERS) {
            let own = blocks.partition_point(|sack| sack.0 <= ack.number);
            let reported = &blocks[..own];
            blocks = &blocks[own..];
            if ack.ack >= end || reported.iter().any(|sack| sack.1 <= seq && end <= sack.2) {
                return LostAt::Nowhere;
            }
            let knows = patience.is_some_and(|patience| ack.time - arrived.time > patience);
            // What stands just below a block, and just above it, has not been received (RFC 2018 section 3). Some leave
            // a FIN out of their blocks.
            let data = seq + i64::from(row.len);
            let excludes =
                |sack: &(u64, i64, i64)| (seq < sack.1 && sack.1 <= end) || (seq <= sack.2 && sack.2 < data);
            let missing = ack.ack >= seq && ack.ack != NO_ACK;
            if knows && (missing || reported.iter().any(excludes)) {
                return LostAt::After;
            }
        }
        if self.is_at_receiver() { LostAt::Nowhere } else { LostAt::Unknown }
    }

    /// What a receiver needs at most to answer a packet at once, nanoseconds.
    fn slack(&self) -> i64 {
        signed(self.crossing.clocks.policy().answer)
    }

    /// True if the far capture is so near to the receiver that what it holds has arrived.
    fn is_at_receiver(&self) -> bool {
        let share = self.crossing.clocks.policy().at_receiver_share;
        let part = |time: i64| signed(share.of(Duration::from_nanos(time.max(0) as u64)));
        let near = self.answers.round_trip.map_or(self.slack(), |time| part(time).max(self.slack()));
        self.beyond.is_some_and(|beyond| beyond <= near)
    }

    /// What became of the bytes of `range` before packet `own` was sent: one entry for each part of it.
    fn earlier(&self, own: u32, range: std::ops::Range<i64>) -> Vec<Earlier> {
        let parts = &self.crossed.parts;
        let seq = |i: &u32| parts[*i as usize].seq;
        let from = self.order.partition_point(|i| seq(i) <= range.start - self.longest);
        let to = self.order.partition_point(|i| seq(i) < range.end);
        // What was sent before it, if very often, stands just before it.
        let part = parts.partition_point(|part| part.sent.is_some_and(|sent| sent < own)) as u32;
        let at = self.order.partition_point(|i| (seq(i), *i) < (range.start, part));
        let (from, to) = (from.max(at.saturating_sub(PARTS)), to.min(at + PARTS));
        let overlapping: Vec<usize> = self.order[from..to]
            .iter()
            .map(|i| *i as usize)
            .filter(|i| parts[*i].end > range.start && self.is_before(*i, own))
            .collect();
        let highest = self.crossing.sent[..own as usize].iter().rev().take(LOOK_BACK).map(Digest::end).max();
        let mut edges: Vec<i64> = vec![range.start];
        edges.extend(overlapping.iter().flat_map(|i| [parts[*i].seq, parts[*i].end]));
        edges.retain(|edge| range.contains(edge));
        edges.sort_unstable();
        edges.dedup();
        let found = edges.iter().map(|edge| {
            let covering =
                overlapping.iter().copied().filter(|i| parts[*i].seq <= *edge && *edge < parts[*i].end);
            match self.met(covering) {
                Earlier::Unseen if highest.is_some_and(|highest| *edge >= highest) => Earlier::New,
                met => met,
            }
        });
        found.collect()
    }

    fn is_before(&self, part: usize, own: u32) -> bool {
        let Crossed { parts, .. } = self.crossed;
        match (parts[part].sent, parts[part].got) {
            (Some(sent), _) => sent < own && parts[part].tie != Tie::Tap,
            // The sender's capture missed it; when it was sent follows from when it arrived.
            (None, Some(_)) => {
                let own = &self.crossing.sent[own as usize];
                let sent = self.crossing.clocks.by_a(self.crossing.near as usize, own.number, own.time);
                self.crossing.times(&parts[part]).1.is_some_and(|got| got < sent)
            }
            (None, None) => false,
        }
    }

    fn met(&self, covering: impl Iterator<Item = usize>) -> Earlier {
        let Crossed { parts, fates, .. } = self.crossed;
        let mut met = Earlier::Unseen;
        for i in covering {
            let sent = parts[i].sent.map(|sent| &self.crossing.sent[sent as usize]);
            let damaged = parts[i].got.is_some_and(|got| self.crossing.got[got as usize].is_damaged(sent));
            met = match (fates[i], parts[i].got, met) {
                (_, Some(got), Earlier::Arrived(first)) if !damaged => Earlier::Arrived(first.min(got)),
                (_, Some(got), _) if !damaged => Earlier::Arrived(got),
                (_, _, Earlier::Arrived(first)) => Earlier::Arrived(first),
                (Fate::NotComparable, _, _) | (_, _, Earlier::Unknown) => Earlier::Unknown,
                _ => Earlier::Lost,
            };
        }
        met
    }
}

/// Smallest time from an arrival of new data to the first acknowledgment that covers it.
fn beyond(got: &[Digest], acks: &[Digest]) -> Option<i64> {
    let mut smallest: Option<i64> = None;
    let mut acked = acks.iter().peekable();
    let (mut high, mut cumulative) = (i64::MIN, None::<&Digest>);
    for packet in got.iter().filter(|packet| !packet.damaged && packet.end() > packet.seq) {
        if packet.end() <= high {
            continue;
        }
        high = packet.end();
        while cumulative.is_none_or(|ack| ack.ack < packet.end() || ack.number < packet.number) {
            match acked.next() {
                Some(ack) => cumulative = Some(ack),
                None => return smallest,
            }
        }
        let time = cumulative.map_or(i64::MAX, |ack| ack.time - packet.time);
        smallest = Some(smallest.map_or(time, |least| least.min(time)));
    }
    smallest
}

/// Acknowledgments that are looked at for one that tells of a retransmission.
const ANSWERS: usize = 1 << 14;
/// Parts before and after a retransmission that it is compared with.
const PARTS: usize = 1 << 10;
/// Packets among which the one with the highest sequence number is looked for.
const LOOK_BACK: usize = 4096;
