//! Virtual time: a [`Scenario`] is resolved, built, run and recorded; a [`Plan`] runs many on all cores.
//!
//! # Order of events
//!
//! Time is in whole nanoseconds and only events move it. Events at the same instant happen in this order,
//! whatever the machine or the number of threads:
//!
//! 1. packets that arrive at the client (down), in the order in which they were sent;
//! 2. packets that arrive at the server (up), likewise;
//! 3. timers, by connection, the client's before the server's.
//!
//! One event is handled whole before the next: the packet, then what the application does about it, then
//! what leaves for the path.

mod batch;
mod capture_file;
mod error;
mod options;
mod outcome;
mod profiles;
mod recorder;
mod run;
mod scenario;
mod settings;
mod streams;
mod timers;
mod truth;
mod unreached;
mod world;

pub use batch::{Batch, BatchOptions, Plan};
pub use error::SpecError;
pub use options::RunOptions;
pub use outcome::{Outcome, Row, StateRow, VerdictRow};
pub use profiles::{builtin_profiles, resolve_profile};
pub use run::run;
pub use scenario::{HostSpec, Hosts, Resolved, Scenario, profile_schema, schema};
pub use settings::set;
pub use streams::Streams;
pub use truth::{Earlier, TransmissionRow};
pub use unreached::UnreachedRuns;

/// Version of the engine.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
