//! Who is who in a run: hosts, links, connections and their ends, each numbered by a type of its own.
//!
//! - [`HostId`], [`LinkId`] (one direction of one link) and [`ConnectionId`] are numbers from 0; [`Table`] holds
//!   something for each ([`ByHost`], [`ByLink`], [`ByConnection`]).
//! - A connection has two ends at two hosts. [`EndId`] says which, and [`Ends`] holds something for each end of every
//!   connection, so that an end and its peer are found without a search.
//! - [`Network`] says where links lead and which link a packet takes.
//! - [`two_hosts`] is the form that scenarios have today: a server and a client, a path between them and perhaps an
//!   alternate one. Nothing outside that module knows how hosts and links are numbered.
//!
//! Not here: what links do to packets (`rexmit-path`), and networks of more than two hosts, which need a form of their
//! own in the scenario and nothing more of these types.

mod ends;
mod ids;
mod network;
mod table;
pub mod two_hosts;

pub use ends::{EndIndex, Ends};
pub use ids::{ConnectionId, EndId, HostId, Id, LinkId};
pub use network::{Link, Network};
pub use table::{ByConnection, ByHost, ByLink, Table};
