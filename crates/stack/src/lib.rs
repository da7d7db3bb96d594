//! What every protocol stack of rexmit shares: packets in, packets out, timers, the application's side.
//!
//! An [`Endpoint`] reads no clock and draws no random number; `now` is an argument. Families of methods, and
//! the order in which a host calls them:
//!
//! 1. *handle*: [`Endpoint::handle_packet`], [`Endpoint::handle_timer`], and the application's calls of
//!    [`Socket`];
//! 2. *poll*, after each of those, until each answers `None`: [`Endpoint::poll_transmit`], then
//!    [`Endpoint::poll_event`] (an event may make the application call [`Socket`] again: poll again);
//! 3. [`Endpoint::poll_timer`] last: when to call [`Endpoint::handle_timer`].
//!
//! Endpoints come from a [`StackFactory`], an entry of a [`Registry`] from which each host of a scenario chooses; one that
//! an engine can run is a [`StackEnd`]. What the models share besides is in [`rate`] (the rate of delivery, pacing) and
//! [`Clock`] (a kernel's tick); what adapters of foreign code share, [`TcpPackets`], [`SctpPackets`],
//! [`SctpReasons`] and [`quic`].

use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

mod clock;
mod end;
mod factory;
mod meant;
mod outbox;
pub mod quic;
mod ranges;
pub mod rate;
mod registry;
mod sctp_packets;
mod sctp_reasons;
mod settings;
mod snapshot;
mod socket_options;
mod tcp_packets;
mod transmission;

pub use clock::{Clock, TimerRule};
pub use end::StackEnd;
pub use factory::{
    About, Determinism, EndSettings, Habits, HostSettings, HostTable, RandomStream, Role, RunSettings,
    StackFactory, StackRun, phase, seeded,
};
pub use meant::meant;
pub use outbox::Outbox;
pub use rand_core::RngCore;
pub use registry::{MODEL, Registry};
pub use sctp_packets::{SctpArrival, SctpCarries, SctpDeparture, SctpPackets};
pub use sctp_reasons::{SctpGained, SctpReasons};
pub use settings::{
    SettingError, TABLE, changed_values, nearest, read, settings_at, unknown_name, with_table, write_error,
};
pub use snapshot::{Cached, Counters, HeldBack, Hold, Snapshot, ToldCounters};
pub use socket_options::{SocketSpec, SocketWish};
pub use tcp_packets::{TcpCarries, TcpPackets};
pub use transmission::{Reason, Transmission};

/// One end of one connection.
pub trait Endpoint {
    /// Takes a packet that has arrived. Its checksum is good: hosts drop damaged packets first.
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>);

    /// Acts on every timer that is due at `now`. Calling it early does nothing.
    fn handle_timer(&mut self, now: Instant);

    /// The next packet to send, in order, and why it is sent.
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission>;

    /// When the earliest timer is due; `None` if none runs.
    fn poll_timer(&self) -> Option<Instant>;

    /// The next thing that the application should know.
    fn poll_event(&mut self) -> Option<Event>;

    /// The state for a table: windows, timers, counters.
    fn snapshot(&self) -> Snapshot;
}

/// How a message is to be delivered, for a stack that keeps messages apart (SCTP), or has datagrams (QUIC). Others
/// ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Delivery {
    /// Number of the outgoing stream.
    pub stream: u16,
    /// It is delivered without order (RFC 9260 section 6.6).
    pub unordered: bool,
    /// It is given up once this old (PR-SCTP, RFC 3758 section 4.1: timed reliability).
    pub lifetime: Option<Duration>,
    /// It is given up rather than retransmitted more often than this (RFC 7496 section 3.1: limited retransmissions).
    pub max_retransmits: Option<u32>,
    /// For QUIC, it is one DATAGRAM frame (RFC 9221), which is taken whole or not at all and never sent again. Only at
    /// an end that was made for them ([`EndSettings::datagrams`]).
    pub datagram: bool,
}

/// The application's side of a connection: of a byte stream, or of messages.
///
/// A stack that keeps messages apart takes each write as one message, whole or not at all, and a read gives no more
/// than (the rest of) one message.
pub trait Socket {
    /// Starts to connect (active open).
    fn connect(&mut self, now: Instant);

    /// Writes up to `len` bytes of the application's stream; returns how many the send buffer took. Fewer
    /// than `len`: wait for [`Event::Writable`]. Zero after a close.
    fn write(&mut self, now: Instant, len: u64) -> u64;

    /// Writes a message of `len` bytes that is to be delivered like this; otherwise as [`Self::write`].
    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        let _ = how;
        self.write(now, len)
    }

    /// Where the bytes of the last read began in what the peer's application wrote, for a stack that may deliver out of
    /// order. `None`: they follow those of the read before.
    fn read_offset(&self) -> Option<u64> {
        None
    }

    /// Reads up to `max` bytes; returns how many were there.
    fn read(&mut self, now: Instant, max: u64) -> u64;

    /// Bytes in order that wait for a read.
    fn readable(&self) -> u64;

    /// No more data from this side; what was written is still sent (FIN).
    fn close(&mut self, now: Instant);

    /// Ends the connection at once (RST).
    fn abort(&mut self, now: Instant);
}

/// What an endpoint tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The send buffer has space again after a short write.
    Writable,
    /// Bytes in order wait for a read.
    Readable,
    /// The peer will send no more, and everything before has been made readable.
    EndOfStream,
    /// The connection is over in both directions (TIME-WAIT may still run).
    Closed,
    /// The peer reset the connection.
    Reset,
    /// The stack gave up after too many retransmissions.
    TimedOut,
}
