//! Values to bytes.

use std::net::IpAddr;

use super::init;
use super::typed::{Chunk, DataChunk, Extension, InitChunk, Packet, SackChunk, kind};
use super::{HEADER_LEN, checksum};

impl Packet {
    /// The packet as bytes, its checksum right and each chunk padded.
    ///
    /// # Panics
    /// If a chunk or parameter is longer than its length field can say, 65,535 bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![0; HEADER_LEN];
        out[0..2].copy_from_slice(&self.src_port.to_be_bytes());
        out[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        out[4..8].copy_from_slice(&self.tag.to_be_bytes());
        for chunk in &self.chunks {
            chunk.emit(&mut out);
        }
        let sum = checksum(&out);
        out[8..12].copy_from_slice(&sum.to_be_bytes());
        out
    }
}

impl Chunk {
    /// Appends the chunk and its padding.
    fn emit(&self, out: &mut Vec<u8>) {
        let (kind, flags) = self.head();
        let at = begin(out, kind, flags);
        match self {
            Self::Data(data) => data.emit(out),
            Self::Init(init) | Self::InitAck(init) => init.emit(out),
            Self::Sack(sack) => sack.emit(out),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => {
                parameter(out, HEARTBEAT_INFO, info);
            }
            Self::Abort { causes, .. } | Self::Error { causes } => {
                causes.iter().for_each(|cause| parameter(out, *cause, &[]));
            }
            Self::Shutdown { cumulative } => out.extend(cumulative.to_be_bytes()),
            Self::CookieEcho(cookie) => out.extend_from_slice(cookie),
            Self::ForwardTsn { cumulative, skipped } => {
                out.extend(cumulative.to_be_bytes());
                for (stream, message) in skipped {
                    out.extend(stream.to_be_bytes());
                    out.extend(message.to_be_bytes());
                }
            }
            Self::Other { value, .. } => out.extend_from_slice(value),
            Self::ShutdownAck | Self::CookieAck | Self::ShutdownComplete { .. } => {}
        }
        finish(out, at);
    }

    /// Type and flags.
    fn head(&self) -> (u8, u8) {
        match self {
            Self::Data(data) => {
                (if data.fragment.is_some() { kind::I_DATA } else { kind::DATA }, data.flags())
            }
            Self::Init(_) => (kind::INIT, 0),
            Self::InitAck(_) => (kind::INIT_ACK, 0),
            Self::Sack(_) => (kind::SACK, 0),
            Self::Heartbeat(_) => (kind::HEARTBEAT, 0),
            Self::HeartbeatAck(_) => (kind::HEARTBEAT_ACK, 0),
            Self::Abort { reflected, .. } => (kind::ABORT, u8::from(*reflected)),
            Self::Shutdown { .. } => (kind::SHUTDOWN, 0),
            Self::ShutdownAck => (kind::SHUTDOWN_ACK, 0),
            Self::Error { .. } => (kind::ERROR, 0),
            Self::CookieEcho(_) => (kind::COOKIE_ECHO, 0),
            Self::CookieAck => (kind::COOKIE_ACK, 0),
            Self::ShutdownComplete { reflected } => (kind::SHUTDOWN_COMPLETE, u8::from(*reflected)),
            Self::ForwardTsn { .. } => (kind::FORWARD_TSN, 0),
            Self::Other { kind, flags, .. } => (*kind, *flags),
        }
    }
}

impl DataChunk {
    fn flags(&self) -> u8 {
        let bits = [self.end, self.begin, self.unordered, self.immediate];
        bits.iter().rev().fold(0, |flags, bit| flags << 1 | u8::from(*bit))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.tsn.to_be_bytes());
        out.extend(self.stream.to_be_bytes());
        match self.fragment {
            None => {
                out.extend((self.message as u16).to_be_bytes());
                out.extend(self.protocol.to_be_bytes());
            }
            Some(fragment) => {
                out.extend([0; 2]);
                out.extend(self.message.to_be_bytes());
                let last = if self.begin { self.protocol } else { fragment };
                out.extend(last.to_be_bytes());
            }
        }
        self.payload.append_to(out);
    }
}

impl InitChunk {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.initiate_tag.to_be_bytes());
        out.extend(self.window.to_be_bytes());
        out.extend(self.outbound_streams.to_be_bytes());
        out.extend(self.inbound_streams.to_be_bytes());
        out.extend(self.initial_tsn.to_be_bytes());
        for address in &self.addresses {
            match address {
                IpAddr::V4(address) => parameter(out, init::IPV4, &address.octets()),
                IpAddr::V6(address) => parameter(out, init::IPV6, &address.octets()),
            }
        }
        if let Some(cookie) = &self.cookie {
            parameter(out, init::COOKIE, cookie);
        }
        for extension in &self.extensions {
            match extension {
                Extension::Chunks(kinds) => parameter(out, init::EXTENSIONS, kinds),
                Extension::ForwardTsn => parameter(out, init::FORWARD_TSN, &[]),
                Extension::Ecn => parameter(out, init::ECN, &[]),
                Extension::Other(kind, value) => parameter(out, *kind, value),
            }
        }
    }
}

impl SackChunk {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.cumulative.to_be_bytes());
        out.extend(self.window.to_be_bytes());
        out.extend(length(self.gaps.len()).to_be_bytes());
        out.extend(length(self.duplicates.len()).to_be_bytes());
        for gap in &self.gaps {
            out.extend(gap.start.to_be_bytes());
            out.extend(gap.end.to_be_bytes());
        }
        for tsn in &self.duplicates {
            out.extend(tsn.to_be_bytes());
        }
    }
}

/// Appends a parameter or error cause, padding before it and not after: the padding of the last one belongs to its
/// chunk.
fn parameter(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(kind.to_be_bytes());
    out.extend(length(4 + value.len()).to_be_bytes());
    out.extend_from_slice(value);
}

/// Appends a chunk's header and gives its place.
fn begin(out: &mut Vec<u8>, kind: u8, flags: u8) -> usize {
    let at = out.len();
    out.extend([kind, flags, 0, 0]);
    at
}

/// Writes the length of the chunk at `at` and pads it.
fn finish(out: &mut Vec<u8>, at: usize) {
    let length = length(out.len() - at).to_be_bytes();
    out[at + 2..at + 4].copy_from_slice(&length);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn length(n: usize) -> u16 {
    u16::try_from(n).expect("a chunk's length field has 16 bits")
}

/// Type of the parameter of a HEARTBEAT.
pub(super) const HEARTBEAT_INFO: u16 = 1;
