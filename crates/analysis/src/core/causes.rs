//! The causes of retransmissions.

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
    /// A timer for reordering (RFC 8985 section 6.2 step 5): what was sent after it had arrived, and the time in which it
    /// might have followed was over. It starts a recovery, or goes on with one.
    ReorderingTimer,
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

impl Cause {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::Fin => "fin",
            Self::Fast => "fast",
            Self::ReorderingTimer => "reordering-timer",
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

/// What made the sender send a DATA chunk again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SctpCause {
    /// Enough missing reports since it was last sent (RFC 9260 section 7.2.4).
    Fast,
    /// The same, of a chunk that had been sent again by missing reports before: what RFC 9260 forbids and lksctp
    /// 2.6.15 did (pedersen-2006 figure 3.9).
    FastAgain,
    /// T3 expired (RFC 9260 section 6.3.3): the first chunk of the packet that this sent.
    Timeout,
    /// Marked by an earlier expiry of T3, and sent when the window allowed.
    AfterTimeout,
    /// In the packet that a timeout sent, or a fast retransmit of another chunk, and some SACK had reported it missing
    /// since it was last sent.
    BundledMissing,
    /// In the packet that a timeout or a fast retransmit sent, and no SACK had reported it missing: in flight, for all
    /// that the sender knew.
    BundledInFlight,
    /// In front of new data that was due anyway (pedersen-2006 section 4.4).
    WithNew,
    /// In a packet with a COOKIE-ECHO that was sent again (T1).
    WithCookie,
    /// A probe of a closed window (RFC 9260 section 6.1 A).
    WindowProbe,
    /// The packets do not tell.
    Unknown,
}

impl SctpCause {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::FastAgain => "fast-again",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after-timeout",
            Self::BundledMissing => "bundled-reported-missing",
            Self::BundledInFlight => "bundled-in-flight",
            Self::WithNew => "with-new-data",
            Self::WithCookie => "with-cookie",
            Self::WindowProbe => "window-probe",
            Self::Unknown => "unknown",
        }
    }
}
