//! Writing pcapng.

use std::io::{self, Write};

use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::block::{
    BYTE_ORDER_MAGIC, DECRYPTION_SECRETS, ENHANCED_PACKET, EPB_FLAGS, IF_DESCRIPTION, IF_NAME, IF_TSRESOL,
    INTERFACE_DESCRIPTION, OPT_COMMENT, OPT_END, SECTION_HEADER, SHB_APPLICATION, SHB_HARDWARE, SHB_OS,
    TLS_KEY_LOG,
};
use crate::link::LinkType;
use crate::record::Direction;

/// 2006-02-07 00:00:00 UTC in nanoseconds since 1970: the date that captures of virtual time start at where
/// nothing else is asked for. A fixed date keeps the bytes of a capture the same from run to run.
pub const DEFAULT_EPOCH_NS: u64 = 1_139_270_400_000_000_000;

/// Bytes of blocks that are gathered for the inner writer.
const PIECE: usize = 64 << 10;

/// What a capture says besides its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program that wrote it, with its version.
    pub application: String,
    /// The operating system of the host.
    pub os: Option<String>,
    /// The hardware of the host.
    pub hardware: Option<String>,
    /// A comment on the whole capture.
    pub comment: Option<String>,
    /// What the interface is, besides its name.
    pub description: Option<String>,
    /// Bytes kept of each packet; `None` for all.
    pub snap_len: Option<u32>,
    /// Nanoseconds since 1970 of [`Instant::ZERO`].
    pub epoch_ns: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            application: concat!("rexmit ", env!("CARGO_PKG_VERSION")).into(),
            os: None,
            hardware: None,
            comment: None,
            description: None,
            snap_len: None,
            epoch_ns: DEFAULT_EPOCH_NS,
        }
    }
}

/// The bytes of a raw IP packet that a capture keeps.
#[derive(Clone, Copy, Debug)]
pub struct KeptBytes<'a> {
    /// Its first bytes, or all.
    pub bytes: &'a [u8],
    /// Bytes that it had on the wire.
    pub original_len: u32,
}

/// Writes one interface of raw IP packets as pcapng, little-endian, times in nanoseconds.
///
/// Make it with [`Writer::new`] or [`Writer::with_options`], call [`Writer::write_packet`] (or
/// [`Writer::write_bytes`]) for each packet in the order of time, and [`Writer::finish`] at the end. Blocks
/// are gathered, so that the inner writer is called seldom; what was not finished may not have reached it.
#[derive(Debug)]
pub struct Writer<W: Write> {
    inner: W,
    snap_len: usize,
    epoch_ns: u64,
    /// The packet being written.
    packet: Vec<u8>,
    /// Blocks that wait for the inner writer, and the one being written after them.
    blocks: Vec<u8>,
    /// Where that one begins.
    at: usize,
}

impl<W: Write> Writer<W> {
    /// Starts a capture of the interface `name` with the default [`Options`].
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn new(inner: W, name: &str) -> io::Result<Self> {
        Self::with_options(inner, name, &Options::default())
    }

    /// Starts a capture of the interface `name`.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn with_options(inner: W, name: &str, options: &Options) -> io::Result<Self> {
        let snap_len = options.snap_len.map_or(usize::MAX, |n| n as usize);
        let (packet, blocks, at) = (Vec::new(), Vec::with_capacity(PIECE), 0);
        let mut writer = Self { inner, snap_len, epoch_ns: options.epoch_ns, packet, blocks, at };
        writer.write_section_header(options)?;
        writer.write_interface(name, options)?;
        Ok(writer)
    }

    /// Writes `packet` as it passed the interface at `time`, with a comment where there is one.
    ///
    /// # Errors
    /// Those of the inner writer; [`io::ErrorKind::InvalidData`] for a packet that has no bytes
    /// ([`Packet::check`]).
    pub fn write_packet(&mut self, time: Instant, packet: &Packet, comment: Option<&str>) -> io::Result<()> {
        self.write_directed(time, packet, None, comment)
    }

    /// Writes `packet` as it passed the interface at `time` in `direction`.
    ///
    /// # Errors
    /// As [`Writer::write_packet`].
    pub fn write_directed(
        &mut self,
        time: Instant,
        packet: &Packet,
        direction: Option<Direction>,
        comment: Option<&str>,
    ) -> io::Result<()> {
        packet.check().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        let mut bytes = std::mem::take(&mut self.packet);
        bytes.clear();
        packet.emit_into(&mut bytes);
        let result = self.write_bytes(time, &bytes, direction, comment);
        self.packet = bytes;
        result
    }

    /// Writes a raw IP packet that is bytes already.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn write_bytes(
        &mut self,
        time: Instant,
        bytes: &[u8],
        direction: Option<Direction>,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let whole = KeptBytes { bytes, original_len: bytes.len() as u32 };
        self.write_part(time, whole, direction, comment)
    }

    /// Writes the first bytes of a raw IP packet that had `original_len` bytes on the wire.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn write_kept(&mut self, time: Instant, bytes: &[u8], original_len: u32) -> io::Result<()> {
        self.write_part(time, KeptBytes { bytes, original_len }, None, None)
    }

    /// Writes a part of a raw IP packet, with direction and comment.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn write_part(
        &mut self,
        time: Instant,
        part: KeptBytes<'_>,
        direction: Option<Direction>,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let kept = &part.bytes[..part.bytes.len().min(self.snap_len)];
        let time = self.epoch_ns.saturating_add(time.as_nanos());
        self.begin(ENHANCED_PACKET);
        let interface = 0;
        let (high, low) = ((time >> 32) as u32, time as u32);
        self.put([interface, high, low, kept.len() as u32, part.original_len]);
        self.put_padded(kept);
        if direction.is_some() || comment.is_some() {
            if let Some(comment) = comment {
                self.put_option(OPT_COMMENT, comment.as_bytes());
            }
            if let Some(direction) = direction {
                let flags: u32 = if direction == Direction::Inbound { 1 } else { 2 };
                self.put_option(EPB_FLAGS, &flags.to_le_bytes());
            }
            self.put_option(OPT_END, &[]);
        }
        self.end()
    }

    /// Writes secrets of TLS, lines of an NSS key log, with which a reader of the capture decrypts the packets that
    /// follow (draft-ietf-opsawg-pcapng section 4.7).
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn write_secrets(&mut self, lines: &str) -> io::Result<()> {
        self.begin(DECRYPTION_SECRETS);
        self.put([TLS_KEY_LOG, lines.len() as u32]);
        self.put_padded(lines.as_bytes());
        self.end()
    }

    /// Writes the blocks that wait, flushes the inner writer and returns it.
    ///
    /// # Errors
    /// Those of the inner writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.hand_over()?;
        self.inner.flush()?;
        Ok(self.inner)
    }

    fn write_section_header(&mut self, options: &Options) -> io::Result<()> {
        self.begin(SECTION_HEADER);
        // Version 1.0, and a section whose length is not said.
        self.put([BYTE_ORDER_MAGIC, 1, u32::MAX, u32::MAX]);
        self.put_text(OPT_COMMENT, options.comment.as_deref());
        self.put_text(SHB_HARDWARE, options.hardware.as_deref());
        self.put_text(SHB_OS, options.os.as_deref());
        self.put_text(SHB_APPLICATION, Some(&options.application));
        self.put_option(OPT_END, &[]);
        self.end()
    }

    fn write_interface(&mut self, name: &str, options: &Options) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        // The high half of the first is reserved.
        self.put([u32::from(LinkType::RAW.0), options.snap_len.unwrap_or(0)]);
        self.put_text(IF_NAME, Some(name));
        self.put_text(IF_DESCRIPTION, options.description.as_deref());
        // Times in units of 10^-9 s.
        self.put_option(IF_TSRESOL, &[9]);
        self.put_option(OPT_END, &[]);
        self.end()
    }

    fn begin(&mut self, block_type: u32) {
        self.at = self.blocks.len();
        // The length is filled in at the end.
        self.put([block_type, 0]);
    }

    fn end(&mut self) -> io::Result<()> {
        let len = (self.blocks.len() - self.at) as u32 + 4;
        self.put([len]);
        self.blocks[self.at + 4..self.at + 8].copy_from_slice(&len.to_le_bytes());
        if self.blocks.len() < PIECE { Ok(()) } else { self.hand_over() }
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let written = self.inner.write_all(&self.blocks);
        self.blocks.clear();
        written
    }

    fn put<const N: usize>(&mut self, values: [u32; N]) {
        self.blocks.extend_from_slice(values.map(u32::to_le_bytes).as_flattened());
    }

    fn put_padded(&mut self, bytes: &[u8]) {
        self.blocks.extend_from_slice(bytes);
        self.blocks.resize(self.blocks.len().next_multiple_of(4), 0);
    }

    fn put_text(&mut self, code: u16, text: Option<&str>) {
        if let Some(text) = text {
            self.put_option(code, text.as_bytes());
        }
    }

    /// An option holds 65,535 bytes; what is more is cut off.
    fn put_option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.put([u32::from(code) | (value.len() as u32) << 16]);
        self.put_padded(value);
    }
}
