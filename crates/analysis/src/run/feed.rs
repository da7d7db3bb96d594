//! Batches of packets, decoded here or in a thread of their own.

use std::fmt;
use std::io::Read;
use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use rexmit_capture::{Interface, ReadError, Reader};

use super::Progress;
use crate::decode::{Decoder, Skipped};
use crate::filter::Filter;
use crate::packet::Batch;

/// Packets of a batch.
const PACKETS: usize = 1024;
/// Records that go into a batch at most, so that progress shows also where few are packets to be judged.
const RECORDS: u64 = 16 * PACKETS as u64;
/// Bytes of SCTP packets after which a batch is full.
const BYTES: usize = 1 << 20;
/// Batches that a thread may be ahead.
const AHEAD: usize = 4;

/// Where batches come from.
#[derive(Debug)]
pub(super) enum Feed {
    Here { source: Box<dyn Source>, batch: Batch },
    Thread(Remote),
}

/// What is known after the last batch.
#[derive(Debug)]
pub(super) struct End {
    pub(super) skipped: Skipped,
    pub(super) broken_off: Option<ReadError>,
    pub(super) interfaces: Vec<Interface>,
}

impl Feed {
    pub(super) fn new<R: Read + Send + 'static>(
        reader: Reader<R>,
        filter: Option<Filter>,
        jobs: usize,
    ) -> Self {
        let source = Box::new(Decoding { reader, decoder: Decoder::new(filter), broken_off: None });
        if jobs < 2 {
            Self::Here { source, batch: Batch::default() }
        } else {
            Self::Thread(Remote::start(source))
        }
    }

    /// The next batch, and how far the capture is read with it; `None` at the end.
    pub(super) fn next(&mut self) -> Option<(&Batch, Progress)> {
        match self {
            Self::Here { source, batch } => {
                let progress = source.fill(batch)?;
                Some((batch, progress))
            }
            Self::Thread(remote) => remote.next(),
        }
    }

    pub(super) fn end(self) -> End {
        match self {
            Self::Here { source, .. } => source.end(),
            Self::Thread(remote) => remote.end(),
        }
    }
}

/// Fills batches, whatever the stream.
pub(super) trait Source: Send + fmt::Debug {
    /// Empties `batch` and fills it; `None` at the end of the capture.
    fn fill(&mut self, batch: &mut Batch) -> Option<Progress>;
    fn end(self: Box<Self>) -> End;
}

struct Decoding<R: Read> {
    reader: Reader<R>,
    decoder: Decoder,
    broken_off: Option<ReadError>,
}

impl<R: Read + Send> Source for Decoding<R> {
    fn fill(&mut self, batch: &mut Batch) -> Option<Progress> {
        batch.clear();
        let before = self.decoder.records();
        while batch.packets.len() < PACKETS
            && batch.bytes.len() < BYTES
            && self.decoder.records() - before < RECORDS
        {
            match self.reader.next_ref() {
                Ok(Some(record)) => self.decoder.push(&record, batch),
                Ok(None) => break,
                Err(error) => {
                    self.broken_off = Some(error);
                    break;
                }
            }
        }
        let progress = Progress { bytes: self.reader.bytes_read(), packets: self.decoder.records() };
        (progress.packets > before).then_some(progress)
    }

    fn end(self: Box<Self>) -> End {
        End {
            skipped: self.decoder.skipped().clone(),
            broken_off: self.broken_off,
            interfaces: self.reader.interfaces().to_vec(),
        }
    }
}

impl<R: Read> fmt::Debug for Decoding<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoding").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

/// A thread that fills batches ahead. It ends when nobody takes them any more.
#[derive(Debug)]
pub(super) struct Remote {
    full: Receiver<(Batch, Progress)>,
    /// Batches go back to be filled again.
    empty: Sender<Batch>,
    current: Batch,
    thread: JoinHandle<End>,
}

impl Remote {
    fn start(source: Box<dyn Source>) -> Self {
        let (to_us, full) = sync_channel(AHEAD);
        let (empty, back) = channel();
        let thread = thread::spawn(move || fill_ahead(source, &to_us, &back));
        Self { full, empty, current: Batch::default(), thread }
    }

    fn next(&mut self) -> Option<(&Batch, Progress)> {
        let (batch, progress) = self.full.recv().ok()?;
        let used = mem::replace(&mut self.current, batch);
        // Nobody to take it back: the last batch is on its way.
        let _ = self.empty.send(used);
        Some((&self.current, progress))
    }

    fn end(self) -> End {
        // Whoever waits to hand over a batch waits no longer.
        drop(self.full);
        match self.thread.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn fill_ahead(
    mut source: Box<dyn Source>,
    full: &SyncSender<(Batch, Progress)>,
    empty: &Receiver<Batch>,
) -> End {
    loop {
        let mut batch = empty.try_recv().unwrap_or_default();
        let Some(progress) = source.fill(&mut batch) else { break };
        if full.send((batch, progress)).is_err() {
            break;
        }
    }
    source.end()
}
