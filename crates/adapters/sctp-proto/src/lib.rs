//! sctp-proto, an SCTP of WebRTC (<https://github.com/algesten/sctp-proto>), in virtual time.
//!
//! The crate, on which the data channels of str0m run, runs as it is: packets in, packets out, the time an argument. There
//! its packets travel in DTLS; here they are IP's, with the ports of the connection. Scenarios choose it as the code
//! `sctp-proto`: [`SctpProtoStack`] is its entry in the registry.
//!
//! What stands between the library and the path:
//!
//! - It draws its verification tag, first TSN and cookie from the system, and its API takes no other source. In packets the
//!   run's stand for them (`boundary.rs`), so a run repeats to the byte.
//! - It knows six payload protocol identifiers. In packets the lowest 32 bits of a message's place in what the application
//!   wrote stand for them, as in usrsctp's; by them the receiver knows where messages belong (`places.rs`).
//! - Its path MTU is the host's without the IP header. Left alone it counts on DTLS and takes 1,228 bytes.
//! - It forgets the last chunk's header when it fills a packet. A packet that is longer than the MTU for that leaves in two.
//! - It takes whatever is written, so the send buffer is the adapter's.
//! - Its shutdown does not wait for data, so the adapter calls it once everything is acknowledged.
//! - It gives whole messages. A read that leaves some takes the next message out of the library, so that the window opens
//!   by one message more than has been read.
//!
//! How it differs from RFC 9260, as its packets show (`tests/differences.rs`):
//!
//! - Slow start adds all that a SACK acknowledges, not one MTU at most (section 7.2.1).
//! - SACKs never share a packet with data (section 6.1), and no HEARTBEAT is ever sent (section 8.3).
//! - Its SHUTDOWN acknowledges its own last TSN instead of the peer's (section 3.3.8). Half of the time that lies beyond
//!   what the peer has sent: the model then takes no notice, and usrsctp aborts.
//! - A SHUTDOWN-COMPLETE with the T bit is dropped (section 8.5.1): where the first one was lost, it sends its SHUTDOWN-ACK
//!   for ever to a peer that has forgotten the association. `mend_closing` mends both.
//! - A SHUTDOWN that comes cuts off what it has not sent yet (section 9.2).
//! - A late copy of the INIT ends an association that is up (section 5.2.2 asks for an answer), and so does an ERROR
//!   (section 3.3.10); the peer is told nothing.
//! - Data are sent again for ever: the association has no limit (section 8.1).
//! - Lifetimes of messages (RFC 3758) are looked at when something else happens; no timer runs for them.
//!
//! Not told: the congestion window, the slow-start threshold, the peer's window, the RTT (what the library calls so is its
//! RTO without backoff, the column `rto_ns`), when its timer is due, how much waits for a read. The columns `cwnd` and
//! `snd_wnd` are 0, the others null. Expiries of T3 and fast retransmits it counts; those of other timers, and why a packet
//! leaves, packets and timers show.
//!
//! Not modelled: DTLS and what it adds to packets, SNAP (a handshake by other ways), stream reset (RFC 6525), an ABORT when
//! the application aborts (the library sends none), ECN and several paths (the library has neither).

mod boundary;
mod clock;
mod config;
mod end;
mod factory;
mod inbox;
mod places;
#[cfg(test)]
mod tests;

pub use config::SctpProtoConfig;
pub use factory::SctpProtoStack;
