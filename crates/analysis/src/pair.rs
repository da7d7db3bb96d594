//! Two captures of the same flows: which packet of one is which of the other, how long each took, which were lost
//! where, and what that says of retransmissions.
//!
//! Unlike an analysis of one capture this one is not a stream: it keeps 64 bytes of every TCP packet of both captures, and
//! some more while it matches, until both have been read. Packets of SCTP are analysed in each capture and not matched.
//!
//! Not done: initial sequence numbers that something between the captures changes, and data that a proxy rewrites.

mod capture;
mod clock;
mod crossing;
mod delays;
mod digest;
mod evidence;
mod flow;
mod holes;
mod judged;
mod lane;
mod near;
mod options;
mod pairing;
mod partners;
mod rows;
mod run;

pub use options::Options;
pub use pairing::Pairing;
pub use rows::{
    ClockMethod, ClockRow, ClockStep, CrossingRow, End, Fate, LostAt, NearBy, PairRetransmissionRow,
    PairRows, PairSummary,
};
pub use run::PairRun;

#[cfg(test)]
pub(crate) mod tests;
