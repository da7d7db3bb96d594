//! What every protocol stack of rexmit shares: packets in, packets out, timers, the application's side.
//!
//! An [`Endpoint`] reads no clock and draws no random number; `now` is an argument. Families of methods, and
//! the order in which a host calls them:
//!
//! 1. *handle*: [`Endpoint::handle_packet`], [`Endpoint::handle_timer`], and the application's calls of
//!    [`Socket`];
//! 2. *poll*, after each of those, until each answers `None`: [`Endpoint::poll_transmit`], then
//!    [`Endpoint::poll_event`] (an event may make the application call [`Socket`] again: poll again);
//! 3. [`Endpoint::poll_timer`] at last: when to call [`Endpoint::handle_timer`].

use rexmit_units::Instant;
use rexmit_wire::Packet;

mod snapshot;
mod transmission;

pub use snapshot::{Counters, Snapshot};
pub use transmission::{Reason, Transmission};

/// One end of one connection.
pub trait Endpoint {
    /// Takes a packet that has arrived. Its checksum is good: hosts drop damaged packets before.
    fn handle_packet(&mut self, now: Instant, packet: Packet);

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

/// The application's side of a stream connection.
pub trait Socket {
    /// Starts to connect (active open).
    fn connect(&mut self, now: Instant);

    /// Writes up to `len` bytes of the application's stream; returns how many the send buffer took. Fewer
    /// than `len`: wait for [`Event::Writable`]. Zero after a close.
    fn write(&mut self, now: Instant, len: u64) -> u64;

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
