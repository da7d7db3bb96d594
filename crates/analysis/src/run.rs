//! A capture from its first byte to its summary.
//!
//! [`Run::new`] does all in the caller's thread. With [`Run::ahead`] a thread that the caller starts unpacks, reads and
//! decodes, a few batches ahead. Batches are the same either way, and so are the rows.

mod feed;
mod progress;

use std::io::Read;

use rexmit_capture::{Interface, ReadError, Reader};
use rexmit_units::Instant;

use crate::analyzer::Analyzer;
use crate::decode::Skipped;
use crate::filter::Filter;
use crate::limits::{Counts, ROWS_BYTES, ROWS_PER_BYTE, STEPS_AT_ONCE};
use crate::options::Options;
use crate::packet::{Batch, Transport};
use crate::rows::Rows;
use feed::Feed;

pub use progress::{Progress, Work};

/// How to run an analysis.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What the analysis is told.
    pub analysis: Options,
    /// Which packets are judged; `None` for all.
    pub filter: Option<Filter>,
}

/// Judges one capture. Call [`step`](Self::step) until it gives `None`, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Run {
    intake: Intake,
    analyzer: Analyzer,
    state: State,
    /// Where in the batch to go on.
    at: usize,
    limits: Counts,
}

/// The batches of a capture, and what is counted on the way.
#[derive(Debug)]
pub(crate) struct Intake {
    feed: Feed,
    progress: Progress,
    tcp: u64,
    sctp: u64,
    options_cut: u64,
    backwards: Backwards,
    /// Time of the last packet, in the order of the file.
    last: Instant,
}

/// What a run came to, besides its rows.
#[derive(Debug)]
pub struct Summary {
    /// Records of the capture, up to where it breaks off.
    pub packets: u64,
    /// TCP packets judged.
    pub tcp: u64,
    /// SCTP packets judged.
    pub sctp: u64,
    /// TCP packets of which the capture keeps a part of the options only.
    pub options_cut: u64,
    /// Packets with a time before that of the packet in front of them. Those that follow each other closely are put in
    /// order.
    pub backwards: Backwards,
    /// Records not judged, by reason.
    pub skipped: Skipped,
    /// Where and why the file breaks off, if it does; the rows are what stands before that.
    pub broken_off: Option<ReadError>,
    /// What limits did: how often each of [`crate::limits`] has acted.
    pub limits: Counts,
    /// The capture's interfaces, each with what the file tells of packets that it does not hold.
    pub interfaces: Vec<Interface>,
}

/// Times that go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backwards {
    /// Packets.
    pub packets: u64,
    /// The largest step, nanoseconds.
    pub largest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// The capture has ended, and connections end.
    Ending,
    /// The last rows have been given.
    Over,
}

/// Queues of a network card that are read in turn bring packets out of order by less than that, nanoseconds; clocks
/// that are set make larger steps.
const DISORDER: u64 = 100_000_000;

/// Connections that end in one step once the capture has ended: their rows are large.
const ENDED_AT_ONCE: usize = 1 << 14;
/// Of these, those that end between two looks at the rows.
const ENDED: usize = 1 << 4;

impl Run {
    /// Begins to judge what `reader` reads.
    pub fn new<R: Read + Send + 'static>(reader: Reader<R>, options: &RunOptions) -> Self {
        Self::begin(Intake::here(reader, options.filter.clone()), options)
    }

    /// The same, with reading and decoding done ahead in a thread: `start` is given what to do there. The thread ends
    /// with the capture, or soon after the run is dropped.
    pub fn ahead<R: Read + Send + 'static>(
        reader: Reader<R>,
        options: &RunOptions,
        start: impl FnOnce(Work),
    ) -> Self {
        let (feed, work) = Feed::elsewhere(reader, options.filter.clone());
        start(work);
        Self::begin(Intake::new(feed), options)
    }

    fn begin(intake: Intake, options: &RunOptions) -> Self {
        let mut analyzer = Analyzer::new(&options.analysis);
        analyzer.allow(0);
        Self { intake, analyzer, state: State::Running, at: 0, limits: Counts::default() }
    }

    /// Takes at least `packets` records more, fewer only at the end or where these make very many rows, and gives the
    /// rows that have become final since the last call, perhaps none; `None` after the last ones.
    pub fn step(&mut self, packets: u64) -> Option<Rows> {
        if self.state == State::Over {
            return None;
        }
        let until = self.progress().packets.saturating_add(packets.max(1));
        let most = ROWS_BYTES + self.progress().bytes.saturating_mul(ROWS_PER_BYTE);
        let steps = self.analyzer.steps() + STEPS_AT_ONCE;
        let enough = |analyzer: &Analyzer| analyzer.rows_bytes() > most || analyzer.steps() > steps;
        while self.state == State::Running && !enough(&self.analyzer) {
            let batch = self.intake.current();
            if self.at < batch.packets.len() {
                self.at = self.analyzer.push_some(batch, self.at, most);
                continue;
            }
            if self.progress().packets >= until {
                break;
            }
            self.at = 0;
            if self.intake.next().is_none() {
                self.state = State::Ending;
            }
            self.analyzer.allow(self.progress().bytes);
        }
        let mut ended = 0;
        while self.state == State::Ending && ended < ENDED_AT_ONCE && self.analyzer.rows_bytes() <= most {
            ended += ENDED;
            if self.analyzer.finish_some(ENDED) {
                self.state = State::Over;
            }
        }
        let rows = self.analyzer.take_rows();
        self.limits.merge(&rows.limits);
        self.limits.merge(&rows.sctp.limits);
        Some(rows)
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.intake.progress()
    }

    /// As [`Analyzer::steps`].
    pub fn steps(&self) -> u64 {
        self.analyzer.steps()
    }

    /// What it came to. Before the last [`step`](Self::step), what was skipped may be told ahead of the packets.
    pub fn finish(self) -> Summary {
        let mut summary = self.intake.summary();
        summary.limits.merge(&self.limits);
        summary
    }
}

impl Intake {
    /// Reads and decodes in the caller's thread.
    pub(crate) fn here<R: Read + Send + 'static>(reader: Reader<R>, filter: Option<Filter>) -> Self {
        Self::new(Feed::here(reader, filter))
    }

    fn new(feed: Feed) -> Self {
        let backwards = Backwards::default();
        let progress = Progress::default();
        Self { feed, progress, tcp: 0, sctp: 0, options_cut: 0, backwards, last: Instant::default() }
    }

    /// The batch that was given last; an empty one before the first and after the last.
    fn current(&self) -> &Batch {
        self.feed.current()
    }

    /// The next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<&Batch> {
        let (batch, progress) = self.feed.next()?;
        self.progress = progress;
        let mut worst = 0;
        for packet in &batch.packets {
            match &packet.transport {
                Transport::Tcp(tcp) => {
                    self.tcp += 1;
                    self.options_cut += u64::from(tcp.options_cut);
                }
                Transport::Sctp { .. } => self.sctp += 1,
            }
            let back = self.last.saturating_since(packet.time).as_nanos();
            if back > 0 {
                self.backwards.packets += 1;
                worst = worst.max(back);
            }
            self.last = packet.time;
        }
        self.backwards.largest = self.backwards.largest.max(worst);
        if worst > 0 && worst < DISORDER {
            batch.packets.sort_by_key(|packet| packet.time);
        }
        Some(batch)
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    pub(crate) fn summary(self) -> Summary {
        let end = self.feed.end();
        Summary {
            packets: self.progress.packets,
            tcp: self.tcp,
            sctp: self.sctp,
            options_cut: self.options_cut,
            backwards: self.backwards,
            skipped: end.skipped,
            broken_off: end.broken_off,
            limits: end.limits,
            interfaces: end.interfaces,
        }
    }
}

#[cfg(test)]
mod tests;
