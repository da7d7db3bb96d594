//! What adapters of foreign QUIC share: the profile, the application's bytes on streams, and what packets show.

mod datagrams;
mod frames;
mod packets;
mod profile;
mod reasons;
mod streams;

pub use datagrams::{DatagramInbox, MOST_DATAGRAM, PLACE_BYTES, no_datagram};
pub use frames::{Frame, Frames};
pub use packets::{QuicCarries, QuicPackets, Space};
pub use profile::{QuicCongestion, QuicProfile, QuicRecovery, QuicWindows};
pub use reasons::QuicReasons;
pub use streams::{StreamPlaces, StreamReader, StreamWriter};
