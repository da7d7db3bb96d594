//! Chunks: type, flags, length (RFC 9260 section 3.2).

use super::data::{Data, ForwardTsn};
use super::init::Init;
use super::sack::Sack;
use super::typed::kind;
use crate::header::{be16, be32};

/// A chunk, as far as it is there.
#[derive(Clone, Copy, Debug)]
pub struct RawChunk<'a> {
    kind: u8,
    flags: u8,
    length: usize,
    value: &'a [u8],
}

impl<'a> RawChunk<'a> {
    /// Chunk type.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Chunk flags.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Bytes of the chunk on the wire, its own header of 4 included and padding not: 4 or more.
    #[expect(clippy::len_without_is_empty, reason = "a chunk has a header, so it is never empty")]
    pub fn len(&self) -> usize {
        self.length
    }

    /// What follows its header, as far as it is there.
    pub fn value(&self) -> &'a [u8] {
        self.value
    }

    /// True where the capture cut through it.
    pub fn is_cut(&self) -> bool {
        self.value.len() < self.length - 4
    }

    /// What it is.
    pub fn body(&self) -> Body<'a> {
        let fixed = match self.kind {
            kind::DATA => Data::FIXED,
            kind::I_DATA => Data::FIXED_INTERLEAVED,
            kind::INIT | kind::INIT_ACK => Init::FIXED,
            kind::SACK => Sack::FIXED,
            kind::SHUTDOWN | kind::ECNE | kind::CWR | kind::FORWARD_TSN | kind::I_FORWARD_TSN => 4,
            _ => 0,
        };
        if self.length - 4 < fixed {
            return Body::Short;
        }
        if self.value.len() < fixed {
            return Body::Cut;
        }
        let reflected = self.flags & 1 != 0;
        match self.kind {
            kind::DATA => Body::Data(Data::new(self, false)),
            kind::I_DATA => Body::Data(Data::new(self, true)),
            kind::INIT => Body::Init(Init::new(self)),
            kind::INIT_ACK => Body::InitAck(Init::new(self)),
            kind::SACK => Body::Sack(Sack::new(self)),
            kind::HEARTBEAT => Body::Heartbeat(self.value),
            kind::HEARTBEAT_ACK => Body::HeartbeatAck(self.value),
            kind::ABORT => Body::Abort { reflected, causes: Causes { rest: self.value } },
            kind::SHUTDOWN => Body::Shutdown { cumulative: be32(self.value, 0) },
            kind::SHUTDOWN_ACK => Body::ShutdownAck,
            kind::ERROR => Body::Error(Causes { rest: self.value }),
            kind::COOKIE_ECHO => Body::CookieEcho(self.value),
            kind::COOKIE_ACK => Body::CookieAck,
            kind::ECNE => Body::Ecne { lowest: be32(self.value, 0) },
            kind::CWR => Body::Cwr { lowest: be32(self.value, 0) },
            kind::SHUTDOWN_COMPLETE => Body::ShutdownComplete { reflected },
            kind::FORWARD_TSN => Body::ForwardTsn(ForwardTsn::new(self.value, false)),
            kind::I_FORWARD_TSN => Body::ForwardTsn(ForwardTsn::new(self.value, true)),
            _ => Body::Other,
        }
    }
}

/// What a chunk is, with a view of its fields.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// DATA, or I-DATA of RFC 8260.
    Data(Data<'a>),
    /// INIT.
    Init(Init<'a>),
    /// INIT-ACK.
    InitAck(Init<'a>),
    /// SACK.
    Sack(Sack<'a>),
    /// HEARTBEAT, with its parameter as bytes.
    Heartbeat(&'a [u8]),
    /// HEARTBEAT-ACK, with the parameter of the HEARTBEAT.
    HeartbeatAck(&'a [u8]),
    /// ABORT.
    Abort {
        /// The T bit: the verification tag is the sender's own, reflected.
        reflected: bool,
        /// Error causes.
        causes: Causes<'a>,
    },
    /// SHUTDOWN.
    Shutdown {
        /// Cumulative TSN ack.
        cumulative: u32,
    },
    /// SHUTDOWN-ACK.
    ShutdownAck,
    /// ERROR, with its causes.
    Error(Causes<'a>),
    /// COOKIE-ECHO, with the cookie.
    CookieEcho(&'a [u8]),
    /// COOKIE-ACK.
    CookieAck,
    /// ECNE (RFC 9260 appendix A of its predecessor RFC 4960).
    Ecne {
        /// Lowest TSN of the packet that was marked.
        lowest: u32,
    },
    /// CWR.
    Cwr {
        /// Lowest TSN that was told of.
        lowest: u32,
    },
    /// SHUTDOWN-COMPLETE.
    ShutdownComplete {
        /// The T bit, as in ABORT.
        reflected: bool,
    },
    /// FORWARD-TSN (RFC 3758), or I-FORWARD-TSN (RFC 8260).
    ForwardTsn(ForwardTsn<'a>),
    /// Any other chunk: AUTH, ASCONF, RE-CONFIG, PAD and those that we do not know.
    Other,
    /// Its length is too small for its type.
    Short,
    /// The capture ends before its fixed fields do.
    Cut,
}

/// How a walk over chunks ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The packet has no more.
    Whole,
    /// The capture has no more of the packet.
    Cut,
    /// A length is impossible: below 4, or beyond the packet.
    Bad,
}

/// Walks over the chunks of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
    /// Bytes from the start of `rest` to the end of the packet on the wire.
    wire: usize,
    end: Option<End>,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(rest: &'a [u8], wire: usize) -> Self {
        Self { rest, wire, end: None }
    }

    /// How it ended; `None` while there are chunks.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    fn stop(&mut self, end: End) -> Option<RawChunk<'a>> {
        self.end = Some(end);
        None
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = RawChunk<'a>;

    fn next(&mut self) -> Option<RawChunk<'a>> {
        if self.end.is_some() {
            return None;
        }
        if self.wire < 4 {
            // Fewer than 4 bytes are not a chunk; zeros there are padding of a link.
            return self.stop(if self.wire == 0 { End::Whole } else { End::Bad });
        }
        if self.rest.len() < 4 {
            return self.stop(End::Cut);
        }
        let length = usize::from(be16(self.rest, 2));
        if length < 4 || length > self.wire {
            return self.stop(End::Bad);
        }
        let chunk = RawChunk {
            kind: self.rest[0],
            flags: self.rest[1],
            length,
            value: &self.rest[4..length.min(self.rest.len())],
        };
        // The last chunk's padding may be missing.
        let step = length.next_multiple_of(4);
        self.rest = self.rest.get(step..).unwrap_or(&[]);
        self.wire = self.wire.saturating_sub(step);
        Some(chunk)
    }
}

/// The codes of error causes (RFC 9260 section 3.3.10).
#[derive(Clone, Copy, Debug)]
pub struct Causes<'a> {
    rest: &'a [u8],
}

impl Iterator for Causes<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.rest.len() < 4 {
            return None;
        }
        let code = be16(self.rest, 0);
        let step = usize::from(be16(self.rest, 2)).max(4).next_multiple_of(4);
        self.rest = self.rest.get(step..).unwrap_or(&[]);
        Some(code)
    }
}
