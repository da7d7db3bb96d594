//! IPv4, IPv6, UDP and TCP in two views: a typed representation that holds only legal values, and bytes.
//!
//! Models pass [`Packet`]s; bytes exist only at captures and adapters. [`Packet::emit`] makes bytes of a
//! packet and [`Packet::parse`] a packet of bytes; [`Packet::parse_truncated`] does so for packets of which
//! a capture kept the head only. [`Ipv4Header`], [`Ipv6Header`], [`TcpHeader`] and [`UdpHeader`] read single
//! fields from bytes and copy nothing.
//!
//! Not modelled: IPv4 options and IPv6 extension headers are skipped when read and never written; fragments
//! are refused; the IPv6 flow label is zero.
//!
#![doc = include_str!("../example.md")]

mod checksum;
mod emit;
mod fragments;
mod header;
mod ip;
pub mod limits;
mod options;
mod packet;
mod parse;
mod quic;
pub mod sctp;
mod seq;
mod tcp;

pub use emit::IllegalPacket;
pub use fragments::Reassembler;
pub use header::{Ipv4Header, Ipv6Header, TcpHeader, UdpHeader};
pub use ip::{Fragment, IpPacket, TcpView, UdpView};
pub use options::TcpOptions;
pub use packet::{IpFields, Packet, Payload, Transport, UdpDatagram};
pub use parse::{Checksum, ParseError, Snapped};
pub use quic::{QuicContent, QuicKinds, quic_number};
pub use seq::SeqNumber;
pub use tcp::{Flags, SackBlocks, TcpSegment, Timestamps};

/// IP protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// IP protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// IP protocol number of SCTP.
pub const PROTOCOL_SCTP: u8 = 132;
