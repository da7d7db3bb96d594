//! Captures at a host: packets as its interface saw them, stamped by the kernel.

use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rexmit_capture::{Direction, KeptBytes, Options, Writer};
use rexmit_files::Whole;
use rexmit_path::Verdict;
use rexmit_units::Instant;

use crate::packet::{is_for, octets};
use crate::sys::namespace::Namespace;
use crate::sys::packet_socket::{Captured, PacketSocket};

/// The largest IP packet.
const LARGEST: usize = 65_535;

/// A capture under way.
#[derive(Debug)]
pub struct Tap {
    socket: PacketSocket,
    packets: Vec<(Captured, Vec<u8>)>,
    buffer: Vec<u8>,
    snap_len: usize,
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
    /// What its section and its interface say beside that.
    pub options: &'a Options,
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
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
        let snap_len = snap_len.map_or(LARGEST, |n| n as usize);
        Ok(Self {
            socket,
            packets: Vec::new(),
            buffer: vec![0; LARGEST],
            snap_len,
            between: between.iter().map(|a| octets(*a)).collect(),
            wire: false,
        })
    }

    /// The same at an interface that faces the host: what it receives, the host has sent.
    #[must_use]
    pub fn facing_the_host(mut self) -> Self {
        self.wire = true;
        self
    }

    /// Takes what has been seen since the last call.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn drain(&mut self) -> io::Result<()> {
        while let Some(mut seen) = self.socket.receive(&mut self.buffer)? {
            let bytes = &self.buffer[..seen.len];
            seen.outgoing ^= self.wire;
            let is_ip = bytes.first().is_some_and(|b| matches!(b >> 4, 4 | 6));
            let wanted = |all: &[Vec<u8>]| all.is_empty() || all.iter().any(|a| is_for(bytes, a));
            if is_ip && wanted(&self.between) {
                self.packets.push((seen, bytes.to_vec()));
            }
        }
        Ok(())
    }

    /// Packets that the host has sent, as far as [`Self::drain`] has taken them.
    pub fn outgoing(&self) -> u64 {
        self.packets.iter().filter(|(seen, _)| seen.outgoing).count() as u64
    }

    /// Packets that the tap itself has missed.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn missed(&self) -> io::Result<u64> {
        self.socket.missed()
    }

    /// Writes the capture into `file`; `verdicts` are those on the host's packets, in their order.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, file: &Path, heading: &Heading<'_>, verdicts: &[Verdict]) -> io::Result<()> {
        let &Heading { interface, start, options } = heading;
        let out = BufWriter::new(Whole::create(file)?);
        let mut writer = Writer::with_options(out, interface, options)?;
        let mut verdicts = verdicts.iter();
        for (seen, bytes) in &self.packets {
            let time = Instant::from_nanos(seen.time.saturating_sub(start));
            let verdict = if seen.outgoing { verdicts.next() } else { None };
            let comment = verdict.filter(|v| !v.is_plain()).map(ToString::to_string);
            let direction = if seen.outgoing { Direction::Outbound } else { Direction::Inbound };
            let kept = &bytes[..bytes.len().min(self.snap_len)];
            let part = KeptBytes { bytes: kept, original_len: bytes.len() as u32 };
            writer.write_part(time, part, Some(direction), comment.as_deref())?;
        }
        writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.keep()
    }
}
