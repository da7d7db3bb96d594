//! What connections and links do in a run: the tables `transfers` and `links`, and both over time, whatever runs it.

use rexmit_network::{ByLink, EndIndex, Ends};
use rexmit_path::{Carried, Direction};
use rexmit_stack::{Reason, Transmission};
use rexmit_traffic::total_time;
use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

use crate::histogram::Histogram;
use crate::link_books::LinkBooks;
use crate::timing::Timing;
use crate::{
    HostCell, LinkSlice, MeasureSpec, Measured, Resolved, Row, TransferRow, TransferSlice, goodput, roles,
};

/// What is written down of connections and links while a run goes on.
#[derive(Debug)]
pub struct Ledger {
    sample: Duration,
    sample_due: Instant,
    slices: Option<Slices>,
    /// Of each end, what it has sent again and the round-trip times that it saw.
    ends: Vec<EndBook>,
    links: LinkBooks,
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

/// One line of a cache each.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct EndBook {
    fast: u64,
    timeout: u64,
    probe: u64,
    timing: Timing,
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
        let sample = what.sample();
        Self {
            sample,
            sample_due: Instant::ZERO,
            slices,
            ends: vec![EndBook::default(); 2 * connections],
            links: LinkBooks::new(resolved),
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
        self.links.look(first, self.sample, times, links);
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
        self.links.end_slice([from, to], links, &mut slices.links);
    }

    /// A packet leaves an end.
    #[inline]
    pub fn sent(&mut self, at: EndIndex, now: Instant, sent: &Transmission) {
        let book = &mut self.ends[at.number() as usize];
        let count = match sent.reason {
            Reason::Timeout { .. } | Reason::GoBackN | Reason::Age => Some(&mut book.timeout),
            Reason::Fast { .. }
            | Reason::ReorderingTimer { .. }
            | Reason::PartialAck
            | Reason::SackRecovery
            | Reason::Rescue => Some(&mut book.fast),
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

    /// A packet leaves an end, and nobody tells why.
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
        row.links = self.links.rows(resolved, now.as_nanos(), links);
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
    let rtt = book.timing.samples.as_deref();
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
        rtt_min_ms: rtt.and_then(Histogram::min).map(|ns| ms(ns as f64)),
        rtt_mean_ms: rtt.and_then(Histogram::mean).map(ms),
        rtt_p99_ms: rtt.and_then(|rtt| rtt.quantile(99)).map(|ns| ms(ns as f64)),
        ..names
    }
}
