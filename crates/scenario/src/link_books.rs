//! What links do in a run: what each counts itself, and what stood in the queues that are looked at.

use rexmit_network::{ByLink, LinkId};
use rexmit_path::{Carried, Counters, Direction, Drops};
use rexmit_units::{Duration, Instant};

use crate::about_link::AboutLink;
use crate::histogram::Histogram;
use crate::{LinkRow, LinkSlice, Resolved};

/// The books of all links of a run.
#[derive(Debug)]
pub(crate) struct LinkBooks {
    /// Of the links that are looked at, in the order of their numbers.
    queues: Vec<QueueBook>,
}

#[derive(Clone, Debug)]
struct QueueBook {
    link: LinkId,
    about: AboutLink,
    packets: Histogram,
    /// In nanoseconds.
    time: Histogram,
    slice: Slice,
}

/// What a queue held in the interval under way.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    /// Bytes that came out of the link before it.
    passed_bytes: u64,
    /// Drops before it.
    drops: u64,
    samples: u64,
    packets: u64,
    packets_max: u64,
    ns: u128,
    ns_max: u64,
}

impl LinkBooks {
    pub fn new(resolved: &Resolved) -> Self {
        let looked_at = resolved.network.links().filter(|link| resolved.lies_between(*link));
        Self { queues: looked_at.map(|link| QueueBook::new(link, resolved.about_link(link))).collect() }
    }

    /// Looks at the queues this many times, `apart` from `first` on; nothing enters them meanwhile.
    pub fn look<P: Carried>(
        &mut self,
        first: Instant,
        apart: Duration,
        times: u64,
        links: &mut ByLink<Direction<P>>,
    ) {
        for book in &mut self.queues {
            let mut at = first;
            for done in 0..times {
                let (packets, bytes) = links[book.link].queued(at);
                book.look(packets, bytes, if packets == 0 { times - done } else { 1 });
                if packets == 0 {
                    break;
                }
                at += apart;
            }
        }
    }

    /// Ends an interval, and adds what the links that are looked at did in it.
    pub fn end_slice<P: Carried>(
        &mut self,
        [from, to]: [Instant; 2],
        links: &ByLink<Direction<P>>,
        slices: &mut Vec<LinkSlice>,
    ) {
        for book in &mut self.queues {
            let counters = links[book.link].counters();
            let (drops, passed_bytes) = (counters.drops_by().total(), counters.received_bytes);
            let part = std::mem::replace(&mut book.slice, Slice { drops, passed_bytes, ..Slice::default() });
            let mean = |sum: f64| (part.samples > 0).then(|| sum / part.samples as f64);
            let timed = book.about.rate.is_some() && part.samples > 0;
            let [link, from_point, to_point] = book.about.name.clone();
            slices.push(LinkSlice {
                link,
                from_point,
                to_point,
                from_ns: from.as_nanos(),
                to_ns: to.as_nanos(),
                passed_bytes: passed_bytes - part.passed_bytes,
                drops: drops - part.drops,
                queue_packets_mean: mean(part.packets as f64),
                queue_packets_max: (part.samples > 0).then_some(part.packets_max as f64),
                queue_mean_ms: mean(part.ns as f64 / 1e6).filter(|_| timed),
                queue_max_ms: timed.then_some(part.ns_max as f64 / 1e6),
            });
        }
    }

    /// One row per link of a run that lasted this long.
    pub fn rows<P: Carried>(
        &self,
        resolved: &Resolved,
        elapsed_ns: u64,
        links: &ByLink<Direction<P>>,
    ) -> Vec<LinkRow> {
        let mut queues = self.queues.iter().peekable();
        let row = |(link, direction): (LinkId, &Direction<P>)| {
            let queue = queues.next_if(|book| book.link == link).map(QueueBook::row).unwrap_or_default();
            row(queue, &resolved.about_link(link), direction.counters(), elapsed_ns)
        };
        links.iter().map(row).collect()
    }
}

/// A row, which has what is known of the queue already.
fn row(queue: LinkRow, about: &AboutLink, counters: &Counters, elapsed_ns: u64) -> LinkRow {
    let Drops { pattern, random, queue: full, aqm, bucket } = counters.drops_by();
    let [link, from_point, to_point] = about.name.clone();
    let bits = (counters.received_bytes + counters.received * about.overhead) as f64 * 8e9;
    let allowed = about.rate.map(|rate| rate as f64 * elapsed_ns as f64);
    LinkRow {
        link,
        from_point,
        to_point,
        packets: counters.packets,
        bytes: counters.bytes,
        passed_bytes: counters.received_bytes,
        utilisation: allowed.filter(|allowed| *allowed > 0.0).map(|allowed| bits / allowed),
        drops: counters.drops_by().total(),
        drops_pattern: pattern,
        drops_random: random,
        drops_queue: full + bucket,
        drops_aqm: aqm,
        marked: counters.marked,
        ..queue
    }
}

impl QueueBook {
    fn new(link: LinkId, about: AboutLink) -> Self {
        let (packets, time, slice) = Default::default();
        Self { link, about, packets, time, slice }
    }

    /// The queue held this at this many looks in a row.
    fn look(&mut self, packets: u64, bytes: u64, times: u64) {
        self.packets.add(packets, times);
        self.slice.samples += times;
        self.slice.packets += packets * times;
        self.slice.packets_max = self.slice.packets_max.max(packets);
        if let Some(rate) = self.about.rate.filter(|rate| *rate > 0) {
            let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
            self.time.add(u64::try_from(ns).unwrap_or(u64::MAX), times);
            self.slice.ns += ns * u128::from(times);
            self.slice.ns_max = self.slice.ns_max.max(u64::try_from(ns).unwrap_or(u64::MAX));
        }
    }

    /// What a row has of the queue.
    fn row(&self) -> LinkRow {
        let packets = |of: &Histogram, hundredths| of.quantile(hundredths).map(|n| n as f64);
        let ms = |ns: u64| ns as f64 / 1e6;
        LinkRow {
            queue_packets_mean: self.packets.mean(),
            queue_packets_p95: packets(&self.packets, 95),
            queue_packets_p99: packets(&self.packets, 99),
            queue_packets_max: self.packets.max().map(|n| n as f64),
            queue_mean_ms: self.time.mean().map(|ns| ns / 1e6),
            queue_p95_ms: self.time.quantile(95).map(ms),
            queue_p99_ms: self.time.quantile(99).map(ms),
            queue_max_ms: self.time.max().map(ms),
            ..LinkRow::default()
        }
    }
}
