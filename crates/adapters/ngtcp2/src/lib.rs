//! ngtcp2, a QUIC in C (<https://github.com/ngtcp2/ngtcp2>), as Debian's libngtcp2 0.12.1 has it, in virtual time. Scenarios
//! choose it as the code `ngtcp2`: [`Ngtcp2Stack`] is its entry in the registry.
//!
//! **How it runs.** The library runs as it is, sans-IO: packets in, packets out, the time an argument, random numbers by a
//! callback, no global state. The build script makes a private copy of the archive, so that nothing of the system is
//! needed where rexmit runs.
//!
//! **Its TLS** is rustls, in place of the libraries of C that ngtcp2 comes with: the library asks for each packet to be sealed
//! and opened, and is given keys, by callbacks (`hooks.rs`, `handshake.rs`). So random numbers and keys are the run's, a run
//! repeats to the byte with every congestion control, and handshakes are those of quinn's adapter, with which it speaks.
//!
//! **How ends are made:**
//!
//! - Ends of a host share nothing but sessions to resume.
//! - Stream n of an application is the n-th unidirectional stream of its side. Streams with data take turns, and small data of
//!   several share a packet.
//! - Once both directions are over, the side that opened the connection closes it. A datagram that arrives later is answered
//!   with the same CONNECTION_CLOSE: the first, the second after it, the fourth after that, and so on.
//! - Datagrams leave in bursts of at most 64 KiB, BBR's of what it says, as the library's example programs send them; then its
//!   pace lets it wait.
//! - An assertion of the library's that fails ends the run, not the process; the connection's memory is lost.
//! - The library has no queue of datagrams (RFC 9221): those that it does not let out yet wait here, as many bytes as
//!   `send_window` has, and go before data of streams.
//!
//! Not used: Retry, version negotiation, migration.
//!
//! What it does not tell, its packets do: [`QuicPackets`](rexmit_stack::quic::QuicPackets) sees each before it is sealed and
//! after it is opened.
//!
//! Where libngtcp2 was not there at build time, the entry says so and cannot be started.

mod config;
mod factory;

#[cfg(ngtcp2)]
#[allow(unsafe_code, reason = "each call of the library has its own safe function")]
mod connection;
#[cfg(ngtcp2)]
mod datagrams;
#[cfg(ngtcp2)]
mod end;
#[cfg(ngtcp2)]
#[allow(unsafe_code, reason = "declarations of C functions")]
mod ffi;
#[cfg(ngtcp2)]
mod handshake;
#[cfg(ngtcp2)]
#[allow(unsafe_code, reason = "the library calls these")]
mod hooks;
#[cfg(ngtcp2)]
mod streams;

#[cfg(all(test, ngtcp2))]
mod tests;

pub use config::{Ngtcp2Config, Ngtcp2Congestion};
pub use factory::Ngtcp2Stack;
