//! INIT and INIT-ACK (RFC 9260 sections 3.3.2 and 3.3.3) with their parameters.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::chunk::RawChunk;
use crate::header::{array, be16, be32};

/// An INIT or INIT-ACK chunk whose fixed fields are there.
#[derive(Clone, Copy, Debug)]
pub struct Init<'a> {
    value: &'a [u8],
    cut: bool,
}

impl<'a> Init<'a> {
    /// Bytes of fixed fields after the chunk's header.
    pub(super) const FIXED: usize = 16;

    pub(super) fn new(chunk: &RawChunk<'a>) -> Self {
        Self { value: chunk.value(), cut: chunk.is_cut() }
    }

    /// The tag that packets to this side are to carry.
    pub fn initiate_tag(&self) -> u32 {
        be32(self.value, 0)
    }

    /// Advertised receiver window, bytes.
    pub fn window(&self) -> u32 {
        be32(self.value, 4)
    }

    /// Streams that it wants to send on.
    pub fn outbound_streams(&self) -> u16 {
        be16(self.value, 8)
    }

    /// Streams that it accepts at most.
    pub fn inbound_streams(&self) -> u16 {
        be16(self.value, 10)
    }

    /// Initial TSN.
    pub fn initial_tsn(&self) -> u32 {
        be32(self.value, 12)
    }

    /// Parameters, as many as are there.
    pub fn parameters(&self) -> Parameters<'a> {
        Parameters { rest: &self.value[Self::FIXED..] }
    }

    /// True where the capture cut through it, so that parameters may be missing.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The addresses that it lists.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<'a> {
        self.parameters().filter_map(|parameter| match parameter {
            Parameter::Ipv4(address) => Some(address.into()),
            Parameter::Ipv6(address) => Some(address.into()),
            _ => None,
        })
    }

    /// True if it lists `kind` among the chunks of extensions that it supports (RFC 5061 section 4.2.7).
    pub fn supports(&self, kind: u8) -> bool {
        self.parameters().any(|p| matches!(p, Parameter::Extensions(kinds) if kinds.contains(&kind)))
    }
}

/// A parameter of INIT or INIT-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// IPv4 address.
    Ipv4(Ipv4Addr),
    /// IPv6 address.
    Ipv6(Ipv6Addr),
    /// State cookie.
    Cookie(&'a [u8]),
    /// Supported extensions: chunk types.
    Extensions(&'a [u8]),
    /// Forward-TSN supported (RFC 3758).
    ForwardTsn,
    /// ECN capable.
    Ecn,
    /// Any other, by its type and value.
    Other(u16, &'a [u8]),
}

/// Walks over parameters; it stops at one that is cut or whose length is impossible.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        if self.rest.len() < 4 {
            return None;
        }
        let (kind, length) = (be16(self.rest, 0), usize::from(be16(self.rest, 2)));
        let value = self.rest.get(4..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some(match (kind, value.len()) {
            (IPV4, 4) => Parameter::Ipv4(array::<4>(value, 0).into()),
            (IPV6, 16) => Parameter::Ipv6(array::<16>(value, 0).into()),
            (COOKIE, _) => Parameter::Cookie(value),
            (EXTENSIONS, _) => Parameter::Extensions(value),
            (FORWARD_TSN, 0) => Parameter::ForwardTsn,
            (ECN, 0) => Parameter::Ecn,
            _ => Parameter::Other(kind, value),
        })
    }
}

pub(super) const IPV4: u16 = 5;
pub(super) const IPV6: u16 = 6;
pub(super) const COOKIE: u16 = 7;
pub(super) const ECN: u16 = 0x8000;
pub(super) const EXTENSIONS: u16 = 0x8008;
pub(super) const FORWARD_TSN: u16 = 0xc000;
