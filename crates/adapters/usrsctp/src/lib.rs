//! FreeBSD's SCTP, as the library usrsctp has it (Debian's libusrsctp-dev 0.9.5.0), in virtual time.
//!
//! The library runs as it is: the archive is copied at build time with what it asks of the C library (the time, random
//! numbers, memory, interfaces) and its list of timers led to this crate. So a run is a function of its configuration:
//! the same packets in every process.
//!
//! [`Usrsctp::start`] starts the library for a run, [`Usrsctp::association`] makes the ends, of which each is an
//! [`Endpoint`](rexmit_stack::Endpoint) and a [`Socket`](rexmit_stack::Socket). The library's state is global: one run
//! at a time in a process, and another thread's `start` waits for its end. A run that is over is forgotten whole:
//! the library's variables and memory are as before its first start.
//!
//! Scenarios choose it as the stack `usrsctp`: [`UsrsctpStack`] is its entry in the registry.
//!
//! Where libusrsctp was not there at build time, [`AVAILABLE`] is false and `start` says what to do.
//!
//! How it differs from FreeBSD's kernel:
//!
//! - The path's MTU has no IP header in it (the library's addresses are pointers, `AF_CONN`), so congestion windows in
//!   bytes are 20 (IPv6: 40) bytes a packet smaller.
//! - Timers have a resolution of a millisecond, with a phase that the run gives.
//! - Checksums are made here and not verified: hosts drop damaged packets before.
//! - The payload protocol identifier holds the lowest 32 bits of the place of a message in what the application wrote;
//!   by it the receiver knows where unordered messages belong.
//!
//! Not used: several paths, stream reset, interleaving (RFC 8260, not in this version), authentication.

mod config;
mod error;
mod factory;

#[cfg(usrsctp)]
mod association;
#[cfg(usrsctp)]
#[allow(unsafe_code, reason = "declarations of C functions")]
mod ffi;
#[cfg(usrsctp)]
#[allow(unsafe_code, reason = "the library calls these")]
mod hooks;
#[cfg(usrsctp)]
#[allow(unsafe_code, reason = "the library's state is reset")]
mod library;
#[cfg(usrsctp)]
#[allow(unsafe_code, reason = "the library calls these")]
mod memory;
#[cfg(usrsctp)]
#[allow(unsafe_code, reason = "each call of the library has its own safe function")]
mod raw;

#[cfg(all(test, usrsctp))]
mod tests;

#[cfg(not(usrsctp))]
mod absent;

#[cfg(not(usrsctp))]
pub use absent::{Association, Usrsctp};
#[cfg(usrsctp)]
pub use association::Association;
pub use config::{AssociationConfig, UsrsctpConfig};
pub use error::UsrsctpError;
pub use factory::UsrsctpStack;
#[cfg(usrsctp)]
pub use library::Usrsctp;
pub use rexmit_stack::Role;

/// True if the library was there when this was built.
pub const AVAILABLE: bool = cfg!(usrsctp);

/// What was missing when this was built, and what to do; `None` where nothing was.
pub fn missing() -> Option<&'static str> {
    option_env!("REXMIT_USRSCTP_MISSING")
}
