//! Why the packets of an SCTP end are sent, for code that does not report it: the counters that rose during a call, and
//! the TSNs, tell.

use rexmit_wire::SeqNumber;

use crate::{Counters, Reason, SctpArrival, SctpCarries, SctpPackets};

/// A chunk is sent again on this many reports that it is missing (RFC 9260 section 7.2.4).
const REPORTS: u16 = 3;

/// What the code's own counters gained during one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct SctpGained {
    /// Expiries of T3.
    pub data_timeouts: u32,
    /// Expiries of the timers of the handshake and of the shutdown.
    pub control_timeouts: u32,
    /// Chunks sent again by a fast retransmit.
    pub fast: u32,
}

/// What is known of the sending half from its packets.
#[derive(Clone, Debug, Default)]
pub struct SctpReasons {
    seen: SctpPackets,
    /// Where the recovery that is going on ends (RFC 9260 section 7.2.4).
    recovery_end: Option<SeqNumber>,
    /// T3 has expired, and what it did has not shown yet.
    expired: bool,
    /// Expiries in a row.
    data_backoff: u32,
    control_backoff: u32,
}

impl SctpReasons {
    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.seen.counters
    }

    /// True if the peer's DATA chunk with this TSN has arrived.
    pub fn has_received(&self, tsn: SeqNumber) -> bool {
        self.seen.has_received(tsn)
    }

    /// The packets, as they are counted.
    pub fn seen(&self) -> &SctpPackets {
        &self.seen
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

    /// Takes note of what the code counted, before the packets of the same call.
    ///
    /// An expiry of T3 counts if a packet follows. Where T3 is not restarted as the cumulative TSN advances, as in FreeBSD's
    /// code, it often finds nothing that is old enough to be sent again, and only restarts.
    pub fn counted(&mut self, gained: SctpGained) {
        self.expired = gained.data_timeouts > 0;
        self.seen.counters.timeouts += u64::from(gained.control_timeouts);
        self.control_backoff += gained.control_timeouts;
    }

    /// An expiry of T3 has made it send something.
    fn note_timeout(&mut self) {
        if std::mem::take(&mut self.expired) {
            self.seen.counters.timeouts += 1;
            self.data_backoff += 1;
            self.recovery_end = None;
        }
    }

    /// Takes note of a packet that leaves: why it does, and whether it closes the association.
    pub fn leaves(&mut self, packet: &[u8], gained: SctpGained) -> (Reason, bool) {
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

    /// Why a packet carries data sent before.
    fn sent_again(&mut self, gained: SctpGained) -> Reason {
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
