//! Packets in, packets out.

#[path = "../common/mod.rs"]
mod common;

mod lksctp;
