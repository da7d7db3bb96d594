//! What an end's packets show of it: which carry data again, and why they are sent.
//!
//! The library does not say why it sends a packet. Its counters that rose during a call, and the TSNs, tell.

use rexmit_stack::{Counters, Reason};
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::{Body, Header};

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

/// What a packet that arrived holds, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    pub data: bool,
    pub abort: bool,
    /// A chunk of the shutdown, or an ABORT: the association's state may have changed.
    pub closing: bool,
}

/// What is known of the sending half from its packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub counters: Counters,
    /// The highest TSN sent.
    highest: Option<SeqNumber>,
    /// The highest cumulative TSN that the peer has told.
    acknowledged: Option<SeqNumber>,
    /// Where the recovery that is going on ends (RFC 9260 section 7.2.4).
    recovery_end: Option<SeqNumber>,
    /// Expiries in a row.
    data_backoff: u32,
    control_backoff: u32,
}

impl Traffic {
    /// Takes note of a packet that has arrived.
    pub fn arrived(&mut self, packet: &[u8]) -> Arrival {
        let mut arrival = Arrival::default();
        let Ok(header) = Header::new(packet, packet.len()) else { return arrival };
        self.control_backoff = 0;
        for chunk in header.chunks() {
            match chunk.body() {
                Body::Data(_) => arrival.data = true,
                Body::Sack(sack) => self.acknowledge(SeqNumber(sack.cumulative()), sack.gap_count() > 0),
                Body::Shutdown { cumulative } => {
                    self.acknowledge(SeqNumber(cumulative), false);
                    arrival.closing = true;
                }
                Body::ShutdownAck | Body::ShutdownComplete { .. } => arrival.closing = true,
                Body::Abort { .. } => (arrival.abort, arrival.closing) = (true, true),
                _ => {}
            }
        }
        arrival
    }

    fn acknowledge(&mut self, cumulative: SeqNumber, gaps: bool) {
        if self.acknowledged.is_some_and(|old| cumulative.diff(old) <= 0) {
            self.counters.dup_acks += u64::from(gaps);
            return;
        }
        self.acknowledged = Some(cumulative);
        self.data_backoff = 0;
        if self.recovery_end.is_some_and(|end| cumulative.diff(end) >= 0) {
            self.recovery_end = None;
        }
    }

    /// Takes note of what the library counted, before the packets of the same call.
    pub fn counted(&mut self, gained: Gained) {
        self.counters.timeouts += u64::from(gained.data_timeouts + gained.control_timeouts);
        self.data_backoff += gained.data_timeouts;
        self.control_backoff += gained.control_timeouts;
        if gained.data_timeouts > 0 {
            self.recovery_end = None;
        }
    }

    /// Takes note of a packet that leaves: why it does, and whether it closes the association.
    pub fn leaves(&mut self, packet: &[u8], gained: Gained) -> (Reason, bool) {
        self.counters.packets += 1;
        let (mut reason, mut closing, mut again, mut data) = (Reason::Ack, false, false, false);
        let Ok(header) = Header::new(packet, packet.len()) else { return (reason, false) };
        for chunk in header.chunks() {
            match chunk.body() {
                Body::Data(chunk) => {
                    let tsn = SeqNumber(chunk.tsn());
                    data = true;
                    if self.highest.is_none_or(|highest| tsn.diff(highest) > 0) {
                        self.highest = Some(tsn);
                    } else {
                        again = true;
                    }
                }
                Body::Sack(_) => {}
                Body::Abort { .. } => (reason, closing) = (Reason::Reset, true),
                Body::Shutdown { .. } | Body::ShutdownAck | Body::ShutdownComplete { .. } => {
                    (reason, closing) = (Reason::Control { backoff: self.control_backoff }, true);
                }
                _ => reason = Reason::Control { backoff: self.control_backoff },
            }
        }
        if again {
            reason = self.sent_again(gained);
        } else if data {
            self.counters.data_segments += 1;
            reason = Reason::New;
        } else {
            self.counters.pure_acks += 1;
        }
        (reason, closing)
    }

    /// Why data of before are in a packet.
    fn sent_again(&mut self, gained: Gained) -> Reason {
        self.counters.retransmits += 1;
        if gained.data_timeouts > 0 {
            return Reason::Timeout { backoff: self.data_backoff };
        }
        if gained.fast == 0 {
            return Reason::RetransmitQueue;
        }
        if self.recovery_end.is_none() {
            self.recovery_end = self.highest;
            self.counters.fast_retransmits += 1;
        }
        Reason::Fast { duplicates: REPORTS, sacked: 0 }
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
