//! Packet scripts, one module a subject. Each test is named after the rule that it holds (`FB-...` of the
//! FreeBSD profiles) or says what RFC 9293 asks; a *twin* is the same script with one choice turned.

#[path = "../common/mod.rs"]
mod common;

mod duplicates;
mod handshake;
mod host_cache;
mod life;
mod output;
mod pathology;
mod receiver;
mod recovery;
mod timeouts;
mod versions;
mod windows;
