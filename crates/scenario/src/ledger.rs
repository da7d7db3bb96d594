//! What connections and links do in a run: the tables `transfers` and `links`, and both over time, whatever runs it.

use rexmit_network::{ByLink, EndIndex, Ends, LinkId};
use rexmit_path::{Carried, Direction, Drops};
use rexmit_stack::{Reason, Transmission};
use rexmit_traffic::total_time;
use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

use crate::histogram::Histogram;
use crate::timing::Timing;
use crate::{
    HostCell, LinkRow, LinkSlice, MeasureSpec, Measured, Resolved, Row, TransferRow, TransferSlice, goodput,
    roles,
};

/// What is written down of connections and links while a run goes on.
#[derive(Debug)]
pub struct Ledger {
    sample: Duration,
    sample_due: Instant,
    slices: Option<Slices>,
    /// Of each end, what it has sent again and the round-trip times that it saw.
    ends: Vec<EndBook>,
    links: ByLink<LinkBook>,
    /// Why ends sent something again is not known.
    of_kernel: bool,
}

/// Intervals, one after another.
#[derive(Debug)]
struct Slices {
    every: Duration,
    from: Instant,
    /// By connection, the bytes that were delivered before this interval.
    delivered: Vec<u64>,
    transfers: Vec<TransferSlice>,
    links: Vec<LinkSlice>,
}

#[derive(Clone, Debug, Default)]
struct EndBook {
    fast: u64,
    timeout: u64,
    probe: u64,
    timing: Timing,
}

#[derive(Clone, Debug)]
struct LinkBook {
    name: [String; 3],
    /// Whether its queue is looked at.
    looked_at: bool,
    /// In bit/s, where it has one that stays.
    rate: Option<u64>,
    overhead: u64,
    passed_packets: u64,
    passed_bytes: u64,
    packets: Histogram,
    /// In nanoseconds.
    time: Histogram,
    slice: LinkPart,
}

/// What a link did in the interval under way.
#[derive(Clone, Copy, Debug, Default)]
struct LinkPart {
    passed_bytes: u64,
    /// Drops before it.
    drops: u64,
    samples: u64,
    packets: u64,
    packets_max: u64,
    ns: u128,
    ns_max: u64,
}

impl Ledger {
    /// Of a run of a scenario that has so many connections.
    pub fn new(what: &MeasureSpec, resolved: &Resolved, connections: usize) -> Self {
        let slices = what.every.map(|every| Slices {
            every,
            from: Instant::ZERO,
            delivered: vec![0; connections],
            transfers: Vec::new(),
            links: Vec::new(),
        });
        let links = resolved.network.links().map(|link| LinkBook::new(link, resolved)).collect();
        let sample = what.sample();
        Self {
            sample,
            sample_due: Instant::ZERO,
            slices,
            ends: vec![EndBook::default(); 2 * connections],
            links,
            of_kernel: false,
        }
    }

    /// The same of a real kernel, of which packets alone tell.
    #[must_use]
    pub fn of_kernel(self) -> Self {
        Self { of_kernel: true, ..self }
    }

    /// Before what happens at `now`: looks at queues, and ends intervals.
    #[inline]
    pub fn pass<P: Carried, E: Measured>(
        &mut self,
        now: Instant,
        links: &mut ByLink<Direction<P>>,
        ends: &Ends<E>,
    ) {
        loop {
            let slice_due =
                self.slices.as_ref().map_or(Instant::FAR_FUTURE, |slices| slices.from + slices.every);
            let due = self.sample_due.min(slice_due);
            if due > now {
                return;
            }
            if self.sample_due == due {
                self.look(now.min(slice_due), links);
            } else {
                self.end_slice(due, links, ends);
            }
        }
    }

    /// Looks at the queues, from when this is due up to `until`, before which nothing enters them.
    fn look<P: Carried>(&mut self, until: Instant, links: &mut ByLink<Direction<P>>) {
        let times = (until - self.sample_due).as_nanos() / self.sample.as_nanos() + 1;
        let first = self.sample_due;
        for (link, book) in self.links.iter_mut().filter(|(_, book)| book.looked_at) {
            let mut at = first;
            for done in 0..times {
                let (packets, bytes) = links[link].queued(at);
                book.look(packets, bytes, if packets == 0 { times - done } else { 1 });
                if packets == 0 {
                    break;
                }
                at += self.sample;
            }
        }
        self.sample_due = first + self.sample * times;
    }

    fn end_slice<P: Carried, E: Measured>(
        &mut self,
        to: Instant,
        links: &ByLink<Direction<P>>,
        ends: &Ends<E>,
    ) {
        let Some(slices) = &mut self.slices else { return };
        let (from, length) = (slices.from, (to - slices.from).as_nanos());
        slices.from = to;
        if length == 0 {
            return;
        }
        for (connection, pair) in ends.pairs().enumerate() {
            let read = roles(pair).1.app().progress().bytes_read;
            let bytes = read - std::mem::replace(&mut slices.delivered[connection], read);
            if bytes > 0
                && let Some(goodput_bit_s) = goodput(bytes, length)
            {
                slices.transfers.push(TransferSlice {
                    connection: connection as u32,
                    from_ns: from.as_nanos(),
                    to_ns: to.as_nanos(),
                    bytes,
                    goodput_bit_s,
                });
            }
        }
        for (link, book) in self.links.iter_mut().filter(|(_, book)| book.looked_at) {
            let drops = links[link].counters().drops_by().total();
            let part = std::mem::replace(&mut book.slice, LinkPart { drops, ..LinkPart::default() });
            let mean = |sum: f64| (part.samples > 0).then(|| sum / part.samples as f64);
            let timed = book.rate.is_some() && part.samples > 0;
            let [link, from_point, to_point] = book.name.clone();
            slices.links.push(LinkSlice {
                link,
                from_point,
                to_point,
                from_ns: from.as_nanos(),
                to_ns: to.as_nanos(),
                passed_bytes: part.passed_bytes,
                drops: drops - part.drops,
                queue_packets_mean: mean(part.packets as f64),
                queue_packets_max: (part.samples > 0).then_some(part.packets_max as f64),
                queue_mean_ms: mean(part.ns as f64 / 1e6).filter(|_| timed),
                queue_max_ms: timed.then_some(part.ns_max as f64 / 1e6),
            });
        }
    }

    /// A packet has come out of a link.
    #[inline]
    pub fn passed(&mut self, link: LinkId, packet: &impl Carried) {
        let (book, bytes) = (&mut self.links[link], packet.ip_len());
        book.passed_packets += 1;
        book.passed_bytes += bytes;
        book.slice.passed_bytes += bytes;
    }

    /// A packet leaves an end.
    #[inline]
    pub fn sent(&mut self, at: EndIndex, now: Instant, sent: &Transmission) {
        let book = &mut self.ends[at.number() as usize];
        let count = match sent.reason {
            Reason::Timeout { .. } | Reason::GoBackN | Reason::Age => Some(&mut book.timeout),
            Reason::Fast { .. } | Reason::PartialAck | Reason::SackRecovery | Reason::Rescue => {
                Some(&mut book.fast)
            }
            Reason::TailProbe => Some(&mut book.probe),
            _ => None,
        };
        match count {
            Some(count) => {
                *count += 1;
                book.timing.cancel();
            }
            None => book.timing.seen(now, &sent.packet),
        }
    }

    /// A packet leaves an end of which nobody tells why it did.
    pub fn seen(&mut self, at: EndIndex, now: Instant, packet: &Packet) {
        if let Some(book) = self.ends.get_mut(at.number() as usize) {
            book.timing.seen(now, packet);
        }
    }

    /// A packet arrives at an end.
    #[inline]
    pub fn received(&mut self, at: EndIndex, now: Instant, packet: &Packet) {
        if let Some(book) = self.ends.get_mut(at.number() as usize) {
            book.timing.received(now, packet);
        }
    }

    /// Adds the tables to the row of a run that is over.
    pub fn finish<P: Carried, E: Measured>(
        mut self,
        row: &mut Row,
        resolved: &Resolved,
        links: &mut ByLink<Direction<P>>,
        ends: &Ends<E>,
    ) {
        let now = Instant::from_nanos(row.virtual_ns);
        self.pass(now, links, ends);
        self.end_slice(now, links, ends);
        let transfers = ends.firsts().map(|first| {
            let sender = if ends[first].app().receives() { first.peer() } else { first };
            let (from, to) = (&ends[sender], &ends[sender.peer()]);
            let name = |at| HostCell(resolved.network.host_name(ends.host(at)).clone());
            let names = TransferRow {
                connection: sender.connection().number(),
                transfer: resolved.transfer_name(from.transfer()),
                sender: name(sender),
                receiver: name(sender.peer()),
                ..TransferRow::default()
            };
            let book = &self.ends[sender.number() as usize];
            let known = if self.of_kernel { names } else { book.causes(names) };
            transfer((from, to), book, now, known)
        });
        row.transfers = transfers.collect();
        let elapsed = now.as_nanos();
        row.links = self.links.iter().map(|(link, book)| book.row(&links[link], elapsed)).collect();
        (row.transfers_over_time, row.links_over_time) =
            self.slices.map(|slices| (slices.transfers, slices.links)).unwrap_or_default();
    }
}

impl EndBook {
    /// A row with what was sent again by its causes.
    fn causes(&self, row: TransferRow) -> TransferRow {
        TransferRow {
            retransmits_fast: Some(self.fast),
            retransmits_timeout: Some(self.timeout),
            retransmits_probe: Some(self.probe),
            ..row
        }
    }
}

/// The row of a connection, whose names are there already.
fn transfer<E: Measured>(
    (from, to): (&E, &E),
    book: &EndBook,
    now: Instant,
    names: TransferRow,
) -> TransferRow {
    let (sending, receiving) = (from.app().progress(), to.app().progress());
    let time = total_time(sending, receiving);
    let opened = receiving.opened.or(sending.opened);
    let bytes = receiving.bytes_read;
    let over = time.or(opened.map(|opened| now.saturating_since(opened))).map(Duration::as_nanos);
    let counters = from.counters();
    let ms = |ns: f64| ns / 1e6;
    let rtt = &book.timing.samples;
    TransferRow {
        completed: time.is_some(),
        opened_ns: opened.map(|opened| opened.as_nanos()),
        time_ns: time.map(Duration::as_nanos),
        bytes,
        goodput_bit_s: over.and_then(|ns| goodput(bytes, ns)),
        data_segments: counters.map(|counters| counters.data_segments),
        retransmits: counters.map(|counters| counters.retransmits),
        timeouts: counters.and_then(|counters| counters.timeouts),
        fast_retransmits: counters.and_then(|counters| counters.fast_retransmits),
        rtt_min_ms: rtt.min().map(|ns| ms(ns as f64)),
        rtt_mean_ms: rtt.mean().map(ms),
        rtt_p99_ms: rtt.quantile(99).map(|ns| ms(ns as f64)),
        ..names
    }
}

impl LinkBook {
    fn new(link: LinkId, resolved: &Resolved) -> Self {
        let about = resolved.about_link(link);
        Self {
            name: about.name,
            looked_at: about.is_between,
            rate: about.rate,
            overhead: about.overhead,
            passed_packets: 0,
            passed_bytes: 0,
            packets: Histogram::default(),
            time: Histogram::default(),
            slice: LinkPart::default(),
        }
    }

    /// The queue held this at so many looks in a row.
    fn look(&mut self, packets: u64, bytes: u64, times: u64) {
        self.packets.add(packets, times);
        self.slice.samples += times;
        self.slice.packets += packets * times;
        self.slice.packets_max = self.slice.packets_max.max(packets);
        if let Some(rate) = self.rate.filter(|rate| *rate > 0) {
            let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
            self.time.add(u64::try_from(ns).unwrap_or(u64::MAX), times);
            self.slice.ns += ns * u128::from(times);
            self.slice.ns_max = self.slice.ns_max.max(u64::try_from(ns).unwrap_or(u64::MAX));
        }
    }

    fn row<P: Carried>(&self, direction: &Direction<P>, elapsed_ns: u64) -> LinkRow {
        let counters = direction.counters();
        let Drops { pattern, random, queue, aqm, bucket } = counters.drops_by();
        let [link, from_point, to_point] = self.name.clone();
        let bits = (self.passed_bytes + self.passed_packets * self.overhead) as f64 * 8e9;
        let allowed = |rate: u64| rate as f64 * elapsed_ns as f64;
        let packets = |of: &Histogram, hundredths| of.quantile(hundredths).map(|n| n as f64);
        let ms = |ns: u64| ns as f64 / 1e6;
        LinkRow {
            link,
            from_point,
            to_point,
            packets: counters.packets,
            bytes: counters.bytes,
            passed_bytes: self.passed_bytes,
            utilisation: self
                .rate
                .map(allowed)
                .filter(|allowed| *allowed > 0.0)
                .map(|allowed| bits / allowed),
            drops: counters.drops_by().total(),
            drops_pattern: pattern,
            drops_random: random,
            drops_queue: queue + bucket,
            drops_aqm: aqm,
            marked: counters.marked,
            queue_packets_mean: self.packets.mean(),
            queue_packets_p95: packets(&self.packets, 95),
            queue_packets_p99: packets(&self.packets, 99),
            queue_packets_max: self.packets.max().map(|n| n as f64),
            queue_mean_ms: self.time.mean().map(|ns| ns / 1e6),
            queue_p95_ms: self.time.quantile(95).map(ms),
            queue_p99_ms: self.time.quantile(99).map(ms),
            queue_max_ms: self.time.max().map(ms),
        }
    }
}
