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
}

#[derive(Debug)]
struct Record {
    time: Instant,
    packet: Packet,
    direction: Direction,
    /// Position of this packet, or of the last one that was sent before it.
    position: u64,
    /// For a packet sent: what became of it.
    verdict: Option<Verdict>,
}

impl Tape {
    pub fn new(capture: Capture) -> Self {
        Self { capture, waiting: VecDeque::new(), position: 0 }
    }

    /// The host sends a packet, on which the path has given this verdict.
    pub fn sent(&mut self, time: Instant, packet: &Packet, verdict: &Verdict) -> io::Result<()> {
        self.position = verdict.position;
        self.write(time, packet, (Direction::Outbound, Some(*verdict)))
    }

    /// The host receives a packet.
    pub fn received(&mut self, time: Instant, packet: &Packet) -> io::Result<()> {
        self.write(time, packet, (Direction::Inbound, None))
    }

    /// The verdict on an earlier packet is final now.
    pub fn settled(&mut self, verdict: &Verdict) -> io::Result<()> {
        let place = self.waiting.partition_point(|record| record.position < verdict.position);
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
        (direction, verdict): (Direction, Option<Verdict>),
    ) -> io::Result<()> {
        if self.waiting.is_empty() && verdict.is_none_or(|v| v.is_final()) {
            return self.capture.write(time, packet, (direction, verdict));
        }
        let (packet, position) = (packet.clone(), self.position);
        self.waiting.push_back(Record { time, packet, direction, position, verdict });
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
