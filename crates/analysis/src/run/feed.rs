//! Batches of packets, decoded here or elsewhere.

use std::fmt;
use std::io::Read;
use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use rexmit_capture::{Interface, ReadError, Reader};

use super::progress::{Progress, Work};
use crate::decode::{Decoder, Skipped};
use crate::filter::Filter;
use crate::limits::{Counts, Limit};
use crate::packet::Batch;

/// Packets of a batch.
const PACKETS: usize = 1024;
/// Records that go into a batch at most, so that progress shows also where few are packets to be judged.
const RECORDS: u64 = 16 * PACKETS as u64;
/// Bytes of SCTP packets after which a batch is full.
const BYTES: usize = 1 << 20;
/// Batches that a thread may be ahead, those being filled and judged not counted.
const AHEAD: usize = 4;

/// Where batches come from.
#[derive(Debug)]
pub(super) enum Feed {
    Here { source: Box<dyn Source>, batch: Batch },
    Elsewhere(Remote),
}

/// What is known after the last batch.
#[derive(Debug)]
pub(super) struct End {
    pub(super) skipped: Skipped,
    pub(super) broken_off: Option<ReadError>,
    pub(super) limits: Counts,
    pub(super) interfaces: Vec<Interface>,
}

impl Feed {
    pub(super) fn here<R: Read + Send + 'static>(reader: Reader<R>, filter: Option<Filter>) -> Self {
        Self::Here { source: decoding(reader, filter), batch: Batch::default() }
    }

    /// Also gives what is to be done there.
    pub(super) fn elsewhere<R: Read + Send + 'static>(
        reader: Reader<R>,
        filter: Option<Filter>,
    ) -> (Self, Work) {
        let (remote, work) = Remote::new(decoding(reader, filter));
        (Self::Elsewhere(remote), work)
    }

    /// The next batch, and how far the capture is read with it; `None` at the end.
    pub(super) fn next(&mut self) -> Option<(&mut Batch, Progress)> {
        match self {
            Self::Here { source, batch } => {
                let progress = source.fill(batch)?;
                Some((batch, progress))
            }
            Self::Elsewhere(remote) => remote.next(),
        }
    }

    /// The batch that was given last.
    pub(super) fn current(&self) -> &Batch {
        match self {
            Self::Here { batch, .. } => batch,
            Self::Elsewhere(remote) => &remote.current,
        }
    }

    pub(super) fn end(self) -> End {
        match self {
            Self::Here { source, .. } => source.end(),
            Self::Elsewhere(remote) => remote.end(),
        }
    }
}

/// Fills batches, whatever the stream.
pub(super) trait Source: Send + fmt::Debug {
    /// Empties `batch` and fills it; `None` at the end of the capture.
    fn fill(&mut self, batch: &mut Batch) -> Option<Progress>;
    fn end(self: Box<Self>) -> End;
}

fn decoding<R: Read + Send + 'static>(reader: Reader<R>, filter: Option<Filter>) -> Box<dyn Source> {
    Box::new(Decoding { reader, decoder: Decoder::new(filter), broken_off: None })
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
            && batch.bytes.len() + batch.note_bytes < BYTES
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
        let mut limits = *self.decoder.limits();
        let limited = self.reader.limited();
        limits.add(Limit::Interfaces, limited.interfaces);
        limits.add(Limit::InterfacePackets, limited.packets);
        limits.add(Limit::Names, limited.names);
        End {
            limits,
            skipped: self.decoder.skipped().clone(),
            broken_off: self.broken_off,
            interfaces: self.reader.into_interfaces(),
        }
    }
}

impl<R: Read> fmt::Debug for Decoding<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoding").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

/// What fills batches ahead, elsewhere. It ends when nobody takes them any more.
#[derive(Debug)]
pub(super) struct Remote {
    full: Receiver<(Batch, Progress)>,
    /// Batches go back to be filled again.
    empty: Sender<Batch>,
    current: Batch,
    /// One comes, after the last batch.
    end: Receiver<End>,
}

impl Remote {
    fn new(source: Box<dyn Source>) -> (Self, Work) {
        let (to_us, full) = sync_channel(AHEAD);
        let (empty, back) = channel();
        let (last, end) = channel();
        let work = Box::new(move || {
            let found = fill_ahead(source, &to_us, &back);
            // Nobody there to take it: the run was dropped.
            let _ = last.send(found);
        });
        (Self { full, empty, current: Batch::default(), end }, work)
    }

    fn next(&mut self) -> Option<(&mut Batch, Progress)> {
        let (batch, progress) = self.full.recv().ok()?;
        let used = mem::replace(&mut self.current, batch);
        // Nobody to take it back: the last batch is on its way.
        let _ = self.empty.send(used);
        Some((&mut self.current, progress))
    }

    fn end(self) -> End {
        // Who waits to hand over a batch waits no longer.
        drop(self.full);
        self.end.recv().expect("the thread that reads the capture gave up, or was never started")
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
