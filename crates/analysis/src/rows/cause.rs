//! Why a segment was sent again.

use rexmit_units::Instant;

use crate::core::rows::{Confidence, Need};
use crate::core::side::SideName;

/// What made the sender send a segment again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A SYN, by its timer.
    Syn,
    /// A SYN-ACK, by its timer or because the SYN came again.
    SynAck,
    /// A FIN without data, by the retransmission timer or that of the tail loss probe.
    Fin,
    /// The retransmission that starts a recovery: duplicate ACKs (RFC 5681 section 3.2), SACK (RFC 6675), early
    /// retransmit (RFC 5827) or RACK (RFC 8985).
    Fast,
    /// In recovery without SACK, after a partial ACK (RFC 6582 section 3.2).
    PartialAck,
    /// In recovery with SACK: a further hole (RFC 6675 NextSeg, RACK).
    SackRecovery,
    /// Tail loss probe (RFC 8985 section 7).
    TailProbe,
    /// Expiry of the retransmission timer (RFC 6298 section 5.4).
    Timeout,
    /// After a timeout, more of what was outstanding then.
    GoBackN,
    /// A probe of a closed window (RFC 9293 section 3.8.6.1).
    WindowProbe,
    /// A probe of an idle connection (RFC 9293 section 3.8.4).
    KeepAlive,
    /// The packets do not tell.
    Unknown,
}

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
    /// Whether it was needed.
    pub need: Need,
    /// What proves that it was not.
    pub proof: Proof,
    /// What the cause rests on.
    pub evidence: Evidence,
}

impl Cause {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::Fin => "fin",
            Self::Fast => "fast",
            Self::PartialAck => "partial-ack",
            Self::SackRecovery => "sack-recovery",
            Self::TailProbe => "tail-probe",
            Self::Timeout => "timeout",
            Self::GoBackN => "go-back-n",
            Self::WindowProbe => "window-probe",
            Self::KeepAlive => "keep-alive",
            Self::Unknown => "unknown",
        }
    }
}
