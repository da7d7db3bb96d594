//! IPv4, IPv6, UDP and TCP in two views: a typed representation that holds only legal values, and bytes.
//!
//! Models pass [`Packet`]s; bytes exist only at captures and adapters.

mod packet;
mod seq;
mod tcp;

pub use packet::{IpFields, Packet, Payload, Transport, UdpDatagram};
pub use seq::SeqNumber;
pub use tcp::{Flags, SackBlocks, TcpSegment, Timestamps};
