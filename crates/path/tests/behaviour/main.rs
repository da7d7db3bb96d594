//! What a path does to packets.
//!
//! One program: what the tests share is compiled once, and linked once.

mod common;

mod aqm;
mod changes;
mod dummynet;
mod layout;
mod link;
mod netem;
mod patterns;
mod properties;
mod quic;
mod sctp;
mod served;
mod shapers;
mod texts;
mod traces;
