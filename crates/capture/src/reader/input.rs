//! The stream below a capture: plain, or packed with gzip (RFC 1952) or zstd (RFC 8878).

use std::fmt;
use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, DEFAULT_MAX_WINDOW_SIZE, FrameDecoder};

use super::Packing;
use crate::limits::{WINDOW_BYTES, WINDOW_RATIO};

/// Gives the bytes of a capture, unpacked. All that can be unpacked comes before a failure; nothing is asked for
/// after one.
#[derive(Debug)]
pub(super) enum Input<R: Read> {
    Plain(Raw<R>),
    Gzip(Box<Gzip<R>>),
    Zstd(Box<Zstd<R>>),
}

/// Why no more bytes come.
#[derive(Debug)]
pub(super) enum Failure {
    Io(io::Error),
    Damaged {
        packing: Packing,
        what: String,
    },
    /// A window of zstd takes more memory than a file of this size may.
    Window,
}

impl<R: Read> Input<R> {
    pub(super) fn new(inner: R) -> Result<Self, Failure> {
        let mut raw = Raw { inner, buffer: vec![0; RAW_BUFFER], at: 0, end: 0, bytes: 0, failed: None };
        while raw.end < 4 && raw.more()? {}
        let magic = raw.buffered();
        Ok(if magic.starts_with(&GZIP_MAGIC) {
            Self::Gzip(Box::new(Gzip { raw, decoder: Decompress::new_gzip(15), state: Member::Inside }))
        } else if magic.starts_with(&ZSTD_MAGIC) || is_skippable(magic) {
            Self::Zstd(Box::new(Zstd {
                raw,
                decoder: decoder(WINDOW_BYTES),
                window: 0,
                state: Frame::Between,
            }))
        } else {
            Self::Plain(raw)
        })
    }

    /// Fills some of `out`, which has room; 0 at the end.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        match self {
            Self::Plain(raw) => raw.read_through(out),
            Self::Gzip(gzip) => gzip.read(out),
            Self::Zstd(zstd) => zstd.read(out),
        }
    }

    /// True if what it gives is unpacked.
    pub(super) fn is_packed(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }

    /// Bytes taken from the stream, packed as it is.
    pub(super) fn raw_bytes(&self) -> u64 {
        match self {
            Self::Plain(raw) => raw.bytes,
            Self::Gzip(gzip) => gzip.raw.bytes,
            Self::Zstd(zstd) => zstd.raw.bytes,
        }
    }
}

/// A stream in a small buffer, whose failure is remembered while it passes through a decoder.
#[derive(Debug)]
pub(super) struct Raw<R> {
    inner: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Raw<R> {
    fn buffered(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Reads on past what is buffered, all of which was taken or begins the buffer; false at the end.
    fn more(&mut self) -> Result<bool, Failure> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
        }
        let n = read(&mut self.inner, &mut self.buffer[self.end..]).map_err(Failure::Io)?;
        self.end += n;
        self.bytes += n as u64;
        Ok(n > 0)
    }

    /// Reads on until this many bytes are buffered, or the end.
    fn gather(&mut self, n: usize) -> Result<(), Failure> {
        if self.buffered().len() < n {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        while self.buffered().len() < n && self.more()? {}
        Ok(())
    }

    /// What is buffered first, and then past the buffer.
    fn read_through(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let n = self.buffered().len().min(out.len());
        if n > 0 {
            out[..n].copy_from_slice(&self.buffer[self.at..self.at + n]);
            self.at += n;
            return Ok(n);
        }
        let n = read(&mut self.inner, out).map_err(Failure::Io)?;
        self.bytes += n as u64;
        Ok(n)
    }
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.end {
            match self.more() {
                Ok(_) => {}
                Err(Failure::Io(error)) => {
                    let copy = error.kind().into();
                    self.failed = Some(error);
                    return Err(copy);
                }
                Err(Failure::Damaged { .. } | Failure::Window) => unreachable!("nothing is unpacked here"),
            }
        }
        let n = self.buffered().len().min(out.len());
        out[..n].copy_from_slice(&self.buffer[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// One read that an interruption does not end.
fn read(inner: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match inner.read(out) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Members of gzip, one after another (RFC 1952 section 2.2).
#[derive(Debug)]
pub(super) struct Gzip<R> {
    raw: Raw<R>,
    decoder: Decompress,
    state: Member,
}

#[derive(Debug, Clone)]
enum Member {
    Inside,
    /// After a member: another, zeros to fill a tape's block, or the end.
    Between,
    /// What is wrong after all that was given.
    Damaged(String),
}

impl<R: Read> Gzip<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        loop {
            if let Member::Damaged(what) = &self.state {
                return Err(Failure::Damaged { packing: Packing::Gzip, what: what.clone() });
            }
            let more = !self.raw.buffered().is_empty() || self.raw.more()?;
            if matches!(self.state, Member::Between) {
                if !more {
                    return Ok(0);
                }
                match self.raw.buffered()[0] {
                    0 => self.raw.at += 1,
                    0x1f => {
                        self.decoder = Decompress::new_gzip(15);
                        self.state = Member::Inside;
                    }
                    _ => {
                        self.state =
                            Member::Damaged("a gzip member is followed by bytes that are not one".into())
                    }
                }
                continue;
            }
            let before = (self.decoder.total_in(), self.decoder.total_out());
            let result = self.decoder.decompress(self.raw.buffered(), out, FlushDecompress::None);
            self.raw.at += (self.decoder.total_in() - before.0) as usize;
            let given = (self.decoder.total_out() - before.1) as usize;
            match result {
                Ok(Status::StreamEnd) => self.state = Member::Between,
                Ok(_) if !more && given == 0 => {
                    self.state = Member::Damaged("it ends within a gzip member".into());
                }
                Ok(_) => {}
                Err(error) => self.state = Member::Damaged(told(error.message()).into()),
            }
            if given > 0 {
                return Ok(given);
            }
        }
    }
}

/// The same words wherever in a call the decoder came upon the damage.
fn told(message: Option<&str>) -> &str {
    match message {
        Some(check @ ("incorrect data check" | "incorrect length check")) => check,
        _ => "not a deflate stream",
    }
}

/// Frames of zstd, one after another (RFC 8878 section 3.1).
pub(super) struct Zstd<R> {
    raw: Raw<R>,
    decoder: FrameDecoder,
    /// Bytes of the frame's window, if that is larger than [`WINDOW_BYTES`].
    window: u64,
    state: Frame,
}

#[derive(Debug)]
enum Frame {
    Between,
    Inside,
    /// All of the frame is decoded.
    Draining,
    /// The same, and this is wrong after it.
    DrainingBefore(Option<Failure>),
}

impl<R: Read> Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        loop {
            let given = self.decoder.read(out).map_err(|e| damaged_zstd(&e))?;
            if given > 0 {
                return Ok(given);
            }
            match &mut self.state {
                Frame::Between => {
                    if self.raw.buffered().is_empty() && !self.raw.more()? {
                        return Ok(0);
                    }
                    self.begin()?;
                }
                Frame::Inside => self.decode()?,
                Frame::Draining => self.end()?,
                Frame::DrainingBefore(failure) => {
                    return Err(failure.take().unwrap_or_else(|| damaged_zstd(&"nothing follows damage")));
                }
            }
        }
    }

    fn begin(&mut self) -> Result<(), Failure> {
        // The header must be there to be read once more.
        self.raw.gather(HEADER)?;
        let at = self.raw.at;
        if self.window > 0 {
            self.decoder = decoder(WINDOW_BYTES);
        }
        self.window = 0;
        let mut begun = self.decoder.reset(&mut self.raw);
        if let Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) = begun {
            // This decoder takes memory for what it was given, not for the window.
            self.decoder = decoder(DEFAULT_MAX_WINDOW_SIZE);
            self.window = requested;
            self.raw.at = at;
            begun = self.decoder.reset(&mut self.raw);
        }
        match begun {
            Ok(()) => self.state = Frame::Inside,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let skipped = io::copy(&mut (&mut self.raw).take(length.into()), &mut io::sink());
                if skipped.map_err(|e| self.failure(&e))? < length.into() {
                    return Err(damaged_zstd(&"it ends within a skippable frame"));
                }
            }
            Err(error) => return Err(self.failure(&error)),
        }
        Ok(())
    }

    fn decode(&mut self) -> Result<(), Failure> {
        // It holds a window's worth back; a block is not longer.
        let held = self.window.min(self.decoder.blocks_decoded() as u64 * BLOCK);
        if held > WINDOW_BYTES + self.raw.bytes.saturating_mul(WINDOW_RATIO) {
            return Err(Failure::Window);
        }
        let result = self.decoder.decode_blocks(&mut self.raw, BlockDecodingStrategy::UptoBlocks(1));
        match result {
            Ok(true) => self.state = Frame::Draining,
            Ok(false) => {}
            Err(error) => {
                let failure = self.failure(&error);
                // The decoder holds back a window's worth until the frame is whole: an empty last block, with a
                // checksum, makes it so.
                const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
                let ended = self.decoder.decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::UptoBlocks(1));
                debug_assert!(ended.is_ok(), "an empty block cannot fail");
                self.state = Frame::DrainingBefore(Some(failure));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(damaged_zstd(&"the checksum of a frame is wrong"));
        }
        self.state = Frame::Between;
        Ok(())
    }

    /// The stream's own failure, where it had one.
    fn failure(&mut self, error: &dyn fmt::Display) -> Failure {
        self.raw.failed.take().map_or_else(|| damaged_zstd(error), Failure::Io)
    }
}

impl<R> fmt::Debug for Zstd<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zstd").field("state", &self.state).finish_non_exhaustive()
    }
}

fn decoder(window: u64) -> FrameDecoder {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(window);
    decoder
}

fn damaged_zstd(error: &dyn fmt::Display) -> Failure {
    // One plain line, whatever the decoder says: its words for an end that comes too soon are of its inside.
    let told = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let early =
        ["Error while reading", "Failed to read", "UnexpectedEof"].iter().any(|words| told.contains(words));
    let what = if early {
        "it ends too soon".to_owned()
    } else if told.contains(['{', '(']) {
        told.split_once(": ").map_or("a block cannot be unpacked", |(words, _)| words).to_owned()
    } else {
        told
    };
    Failure::Damaged { packing: Packing::Zstd, what }
}

fn is_skippable(magic: &[u8]) -> bool {
    magic.first().is_some_and(|first| first >> 4 == 5) && magic[1..].starts_with(&ZSTD_SKIPPABLE)
}

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// After a byte from 0x50 to 0x5f.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];
/// The longest header of a frame (RFC 8878 section 3.1.1), its magic number included.
const HEADER: usize = 18;
/// The longest block (RFC 8878 section 3.1.1.2.4).
const BLOCK: u64 = 128 << 10;
const RAW_BUFFER: usize = 1 << 16;
