//! Reading pcapng and classic pcap.

mod clock;
mod input;
mod pcap;
mod pcapng;
mod source;

use std::fmt;
use std::io::{self, Read};

use rexmit_units::Instant;

use crate::block::SECTION_HEADER;
use crate::limits::Limited;
use crate::link::LinkType;
use crate::options::OptionBytes;
use crate::record::{Record, RecordRef};
use clock::Clock;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// Reads a capture record by record, of either byte order, from a stream that need not be seekable. What is
/// packed with gzip or zstd is unpacked.
///
/// [`Reader::next_ref`] lends each record from the reader's own buffer; [`Reader::read_into`] copies it into a
/// record whose memory is used again; the reader is also an iterator of records. A damaged file yields all
/// records before the damage, then one error, then nothing.
#[derive(Debug)]
pub struct Reader<R: Read> {
    source: Source<R>,
    format: Format,
    interfaces: Vec<Interface>,
    limited: Limited,
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
    /// Packets that passed it and that the capture does not hold, as far as was read.
    pub counts: Counts,
    pub(crate) clock: Clock,
}

/// What a pcapng capture tells of packets that it does not hold. Classic pcap tells nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets received from the interface, from its last statistics (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Packets that the interface dropped for want of resources (`isb_ifdrop`).
    pub dropped_by_interface: Option<u64>,
    /// Packets that the operating system dropped (`isb_osdrop`).
    pub dropped_by_system: Option<u64>,
    /// Packets that were lost between packets of the capture, as these say (`epb_dropcount`): a part of the
    /// other counts where those are given.
    pub dropped_between: u64,
}

/// Why a capture cannot be read, or no further.
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
    /// The file does not begin like a capture.
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
    /// The compressed stream needs more memory or time than a file of its size may.
    #[error("byte {offset} of the unpacked capture: {what}")]
    Limit {
        /// Bytes that were unpacked before.
        offset: u64,
        /// Which limit of [`crate::limits`] that is, and what to do.
        what: &'static str,
    },
    /// The compressed stream is cut off or damaged; all that could be unpacked was.
    #[error("byte {offset} of the unpacked capture: its {packing} compression is damaged: {what}")]
    Packing {
        /// Bytes that were unpacked before.
        offset: u64,
        /// How it is packed.
        packing: Packing,
        /// What is wrong, on one line.
        what: String,
    },
}

/// How a capture is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// gzip, RFC 1952.
    Gzip,
    /// zstd, RFC 8878.
    Zstd,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

#[derive(Debug)]
enum Format {
    Pcapng(Pcapng),
    Pcap(Pcap),
}

/// A packet's place in the buffer, and what is known of it.
struct Found {
    interface: u32,
    link: LinkType,
    time: Instant,
    original_len: u32,
    data_at: usize,
    data_len: usize,
    options_at: usize,
    options_len: usize,
}

impl<R: Read> Reader<R> {
    /// Reads the file's header. The stream need not be buffered.
    ///
    /// # Errors
    /// [`ReadError::NotACapture`] for something else, and others where the header is damaged.
    pub fn new(inner: R) -> Result<Self, ReadError> {
        let mut source = Source::new(inner)?;
        if !source.require(4, 0)? {
            return Err(ReadError::NotACapture("it is empty".into()));
        }
        let mut interfaces = Vec::new();
        let format = if source.peek()[..4] == SECTION_HEADER.to_be_bytes() {
            let mut pcapng = Pcapng::new();
            pcapng.section_header(&mut source, 0)?;
            Format::Pcapng(pcapng)
        } else if let Some(pcap) = Pcap::open(&mut source, &mut interfaces)? {
            Format::Pcap(pcap)
        } else {
            return Err(ReadError::NotACapture(describe(source.peek())));
        };
        Ok(Self { source, format, interfaces, limited: Limited::default(), done: false })
    }

    /// The interfaces met so far: one for classic pcap; in pcapng each is described before its first packet.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The same, once all is read.
    pub fn into_interfaces(self) -> Vec<Interface> {
        self.interfaces
    }

    /// What was passed over since it lies beyond a limit of [`crate::limits`].
    pub fn limited(&self) -> Limited {
        self.limited
    }

    /// Bytes taken from the stream so far, packed as it is: for a sign of progress.
    pub fn bytes_read(&self) -> u64 {
        self.source.raw_bytes()
    }

    /// The next packet, lent until the next call; `None` after the last one and after an error.
    ///
    /// # Errors
    /// A [`ReadError`] where the file breaks off.
    #[inline]
    pub fn next_ref(&mut self) -> Result<Option<RecordRef<'_>>, ReadError> {
        if self.done {
            return Ok(None);
        }
        let result = match &mut self.format {
            Format::Pcapng(pcapng) => pcapng.next(&mut self.source, &mut self.interfaces, &mut self.limited),
            Format::Pcap(pcap) => pcap.next(&mut self.source),
        };
        let Ok(Some(found)) = result else {
            self.done = true;
            return result.map(|_| None);
        };
        let options = self.source.taken(found.options_at, found.options_len);
        Ok(Some(RecordRef {
            interface: found.interface,
            link: found.link,
            time: found.time,
            original_len: found.original_len,
            data: self.source.taken(found.data_at, found.data_len),
            options: OptionBytes { bytes: options, order: self.source.order },
        }))
    }

    /// Reads the next packet into `record`; false after the last one and after an error.
    ///
    /// # Errors
    /// A [`ReadError`] where the file breaks off.
    pub fn read_into(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        let Some(found) = self.next_ref()? else { return Ok(false) };
        found.copy_to(record);
        Ok(true)
    }
}

impl Interface {
    /// One that says nothing but this; stamps are in microseconds.
    fn new(link: LinkType, snap_len: u32) -> Self {
        Self { name: None, link, snap_len, counts: Counts::default(), clock: Clock::new(6, 0) }
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

fn describe(start: &[u8]) -> String {
    let bytes = start[..4].iter().map(|byte| format!(" {byte:02x}")).collect::<String>();
    format!("it begins with{bytes}")
}
