//! The receiving half: what waits out of order, which SACK blocks describe it, Linux's credit of immediate ACKs.

mod packets;
mod quick_ack;
mod reassembly;
mod sack_list;
mod tuning;

pub(crate) use quick_ack::{Compressed, DataInOrder, QuickAck};
pub(crate) use reassembly::Reassembly;
pub(crate) use sack_list::SackList;
pub(crate) use tuning::{ReceiveTuning, ReceiverRtt};

#[cfg(test)]
mod tests;
