//! Captures judged by packets alone.
//!
//! Nothing here sees a model, an emulator or a log of events. The emulator's comments in a capture are
//! handed on as notes and decide nothing, so that every answer can be checked against the truth elsewhere.
//!
//! What is here now is what a time-sequence graph needs: for each TCP connection and each of its two sides the
//! [`Segment`]s it sent, and the [`Ack`]s and [`SackBlock`]s that came back for them. Feed packets in the order
//! of the capture to [`Tracker::push`] and take the connections from [`Tracker::finish`], or hand a
//! whole capture to [`time_sequence`]. Memory grows with the rows and the connections, not with the data.
//!
//! Not judged: IP fragments, urgent data, and the cause of a retransmission.

mod analyzer;
mod capture;
mod columns;
mod coverage;
mod decode;
mod filter;
pub mod packet;
pub mod pair;
pub mod rows;
mod run;
pub mod sctp;
mod sequence;
mod spread;
pub mod tables;
mod tcp;
mod tracker;
mod tsg_rows;

#[cfg(test)]
mod script;

pub use analyzer::{Analyzer, Options};
pub use capture::{Found, time_sequence};
pub use columns::{Column, Values};
pub use decode::{Decoder, Skipped};
pub use filter::{Filter, FilterError};
pub use run::{Progress, Run, RunOptions, Summary, Work};
pub use tracker::{Observation, Tracker};
pub use tsg_rows::{Ack, Connection, SackBlock, Segment, Side};
