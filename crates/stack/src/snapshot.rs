//! The state of an endpoint as a row of a table.

use rexmit_units::{Duration, Instant};

/// State at an instant. Windows are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Name of the connection's state (RFC 9293 section 3.3.2), e.g. `ESTABLISHED`.
    pub state: &'static str,
    /// What the sender is doing: `open`, `disorder`, `recovery`, `loss`.
    pub phase: &'static str,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` while unlimited.
    pub ssthresh: u64,
    /// Bytes sent and not cumulatively acknowledged.
    pub in_flight: u64,
    /// Peer's window.
    pub snd_wnd: u64,
    /// Bytes in the send buffer, sent or not.
    pub send_queue: u64,
    /// Bytes in order that the application has not read.
    pub recv_queue: u64,
    /// Smoothed RTT, once there is a sample.
    pub srtt: Option<Duration>,
    /// RTT variation.
    pub rttvar: Option<Duration>,
    /// Retransmission timeout as it would be set now, backoff included.
    pub rto: Duration,
    /// When the retransmission timer is due.
    pub rexmt_due: Option<Instant>,
    /// Counters since the start.
    pub counters: Counters,
    /// What the connection took from its host's cache as it began.
    pub cached: Cached,
}

/// What a connection took from its host's cache of earlier ones as it began; `None` for what it did not find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Slow-start threshold in bytes, as it was cached.
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Congestion window in bytes.
    pub cwnd: Option<u64>,
}

/// What happened at an endpoint since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent with data, first transmissions; of SCTP, DATA chunks.
    pub data_segments: u64,
    /// Segments sent again with data, for whatever reason; of SCTP, DATA chunks.
    pub retransmits: u64,
    /// Expiries of the retransmission timer, SYN timers included.
    pub timeouts: u64,
    /// Entries into fast recovery; of SCTP, fast retransmits.
    pub fast_retransmits: u64,
    /// Data-less segments sent (SYN, FIN alone and ACKs).
    pub pure_acks: u64,
    /// Duplicate ACKs taken as such.
    pub dup_acks: u64,
    /// Packets sent in all.
    pub packets: u64,
}
