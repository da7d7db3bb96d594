//! The same packet twice: duplicated by the network, or captured at two ports.

use rexmit_units::Instant;
use rexmit_wire::sctp::{Header, kind};

use crate::core::policy::SctpCopies;
use crate::packet::Packet;

/// The last packets of one side.
#[derive(Debug, Default)]
pub(super) struct Copies {
    last: Vec<Print>,
    next: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Print {
    time: Instant,
    /// The packet's CRC32c, or whatever stands in its place.
    checksum: u32,
    /// First bytes of the first chunk: its type and length, and its TSN if it has one.
    head: u64,
    tag: u32,
    ident: u16,
    ttl: u8,
    path: u64,
}

impl Copies {
    /// Whether `packet` was seen before; `sack` is when a SACK for its side was seen last.
    ///
    /// A chunk that is sent again alone makes the same bytes, so the packet around it decides: the same IP
    /// identification (which a sender changes), or another TTL. Where neither tells, two packets within moments are
    /// one if no SACK came between: a sender has no reason to send again so soon.
    pub(super) fn is_copy(
        &mut self,
        packet: &Packet,
        header: &Header<'_>,
        sack: Option<Instant>,
        policy: &SctpCopies,
    ) -> bool {
        let Some(first) = header.chunks().next() else { return false };
        let mut head = [0; 8];
        let n = first.value().len().min(4);
        head[..n].copy_from_slice(&first.value()[..n]);
        head[4..6].copy_from_slice(&(first.len() as u16).to_be_bytes());
        head[6] = first.kind();
        let print = Print {
            time: packet.time,
            checksum: header.checksum(),
            head: u64::from_be_bytes(head),
            tag: header.tag(),
            ident: packet.ident,
            ttl: packet.ttl,
            path: u64::from(packet.src.port()) << 32 ^ u64::from(packet.dst.port()),
        };
        let is_data = matches!(first.kind(), kind::DATA | kind::I_DATA);
        let found = self.last.iter().any(|before| {
            let since = print.time.saturating_since(before.time);
            let soon = is_data && since < policy.at_once && sack.is_none_or(|sack| sack < before.time);
            since <= policy.longest && before.is_same(&print, soon)
        });
        if !found {
            if self.last.len() < LAST {
                // Many associations have a single packet.
                self.last.reserve_exact(1);
                self.last.push(print);
            } else {
                self.last[self.next] = print;
                self.next = (self.next + 1) % LAST;
            }
        }
        found
    }
}

impl Copies {
    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        self.last.capacity() * size_of::<Print>()
    }
}

impl Print {
    /// True if `later` is the same packet; `soon` if it follows so soon that nothing can have had it sent again.
    fn is_same(&self, later: &Self, soon: bool) -> bool {
        let bytes = (self.checksum, self.head, self.tag, self.path)
            == (later.checksum, later.head, later.tag, later.path);
        let numbered = self.ident != 0 || self.ttl != later.ttl;
        bytes && self.ident == later.ident && (numbered || soon)
    }
}

/// This many packets are compared.
const LAST: usize = 8;
