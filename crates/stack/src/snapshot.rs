//! The state of an endpoint as a row of a table.

use rexmit_units::{Duration, Instant};

/// State at an instant. Windows are in bytes. `None` is what a kernel or a library does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Name of the connection's state (RFC 9293 section 3.3.2), e.g. `ESTABLISHED`.
    pub state: &'static str,
    /// What the sender is doing: `open`, `disorder`, `recovery`, `loss`.
    pub phase: &'static str,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `None` while it is unlimited, too.
    pub ssthresh: Option<u64>,
    /// Bytes sent and not cumulatively acknowledged.
    pub in_flight: Option<u64>,
    /// Peer's window.
    pub snd_wnd: u64,
    /// Bytes in the send buffer, sent or not.
    pub send_queue: u64,
    /// Bytes in order that the application has not read.
    pub recv_queue: Option<u64>,
    /// Smoothed RTT, once there is a sample.
    pub srtt: Option<Duration>,
    /// RTT variation.
    pub rttvar: Option<Duration>,
    /// Retransmission timeout as it would be set now, backoff included.
    pub rto: Option<Duration>,
    /// When the retransmission timer is due.
    pub rexmt_due: Option<Instant>,
    /// Counters since the start.
    pub counters: ToldCounters,
    /// What the connection took from its host's cache as it began.
    pub cached: Cached,
    /// What keeps it from sending more.
    pub held: HeldBack,
}

/// What keeps a sender from sending more: now, as a model knows it, or since the start, as Linux counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// What holds it now; `None` where it is not told, or before the handshake is complete.
    pub by: Option<Hold>,
    /// Time in which data were outstanding or waited (Linux's `tcpi_busy_time`).
    pub busy: Option<Duration>,
    /// The part of that time in which the peer's window held it back (`tcpi_rwnd_limited`).
    pub receive_window: Option<Duration>,
    /// The part of that time in which its send buffer did (`tcpi_sndbuf_limited`).
    pub send_buffer: Option<Duration>,
}

/// What keeps a sender from sending its next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hold {
    /// All that was written has been sent.
    Application,
    /// The same, and a writer waits for room in the send buffer.
    SendBuffer,
    /// Less than a segment waits for an acknowledgment (Nagle's algorithm), or for the rest of a write.
    Nagle,
    /// The peer's window.
    ReceiveWindow,
    /// The congestion window.
    CongestionWindow,
    /// The congestion window, while losses are repaired.
    Recovery,
    /// The time at which a paced segment may leave.
    Pacing,
}

impl Hold {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::SendBuffer => "send-buffer",
            Self::Nagle => "nagle",
            Self::ReceiveWindow => "receive-window",
            Self::CongestionWindow => "congestion-window",
            Self::Recovery => "recovery",
            Self::Pacing => "pacing",
        }
    }
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

/// What happened at an endpoint since the start. `N` is [`u64`] where a stack counts, and an [`Option`] where whoever
/// reports on a stack may not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters<N = u64> {
    /// Segments sent with data, first transmissions; for SCTP, DATA chunks.
    pub data_segments: u64,
    /// Segments sent again with data, for whatever reason; for SCTP, DATA chunks.
    pub retransmits: u64,
    /// Expiries of the retransmission timer, SYN timers included.
    pub timeouts: N,
    /// Entries into fast recovery; for SCTP, fast retransmits.
    pub fast_retransmits: N,
    /// Data-less segments sent (SYN, FIN alone and ACKs).
    pub pure_acks: u64,
    /// Duplicate ACKs taken as such.
    pub dup_acks: u64,
    /// Packets sent in all.
    pub packets: u64,
}

impl Counters {
    /// Those of an endpoint that has done nothing.
    pub const NONE: Self = Self {
        data_segments: 0,
        retransmits: 0,
        timeouts: 0,
        fast_retransmits: 0,
        pure_acks: 0,
        dup_acks: 0,
        packets: 0,
    };
}

/// Counters of an endpoint as they are told; `None` is what is not known.
pub type ToldCounters = Counters<Option<u64>>;

impl From<Counters> for ToldCounters {
    fn from(own: Counters) -> Self {
        let Counters { data_segments, retransmits, timeouts, fast_retransmits, pure_acks, dup_acks, packets } =
            own;
        let (timeouts, fast_retransmits) = (Some(timeouts), Some(fast_retransmits));
        Self { data_segments, retransmits, timeouts, fast_retransmits, pure_acks, dup_acks, packets }
    }
}
