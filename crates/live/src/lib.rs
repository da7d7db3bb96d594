//! Real kernels: namespaces, sockets, the path emulator driven by a clock, and the agent in a guest.

mod addresses;
pub mod agent;
mod between;
pub mod counters;
mod drive;
pub mod emulate;
pub mod emulator;
pub mod ends;
pub mod guest;
pub mod host;
mod lateness;
pub mod measure;
mod netem;
mod opening;
pub mod port;
pub mod programs;
mod run;
mod socket;
mod starting;
pub mod stepped;
mod stock;
pub mod sys;
mod sysctl;
mod tap;
mod ticks;
mod watch;
pub mod wire;

pub use rexmit_frames::{offload, packet, pool};

pub use drive::{DriveOptions, DriveReport, Mode, drive};
pub use run::{LiveOptions, LiveOutcome, run};
pub use stock::Stock;
pub use watch::{Live, Watch};
