//! lwIP, a TCP for small systems (<https://savannah.nongnu.org/projects/lwip/>), as Debian's liblwip 2.1.3 has it, in
//! virtual time. Scenarios choose it as the code `lwip`: [`LwipStack`] is its entry in the registry.
//!
//! **How it runs.** The library's state is global, and Debian has it as a shared object alone. The build script takes that
//! apart; at run time each host gets a copy of it in memory (`copy.rs`), with variables and memory of its own: its code is there
//! once. What a copy asks of the C library goes to this crate (`hooks.rs`), so a run is a function of its configuration, and
//! what a run leaves unfinished is dropped with the copy's memory; the next one begins with the variables that the file has.
//! Runs of several threads go side by side.
//!
//! **Threads.** Debian builds it for programs with threads (`NO_SYS` 0, `LWIP_TCPIP_CORE_LOCKING`). None is started:
//! `tcpip_init` is not called, the functions of the raw API are called directly as the thread of TCP/IP would, its locks are
//! led to nothing, and `sys_now` is the run's time. Its own list of timers (`sys_timeout`) drives TCP; those that go round
//! for other protocols (ARP, fragments, DNS) are not started. Threads, files and processes, which only its sockets and
//! drivers ask for, are refused.
//!
//! **How it behaves**, as its code says and its packets show:
//!
//! - Reno; three duplicates retransmit one segment. Its sender takes no notice of SACK, its receiver offers none, and it
//!   has no timestamps: Debian's options.
//! - TCP's timer goes round every 250 ms from the first SYN that a host sends or gets, and stops when its last connection
//!   is gone. Round-trip times and the retransmission timeout are counted in two of those, 500 ms; the timeout begins with
//!   3 s, and is 1.5 s where a round trip is less than a tick.
//! - An acknowledgment waits for a second segment, or for the timer's next round, 250 ms at most.
//! - Its window is 65535 bytes, scaled by 1; a smaller `receive_buffer` takes its place when the peer's options have been
//!   read.
//! - Initial sequence numbers count on from 6510. Its clock counts milliseconds.
//!
//! Each host is one lwIP: its connections share the timer. Packets do not say why they are sent: reasons are those that
//! packets, timers and the connection's state show. An assertion of the library's that fails ends the run, not the process.
//!
//! Where liblwip was not there at build time, the entry says so and cannot be started.

mod config;
mod factory;

#[cfg(lwip)]
#[allow(unsafe_code, reason = "a library is put into memory")]
mod copy;
#[cfg(lwip)]
mod end;
#[cfg(lwip)]
#[allow(unsafe_code, reason = "declarations of C functions")]
mod ffi;
#[cfg(lwip)]
#[allow(unsafe_code, reason = "the library calls these")]
mod hooks;
#[cfg(lwip)]
#[allow(unsafe_code, reason = "each call of the library has its own safe function")]
mod host;
#[cfg(lwip)]
#[allow(unsafe_code, reason = "the library calls these")]
mod memory;
#[cfg(lwip)]
mod stream;

#[cfg(all(test, lwip))]
mod tests;

pub use config::LwipConfig;
pub use factory::LwipStack;
