//! Captures: pcapng written; pcapng and classic pcap read, also packed with gzip or zstd.
//!
//! [`Writer`] writes one interface of raw IP packets with nanosecond times and comments, to anything that is
//! `io::Write`. [`Reader`] reads a stream of records from anything that is `io::Read`, of either byte order,
//! and yields all that is readable before it says where a damaged file breaks off. Files are the caller's.
//!
//! The formats are those of draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. They are read and written
//! by code of our own because errors name the byte, memory follows what is there and not what a damaged
//! length says, and both formats come out as the same records; the crates for them would need as much code
//! around them.
//!
#![doc = include_str!("../example.md")]

mod block;
pub mod limits;
mod link;
mod options;
mod order;
mod reader;
mod record;
mod writer;

pub use link::{LinkType, RecordError};
pub use reader::{Counts, Interface, Packing, ReadError, Reader};
pub use record::{Direction, Record, RecordRef};
pub use writer::{DEFAULT_EPOCH_NS, KeptBytes, Options, Writer};
