//! The association's state (RFC 9260 section 4).

/// State of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is over, or (active side) has not begun.
    Closed,
    /// A passive side waits. Nothing is kept of INITs that come (RFC 9260 section 5.1).
    Listen,
    /// An INIT has left.
    CookieWait,
    /// A COOKIE-ECHO has left.
    CookieEchoed,
    /// Data flow.
    Established,
    /// The application has closed; what is outstanding is still delivered.
    ShutdownPending,
    /// A SHUTDOWN has come; what is outstanding is still delivered.
    ShutdownReceived,
    /// A SHUTDOWN has left.
    ShutdownSent,
    /// A SHUTDOWN-ACK has left.
    ShutdownAckSent,
}

impl State {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::CookieWait => "COOKIE-WAIT",
            Self::CookieEchoed => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
        }
    }

    /// Both sides know each other.
    #[inline]
    pub fn is_up(self) -> bool {
        self >= Self::Established
    }

    /// Data may leave, for the first time or again.
    #[inline]
    pub(crate) fn sends_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Data may arrive.
    #[inline]
    pub(crate) fn takes_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }
}
