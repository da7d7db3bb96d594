//! What an end's packets show of it: which carry data again, and why they are sent.
//!
//! The library does not say why it sends a packet. Its counters that rose during a call, and the TSNs, tell.

use std::collections::{BTreeSet, VecDeque};

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
    /// It may have made something readable.
    pub data: bool,
    pub abort: bool,
    /// A chunk of the shutdown, or an ABORT: the association's state may have changed.
    pub closing: bool,
}

/// The peer's TSNs that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    /// The lowest that has not; none before the peer has told its first.
    next: Option<SeqNumber>,
    /// Those above.
    above: BTreeSet<u32>,
}

impl Received {
    fn begin(&mut self, first: SeqNumber) {
        self.next.get_or_insert(first);
    }

    fn take(&mut self, tsn: SeqNumber) {
        match self.next {
            Some(next) if tsn.diff(next) > 0 => {
                self.above.insert(tsn.0);
            }
            Some(next) if tsn == next => self.pass(tsn),
            _ => {}
        }
    }

    /// Nothing up to `tsn` is waited for any more: it has come, or the peer has given it up.
    fn pass(&mut self, tsn: SeqNumber) {
        let Some(next) = self.next.as_mut().filter(|next| tsn.diff(**next) >= 0) else { return };
        *next = tsn + 1;
        self.above.retain(|above| SeqNumber(*above).diff(tsn) > 0);
        while self.above.remove(&next.0) {
            *next += 1;
        }
    }

    /// True if it has arrived.
    pub fn has(&self, tsn: SeqNumber) -> bool {
        self.next.is_some_and(|next| tsn.diff(next) < 0 || self.above.contains(&tsn.0))
    }
}

/// What is known of the sending half from its packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub counters: Counters,
    pub received: Received,
    /// The highest TSN sent.
    highest: Option<SeqNumber>,
    /// Chunks that are not cumulatively acknowledged, each with its bytes of data.
    outstanding: VecDeque<(SeqNumber, u32)>,
    /// Bytes of data in them, and in all before them.
    in_flight: u64,
    delivered: u64,
    /// The highest cumulative TSN that the peer has told.
    acknowledged: Option<SeqNumber>,
    /// Where the recovery that is going on ends (RFC 9260 section 7.2.4).
    recovery_end: Option<SeqNumber>,
    /// T3 has expired, and what it did has not shown yet.
    expired: bool,
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
                Body::Data(data) => {
                    self.received.take(SeqNumber(data.tsn()));
                    arrival.data = true;
                }
                Body::ForwardTsn(forward) => {
                    self.received.pass(SeqNumber(forward.cumulative()));
                    arrival.data = true;
                }
                Body::Init(init) | Body::InitAck(init) => {
                    self.received.begin(SeqNumber(init.initial_tsn()));
                }
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
        while self.outstanding.front().is_some_and(|(tsn, _)| tsn.diff(cumulative) <= 0) {
            let bytes = self.outstanding.pop_front().map_or(0, |(_, bytes)| u64::from(bytes));
            self.in_flight -= bytes;
            self.delivered += bytes;
        }
        self.data_backoff = 0;
        if self.recovery_end.is_some_and(|end| cumulative.diff(end) >= 0) {
            self.recovery_end = None;
        }
    }

    /// Takes note of what the library counted, before the packets of the same call.
    ///
    /// FreeBSD does not restart T3 when the cumulative TSN advances, so T3 often expires while nothing is old enough to
    /// be sent again, and only starts anew. Such an expiry counts for nothing: a packet must follow.
    pub fn counted(&mut self, gained: Gained) {
        self.expired = gained.data_timeouts > 0;
        self.counters.timeouts += u64::from(gained.control_timeouts);
        self.control_backoff += gained.control_timeouts;
    }

    /// An expiry of T3 has made the library send something.
    fn note_timeout(&mut self) {
        if std::mem::take(&mut self.expired) {
            self.counters.timeouts += 1;
            self.data_backoff += 1;
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
                        self.outstanding.push_back((tsn, chunk.user_len()));
                        self.in_flight += u64::from(chunk.user_len());
                        self.counters.data_segments += 1;
                    } else {
                        again = true;
                        self.counters.retransmits += 1;
                    }
                }
                Body::Sack(_) => {}
                Body::Abort { .. } => (reason, closing) = (Reason::Reset, true),
                Body::Shutdown { .. } | Body::ShutdownAck | Body::ShutdownComplete { .. } => {
                    (reason, closing) = (Reason::Control { backoff: self.control_backoff }, true);
                }
                Body::ForwardTsn(_) => {
                    self.note_timeout();
                    reason = Reason::Control { backoff: 0 };
                }
                _ => reason = Reason::Control { backoff: self.control_backoff },
            }
        }
        if again {
            reason = self.sent_again(gained);
        } else if data {
            reason = Reason::New;
        } else {
            self.counters.pure_acks += 1;
        }
        (reason, closing)
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
            self.recovery_end = self.highest;
            self.counters.fast_retransmits += 1;
        }
        Reason::Fast { duplicates: REPORTS, sacked: 0 }
    }

    /// Bytes of data sent and not cumulatively acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes of data cumulatively acknowledged.
    pub fn delivered(&self) -> u64 {
        self.delivered
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
