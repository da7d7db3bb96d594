//! Judgements of retransmissions, held against senders that were not written here.
//!
//! A foreign TCP ([`senders`]) runs as sender and as receiver in virtual time, in random scenarios ([`scenario`]): as a
//! [`host::Host`] over the path emulator ([`world`]), or in a simulator of its own. Captures are made at the sender, in the middle of the path (behind the bottleneck's queue) and at the
//! receiver, and `rexmit-analysis` judges each by its packets alone. The truth is the sender's own: what its code logs as
//! it retransmits ([`smol`]). [`score`] lays the one beside the other.
//!
//! Not modelled: several connections that share a bottleneck, reordering, copies made by the path.

pub mod answers;
pub mod gvisor;
pub mod host;
pub mod listing;
pub mod ns3;
pub mod numbers;
mod program;
pub mod scenario;
pub mod score;
pub mod senders;
pub mod smol;
pub mod world;
