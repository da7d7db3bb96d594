//! Reading pcapng and classic pcap.

mod pcap;
mod pcapng;
mod source;

use std::io::{self, Read};

use rexmit_units::Instant;

use crate::block::SECTION_HEADER;
use crate::link::LinkType;
use crate::record::Record;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// Reads a capture record by record, of either byte order, from a stream that need not be seekable.
///
/// It is an iterator of records; [`Reader::read_into`] does the same into one record whose memory is used
/// again. A damaged file yields all records before the damage, then one error, then nothing.
#[derive(Debug)]
pub struct Reader<R: Read> {
    source: Source<R>,
    format: Format,
    interfaces: Vec<Interface>,
    /// After the end or an error.
    done: bool,
}

/// What a capture says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name; classic pcap has none.
    pub name: Option<String>,
    /// Its link layer.
    pub link: LinkType,
    /// Most bytes kept of a packet; zero for no limit.
    pub snap_len: u32,
    pub(crate) clock: Clock,
}

/// How time stamps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) resolution: Resolution,
    /// Seconds to add.
    pub(crate) offset: i64,
}

/// A time stamp's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// 10 to the power -n seconds.
    Decimal(u8),
    /// 2 to the power -n seconds.
    Binary(u8),
}

/// Why a capture cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream failed.
    #[error("byte {offset}: {source}")]
    Io {
        /// Bytes read before.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The file begins like no capture.
    #[error("not a pcapng or pcap file: {0}")]
    NotACapture(String),
    /// The file ends within a header, a block or a packet.
    #[error("byte {offset}: the capture ends within the block that begins here")]
    Truncated {
        /// Where that begins.
        offset: u64,
    },
    /// A block or a packet contradicts itself or the format.
    #[error("byte {offset}: the capture is damaged in the block that begins here: {what}")]
    Corrupt {
        /// Where that begins.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
}

#[derive(Debug)]
enum Format {
    Pcapng(Pcapng),
    Pcap(Pcap),
}

impl<R: Read> Reader<R> {
    /// Reads the file's header. The stream need not be buffered.
    ///
    /// # Errors
    /// [`ReadError::NotACapture`] for something else, and others where the header is damaged.
    pub fn new(inner: R) -> Result<Self, ReadError> {
        let mut source = Source::new(inner);
        let mut magic = [0; 4];
        if !source.read_exact_or_end(&mut magic, 0)? {
            return Err(ReadError::NotACapture("it is empty".into()));
        }
        let mut interfaces = Vec::new();
        let format = if u32::from_be_bytes(magic) == SECTION_HEADER {
            Format::Pcapng(Pcapng::open(&mut source)?)
        } else if let Some(pcap) = Pcap::open(magic, &mut source, &mut interfaces)? {
            Format::Pcap(pcap)
        } else {
            return Err(ReadError::NotACapture(describe(magic)));
        };
        Ok(Self { source, format, interfaces, done: false })
    }

    /// The interfaces met so far: one for classic pcap; in pcapng each is described before its first packet.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Reads the next packet into `record`; false after the last one and after an error.
    ///
    /// # Errors
    /// A [`ReadError`] where the file breaks off.
    pub fn read_into(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        if self.done {
            return Ok(false);
        }
        let result = match &mut self.format {
            Format::Pcapng(pcapng) => pcapng.read_into(&mut self.source, &mut self.interfaces, record),
            Format::Pcap(pcap) => pcap.read_into(&mut self.source, record),
        };
        self.done = !matches!(result, Ok(true));
        result
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = Record::default();
        match self.read_into(&mut record) {
            Ok(true) => Some(Ok(record)),
            Ok(false) => None,
            Err(e) => Some(Err(e)),
        }
    }
}

impl Clock {
    /// The instant since 1970 of a time stamp.
    fn instant(self, stamp: u64) -> Instant {
        let stamp = u128::from(stamp);
        let ns = match self.resolution {
            Resolution::Decimal(n @ 0..=9) => stamp * 10_u128.pow(9 - u32::from(n)),
            Resolution::Decimal(n) => match 10_u128.checked_pow(u32::from(n) - 9) {
                Some(per_ns) => stamp / per_ns,
                None => 0,
            },
            Resolution::Binary(n) => (stamp * 1_000_000_000).checked_shr(n.into()).unwrap_or(0),
        };
        // Below 2^94, so it fits.
        let ns = ns as i128 + i128::from(self.offset) * 1_000_000_000;
        Instant::from_nanos(ns.clamp(0, u64::MAX.into()) as u64)
    }
}

fn describe(magic: [u8; 4]) -> String {
    match magic {
        [0x1f, 0x8b, ..] => "it is compressed with gzip; unpack it first".into(),
        [0x28, 0xb5, 0x2f, 0xfd] => "it is compressed with zstd; unpack it first".into(),
        [a, b, c, d] => format!("it begins with {a:02x} {b:02x} {c:02x} {d:02x}"),
    }
}
