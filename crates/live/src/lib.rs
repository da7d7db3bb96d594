//! Real kernels: namespaces, sockets, the path emulator driven by a clock, and the agent in a guest.

pub mod agent;
mod between;
pub mod counters;
pub mod emulate;
pub mod emulator;
pub mod ends;
pub mod guest;
pub mod host;
mod netem;
pub mod packet;
mod run;
mod socket;
pub mod sys;
mod tap;

pub use run::{LiveOptions, LiveOutcome, run};
