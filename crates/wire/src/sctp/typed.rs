//! SCTP packets as values.

use std::net::IpAddr;

use crate::Payload;

use super::Gap;

/// Chunk types.
pub mod kind {
    /// DATA.
    pub const DATA: u8 = 0;
    /// INIT.
    pub const INIT: u8 = 1;
    /// INIT-ACK.
    pub const INIT_ACK: u8 = 2;
    /// SACK.
    pub const SACK: u8 = 3;
    /// HEARTBEAT.
    pub const HEARTBEAT: u8 = 4;
    /// HEARTBEAT-ACK.
    pub const HEARTBEAT_ACK: u8 = 5;
    /// ABORT.
    pub const ABORT: u8 = 6;
    /// SHUTDOWN.
    pub const SHUTDOWN: u8 = 7;
    /// SHUTDOWN-ACK.
    pub const SHUTDOWN_ACK: u8 = 8;
    /// ERROR.
    pub const ERROR: u8 = 9;
    /// COOKIE-ECHO.
    pub const COOKIE_ECHO: u8 = 10;
    /// COOKIE-ACK.
    pub const COOKIE_ACK: u8 = 11;
    /// ECNE.
    pub const ECNE: u8 = 12;
    /// CWR.
    pub const CWR: u8 = 13;
    /// SHUTDOWN-COMPLETE.
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    /// I-DATA (RFC 8260).
    pub const I_DATA: u8 = 0x40;
    /// FORWARD-TSN (RFC 3758).
    pub const FORWARD_TSN: u8 = 0xc0;
    /// I-FORWARD-TSN (RFC 8260).
    pub const I_FORWARD_TSN: u8 = 0xc2;
}

/// An SCTP packet: common header and chunks. Its checksum is made when it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Verification tag.
    pub tag: u32,
    /// Chunks, in order.
    pub chunks: Vec<Chunk>,
}

impl Packet {
    /// Bytes of user data in its DATA and I-DATA chunks.
    pub fn user_len(&self) -> u32 {
        self.data().map(|chunk| chunk.payload.len()).sum()
    }

    /// Its DATA and I-DATA chunks, in order.
    pub fn data(&self) -> impl Iterator<Item = &DataChunk> {
        self.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Data(data) => Some(data),
            _ => None,
        })
    }
}

/// A chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// DATA or I-DATA.
    Data(DataChunk),
    /// INIT.
    Init(Box<InitChunk>),
    /// INIT-ACK.
    InitAck(Box<InitChunk>),
    /// SACK.
    Sack(SackChunk),
    /// HEARTBEAT with the information that its sender chose: at most 65,527 bytes.
    Heartbeat(Box<[u8]>),
    /// HEARTBEAT-ACK with the information of the HEARTBEAT.
    HeartbeatAck(Box<[u8]>),
    /// ABORT with codes of causes that carry nothing else.
    Abort {
        /// The T bit: the verification tag is reflected.
        reflected: bool,
        /// Codes of error causes.
        causes: Vec<u16>,
    },
    /// SHUTDOWN.
    Shutdown {
        /// Cumulative TSN ack.
        cumulative: u32,
    },
    /// SHUTDOWN-ACK.
    ShutdownAck,
    /// ERROR with codes of causes that carry nothing else.
    Error {
        /// Codes of error causes.
        causes: Vec<u16>,
    },
    /// COOKIE-ECHO with the cookie.
    CookieEcho(Box<[u8]>),
    /// COOKIE-ACK.
    CookieAck,
    /// SHUTDOWN-COMPLETE.
    ShutdownComplete {
        /// The T bit, as in ABORT.
        reflected: bool,
    },
    /// FORWARD-TSN.
    ForwardTsn {
        /// The new cumulative TSN.
        cumulative: u32,
        /// Streams that skip messages, each with the last stream sequence number skipped.
        skipped: Vec<(u16, u16)>,
    },
    /// Any other chunk, by its type, flags and value.
    Other {
        /// Chunk type.
        kind: u8,
        /// Chunk flags.
        flags: u8,
        /// What follows its header.
        value: Box<[u8]>,
    },
}

/// A DATA or I-DATA chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataChunk {
    /// Transmission sequence number.
    pub tsn: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number (of which 16 bits count), or message identifier of I-DATA.
    pub message: u32,
    /// `None` for DATA; for I-DATA the fragment sequence number, which is 0 where [`Self::begin`] is set.
    pub fragment: Option<u32>,
    /// Payload protocol identifier; of I-DATA, only a chunk that begins its message carries it.
    pub protocol: u32,
    /// It begins a message.
    pub begin: bool,
    /// It ends a message.
    pub end: bool,
    /// It is delivered without order.
    pub unordered: bool,
    /// A SACK is asked for at once.
    pub immediate: bool,
    /// The user data.
    pub payload: Payload,
}

/// An INIT or INIT-ACK chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitChunk {
    /// The tag that packets to this side are to carry.
    pub initiate_tag: u32,
    /// Advertised receiver window, bytes.
    pub window: u32,
    /// Streams that it wants to send on.
    pub outbound_streams: u16,
    /// Streams that it accepts.
    pub inbound_streams: u16,
    /// Initial TSN.
    pub initial_tsn: u32,
    /// Addresses that it lists.
    pub addresses: Vec<IpAddr>,
    /// The state cookie of an INIT-ACK.
    pub cookie: Option<Box<[u8]>>,
    /// Extensions that it offers.
    pub extensions: Vec<Extension>,
}

/// An extension that an INIT or INIT-ACK offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Chunk types of the supported-extensions parameter (RFC 5061 section 4.2.7).
    Chunks(Box<[u8]>),
    /// Forward-TSN supported (RFC 3758).
    ForwardTsn,
    /// ECN capable.
    Ecn,
    /// Any other parameter, by its type and value.
    Other(u16, Box<[u8]>),
}

/// A SACK chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SackChunk {
    /// Cumulative TSN ack.
    pub cumulative: u32,
    /// Advertised receiver window, bytes.
    pub window: u32,
    /// Gap ack blocks.
    pub gaps: Vec<Gap>,
    /// Duplicate TSNs.
    pub duplicates: Vec<u32>,
}
