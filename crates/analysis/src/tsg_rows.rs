//! The rows of a time-sequence graph.

use std::net::SocketAddr;

use rexmit_units::Instant;
use rexmit_wire::Flags;

/// One TCP connection as seen at one interface of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Number of the interface in the capture.
    pub interface: u32,
    /// Its name, where the capture gives one.
    pub interface_name: Option<String>,
    /// True if a SYN was seen. If not, the sender of the first packet seen stands for the client.
    pub opened: bool,
    /// Time of its first packet.
    pub start: Instant,
    /// Time of its last packet.
    pub end: Instant,
    /// Packets of both sides.
    pub packets: u64,
    /// The host that connected.
    pub client: Side,
    /// The host that accepted.
    pub server: Side,
}

/// One side of a connection: what it sent, and how that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its address and port.
    pub address: SocketAddr,
    /// The maximum segment size that it announced in its SYN, in bytes.
    pub mss: Option<u16>,
    /// The window scale that it announced in its SYN, a shift count (RFC 7323 section 2).
    pub window_shift: Option<u8>,
    /// True if its SYN permitted SACK.
    pub sack_permitted: bool,
    /// Bytes of data in its segments, retransmissions included.
    pub bytes: u64,
    /// Every packet that it sent, in the order seen.
    pub segments: Vec<Segment>,
    /// Every acknowledgment that the other side sent, in the order seen.
    pub acks: Vec<Ack>,
    /// The SACK blocks of those acknowledgments, in the order seen.
    pub sacks: Vec<SackBlock>,
}

/// A packet as the side that sent it means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When it was seen.
    pub time: Instant,
    /// First sequence number relative to the initial one: 0 is the SYN, 1 the first byte of data.
    pub seq: i64,
    /// One past the last sequence number, SYN and FIN counted.
    pub end: i64,
    /// Bytes of data.
    pub len: u32,
    /// Control bits.
    pub flags: Flags,
    /// How often the most repeated byte of it has been seen, this time included: 1 the first time.
    /// A packet that takes no sequence space has 1.
    pub transmission: u32,
    /// True if it brings something new below the highest sequence number seen: reordered on its way here,
    /// or sent again after a loss before this capture.
    pub late: bool,
    /// True if its transport checksum is wrong.
    pub damaged: bool,
    /// The comment of the capture, if it has one.
    pub note: Option<Box<str>>,
}

/// An acknowledgment as the side that receives it means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When it was seen.
    pub time: Instant,
    /// The acknowledgment number, relative as in [`Segment::seq`].
    pub ack: i64,
    /// One past the last sequence number that the advertised window allows.
    pub window_edge: i64,
    /// Bytes of data in the packet that carries it.
    pub len: u32,
    /// 0, or the number of this acknowledgment among the duplicates in a row. A duplicate is defined as in
    /// RFC 5681 section 2: data are outstanding, the packet has no data, no SYN and no FIN, and both its number
    /// and its window are those of the last one. Any other acknowledgment starts the count again, as in BSD,
    /// so that a window update between two duplicates does.
    pub duplicate: u32,
    /// The comment of the capture, if it has one.
    pub note: Option<Box<str>>,
}

/// A SACK block (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    /// When it was seen.
    pub time: Instant,
    /// First sequence number, relative as in [`Segment::seq`].
    pub left: i64,
    /// One past the last.
    pub right: i64,
    /// Row of the acknowledgment that carries it in [`Side::acks`].
    pub ack_row: u32,
    /// True if it reports a duplicate (RFC 2883 section 4).
    pub duplicate: bool,
}

impl Side {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            mss: None,
            window_shift: None,
            sack_permitted: false,
            bytes: 0,
            segments: Vec::new(),
            acks: Vec::new(),
            sacks: Vec::new(),
        }
    }
}
