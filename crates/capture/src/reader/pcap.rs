//! Classic pcap: a header of 24 bytes, then packets with a header of 16 bytes each.

use std::io::Read;

use rexmit_units::Instant;

use super::source::Source;
use super::{Found, Interface, ReadError};
use crate::limits::BLOCK_BYTES;
use crate::link::LinkType;
use crate::order::Order;

const MAGIC_US: u32 = 0xa1b2_c3d4;
const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Of a changed libpcap, whose packets' headers have eight bytes more.
const MAGIC_LONG: u32 = 0xa1b2_cd34;

const FILE_HEADER: usize = 24;

#[derive(Debug)]
pub(super) struct Pcap {
    link: LinkType,
    /// Nanoseconds of a unit of the second number of a time stamp.
    fraction_ns: u64,
    /// Bytes before a packet.
    header: usize,
}

impl Pcap {
    /// Takes the header; `None` where the file does not begin like one.
    pub(super) fn open<R: Read>(
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<Option<Self>, ReadError> {
        let magic = source.peek();
        let (order, fraction_ns, header) = match (Order::Little.u32(magic, 0), Order::Big.u32(magic, 0)) {
            (MAGIC_US, _) => (Order::Little, 1_000, 16),
            (MAGIC_NS, _) => (Order::Little, 1, 16),
            (MAGIC_LONG, _) => (Order::Little, 1_000, 24),
            (_, MAGIC_US) => (Order::Big, 1_000, 16),
            (_, MAGIC_NS) => (Order::Big, 1, 16),
            (_, MAGIC_LONG) => (Order::Big, 1_000, 24),
            _ => return Ok(None),
        };
        source.order = order;
        source.require(FILE_HEADER, 0)?;
        // The upper half of the type holds the length of a frame check sequence.
        let link = LinkType(order.u32(source.peek(), 20) as u16);
        interfaces.push(Interface::new(link, order.u32(source.peek(), 16)));
        source.take(FILE_HEADER);
        Ok(Some(Self { link, fraction_ns, header }))
    }

    /// Reads on to the next packet; `None` at the end.
    pub(super) fn next<R: Read>(&self, source: &mut Source<R>) -> Result<Option<Found>, ReadError> {
        let start = source.offset();
        if !source.require(self.header, start)? {
            return Ok(None);
        }
        let (order, head) = (source.order, source.peek());
        let (seconds, fraction) = (order.u32(head, 0), order.u32(head, 4));
        let (kept, original_len) = (order.u32(head, 8), order.u32(head, 12));
        if kept > BLOCK_BYTES {
            return Err(ReadError::Corrupt { offset: start, what: "an impossible packet length" });
        }
        let len = self.header + kept as usize;
        source.require(len, start)?;
        let data_at = source.take(len) + self.header;
        let ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.fraction_ns;
        Ok(Some(Found {
            interface: 0,
            link: self.link,
            time: Instant::from_nanos(ns),
            original_len,
            data_at,
            data_len: kept as usize,
            options_at: data_at,
            options_len: 0,
        }))
    }
}
