//! From matched packets to what became of them, and to sums.

use super::clock::{Clocks, Sight};
use super::delays::Delays;
use super::digest::{Digest, instant};
use super::lane::{Part, Tie};
use super::rows::{CrossingRow, End, Fate, NearBy, PairSummary};
use crate::rows::{SideName, Spread};

/// A direction of a pair: what judges its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing<'a> {
    pub pair: u32,
    pub side: SideName,
    /// The capture near the sender.
    pub near: End,
    pub sent: &'a [Digest],
    pub got: &'a [Digest],
    /// Times of the first and last packet of the capture near the sender, and of the other one.
    pub spans: [Span; 2],
    /// Both captures were running all the time.
    pub whole: bool,
    pub delays: &'a Delays,
    pub clocks: &'a Clocks,
}

/// A span of time by the clock of a capture, nanoseconds; both ends are in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub from: i64,
    pub to: i64,
}

impl Span {
    const ALWAYS: Self = Self { from: i64::MIN, to: i64::MAX };
}

/// Indices, in one capture, of the first and the last packet that is in both.
#[derive(Clone, Copy, Debug)]
struct Common {
    first: Option<u32>,
    last: Option<u32>,
}

/// Matched packets with what became of each.
#[derive(Debug)]
pub(super) struct Crossed {
    pub parts: Vec<Part>,
    pub fates: Vec<Fate>,
    reordered: Vec<bool>,
    /// Indices of the packets of the capture near the receiver that are not in the other one, in order.
    alone: Vec<u32>,
}

impl Crossed {
    /// True if packet `number` of the capture near the receiver is not in the other one.
    pub(super) fn is_not_sent(&self, got: &[Digest], number: u64) -> bool {
        let Ok(index) = got.binary_search_by_key(&number, |packet| packet.number) else { return false };
        self.alone.binary_search(&(index as u32)).is_ok()
    }
}

impl Crossing<'_> {
    pub(super) fn judge(&self, parts: Vec<Part>) -> Crossed {
        let first = parts.iter().filter(|part| part.got.is_some()).filter_map(|part| part.sent).min();
        let last = parts.iter().filter(|part| part.got.is_some()).filter_map(|part| part.sent).max();
        let arrivals = parts.iter().filter(|part| part.sent.is_some()).filter_map(|part| part.got);
        let sent = Common { first, last };
        let got = Common { first: arrivals.clone().min(), last: arrivals.max() };
        let fates = parts.iter().map(|part| self.fate(part, sent, got)).collect();
        // Those come last.
        let alone = parts.iter().rev().take_while(|part| part.sent.is_none());
        let mut alone: Vec<u32> = alone.filter_map(|part| part.got).collect();
        alone.sort_unstable();
        Crossed { reordered: reordered(&parts), fates, alone, parts }
    }

    fn fate(&self, part: &Part, common_sent: Common, common_got: Common) -> Fate {
        match (part.sent, part.got) {
            (Some(sent), Some(got)) => {
                let (sent, got) = (&self.sent[sent as usize], &self.got[got as usize]);
                let harmed = got.is_damaged(Some(sent)) && !sent.damaged;
                if harmed { Fate::Damaged } else { Fate::Arrived }
            }
            (Some(_), None) if part.tie == Tie::Tap => Fate::NotComparable,
            (Some(sent), None) => {
                if self.was_running(sent, common_sent, self.arrival(sent), self.spans[1]) {
                    Fate::Lost
                } else {
                    Fate::NotComparable
                }
            }
            (None, Some(got)) => {
                if self.was_running(got, common_got, self.departure(got), self.spans[0]) {
                    Fate::NotSent
                } else {
                    Fate::NotComparable
                }
            }
            (None, None) => Fate::NotComparable,
        }
    }

    /// True if the capture that misses a packet was running: it has packets from before and from after it, or from
    /// when it should have been there.
    fn was_running(&self, index: u32, common: Common, due: Span, running: Span) -> bool {
        let began = common.first.is_some_and(|first| first < index) || due.from >= running.from;
        let goes_on = common.last.is_some_and(|last| index < last) || due.to <= running.to;
        self.whole || (began && goes_on)
    }

    /// When a packet should have arrived, at the earliest and at the latest, by the receiver's clock.
    fn arrival(&self, sent: u32) -> Span {
        let time = self.sent[sent as usize].time;
        match self.delays.around(time) {
            Some(usual) => Span { from: time + usual.low, to: time + usual.high },
            None => Span::ALWAYS,
        }
    }

    /// When a packet should have arrived as those around it do, by the receiver's clock.
    pub(super) fn usual_arrival(&self, sent: u32) -> Option<i64> {
        let time = self.sent[sent as usize].time;
        self.delays.around(time).map(|usual| time + usual.mid)
    }

    /// When an arrival was sent if it took as long as those around it, by the sender's clock.
    pub(super) fn usual_departure(&self, got: u32) -> Option<i64> {
        let time = self.got[got as usize].time;
        self.delays.around(time - self.delays.any().unwrap_or(0)).map(|usual| time - usual.mid)
    }

    /// When an arrival should have been sent, by the sender's clock.
    fn departure(&self, got: u32) -> Span {
        let time = self.got[got as usize].time;
        match self.delays.around(time - self.delays.any().unwrap_or(0)) {
            Some(usual) => Span { from: time - usual.high, to: time - usual.low },
            None => Span::ALWAYS,
        }
    }

    pub(super) fn rows(&self, crossed: &Crossed, out: &mut Vec<CrossingRow>) {
        for (i, part) in crossed.parts.iter().enumerate() {
            let times = self.times(part);
            let packet = part.sent.map(|sent| &self.sent[sent as usize]);
            let arrival = part.got.map(|got| &self.got[got as usize]);
            let whole = packet.or(arrival).map_or(0, |packet| packet.len);
            let cut = packet.is_some_and(|packet| (part.seq, part.end) != (packet.seq, packet.end()));
            let len = if cut { (part.end - part.seq).clamp(0, i64::from(whole)) as u32 } else { whole };
            out.push(CrossingRow {
                pair: self.pair,
                side: self.side,
                number_sent: packet.map(|packet| packet.number),
                number_received: arrival.map(|packet| packet.number),
                time_sent: times.0.map(instant),
                time_received: times.1.map(instant),
                delay: times.0.zip(times.1).map(|(sent, got)| got - sent),
                seq: part.seq,
                len,
                fate: crossed.fates[i],
                duplicate: part.tie == Tie::Duplicate,
                reordered: crossed.reordered[i],
            });
        }
    }

    /// Times of sending and arrival by A's clock.
    pub(super) fn times(&self, part: &Part) -> (Option<i64>, Option<i64>) {
        let at = |end: End, packet: &Digest| self.clocks.by_a(end as usize, packet.number, packet.time);
        let (sent, got) =
            (part.sent.map(|i| &self.sent[i as usize]), part.got.map(|i| &self.got[i as usize]));
        let (Some(sent), Some(got)) = (sent, got) else {
            return (sent.map(|sent| at(self.near, sent)), got.map(|got| at(self.near.other(), got)));
        };
        let forth = self.near == End::A;
        let (a, b) = if forth { (sent, got) } else { (got, sent) };
        let sight = Sight { numbers: [a.number, b.number], times: [a.time, b.time], forth };
        let seen_at_b = self.clocks.seen_at_b(&sight);
        if forth { (Some(sent.time), Some(seen_at_b)) } else { (Some(seen_at_b), Some(got.time)) }
    }

    /// The sums; what retransmissions tell is left at zero.
    pub(super) fn summary(&self, crossed: &Crossed, of: &About) -> PairSummary {
        let mut row = PairSummary {
            pair: self.pair,
            connection_a: of.connections[0],
            connection_b: of.connections[1],
            translated: of.translated,
            side: self.side,
            near_sender: self.near,
            near_by: of.near_by,
            packets: 0,
            arrived: 0,
            lost: 0,
            damaged: 0,
            not_comparable: 0,
            not_sent: 0,
            duplicated: 0,
            reordered: 0,
            loss_rate: None,
            delay: Spread::default(),
            lost_before: 0,
            lost_between: 0,
            lost_after: 0,
            spurious: 0,
        };
        let mut delays = Vec::new();
        for ((part, fate), reordered) in crossed.parts.iter().zip(&crossed.fates).zip(&crossed.reordered) {
            row.reordered += u64::from(*reordered);
            match (part.tie, part.sent) {
                (Tie::Tap, _) => continue,
                (Tie::Duplicate, _) => row.duplicated += 1,
                (_, None) => row.not_sent += 1,
                (_, Some(_)) => count(&mut row, *fate),
            }
            if let (Tie::First, (Some(sent), Some(got))) = (part.tie, self.times(part)) {
                delays.push((got - sent) as f64);
            }
        }
        let told = row.arrived + row.lost + row.damaged;
        row.loss_rate = (told > 0).then(|| (row.lost + row.damaged) as f64 / told as f64);
        row.delay = spread(delays);
        row
    }
}

/// What a summary tells of its pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub connections: [u32; 2],
    pub translated: bool,
    pub near_by: NearBy,
}

fn count(row: &mut PairSummary, fate: Fate) {
    row.packets += 1;
    match fate {
        Fate::Arrived => row.arrived += 1,
        Fate::Damaged => row.damaged += 1,
        Fate::Lost => row.lost += 1,
        Fate::NotSent | Fate::NotComparable => row.not_comparable += 1,
    }
}

/// Which first arrivals a packet sent later overtook (RFC 4737 section 3.3).
fn reordered(parts: &[Part]) -> Vec<bool> {
    let mut order: Vec<(u32, i64, u32, usize)> = Vec::new();
    for (i, part) in parts.iter().enumerate().filter(|(_, part)| part.tie == Tie::First) {
        if let (Some(sent), Some(got)) = (part.sent, part.got) {
            order.push((got, part.seq, sent, i));
        }
    }
    order.sort_unstable();
    let mut late = vec![false; parts.len()];
    let mut newest = 0;
    for (_, _, sent, i) in order {
        late[i] = sent < newest;
        newest = newest.max(sent);
    }
    late
}

fn spread(mut values: Vec<f64>) -> Spread {
    if values.is_empty() {
        return Spread::default();
    }
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    let square = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    let sd = if count > 1 { (square / (count - 1) as f64).sqrt() } else { 0.0 };
    let at = |part: f64| values[((count as f64 * part).ceil() as usize).clamp(1, count) - 1];
    Spread {
        count: count as u64,
        min: values[0],
        mean,
        sd,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: values[count - 1],
    }
}
