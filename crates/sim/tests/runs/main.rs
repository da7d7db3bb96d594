//! What whole runs do.
//!
//! One program: what the tests share is compiled once, and linked once.

mod common;

mod captures;
mod determinism;
mod drops;
mod errors;
mod networks;
mod outages;
mod own_congestion;
mod own_recovery;
mod pairs;
mod phenomena;
mod profiles;
mod queues;
mod retransmissions;
mod sctp;
mod sequences;
mod stacks;
mod sweeps;
mod ticks;
mod toy;
mod transmissions;
mod unreached;
mod workloads;
