//! Why a segment was sent again.

use rexmit_units::Instant;

use crate::core::causes::Cause;
use crate::core::certain::Certain;
use crate::core::rows::{Confidence, Need};
use crate::core::side::SideName;

/// What proves that it was not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// Nothing does.
    None,
    /// A duplicate SACK block reports it (RFC 2883, RFC 3708).
    Dsack,
    /// The acknowledgment echoes a timestamp older than the retransmission (RFC 3522).
    Timestamps,
    /// The acknowledgment came sooner than the retransmission could have caused it.
    EarlyAck,
    /// An acknowledgment of it had been seen before it was sent.
    AckBefore,
    /// A second capture, nearer to the receiver, shows that an earlier transmission arrived.
    Arrived,
}

/// What a judgement rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Duplicate ACKs in a row that the sender had seen.
    pub duplicates: u32,
    /// Segments above it that the sender had seen reported by SACK.
    pub sacked: u32,
    /// Bytes outstanding when it was sent, this segment counted once.
    pub outstanding: u64,
    /// Nanoseconds since the sender last saw an acknowledgment (of any kind); `None` if it saw none.
    pub since_ack: Option<u64>,
    /// Nanoseconds since the sender last sent anything with data; `None` if it had not.
    pub since_sent: Option<u64>,
    /// The retransmission timeout as the packets let one estimate it at that time, nanoseconds; `None` without an
    /// RTT sample.
    pub rto: Option<u64>,
    /// Expiries in a row, this one included: 1 for the first timeout of a segment, 2 after one doubling. Zero where
    /// no timer did it.
    pub backoff: u32,
    /// Highest sequence number sent when this recovery began; recovery ends when it is acknowledged.
    pub recover: Option<i64>,
}

/// A retransmission of TCP, and what was judged of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RetransmissionRow {
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
    /// 2 for the first retransmission of its most repeated byte, as in [`super::SegmentRow::transmission`]. Where the
    /// first transmission was not seen, it is counted all the same.
    pub transmission: u32,
    /// Number of the packet that first carried its first byte; `None` if it was not seen here.
    pub first_number: Option<u64>,
    /// Nanoseconds since that: the cumulative delay of pedersen-2006.
    pub delay_first: Option<u64>,
    /// Nanoseconds since the transmission before: the consecutive delay, as tcptrace gives it.
    pub delay_previous: Option<u64>,
    /// What made the sender send it.
    pub cause: Cause,
    /// How sure that is.
    pub confidence: Confidence,
    /// Where it is certain: what excludes other causes.
    pub certain: Option<Certain>,
    /// Whether it was needed.
    pub need: Need,
    /// What proves that it was not.
    pub proof: Proof,
    /// What the cause rests on.
    pub evidence: Evidence,
}
