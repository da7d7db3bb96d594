//! pcapng: blocks, each with its type, its length before and after, and options.

use std::io::Read;

use super::source::{MAX_BLOCK, Order, Source};
use super::{Clock, Interface, ReadError, Resolution};
use crate::block::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, EPB_FLAGS, IF_NAME, IF_TSOFFSET, IF_TSRESOL, INTERFACE_DESCRIPTION,
    OPT_COMMENT, OPT_END, PACKET, SECTION_HEADER, SIMPLE_PACKET,
};
use crate::link::LinkType;
use crate::record::Direction;
use crate::record::Record;

#[derive(Debug)]
pub(super) struct Pcapng {
    /// Number of the section's first interface among all.
    first_interface: usize,
    /// Body of the block being read.
    body: Vec<u8>,
}

/// Where a packet's data lies in its block.
struct Packet {
    interface: u32,
    stamp: Option<u64>,
    kept: usize,
    original_len: u32,
    data_at: usize,
}

impl Pcapng {
    /// Reads the first section header after its type.
    pub(super) fn open<R: Read>(source: &mut Source<R>) -> Result<Self, ReadError> {
        let mut pcapng = Self { first_interface: 0, body: Vec::new() };
        pcapng.read_section_header(source, 0)?;
        Ok(pcapng)
    }

    pub(super) fn read_into<R: Read>(
        &mut self,
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
        record: &mut Record,
    ) -> Result<bool, ReadError> {
        loop {
            let start = source.offset();
            let mut word = [0; 4];
            if !source.read_exact_or_end(&mut word, start)? {
                return Ok(false);
            }
            let block_type = source.order.u32(&word, 0);
            if block_type == SECTION_HEADER {
                self.first_interface = interfaces.len();
                self.read_section_header(source, start)?;
                continue;
            }
            source.read_exact(&mut word, start)?;
            let len = source.order.u32(&word, 0);
            self.read_rest(source, start, len, 8)?;
            let block = Block { order: source.order, body: &self.body, start };
            let section = &interfaces[self.first_interface..];
            let packet = match block_type {
                INTERFACE_DESCRIPTION => {
                    let interface = block.interface()?;
                    interfaces.push(interface);
                    continue;
                }
                ENHANCED_PACKET => block.enhanced_packet()?,
                PACKET => block.old_packet()?,
                SIMPLE_PACKET => block.simple_packet(section.first())?,
                // Statistics, names and what else there may be.
                _ => continue,
            };
            let interface = section
                .get(packet.interface as usize)
                .ok_or_else(|| block.corrupt("a packet of an interface that is not described"))?;
            block.fill(&packet, interface, record);
            record.interface = self.first_interface as u32 + packet.interface;
            return Ok(true);
        }
    }

    /// The block's type is read; its length can be read only with the byte order that comes after it.
    fn read_section_header<R: Read>(&mut self, source: &mut Source<R>, start: u64) -> Result<(), ReadError> {
        let mut head = [0; 8];
        source.read_exact(&mut head, start)?;
        source.order = if Order::Little.u32(&head, 4) == BYTE_ORDER_MAGIC {
            Order::Little
        } else if Order::Big.u32(&head, 4) == BYTE_ORDER_MAGIC {
            Order::Big
        } else {
            return Err(ReadError::Corrupt { offset: start, what: "a section header without byte order" });
        };
        let len = source.order.u32(&head, 0);
        self.read_rest(source, start, len, 12)?;
        // Version, section length.
        if self.body.len() < 12 {
            return Err(ReadError::Corrupt { offset: start, what: "a section header that is too short" });
        }
        if source.order.u16(&self.body, 0) != 1 {
            return Err(ReadError::Corrupt { offset: start, what: "a version of pcapng that is not 1" });
        }
        Ok(())
    }

    /// Reads the body of a block of `len` bytes, of which `before` are read, and its trailing length.
    fn read_rest<R: Read>(
        &mut self,
        source: &mut Source<R>,
        start: u64,
        len: u32,
        before: u32,
    ) -> Result<(), ReadError> {
        if len < before + 4 || !len.is_multiple_of(4) || len > MAX_BLOCK {
            return Err(ReadError::Corrupt { offset: start, what: "a length that no block has" });
        }
        source.read_vec(&mut self.body, (len - before) as usize, start)?;
        let at = self.body.len() - 4;
        if source.order.u32(&self.body, at) != len {
            return Err(ReadError::Corrupt { offset: start, what: "two lengths that differ" });
        }
        self.body.truncate(at);
        Ok(())
    }
}

/// A block without its type and its lengths.
struct Block<'a> {
    order: Order,
    body: &'a [u8],
    start: u64,
}

impl<'a> Block<'a> {
    fn interface(&self) -> Result<Interface, ReadError> {
        self.need(8)?;
        let mut interface = Interface {
            name: None,
            link: LinkType(self.order.u16(self.body, 0)),
            snap_len: self.order.u32(self.body, 4),
            // What holds where the options say nothing.
            clock: Clock { resolution: Resolution::Decimal(6), offset: 0 },
        };
        for (code, value) in self.options(8) {
            match (code, value) {
                (IF_NAME, name) => interface.name = Some(text(name)),
                (IF_TSRESOL, [n]) if n & 0x80 != 0 => {
                    interface.clock.resolution = Resolution::Binary(n & 0x7f);
                }
                (IF_TSRESOL, [n]) => interface.clock.resolution = Resolution::Decimal(*n),
                (IF_TSOFFSET, seconds) if seconds.len() == 8 => {
                    interface.clock.offset = self.order.u64(seconds, 0) as i64;
                }
                _ => {}
            }
        }
        Ok(interface)
    }

    fn enhanced_packet(&self) -> Result<Packet, ReadError> {
        self.need(20)?;
        self.timed_packet(self.order.u32(self.body, 0))
    }

    /// As an enhanced packet, with a shorter number of the interface and a count of drops.
    fn old_packet(&self) -> Result<Packet, ReadError> {
        self.need(20)?;
        self.timed_packet(self.order.u16(self.body, 0).into())
    }

    fn timed_packet(&self, interface: u32) -> Result<Packet, ReadError> {
        let field = |at| self.order.u32(self.body, at);
        let kept = field(12) as usize;
        if kept > self.body.len() - 20 {
            return Err(self.corrupt("a packet longer than its block"));
        }
        Ok(Packet {
            interface,
            stamp: Some(u64::from(field(4)) << 32 | u64::from(field(8))),
            kept,
            original_len: field(16),
            data_at: 20,
        })
    }

    fn simple_packet(&self, interface: Option<&Interface>) -> Result<Packet, ReadError> {
        self.need(4)?;
        let original_len = self.order.u32(self.body, 0);
        let snap_len = match interface.map_or(0, |i| i.snap_len) {
            0 => u32::MAX,
            n => n,
        };
        let kept = original_len.min(snap_len) as usize;
        if kept > self.body.len() - 4 {
            return Err(self.corrupt("a packet longer than its block"));
        }
        Ok(Packet { interface: 0, stamp: None, kept, original_len, data_at: 4 })
    }

    fn fill(&self, packet: &Packet, interface: &Interface, record: &mut Record) {
        let end = packet.data_at + packet.kept;
        record.data.clear();
        record.data.extend(&self.body[packet.data_at..end]);
        record.link = interface.link;
        record.time = packet.stamp.map_or_else(Default::default, |stamp| interface.clock.instant(stamp));
        record.original_len = packet.original_len;
        record.comment = None;
        record.direction = None;
        if packet.stamp.is_none() {
            // A simple packet has no options.
            return;
        }
        for (code, value) in self.options(end.next_multiple_of(4)) {
            match code {
                OPT_COMMENT => match &mut record.comment {
                    Some(comment) => {
                        comment.push('\n');
                        comment.push_str(&text(value));
                    }
                    none => *none = Some(text(value)),
                },
                EPB_FLAGS if value.len() == 4 => {
                    record.direction = match self.order.u32(value, 0) & 3 {
                        1 => Some(Direction::Inbound),
                        2 => Some(Direction::Outbound),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
    }

    /// The options from `at` on; one that does not fit the block ends them.
    fn options(&self, at: usize) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let (order, body) = (self.order, self.body);
        let mut at = at;
        std::iter::from_fn(move || {
            if at + 4 > body.len() {
                return None;
            }
            let (code, len) = (order.u16(body, at), usize::from(order.u16(body, at + 2)));
            let value = body.get(at + 4..at + 4 + len)?;
            at += 4 + len.next_multiple_of(4);
            (code != OPT_END).then_some((code, value))
        })
    }

    fn need(&self, n: usize) -> Result<(), ReadError> {
        if self.body.len() < n { Err(self.corrupt("a block that is too short")) } else { Ok(()) }
    }

    fn corrupt(&self, what: &'static str) -> ReadError {
        ReadError::Corrupt { offset: self.start, what }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
