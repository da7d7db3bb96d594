//! A capture whose records may have to wait: a comment says what became of a packet, which may show later.

use std::collections::VecDeque;
use std::io;

use rexmit_capture::{Direction, Writer};
use rexmit_network::LinkId;
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
    /// The link of the last packet sent.
    link: Option<LinkId>,
    /// Packets have left on several links, each of which has positions of its own.
    mixed: bool,
}

#[derive(Debug)]
struct Record {
    time: Instant,
    packet: Packet,
    /// Position of this packet, or of the last one that was sent before it.
    position: u64,
    /// For a packet sent: on which link, and what became of it.
    sent: Option<(LinkId, Verdict)>,
}

impl Tape {
    pub fn new(capture: Capture) -> Self {
        Self { capture, waiting: VecDeque::new(), position: 0, link: None, mixed: false }
    }

    /// The host sends a packet, on which the link has given this verdict.
    pub fn sent(
        &mut self,
        time: Instant,
        packet: &Packet,
        link: LinkId,
        verdict: &Verdict,
    ) -> io::Result<()> {
        self.position = verdict.position;
        self.mixed |= self.link.replace(link).is_some_and(|before| before != link);
        self.write(time, packet, Some((link, *verdict)))
    }

    /// The host receives a packet.
    pub fn received(&mut self, time: Instant, packet: &Packet) -> io::Result<()> {
        self.write(time, packet, None)
    }

    /// Secrets with which packets to come can be read. They stand before those that wait, too.
    pub fn secrets(&mut self, lines: &str) -> io::Result<()> {
        match &mut self.capture {
            Capture::File(file) => file.write_secrets(lines),
            Capture::Bytes(writer) => writer.write_secrets(lines),
        }
    }

    /// The verdict on an earlier packet of this link is final now.
    pub fn settled(&mut self, link: LinkId, verdict: &Verdict) -> io::Result<()> {
        let is_it = |record: &Record| {
            record.sent.is_some_and(|(own, _)| (own, record.position) == (link, verdict.position))
        };
        let place = if self.mixed {
            self.waiting.iter().position(is_it).unwrap_or(usize::MAX)
        } else {
            self.waiting.partition_point(|record| record.position < verdict.position)
        };
        if let Some(record) = self.waiting.get_mut(place) {
            record.sent = Some((link, *verdict));
        }
        while self.waiting.front().is_some_and(|record| is_final(record.sent)) {
            self.write_first()?;
        }
        Ok(())
    }

    /// Closes the capture; its bytes, where it is not a file.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        while !self.waiting.is_empty() {
            self.write_first()?;
        }
        match self.capture {
            Capture::File(file) => file.finish().map(|()| Vec::new()),
            Capture::Bytes(writer) => writer.finish(),
        }
    }

    fn write(&mut self, time: Instant, packet: &Packet, sent: Option<(LinkId, Verdict)>) -> io::Result<()> {
        if self.waiting.is_empty() && is_final(sent) {
            return self.capture.write(time, packet, sent);
        }
        let (packet, position) = (packet.clone(), self.position);
        self.waiting.push_back(Record { time, packet, position, sent });
        Ok(())
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some(first) = self.waiting.pop_front() else { return Ok(()) };
        self.capture.write(first.time, &first.packet, first.sent)
    }
}

/// Nothing more will become of it; also of a packet received.
fn is_final(sent: Option<(LinkId, Verdict)>) -> bool {
    sent.is_none_or(|(_, verdict)| verdict.is_final())
}

impl Capture {
    fn write(&mut self, time: Instant, packet: &Packet, sent: Option<(LinkId, Verdict)>) -> io::Result<()> {
        let direction = if sent.is_some() { Direction::Outbound } else { Direction::Inbound };
        let comment = sent.map(|(_, verdict)| verdict).filter(|verdict| !verdict.is_plain());
        let comment = comment.map(|verdict| verdict.to_string());
        match self {
            Self::File(file) => file.write_directed(time, packet, Some(direction), comment.as_deref()),
            Self::Bytes(writer) => writer.write_directed(time, packet, Some(direction), comment.as_deref()),
        }
    }
}
