//! Who is who in a run: hosts, links, connections and their ends, each numbered by a type of its own.
//!
//! - [`HostId`], [`LinkId`] (one direction of one link) and [`ConnectionId`] are numbers from 0; [`Table`] holds
//!   something for each ([`ByHost`], [`ByLink`], [`ByConnection`]).
//! - A connection has two ends at two hosts. [`EndId`] says which, and [`Ends`] holds something for each end of every
//!   connection, so that an end and its peer are found without a search.
//! - [`Network`] says where links lead, which link a packet takes, and what hosts and links are called.
//! - [`tree`] makes it of hosts that hang on points and links that join these; [`two_hosts`] is the short form: a server
//!   and a client, a path between them and perhaps an alternate one. Nothing outside these modules knows how hosts and
//!   links are numbered.
//!
//! Not here: what links do to packets (`rexmit-path`).

mod ends;
mod ids;
mod network;
mod table;
pub mod tree;
pub mod two_hosts;

pub use ends::{EndIndex, Ends};
pub use ids::{ConnectionId, EndId, HostId, Id, LinkId, PointId};
pub use network::{Link, Name, Network, Node};
pub use table::{ByConnection, ByHost, ByLink, Table};
