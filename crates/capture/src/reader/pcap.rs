//! Classic pcap: a header of 24 bytes, then packets with a header of 16 bytes each.

use std::io::Read;

use super::source::{MAX_BLOCK, Order, Source};
use super::{Clock, Interface, ReadError, Resolution};
use crate::link::LinkType;
use crate::record::Record;

const MAGIC_US: u32 = 0xa1b2_c3d4;
const MAGIC_NS: u32 = 0xa1b2_3c4d;

#[derive(Debug)]
pub(super) struct Pcap {
    link: LinkType,
    /// Nanoseconds of a unit of the second number of a time stamp.
    fraction_ns: u64,
}

impl Pcap {
    /// Reads the rest of the header; `None` where `magic` begins no such file.
    pub(super) fn open<R: Read>(
        magic: [u8; 4],
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<Option<Self>, ReadError> {
        let (order, fraction_ns) = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (MAGIC_US, _) => (Order::Little, 1_000),
            (MAGIC_NS, _) => (Order::Little, 1),
            (_, MAGIC_US) => (Order::Big, 1_000),
            (_, MAGIC_NS) => (Order::Big, 1),
            _ => return Ok(None),
        };
        source.order = order;
        let mut header = [0; 20];
        source.read_exact(&mut header, 0)?;
        // The upper half of the type holds the length of a frame check sequence.
        let link = LinkType(order.u32(&header, 16) as u16);
        interfaces.push(Interface {
            name: None,
            link,
            snap_len: order.u32(&header, 12),
            // Not asked: a stamp is two numbers, which are put together in nanoseconds.
            clock: Clock { resolution: Resolution::Decimal(9), offset: 0 },
        });
        Ok(Some(Self { link, fraction_ns }))
    }

    pub(super) fn read_into<R: Read>(
        &mut self,
        source: &mut Source<R>,
        record: &mut Record,
    ) -> Result<bool, ReadError> {
        let start = source.offset();
        let mut header = [0; 16];
        if !source.read_exact_or_end(&mut header, start)? {
            return Ok(false);
        }
        let field = |at| source.order.u32(&header, at);
        let (seconds, fraction, kept, original_len) = (field(0), field(4), field(8), field(12));
        if kept > MAX_BLOCK {
            return Err(ReadError::Corrupt { offset: start, what: "a packet longer than any" });
        }
        let ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.fraction_ns;
        source.read_vec(&mut record.data, kept as usize, start)?;
        record.interface = 0;
        record.link = self.link;
        record.time = rexmit_units::Instant::from_nanos(ns);
        record.original_len = original_len;
        record.comment = None;
        record.direction = None;
        Ok(true)
    }
}
