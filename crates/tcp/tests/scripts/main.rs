//! Packet scripts, one module a subject. Each test is named after the rule that it holds.

#[path = "../common/mod.rs"]
mod common;

mod handshake;
