//! quinn, a QUIC in Rust (<https://github.com/quinn-rs/quinn>), in virtual time.
//!
//! Its protocol crate, quinn-proto, runs as it is: packets in, packets out, the time an argument. Scenarios choose it as
//! the code `quinn`: [`QuinnStack`] is its entry in the registry.
//!
//! Random numbers come from the run's streams: connection IDs, the secrets of TLS, the keys of its exchanges. So a run
//! repeats to the byte. The exception is quinn's BBR, which draws the phase of its cycle from the system: runs with it differ.
//!
//! How ends are made:
//!
//! - Each connection has an endpoint of its own, so ends of a host share nothing but sessions to resume.
//! - Stream n of an application is the n-th unidirectional stream of its side.
//! - The server shows one certificate of 316 bytes with an Ed25519 key, which the client knows; handshakes of the web carry
//!   some kilobytes.
//! - Once both directions are over, the side that opened the connection closes it.
//! - Datagrams leave one at a time, since no network card cuts them.
//!
//! What quinn does not tell, its packets do: [`QuicPackets`](rexmit_stack::quic::QuicPackets) sees each before it is
//! sealed and after it is opened.

mod config;
mod end;
mod factory;
#[cfg(test)]
mod tests;
mod watched;

pub use config::{Congestion, QuinnConfig};
pub use factory::QuinnStack;
