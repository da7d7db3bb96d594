//! smoltcp, a TCP for embedded systems (<https://github.com/smoltcp-rs/smoltcp>), in virtual time.
//!
//! The crate runs as it is, without an operating system: packets in, packets out, the time an argument, random numbers
//! from a seed. Scenarios choose it as the code `smoltcp`: [`SmoltcpStack`] is its entry in the registry.
//!
//! How it behaves, as its documentation says and its packets show:
//!
//! - Three duplicate acknowledgments make it go back to the first byte that is not acknowledged, and so does an expired
//!   timer; its sender takes no notice of SACK blocks, and its receiver reports one block at a time.
//! - The retransmission timeout is at least 1 s, as RFC 6298 section 2.4 has it.
//! - It acknowledges once a poll, which here is once a packet, or `ack_delay` after it.
//! - Its clock counts microseconds: what is due is done at the next one.
//! - A FIN that arrives before data in front of it is forgotten, so that a loss before the end of a stream makes the FIN wait
//!   for the timer.
//! - Three duplicate acknowledgments while a FIN alone is outstanding stop the timer, and nothing is sent: the FIN is never
//!   sent again, and the connection hangs (`dispatch` and `seq_to_transmit` of 0.14; `tests.rs` shows it). Transfers without
//!   a close are spared.
//!
//! It does not tell its congestion window, nor why it sends: the column `cwnd` is 0, and reasons are those that packets
//! and timers show. Each connection has an interface of its own, so ends of a host share nothing.

mod config;
mod device;
mod end;
mod factory;
#[cfg(test)]
mod tests;

pub use config::{Congestion, SmoltcpConfig};
pub use factory::SmoltcpStack;
