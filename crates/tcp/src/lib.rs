//! The TCP model: a sans-IO endpoint whose mechanisms are chosen and parametrised by a [`Profile`].
//!
//! [`Connection`] answers one question per file: what arrived (`connection::input`), what was acknowledged
//! (`connection::ack`), what was lost (`recovery`), what may be sent (`connection::output`), what time has
//! run out (`connection::timeout`). Congestion control ([`congestion`]) and the timeout estimator ([`rtt`])
//! stand alone.
//!
//! # What is not modelled, and why
//!
//! - The urgent pointer's meaning: no study uses it (the field is carried).
//! - Keep-alives: off by default in every profile here.
//! - Path MTU discovery: the MTU of a path is known and never changes during a run.
//! - TCP Fast Open, MPTCP, AO: outside the studied systems.
//! - CPU time: an endpoint answers at the instant at which a packet arrives.
//!
//! # Example
//!
#![doc = include_str!("../example.md")]

pub mod congestion;
mod connection;
mod factory;
pub mod host_cache;
pub mod profile;
mod receive;
pub mod recovery;
pub mod rtt;
mod send_buffer;
mod wish;

pub use connection::{Connection, ConnectionConfig, Role, State};
pub use factory::{TcpModel, TcpRun};
pub use host_cache::HostCache;
pub use profile::Profile;
