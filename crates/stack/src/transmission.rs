//! A packet that leaves, and why.

use rexmit_wire::Packet;

/// A packet, with the reason for which the stack sends it. The reason is for whoever studies the stack: no
/// packet carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The packet: in memory of its own, so that on its way through queues it is not copied.
    pub packet: Box<Packet>,
    /// Why it is sent.
    pub reason: Reason,
}

/// The decision that made a stack send a packet.
///
/// What it carries, its flags and length say: a FIN that the timer sends again has [`Reason::Timeout`], and an ACK
/// that shows a FIN again, as BSD's do, has [`Reason::Ack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Data or a FIN for the first time, as the windows allow. It may repeat a byte that a window probe carried.
    New,
    /// New data that a duplicate let out before recovery (RFC 3042; RFC 6675 section 5 step 3).
    LimitedTransmit,
    /// A SYN: the first one, or by its timer.
    Syn {
        /// Expiries so far: 0 for the first SYN.
        backoff: u32,
    },
    /// A SYN-ACK: the first one, or by its timer.
    SynAck {
        /// Expiries so far: 0 for the first SYN-ACK.
        backoff: u32,
    },
    /// A SYN-ACK in answer to a SYN that came again.
    SynAckAnswer,
    /// The segment that an expiry of the retransmission timer sends (RFC 6298 section 5.4).
    Timeout {
        /// Expiries in a row, this one included.
        backoff: u32,
    },
    /// More of what was outstanding when the timer expired, on the ACKs that follow.
    GoBackN,
    /// The segment whose retransmission begins a recovery (RFC 5681 section 3.2; RFC 6675 section 5 step 4.3). SCTP:
    /// the packet that a fast retransmit sends (RFC 9260 section 7.2.4).
    Fast {
        /// Duplicate acknowledgments in a row. SCTP: missing reports of its first chunk.
        duplicates: u16,
        /// Whole segments reported above it by SACK.
        sacked: u16,
    },
    /// The segment that a timer for reordering sends: what was overtaken has had its time (RFC 8985 section 6.2 step 5).
    ReorderingTimer {
        /// Acknowledgments in a row with reports or without news.
        duplicates: u16,
        /// Whole segments reported by SACK.
        sacked: u16,
        /// It begins a recovery; otherwise one goes on.
        begins: bool,
    },
    /// Without SACK, the next hole on a partial acknowledgment (RFC 6582 section 3.2 step 3).
    PartialAck,
    /// With SACK, a further hole in recovery (RFC 6675 section 4, NextSeg rules 1 and 3).
    SackRecovery,
    /// With SACK, the last segment outstanding, once a recovery (NextSeg rule 4). It is a hole that only its place
    /// at the end keeps from being reported, so in packets it looks like [`Reason::SackRecovery`].
    Rescue,
    /// In recovery, what has been out for longer than the timeout, though ACKs restarted the timer (LX-ST-9). In packets
    /// it looks like [`Reason::GoBackN`] or like any other hole.
    Age,
    /// A probe for a lost tail (RFC 8985 section 7.3): the last segment outstanding, or new data.
    TailProbe,
    /// A byte beyond a closed window (RFC 9293 section 3.8.6.1).
    WindowProbe,
    /// SCTP: chunks that wait for retransmission since a timer expired or a fast retransmit took one packet of them
    /// (RFC 9260 sections 6.3.3 E3 and 7.2.4 item 3), as the window opens.
    RetransmitQueue,
    /// SCTP: a control chunk (INIT, COOKIE-ECHO, HEARTBEAT, SHUTDOWN, FORWARD-TSN, ERROR and the answers to them), for
    /// the first time, in answer, or by its timer.
    Control {
        /// Expiries so far: 0 for the first.
        backoff: u32,
    },
    /// An acknowledgment or window update without data of its own.
    Ack,
    /// A reset.
    Reset,
}

impl Reason {
    /// Expiries of a timer in a row that led to it; 0 where none did.
    pub fn backoff(self) -> u32 {
        match self {
            Self::Syn { backoff }
            | Self::SynAck { backoff }
            | Self::Timeout { backoff }
            | Self::Control { backoff } => backoff,
            _ => 0,
        }
    }

    /// Duplicate acknowledgments in a row that led to it; 0 where none did.
    pub fn duplicates(self) -> u32 {
        match self {
            Self::Fast { duplicates, .. } | Self::ReorderingTimer { duplicates, .. } => duplicates.into(),
            _ => 0,
        }
    }

    /// It is decided as a recovery begins, and applies to the first segment that leaves then.
    pub fn begins_recovery(self) -> bool {
        matches!(self, Self::Fast { .. } | Self::ReorderingTimer { begins: true, .. })
    }

    /// The same, decided by a timer for reordering in place of an acknowledgment; another decision stays as it is.
    #[must_use]
    pub fn by_reordering_timer(self) -> Self {
        match self {
            Self::Fast { duplicates, sacked } => Self::ReorderingTimer { duplicates, sacked, begins: true },
            other => other,
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::LimitedTransmit => "limited-transmit",
            Self::Syn { .. } => "syn",
            Self::SynAck { .. } => "syn-ack",
            Self::SynAckAnswer => "syn-ack-answer",
            Self::Timeout { .. } => "timeout",
            Self::GoBackN => "go-back-n",
            Self::Fast { .. } => "fast",
            Self::ReorderingTimer { .. } => "reordering-timer",
            Self::PartialAck => "partial-ack",
            Self::SackRecovery => "sack-recovery",
            Self::Rescue => "rescue",
            Self::Age => "age",
            Self::TailProbe => "tail-probe",
            Self::WindowProbe => "window-probe",
            Self::RetransmitQueue => "retransmit-queue",
            Self::Control { .. } => "control",
            Self::Ack => "ack",
            Self::Reset => "reset",
        }
    }
}
