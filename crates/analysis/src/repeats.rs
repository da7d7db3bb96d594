//! All retransmissions in a few rows: how many, how late and how many in vain, by number and class.
//!
//! What can be pooled with nothing lost is kept: counts, extremes, and sums of the delays and of their squares in whole
//! nanoseconds, so that the order in which rows come changes nothing. A retransmission whose first transmission was not
//! seen has no delay and is not counted, as in [`crate::sctp::delays`].

mod sums;
mod watcher;

pub use sums::{Class, Counts, Repeated, Repeats, Sums};
pub use watcher::Watcher;
