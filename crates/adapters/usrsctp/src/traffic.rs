//! What an end's packets show of it: which carry data again, and why they are sent.
//!
//! The library does not say why it sends a packet. Its counters that rose during a call, and the TSNs, tell.

use rexmit_stack::{Counters, Reason, SctpArrival, SctpCarries, SctpPackets};
use rexmit_wire::SeqNumber;

use crate::ffi::{self, Statistics};

/// FreeBSD sends a chunk again on this many reports that it is missing (`SCTP_DATAGRAM_RESEND`).
const REPORTS: u16 = 3;

/// What the library's counters gained during one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gained {
    /// Expiries of T3.
    pub data_timeouts: u32,
    /// Expiries of the timers of the handshake and of the shutdown.
    pub control_timeouts: u32,
    /// Chunks sent again by a fast retransmit.
    pub fast: u32,
}

impl Gained {
    pub fn between(before: &Statistics, after: &Statistics) -> Self {
        let rise = |at: usize| after[at].wrapping_sub(before[at]);
        let control =
            [ffi::INIT_TIMEOUTS, ffi::COOKIE_TIMEOUTS, ffi::SHUTDOWN_TIMEOUTS, ffi::SHUTDOWN_ACK_TIMEOUTS];
        Self {
            data_timeouts: rise(ffi::DATA_TIMEOUTS),
            control_timeouts: control.iter().map(|at| rise(*at)).sum(),
            fast: rise(ffi::FAST_RETRANSMITTED),
        }
    }
}

/// What is known of the sending half from its packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    seen: SctpPackets,
    /// Where the recovery that is going on ends (RFC 9260 section 7.2.4).
    recovery_end: Option<SeqNumber>,
    /// T3 has expired, and what it did has not shown yet.
    expired: bool,
    /// Expiries in a row.
    data_backoff: u32,
    control_backoff: u32,
}

impl Traffic {
    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.seen.counters
    }

    /// True if the peer's DATA chunk with this TSN has arrived.
    pub fn has_received(&self, tsn: SeqNumber) -> bool {
        self.seen.has_received(tsn)
    }

    /// Takes note of a packet that has arrived.
    pub fn arrived(&mut self, packet: &[u8]) -> SctpArrival {
        self.control_backoff = 0;
        let arrival = self.seen.arrived(packet);
        if let Some(cumulative) = arrival.acknowledges {
            self.data_backoff = 0;
            if self.recovery_end.is_some_and(|end| cumulative.diff(end) >= 0) {
                self.recovery_end = None;
            }
        }
        arrival
    }

    /// Takes note of what the library counted, before the packets of the same call.
    ///
    /// FreeBSD does not restart T3 when the cumulative TSN advances, so T3 often expires while nothing is old enough to
    /// be sent again, and only starts anew. Such an expiry counts for nothing: a packet must follow.
    pub fn counted(&mut self, gained: Gained) {
        self.expired = gained.data_timeouts > 0;
        self.seen.counters.timeouts += u64::from(gained.control_timeouts);
        self.control_backoff += gained.control_timeouts;
    }

    /// An expiry of T3 has made the library send something.
    fn note_timeout(&mut self) {
        if std::mem::take(&mut self.expired) {
            self.seen.counters.timeouts += 1;
            self.data_backoff += 1;
            self.recovery_end = None;
        }
    }

    /// Takes note of a packet that leaves: why it does, and whether it closes the association.
    pub fn leaves(&mut self, packet: &[u8], gained: Gained) -> (Reason, bool) {
        let leaving = self.seen.leaves(packet);
        if leaving.forwards {
            self.note_timeout();
        }
        let reason = match leaving.carries {
            SctpCarries::Again => self.sent_again(gained),
            SctpCarries::New => Reason::New,
            SctpCarries::Abort => Reason::Reset,
            SctpCarries::Forward => Reason::Control { backoff: 0 },
            SctpCarries::Control => Reason::Control { backoff: self.control_backoff },
            SctpCarries::Ack => Reason::Ack,
        };
        (reason, leaving.closing)
    }

    /// Why data of before are in a packet.
    fn sent_again(&mut self, gained: Gained) -> Reason {
        self.note_timeout();
        if gained.data_timeouts > 0 {
            return Reason::Timeout { backoff: self.data_backoff };
        }
        if gained.fast == 0 {
            return Reason::RetransmitQueue;
        }
        if self.recovery_end.is_none() {
            self.recovery_end = self.seen.highest();
            self.seen.counters.fast_retransmits += 1;
        }
        Reason::Fast { duplicates: REPORTS, sacked: 0 }
    }

    /// Bytes of data sent and not cumulatively acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.seen.in_flight()
    }

    /// Bytes of data cumulatively acknowledged.
    pub fn delivered(&self) -> u64 {
        self.seen.delivered()
    }

    /// What the sender is doing.
    pub fn phase(&self) -> &'static str {
        match (self.data_backoff, self.recovery_end) {
            (0, None) => "open",
            (0, Some(_)) => "recovery",
            _ => "loss",
        }
    }
}
