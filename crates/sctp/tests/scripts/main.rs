//! Packets in, packets out.

#[path = "../common/mod.rs"]
mod common;

mod faults;
mod life;
mod lksctp;
mod own;
mod paths;
mod rate;
mod receiver;
mod rfc;
mod streams;
mod thin;
