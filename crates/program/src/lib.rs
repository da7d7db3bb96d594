//! Stacks that are programs of their own, in virtual time.
//!
//! rexmit starts the program with a socket as its file descriptor 3 and calls: a packet has arrived, a timer is due, the
//! application writes. The program answers with what it does: packets that leave, events, the next timer. Both sides of the
//! exchange are described in `docs/reference/stack-protocol.md`; [`frame`] is its bytes.
//!
//! A program is kept for the next run where it says that it forgets the last one. It is started in a session of its own and
//! ends, with what it has started, with the run, or when rexmit ends.
//!
//! A program may be one of rexmit's own around somebody's code, which has a name among the stacks and settings of its own:
//! [`Packaged`].
//!
//! A program that reads a clock of its own can be led to the run's: [`Lead`].
//!
//! Not modelled: an answer that speaks of an end other than the one that was called; a second path; options of sockets.

mod about;
mod ahead;
mod end;
mod error;
mod factory;
pub mod frame;
mod host;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/lead.rs")]
mod lead;
#[cfg(target_os = "linux")]
mod memory;
mod packaged;
mod pool;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/process.rs")]
mod process;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/seat.rs")]
mod seat;
mod traffic;

pub use about::About;
pub use factory::{KEYS, ProgramStack, ask_about};
pub use lead::Lead;
pub use packaged::{Files, GO_BUBBLE, GO_FAR_SIDE, Packaged, RUST_FAR_SIDE, Source, Tool};
pub use pool::allow;
