//! The connections of a capture, as a pair looks at them.

use std::net::SocketAddr;

use super::digest::Digest;

/// A connection in a capture.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Client and server.
    pub sides: [Side; 2],
    pub addresses: Option<[SocketAddr; 2]>,
    /// Bytes of data in a full segment of each side, where a SYN tells.
    pub segments: [Option<u32>; 2],
}

/// What a side sent.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// In the order of the capture.
    pub packets: Vec<Digest>,
    /// SACK blocks of these, except those that report duplicates: number of the packet, first sequence number, one
    /// past the last.
    pub sacks: Vec<(u64, i64, i64)>,
}

impl Flow {
    /// The initial sequence numbers of client and server, as far as a SYN tells them.
    pub(super) fn initials(&self) -> [Option<u32>; 2] {
        use rexmit_wire::Flags;
        [0, 1].map(|side| {
            let packets = &self.sides[side as usize].packets;
            packets.iter().take(16).find(|p| p.flags.has(Flags::SYN) && !p.damaged).map(|p| p.raw_seq)
        })
    }
}
