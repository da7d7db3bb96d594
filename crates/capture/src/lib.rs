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
//! ```
//! use rexmit_capture::{Reader, Writer};
//! use rexmit_units::Instant;
//! # use rexmit_wire::{IpFields, Packet, Payload, Transport, UdpDatagram};
//! # let datagram = UdpDatagram { src_port: 1, dst_port: 2, payload: Payload::EMPTY };
//! # let packet = Packet {
//! #     src: [10, 0, 0, 1].into(),
//! #     dst: [10, 0, 0, 2].into(),
//! #     ip: IpFields::default(),
//! #     transport: Transport::Udp(datagram),
//! #     damaged: false,
//! # };
//! let mut writer = Writer::new(Vec::new(), "server")?;
//! writer.write_packet(Instant::from_nanos(5), &packet, Some("dropped: full queue"))?;
//! let bytes = writer.finish()?;
//!
//! for record in Reader::new(&bytes[..])? {
//!     let record = record?;
//!     assert_eq!(record.comment.as_deref(), Some("dropped: full queue"));
//!     assert_eq!(record.packet()?.packet, packet);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod link;
mod options;
mod order;
mod reader;
mod record;
mod writer;

pub use link::{LinkType, RecordError};
pub use reader::{Counts, Interface, Packing, ReadError, Reader};
pub use record::{Direction, Record, RecordRef};
pub use writer::{DEFAULT_EPOCH_NS, Options, Writer};
