//! The SCTP model: a sans-IO endpoint whose mechanisms are chosen and parametrised by a [`Profile`].
//!
//! [`Association`] answers one question per file: what arrived (`association::input`), what was acknowledged
//! (`association::sack`), what was lost (`association::missing`), what may be sent (`association::output`), what time
//! has run out (`association::timeout`). What is received (`inbound`), what is sent (`outbound`), a path
//! (`path`), its window ([`congestion`]) and its timeout (`rto`) stand alone.
//!
//! # What is not modelled, and why
//!
//! - ECN (RFC 4960 appendix A; [`rexmit_stack::rate`] says what there is of it), authentication (RFC 4895) and address
//!   changes (RFC 5061): no study uses them.
//! - Path MTU discovery: the MTU of a path is known and never changes during a run.
//! - Schedulers of streams (RFC 8260 section 3): messages leave in the order in which they were written.
//! - CPU time: an endpoint answers at the instant at which a packet arrives.

mod association;
mod by_rate;
pub mod congestion;
mod cookie;
mod factory;
mod faults;
mod inbound;
mod mac;
mod outbound;
mod path;
pub mod profile;
mod rto;
mod thin;

pub use association::{Association, AssociationConfig, Role, State};
pub use factory::{SctpModel, SctpRun};
pub use faults::Faults;
pub use profile::Profile;
