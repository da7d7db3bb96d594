//! A capture whose records may have to wait: a comment says what became of a packet, which may show later.

use std::collections::VecDeque;
use std::io;

use rexmit_capture::{Direction, Writer};
use rexmit_path::Verdict;
use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::capture_file::CaptureFile;

/// Where a capture goes.
#[derive(Debug)]
pub(crate) enum Capture {
    File(CaptureFile),
    Bytes(Writer<Vec<u8>>),
}

/// A capture with the records that wait. A packet that is still in the path's queue holds back those behind it, so that
/// as many wait as pass the host meanwhile.
#[derive(Debug)]
pub(crate) struct Tape {
    capture: Capture,
    waiting: VecDeque<Record>,
    /// Position of the last packet sent.
    position: u64,
    /// Packets have left on the alternate path too, whose positions are its own.
    mixed: bool,
}

#[derive(Debug)]
struct Record {
    time: Instant,
    packet: Packet,
    direction: Direction,
    /// Position of this packet, or of the last one that was sent before it.
    position: u64,
    /// For a packet sent: on which path (0, or 1 for the alternate one), and what became of it.
    path: usize,
    verdict: Option<Verdict>,
}

impl Tape {
    pub fn new(capture: Capture) -> Self {
        Self { capture, waiting: VecDeque::new(), position: 0, mixed: false }
    }

    /// The host sends a packet, on which the path has given this verdict.
    pub fn sent(&mut self, time: Instant, packet: &Packet, on: (usize, &Verdict)) -> io::Result<()> {
        let (path, verdict) = on;
        self.position = verdict.position;
        self.mixed |= path > 0;
        self.write(time, packet, (Direction::Outbound, path, Some(*verdict)))
    }

    /// The host receives a packet.
    pub fn received(&mut self, time: Instant, packet: &Packet) -> io::Result<()> {
        self.write(time, packet, (Direction::Inbound, 0, None))
    }

    /// The verdict on an earlier packet of this path is final now.
    pub fn settled(&mut self, path: usize, verdict: &Verdict) -> io::Result<()> {
        let is_it = |record: &Record| {
            record.verdict.is_some() && (record.path, record.position) == (path, verdict.position)
        };
        let place = if self.mixed {
            self.waiting.iter().position(is_it).unwrap_or(usize::MAX)
        } else {
            self.waiting.partition_point(|record| record.position < verdict.position)
        };
        if let Some(record) = self.waiting.get_mut(place) {
            record.verdict = Some(*verdict);
        }
        while self.waiting.front().is_some_and(|record| record.verdict.is_none_or(|v| v.is_final())) {
            self.write_first()?;
        }
        Ok(())
    }

    /// Closes the capture; its bytes, where it is no file.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        while !self.waiting.is_empty() {
            self.write_first()?;
        }
        match self.capture {
            Capture::File(file) => file.finish().map(|()| Vec::new()),
            Capture::Bytes(writer) => writer.finish(),
        }
    }

    fn write(
        &mut self,
        time: Instant,
        packet: &Packet,
        (direction, path, verdict): (Direction, usize, Option<Verdict>),
    ) -> io::Result<()> {
        if self.waiting.is_empty() && verdict.is_none_or(|v| v.is_final()) {
            return self.capture.write(time, packet, (direction, verdict));
        }
        let (packet, position) = (packet.clone(), self.position);
        self.waiting.push_back(Record { time, packet, direction, position, path, verdict });
        Ok(())
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some(first) = self.waiting.pop_front() else { return Ok(()) };
        self.capture.write(first.time, &first.packet, (first.direction, first.verdict))
    }
}

impl Capture {
    fn write(
        &mut self,
        time: Instant,
        packet: &Packet,
        (direction, verdict): (Direction, Option<Verdict>),
    ) -> io::Result<()> {
        let comment = verdict.filter(|verdict| !verdict.is_plain()).map(|verdict| verdict.to_string());
        match self {
            Self::File(file) => file.write_directed(time, packet, Some(direction), comment.as_deref()),
            Self::Bytes(writer) => writer.write_directed(time, packet, Some(direction), comment.as_deref()),
        }
    }
}
