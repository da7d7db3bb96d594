//! The receiving half: what waits out of order, and which SACK blocks describe it.

mod reassembly;
mod sack_list;
mod tuning;

pub(crate) use reassembly::Reassembly;
pub(crate) use sack_list::SackList;
pub(crate) use tuning::{ReceiveTuning, ReceiverRtt};

#[cfg(test)]
mod tests;
