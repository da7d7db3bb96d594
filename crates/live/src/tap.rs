//! Captures at a host: packets as its interface saw them, stamped by the kernel.

use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rexmit_capture::{Direction, KeptBytes, Options, Writer};
use rexmit_files::Whole;
use rexmit_path::Verdict;
use rexmit_units::Instant;

use crate::packet::{is_for, octets};
use crate::sys::inside::{HostFile, Recorder};
use crate::sys::namespace::Namespace;
use crate::sys::packet_socket::{Captured, PacketSocket};

/// The largest IP packet.
const LARGEST: usize = 65_535;
/// Bytes of packets for which there is room at the start.
const FIRST: usize = 64 << 10;

/// A capture under way.
#[derive(Debug)]
pub struct Tap {
    source: Source,
    kept: Kept,
}

/// Who sees the packets.
#[derive(Debug)]
enum Source {
    /// A packet socket, and where it reads to.
    Socket { socket: PacketSocket, buffer: Vec<u8> },
    /// The interface itself.
    Interface(Recorder),
}

/// What was seen.
#[derive(Debug)]
struct Kept {
    /// Each packet, and how many bytes of it are kept.
    packets: Vec<(Captured, usize)>,
    /// The bytes of all, one packet after the other.
    bytes: Vec<u8>,
    snap_len: usize,
    /// Packets that the host has sent.
    outgoing: u64,
    /// The hosts' addresses, as the IP header has them; none for packets to whatever address.
    between: Vec<Vec<u8>>,
    /// The host is at the other end of the interface's wire.
    wire: bool,
}

/// What a capture says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Heading<'a> {
    /// The interface that it names.
    pub interface: &'a str,
    /// When the run began on the clock of the stamps, nanoseconds since 1970.
    pub start: u64,
    /// What its section and its interface say besides that.
    pub options: &'a Options,
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::Socket { socket, .. } => socket.as_fd(),
            Source::Interface(recorder) => recorder.as_fd(),
        }
    }
}

impl Tap {
    /// Begins to capture what passes an interface of a namespace between these addresses, or all where there are
    /// none; `snap_len` bytes of each packet are kept.
    ///
    /// # Errors
    /// Without the privilege to.
    pub fn open(
        namespace: &Namespace,
        interface: &str,
        snap_len: Option<u32>,
        between: &[IpAddr],
    ) -> io::Result<Self> {
        let socket = namespace.within(|| PacketSocket::open(interface))?;
        let source = Source::Socket { socket, buffer: vec![0; LARGEST] };
        Ok(Self { source, kept: Kept::new(snap_len, between) })
    }

    /// The same of what an interface records.
    pub fn of(recorder: Recorder, snap_len: Option<u32>, between: &[IpAddr]) -> Self {
        Self { source: Source::Interface(recorder), kept: Kept::new(snap_len, between) }
    }

    /// The same at an interface that faces the host: what it receives, the host has sent.
    #[must_use]
    pub fn facing_the_host(mut self) -> Self {
        self.kept.wire = true;
        self
    }

    /// Takes what has been seen since the last call.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn drain(&mut self) -> io::Result<()> {
        let kept = &mut self.kept;
        match &mut self.source {
            Source::Socket { socket, buffer } => {
                while let Some(seen) = socket.receive(buffer)? {
                    kept.take(seen, &buffer[..seen.len]);
                }
            }
            Source::Interface(recorder) => recorder.drain(|seen, bytes| kept.take(seen, bytes)),
        }
        Ok(())
    }

    /// Packets that the host has sent, as far as [`Self::drain`] has taken them.
    pub fn outgoing(&self) -> u64 {
        self.kept.outgoing
    }

    /// Packets that the tap itself has missed.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn missed(&self) -> io::Result<u64> {
        match &self.source {
            Source::Socket { socket, .. } => socket.missed(),
            Source::Interface(recorder) => Ok(recorder.missed()),
        }
    }

    /// Writes the capture into `file`; `verdicts` are those on the host's packets, in their order.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, file: &Path, heading: &Heading<'_>, verdicts: &[Verdict]) -> io::Result<()> {
        if let Some(file) = HostFile::create(file)? {
            return self.kept.write(file, heading, verdicts)?.keep();
        }
        self.kept.write(Whole::create(file)?, heading, verdicts)?.keep()
    }
}

impl Kept {
    fn new(snap_len: Option<u32>, between: &[IpAddr]) -> Self {
        Self {
            packets: Vec::with_capacity(FIRST / 64),
            bytes: Vec::with_capacity(FIRST),
            snap_len: snap_len.map_or(LARGEST, |n| n as usize),
            outgoing: 0,
            between: between.iter().map(|a| octets(*a)).collect(),
            wire: false,
        }
    }

    fn take(&mut self, mut seen: Captured, bytes: &[u8]) {
        seen.outgoing ^= self.wire;
        let is_ip = bytes.first().is_some_and(|b| matches!(b >> 4, 4 | 6));
        if is_ip && (self.between.is_empty() || self.between.iter().any(|a| is_for(bytes, a))) {
            let kept = bytes.len().min(self.snap_len);
            self.bytes.extend_from_slice(&bytes[..kept]);
            self.outgoing += u64::from(seen.outgoing);
            self.packets.push((seen, kept));
        }
    }

    fn write<W: Write>(&self, file: W, heading: &Heading<'_>, verdicts: &[Verdict]) -> io::Result<W> {
        let &Heading { interface, start, options } = heading;
        let mut writer = Writer::with_options(file, interface, options)?;
        let mut verdicts = verdicts.iter();
        let mut left = &self.bytes[..];
        for &(seen, kept) in &self.packets {
            let time = Instant::from_nanos(seen.time.saturating_sub(start));
            let verdict = if seen.outgoing { verdicts.next() } else { None };
            let comment = verdict.filter(|v| !v.is_plain()).map(ToString::to_string);
            let direction = if seen.outgoing { Direction::Outbound } else { Direction::Inbound };
            let (bytes, behind) = left.split_at(kept);
            left = behind;
            let part = KeptBytes { bytes, original_len: seen.len as u32 };
            writer.write_part(time, part, Some(direction), comment.as_deref())?;
        }
        writer.finish()
    }
}
