//! Virtual time: a [`Scenario`] is resolved, built, run and recorded; a [`Plan`] runs many on all cores.
//!
//! # Order of events
//!
//! Time is in whole nanoseconds and only events move it. Events at the same instant happen in this order,
//! whatever the machine or the number of threads:
//!
//! 1. packets that come out of links, by the number of the link (down, up, then those of the alternate path), in the
//!    order in which they were sent;
//! 2. timers, by connection, the client's before the server's.
//!
//! One event is handled whole before the next: the packet, then what the application does about it, then
//! what leaves for the path.
//!
//! # Example
//!
#![doc = include_str!("../example.md")]

mod batch;
mod capture_file;
mod observer;
mod options;
mod outcome;
mod recorder;
mod run;
mod stack;
mod stop;
pub mod tables;
mod tape;
mod timers;
mod truth;
mod unreached;
mod world;

pub use batch::{Batch, BatchOptions, Checked, Plan, Target};
pub use observer::{Observer, Unwatched, Watch};
pub use options::{Engine, RunOptions};
pub use outcome::Outcome;
pub use rexmit_scenario::*;
pub use run::{run, run_observed};
pub use stop::Stop;
pub use truth::{Earlier, TransmissionRow};
pub use unreached::UnreachedRuns;

/// The library of the engine [`Engine::Usrsctp`]; empty where it was not there at build time.
pub const USRSCTP: &str = if rexmit_usrsctp::AVAILABLE { "libusrsctp 0.9.5.0" } else { "" };

/// Version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
