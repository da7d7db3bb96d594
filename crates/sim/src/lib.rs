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
mod caches;
mod capture_file;
mod observer;
mod options;
mod outcome;
mod parcel;
mod qlog;
mod recorder;
mod run;
mod sequence;
mod stack;
mod stop;
mod sweep;
pub mod tables;
mod tape;
mod truth;
mod unreached;
mod work;
mod world;

pub use batch::{Batch, BatchOptions, Checked, Plan, Target};
pub use caches::Caches;
pub use observer::{Observer, Unwatched, Watch};
pub use options::RunOptions;
pub use outcome::Outcome;
pub use rexmit_scenario::*;
pub use rexmit_stack::{Registry, StackFactory};
pub use rexmit_stacks::{
    AboutProgram, Kernel, LeadProgram, OwnCongestion, OwnParts, SOURCES, Source, Tool, allow_programs,
    ask_about_program, provide_kernel, registry,
};
pub use run::{run, run_observed};
pub use sequence::Sequence;
pub use stop::Stop;
pub use sweep::Sweep;
pub use truth::{Earlier, TransmissionRow};
pub use unreached::UnreachedRuns;

/// Version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
