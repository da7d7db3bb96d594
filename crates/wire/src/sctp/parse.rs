//! Bytes to values.

use super::chunk::{Body, Causes, End, RawChunk};
use super::data::Data;
use super::emit::HEARTBEAT_INFO;
use super::init::{Init, Parameter};
use super::sack::Sack;
use super::typed::{Chunk, DataChunk, Extension, InitChunk, Packet, SackChunk};
use super::{Header, kind};
use crate::header::be16;
use crate::{ParseError, Payload};

impl Packet {
    /// The packet that `bytes` are. What a value cannot say (reserved bits, causes' contents, host names in their
    /// place among the parameters) is dropped, and a chunk that is malformed becomes [`Chunk::Other`]. The checksum
    /// is not looked at; [`Header::checksum_ok`] does that.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 12 bytes, [`ParseError::BadLength`] for a chunk whose length is impossible.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let header = Header::new(bytes, bytes.len())?;
        let mut chunks = header.chunks();
        let mut out = Self {
            src_port: header.src_port(),
            dst_port: header.dst_port(),
            tag: header.tag(),
            chunks: Vec::new(),
        };
        out.chunks.extend(chunks.by_ref().map(|raw| chunk(&raw)));
        match chunks.end() {
            Some(End::Bad | End::Cut) => {
                Err(ParseError::BadLength { field: "SCTP chunk", value: bytes.len() })
            }
            _ => Ok(out),
        }
    }
}

fn chunk(raw: &RawChunk<'_>) -> Chunk {
    match raw.body() {
        Body::Data(body) => Chunk::Data(data(&body)),
        Body::Init(body) => Chunk::Init(Box::new(init(&body))),
        Body::InitAck(body) => Chunk::InitAck(Box::new(init(&body))),
        Body::Sack(body) => Chunk::Sack(sack(&body)),
        Body::Heartbeat(value) => heartbeat(value).map_or_else(|| other(raw), Chunk::Heartbeat),
        Body::HeartbeatAck(value) => heartbeat(value).map_or_else(|| other(raw), Chunk::HeartbeatAck),
        Body::Abort { reflected, causes } => Chunk::Abort { reflected, causes: codes(causes) },
        Body::Shutdown { cumulative } => Chunk::Shutdown { cumulative },
        Body::ShutdownAck => Chunk::ShutdownAck,
        Body::Error(causes) => Chunk::Error { causes: codes(causes) },
        Body::CookieEcho(cookie) => Chunk::CookieEcho(cookie.into()),
        Body::CookieAck => Chunk::CookieAck,
        Body::ShutdownComplete { reflected } => Chunk::ShutdownComplete { reflected },
        Body::ForwardTsn(body) if raw.kind() == kind::FORWARD_TSN => Chunk::ForwardTsn {
            cumulative: body.cumulative(),
            skipped: body.skipped().map(|(stream, message)| (stream, message as u16)).collect(),
        },
        _ => other(raw),
    }
}

fn other(raw: &RawChunk<'_>) -> Chunk {
    Chunk::Other { kind: raw.kind(), flags: raw.flags(), value: raw.value().into() }
}

fn data(body: &Data<'_>) -> DataChunk {
    let bytes = body.user_data();
    DataChunk {
        tsn: body.tsn(),
        stream: body.stream(),
        message: body.message(),
        fragment: body.fragment(),
        protocol: body.protocol().unwrap_or(0),
        begin: body.begins(),
        end: body.ends(),
        unordered: body.is_unordered(),
        immediate: body.is_immediate(),
        payload: if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(bytes.into()) },
    }
}

fn init(body: &Init<'_>) -> InitChunk {
    let mut out = InitChunk {
        initiate_tag: body.initiate_tag(),
        window: body.window(),
        outbound_streams: body.outbound_streams(),
        inbound_streams: body.inbound_streams(),
        initial_tsn: body.initial_tsn(),
        addresses: body.addresses().collect(),
        cookie: None,
        extensions: Vec::new(),
    };
    for parameter in body.parameters() {
        match parameter {
            Parameter::Ipv4(_) | Parameter::Ipv6(_) => {}
            Parameter::Cookie(cookie) => out.cookie = Some(cookie.into()),
            Parameter::Extensions(kinds) => out.extensions.push(Extension::Chunks(kinds.into())),
            Parameter::ForwardTsn => out.extensions.push(Extension::ForwardTsn),
            Parameter::Ecn => out.extensions.push(Extension::Ecn),
            Parameter::Other(kind, value) => out.extensions.push(Extension::Other(kind, value.into())),
        }
    }
    out
}

fn sack(body: &Sack<'_>) -> SackChunk {
    SackChunk {
        cumulative: body.cumulative(),
        window: body.window(),
        gaps: body.gaps().collect(),
        duplicates: body.duplicates().collect(),
    }
}

/// The information of a HEARTBEAT, if its one parameter is well-formed.
fn heartbeat(value: &[u8]) -> Option<Box<[u8]>> {
    let well_formed =
        value.len() >= 4 && be16(value, 0) == HEARTBEAT_INFO && usize::from(be16(value, 2)) == value.len();
    well_formed.then(|| value[4..].into())
}

fn codes(causes: Causes<'_>) -> Vec<u16> {
    causes.collect()
}
