//! The receiving half: what waits out of order, and which SACK blocks describe it.

mod reassembly;
mod sack_list;

pub(crate) use reassembly::Reassembly;
pub(crate) use sack_list::SackList;

#[cfg(test)]
mod tests;
