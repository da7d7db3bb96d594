//! Packets in, packets out.

#[path = "../common/mod.rs"]
mod common;

mod life;
mod lksctp;
mod receiver;
mod rfc;
mod streams;
mod thin;
