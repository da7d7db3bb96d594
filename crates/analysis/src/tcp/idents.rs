//! Which hosts number the packets of all their connections in one row (IPv4 identifications): there, what is missing in
//! the row of one connection may have been another one's.

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;

/// The last numbered packet of each host, as far as there is room: a newer host takes an older one's.
#[derive(Debug)]
pub(super) struct Idents {
    last: Vec<Last>,
    hasher: RandomState,
}

/// A packet.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// Of its host.
    hash: u64,
    /// Place of its connection.
    connection: u32,
    ident: u16,
}

/// Hosts that are remembered.
const HOSTS: usize = 256;

impl Default for Idents {
    fn default() -> Self {
        Self { last: vec![Last::default(); HOSTS], hasher: RandomState::default() }
    }
}

impl Idents {
    /// A packet of `host` passes; the identification of the one before it, if that was another connection's.
    pub(super) fn pass(&mut self, host: IpAddr, connection: u32, ident: u16) -> Option<u16> {
        if ident == 0 {
            return None;
        }
        let hash = self.hasher.hash_one(host);
        let slot = &mut self.last[hash as usize % HOSTS];
        let before = std::mem::replace(slot, Last { hash, connection, ident });
        (before.hash == hash && before.ident != 0 && before.connection != connection).then_some(before.ident)
    }
}
