//! Values to bytes.

use std::net::IpAddr;

use super::data::Data;
use super::init;
use super::typed::{Chunk, DataChunk, Extension, InitChunk, Packet, SackChunk, kind};
use super::{HEADER_LEN, checksum};

impl Packet {
    /// The packet as bytes, its checksum right and each chunk padded.
    ///
    /// # Panics
    /// If a chunk or parameter is longer than its length field can say, 65,535 bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        self.emit_into(&mut out);
        out
    }

    /// Appends the bytes of [`Self::emit`] to `out`.
    ///
    /// # Panics
    /// As [`Self::emit`] does.
    pub fn emit_into(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.emit_unsummed_into(out);
        let sum = checksum(&out[start..]);
        out[start + 8..start + HEADER_LEN].copy_from_slice(&sum.to_be_bytes());
    }

    /// The same with zero in the place of the checksum, for a reader in this process that does not check it.
    ///
    /// # Panics
    /// As [`Self::emit`] does.
    pub fn emit_unsummed_into(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(self.src_port.to_be_bytes());
        out.extend(self.dst_port.to_be_bytes());
        out.extend(self.tag.to_be_bytes());
        out.extend([0; 4]);
        for chunk in &self.chunks {
            chunk.emit(start, out);
        }
    }

    /// Bytes of the packet: common header, chunks and their padding.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a packet has a header, so it is never empty")]
    pub fn len(&self) -> usize {
        HEADER_LEN + self.chunks.iter().map(|chunk| chunk.len().next_multiple_of(4)).sum::<usize>()
    }
}

impl Chunk {
    /// Bytes of the chunk, its own header of 4 included and padding not.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a chunk has a header, so it is never empty")]
    pub fn len(&self) -> usize {
        4 + match self {
            Self::Data(data) => data.fixed_len() + data.payload.len() as usize,
            Self::Sack(sack) => 12 + 4 * (sack.gaps.len() + sack.duplicates.len()),
            Self::Init(init) | Self::InitAck(init) => init.len(),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => 4 + info.len(),
            Self::Abort { causes, .. } | Self::Error { causes } => 4 * causes.len(),
            Self::Shutdown { .. } => 4,
            Self::CookieEcho(cookie) => cookie.len(),
            Self::ForwardTsn { skipped, .. } => 4 + 4 * skipped.len(),
            Self::Other { value, .. } => value.len(),
            Self::ShutdownAck | Self::CookieAck | Self::ShutdownComplete { .. } => 0,
        }
    }

    /// Appends the chunk and its padding to a packet that begins at `start`.
    fn emit(&self, start: usize, out: &mut Vec<u8>) {
        let (kind, flags) = self.head();
        let at = begin(out, kind, flags);
        match self {
            Self::Data(data) => data.emit(out),
            Self::Init(init) | Self::InitAck(init) => init.emit(at, out),
            Self::Sack(sack) => sack.emit(out),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => {
                parameter(out, at, HEARTBEAT_INFO, info);
            }
            Self::Abort { causes, .. } | Self::Error { causes } => {
                causes.iter().for_each(|cause| parameter(out, at, *cause, &[]));
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
        finish(out, start, at);
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
    /// Bytes of fixed fields after the chunk's header.
    fn fixed_len(&self) -> usize {
        if self.fragment.is_some() { Data::FIXED_INTERLEAVED } else { Data::FIXED }
    }

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
    /// Bytes after the chunk's header; each parameter but the last is padded.
    fn len(&self) -> usize {
        let addresses = self.addresses.iter().map(|a| if a.is_ipv4() { 8 } else { 20 });
        let cookie = self.cookie.iter().map(|cookie| 4 + cookie.len());
        let extensions = self.extensions.iter().map(|extension| match extension {
            Extension::Chunks(value) | Extension::Other(_, value) => 4 + value.len(),
            Extension::ForwardTsn | Extension::Ecn => 4,
        });
        let all = addresses.chain(cookie).chain(extensions);
        all.fold(16, |len, parameter| usize::next_multiple_of(len, 4) + parameter)
    }

    /// Appends what follows the header of the chunk at `at`.
    fn emit(&self, at: usize, out: &mut Vec<u8>) {
        out.extend(self.initiate_tag.to_be_bytes());
        out.extend(self.window.to_be_bytes());
        out.extend(self.outbound_streams.to_be_bytes());
        out.extend(self.inbound_streams.to_be_bytes());
        out.extend(self.initial_tsn.to_be_bytes());
        for address in &self.addresses {
            match address {
                IpAddr::V4(address) => parameter(out, at, init::IPV4, &address.octets()),
                IpAddr::V6(address) => parameter(out, at, init::IPV6, &address.octets()),
            }
        }
        if let Some(cookie) = &self.cookie {
            parameter(out, at, init::COOKIE, cookie);
        }
        for extension in &self.extensions {
            match extension {
                Extension::Chunks(kinds) => parameter(out, at, init::EXTENSIONS, kinds),
                Extension::ForwardTsn => parameter(out, at, init::FORWARD_TSN, &[]),
                Extension::Ecn => parameter(out, at, init::ECN, &[]),
                Extension::Other(kind, value) => parameter(out, at, *kind, value),
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

/// Appends a parameter or error cause of the chunk at `at`, padding before it and not after: the padding of the last one belongs to its
/// chunk.
fn parameter(out: &mut Vec<u8>, at: usize, kind: u16, value: &[u8]) {
    out.resize(at + (out.len() - at).next_multiple_of(4), 0);
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

/// Writes the length of the chunk at `at` of a packet that begins at `start`, and pads it.
fn finish(out: &mut Vec<u8>, start: usize, at: usize) {
    let length = length(out.len() - at).to_be_bytes();
    out[at + 2..at + 4].copy_from_slice(&length);
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}

fn length(n: usize) -> u16 {
    u16::try_from(n).expect("a chunk's length field has 16 bits")
}

/// Type of the parameter of a HEARTBEAT.
pub(super) const HEARTBEAT_INFO: u16 = 1;
