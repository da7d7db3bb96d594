//! Applications over [`rexmit_stack::Socket`]: what is written and read, and when.
//!
//! A [`TransferSpec`] is one transfer as people write it; [`TransferSpec::resolve`] checks it and gives a
//! [`Transfer`], from which each copy gets its two applications: [`Sender`] and [`Receiver`], or [`Responder`] and
//! [`Requester`]. Of [`Flows`], which arrive at random, a run draws its own, and each [`Flow`] gets its two from
//! [`Transfer::applications_of`]. Applications read no clock. A host calls, in this order:
//!
//! 1. [`App::handle_timer`] whenever [`App::poll_timer`] says so: the first time makes the opening side
//!    connect;
//! 2. [`App::on_event`] for each event of its endpoint;
//! 3. [`App::poll_timer`] after each of these; [`App::progress`] at any time.
//!
//! ```
//! use rexmit_network::two_hosts::{CLIENT, Side};
//! use rexmit_traffic::TransferSpec;
//!
//! let spec = TransferSpec::writes(Side::Server, "5000 bytes, 8 x 2500 bytes".parse()?);
//! let transfer = spec.resolve()?;
//! assert_eq!(transfer.opener(0), CLIENT);
//! assert_eq!(transfer.total(), Some(25_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not modelled: time that an application computes between two calls, and signals; an application acts at
//! the instant of its event.

mod apps;
mod delivery;
mod flows;
mod journal;
mod random;
mod sleep;
mod spec;
mod transfer;
mod workload;

pub use apps::{App, Ending, Progress, Receiver, Requester, Responder, Sender, total_time};
pub use flows::{CdfSpec, Flow, FlowList, FlowSizes, Flows, FlowsError, FlowsSpec, Published, TableFile};
pub use journal::{Read, Written};
pub use random::{Count, Distribution, MessagesSpec, Quantity};
pub use sleep::{SleepRule, SleepSpec};
pub use spec::{HostsNamed, ReadSpec, TransferError, TransferSpec, server_or_client};
pub use transfer::Transfer;
pub use workload::{Bulk, BurstsSpec, ParseError, RequestsSpec, WriteRun, Writes};
