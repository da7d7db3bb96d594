//! Which hosts number the packets of all their connections in one row (IPv4 identifications): there, what is missing in
//! the row of one connection may have been another one's.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;

/// The last numbered packet of each host that was among the last [`HOSTS`]. Which are remembered depends on the packets
/// alone, never on the keys of a hash.
#[derive(Debug, Default)]
pub(super) struct Idents {
    /// Hosts of which a packet has passed lately.
    recent: HashMap<IpAddr, Last, RandomState>,
    /// Those before them. They are forgotten when there are [`HOSTS`] in `recent` and another one comes.
    earlier: HashMap<IpAddr, Last, RandomState>,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// Place of its connection.
    connection: u32,
    ident: u16,
}

/// Hosts that are remembered at least; at most twice as many.
const HOSTS: usize = 256;

impl Idents {
    /// A packet of `host` passes; the identification of the one before it, if that was another connection's.
    pub(super) fn pass(&mut self, host: IpAddr, connection: u32, ident: u16) -> Option<u16> {
        if ident == 0 {
            return None;
        }
        let last = Last { connection, ident };
        let before = match self.recent.get_mut(&host) {
            Some(known) => Some(std::mem::replace(known, last)),
            None => self.begin(host, last),
        };
        before.filter(|before| before.connection != connection).map(|before| before.ident)
    }

    /// Takes a host into `recent`; its packet before, if that is remembered.
    fn begin(&mut self, host: IpAddr, last: Last) -> Option<Last> {
        let before = self.earlier.get(&host).copied();
        if self.recent.len() == HOSTS {
            std::mem::swap(&mut self.recent, &mut self.earlier);
            self.recent.clear();
        }
        self.recent.insert(host, last);
        before
    }
}
