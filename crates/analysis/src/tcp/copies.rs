//! The same packet seen twice: at two ports of a tap, at two interfaces, or duplicated by the network.

use crate::packet::{Packet, Tcp};

/// Remembers the last packets of one side that took no sequence space; those with data are compared with what the
/// board holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    last: [u64; 4],
    at: u8,
}

impl Copies {
    /// True if the packet was seen before. A host numbers its packets (IPv4 identification), so that two of its
    /// packets differ even where their TCP headers do not.
    pub(super) fn is_copy(&mut self, packet: &Packet, tcp: &Tcp) -> bool {
        if packet.ident == 0 || tcp.len > 0 {
            return false;
        }
        let print = u64::from(packet.ident) << 48
            ^ u64::from(tcp.ack.0) << 16
            ^ u64::from(tcp.seq.0)
            ^ u64::from(tcp.window) << 32
            ^ u64::from(tcp.flags.0) << 40;
        if self.last.contains(&print) {
            return true;
        }
        self.last[usize::from(self.at)] = print;
        self.at = (self.at + 1) % self.last.len() as u8;
        false
    }
}
