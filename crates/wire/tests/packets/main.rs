//! Packets to bytes and back.
//!
//! One program: what the tests share is compiled once, and linked once.

mod common;

mod checksums;
mod fuzz;
mod round_trip;
mod sctp;
