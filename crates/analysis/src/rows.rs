//! The rows of the tables that an analysis gives.
//!
//! Rows come as soon as nothing that follows can change them and leave with [`crate::Analyzer::take_rows`], so that
//! memory follows the connections that are open. Sequence numbers are relative to the initial one of their side: 0
//! is the SYN, 1 the first byte of data. A number of a packet is its [`crate::packet::Packet::number`].

mod cause;
mod connection;
mod held;

use rexmit_units::Instant;
use rexmit_wire::Flags;

use crate::limits::Counts;
use crate::sctp::rows::SctpRows;

pub use crate::core::causes::Cause;
pub use crate::core::certain::Certain;
pub use crate::core::held::{Held, HeldTimes};
pub(crate) use crate::core::rows::bytes;
pub use crate::core::rows::{Confidence, Kind, Need, Tables};
pub use crate::core::side::SideName;
pub use crate::core::spread::Spread;
pub use cause::{Evidence, Proof, RetransmissionRow};
pub use connection::{Capabilities, ConnectionRow, Handshake, SideRow, Vantage};
pub use held::HeldRow;

/// What came of an analysis so far, one vector per table.
#[derive(Debug, Default)]
pub struct Rows {
    /// TCP connections that have ended.
    pub connections: Vec<ConnectionRow>,
    /// TCP packets, in the order of the capture within each connection.
    pub segments: Vec<SegmentRow>,
    /// SACK blocks of those.
    pub sacks: Vec<SackRow>,
    /// TCP retransmissions.
    pub retransmissions: Vec<RetransmissionRow>,
    /// RTT samples of TCP and SCTP.
    pub rtt: Vec<RttRow>,
    /// Loss events of TCP.
    pub loss_events: Vec<LossEventRow>,
    /// What held sides of TCP back.
    pub held: Vec<HeldRow>,
    /// SCTP associations that have ended, and their chunks.
    pub sctp: SctpRows,
    /// What limits did to TCP; for SCTP it is in [`crate::sctp::SctpRows::limits`].
    pub limits: Counts,
    /// Bytes of the notes of [`Self::segments`].
    pub(crate) notes: u64,
}

impl Rows {
    /// About the bytes of those of TCP.
    pub(crate) fn bytes(&self) -> u64 {
        let Self { connections, segments, sacks, retransmissions, rtt, loss_events, held, .. } = self;
        let large = bytes(connections) + bytes(segments) + bytes(retransmissions);
        large + bytes(held) + bytes(sacks) + bytes(rtt) + bytes(loss_events) + self.notes
    }
}

/// A packet of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentRow {
    /// Number of the connection.
    pub connection: u32,
    /// Who sent it.
    pub side: SideName,
    /// Number of the packet in the capture.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// First sequence number.
    pub seq: i64,
    /// One past the last sequence number, SYN and FIN counted.
    pub end: i64,
    /// Bytes of data.
    pub len: u32,
    /// Control bits.
    pub flags: Flags,
    /// What its data are.
    pub kind: Kind,
    /// How often the most repeated byte of it has been sent, this time included: 1 the first time, also for a
    /// packet that takes no sequence space.
    pub transmission: u32,
    /// Bytes that its side has sent and that are not acknowledged, cumulatively or by SACK, after this packet.
    pub outstanding: u64,
    /// Acknowledgment number, relative to the other side's initial one; `None` without ACK.
    pub ack: Option<i64>,
    /// Bytes that it offers as the window, scaled; the shift is taken as 0 where the SYNs were not seen.
    pub window: u64,
    /// 0, or its number among the duplicate acknowledgments in a row (RFC 5681 section 2: data outstanding, no
    /// data, no SYN or FIN, same number, same window).
    pub duplicate: u32,
    /// The urgent pointer field where URG is not set: klaver-2005's kernel put its cwnd there.
    pub urgent: u16,
    /// True if its checksum says that it was damaged on the path.
    pub damaged: bool,
    /// The comment of the capture.
    pub note: Option<Box<str>>,
}

/// A SACK block (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackRow {
    /// Number of the connection.
    pub connection: u32,
    /// Who sent the block; its data are the other side's.
    pub side: SideName,
    /// Number of the packet in the capture.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// First sequence number.
    pub left: i64,
    /// One past the last.
    pub right: i64,
    /// True if it reports a duplicate (RFC 2883 section 4).
    pub duplicate: bool,
}

/// How an RTT sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// SYN to SYN-ACK, or SYN-ACK to ACK, none of them sent twice.
    Handshake,
    /// A segment sent once, and the first cumulative acknowledgment that covers it, where nothing else that this covers
    /// was missing or sent later: unambiguous in both senses of tcptrace.
    Ack,
    /// A segment sent once, and the first SACK block that covers it, where blocks arrive in the order of the data.
    Sack,
    /// The echo of a timestamp (RFC 7323 section 4): sound for retransmissions too. It times the first of the packets
    /// that an acknowledgment covers, so that what the receiver delayed it by is in the sample.
    Timestamp,
}

/// A sample of the round-trip time between the place of the capture and the receiver of the data, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttRow {
    /// Number of the connection or association.
    pub connection: u32,
    /// Who sent the data.
    pub side: SideName,
    /// Number of the packet that ends it.
    pub number: u64,
    /// When it ended.
    pub time: Instant,
    /// Its length, nanoseconds.
    pub rtt: u64,
    /// How it was taken.
    pub method: Method,
    /// One past the last sequence number of the timed segment.
    pub end: i64,
}

/// Losses that count once: those within a stated number of RTTs.
#[derive(Clone, Debug, PartialEq)]
pub struct LossEventRow {
    /// Number of the connection.
    pub connection: u32,
    /// Whose data were lost.
    pub side: SideName,
    /// Number of the first retransmission.
    pub number: u64,
    /// When the first lost segment was first sent; when its retransmission was seen, where that is not known.
    pub time: Instant,
    /// First lost sequence number.
    pub seq: i64,
    /// Segments lost.
    pub lost: u32,
    /// The RTT that was taken for it, nanoseconds.
    pub rtt: u64,
    /// Segments sent since the last loss event, this one's first included.
    pub interval: u64,
    /// True if a timeout was among the causes of its retransmissions.
    pub timeout: bool,
}
