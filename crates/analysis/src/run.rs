//! A capture from its first byte to its summary.
//!
//! [`Run::new`] does all in the caller's thread. With [`Run::ahead`] a thread that the caller starts unpacks, reads and
//! decodes, a few batches ahead. Batches are the same either way, and so are the rows.

mod feed;

use std::io::Read;

use rexmit_capture::{Interface, ReadError, Reader};
use rexmit_units::Instant;

use crate::analyzer::{self, Analyzer};
use crate::decode::Skipped;
use crate::filter::Filter;
use crate::packet::{Batch, Transport};
use crate::rows::Rows;
use feed::Feed;

/// How to run an analysis.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What the analysis is told.
    pub analysis: analyzer::Options,
    /// Which packets are judged; `None` for all.
    pub filter: Option<Filter>,
}

/// Judges one capture. Call [`step`](Self::step) until it gives `None`, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Run {
    intake: Intake,
    analyzer: Analyzer,
    state: State,
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

/// What a thread is to do.
pub type Work = Box<dyn FnOnce() + Send>;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file taken so far, packed as it is.
    pub bytes: u64,
    /// Records of the capture judged or skipped so far.
    pub packets: u64,
}

/// What a run came to, beside its rows.
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
        Self { intake, analyzer: Analyzer::new(&options.analysis), state: State::Running }
    }

    /// Takes at least `packets` records more, fewer only at the end, and gives the rows that have become final
    /// since the last call, perhaps none; `None` after the last ones.
    pub fn step(&mut self, packets: u64) -> Option<Rows> {
        if self.state == State::Over {
            return None;
        }
        let until = self.progress().packets.saturating_add(packets.max(1));
        while self.state == State::Running && self.progress().packets < until {
            match self.intake.next() {
                Some(batch) => self.analyzer.push(batch),
                None => self.state = State::Ending,
            }
        }
        if self.state == State::Ending && self.analyzer.finish_some(ENDED_AT_ONCE) {
            self.state = State::Over;
        }
        Some(self.analyzer.take_rows())
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.intake.progress()
    }

    /// What it came to. Before the last [`step`](Self::step), what was skipped may be told ahead of the packets.
    pub fn finish(self) -> Summary {
        self.intake.summary()
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
            interfaces: end.interfaces,
        }
    }
}

#[cfg(test)]
mod tests;
