//! pcapng: blocks, each with its type, its length before and after, and options.

use std::io::Read;

use super::source::Source;
use super::{Clock, Found, Interface, ReadError};
use crate::block::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, IF_NAME, IF_TSOFFSET, IF_TSRESOL, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, ISB_IFDROP, ISB_IFRECV, ISB_OSDROP, PACKET, SECTION_HEADER, SIMPLE_PACKET,
};
use crate::limits::{BLOCK_BYTES, INTERFACES, Limited, NAME_BYTES, NAMES_BYTES};
use crate::link::LinkType;
use crate::options::OptionBytes;
use crate::order::Order;

#[derive(Debug)]
pub(super) struct Pcapng {
    /// Number of the section's first interface among all.
    first_interface: usize,
    /// Interfaces that the section describes, those beyond the limit included.
    described: u64,
    /// Bytes of the names so far.
    names: usize,
}

/// Where a packet's data lies in its block's body.
struct Packet {
    interface: u32,
    stamp: Option<u64>,
    kept: usize,
    original_len: u32,
    data_at: usize,
    /// Packets lost since the one before, as its fixed part says.
    drops: u64,
}

/// Bytes before the body: type and length; and after it: the length again.
const HEAD: usize = 8;
const TAIL: usize = 4;

impl Pcapng {
    /// Nothing is read yet; the file begins with a section header.
    pub(super) fn new() -> Self {
        Self { first_interface: 0, described: 0, names: 0 }
    }

    /// Reads on to the next packet; `None` at the end.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        interfaces: &mut Vec<Interface>,
        limited: &mut Limited,
    ) -> Result<Option<Found>, ReadError> {
        loop {
            let start = source.offset();
            if !source.require(HEAD + TAIL, start)? {
                return Ok(None);
            }
            let head = source.peek();
            if head[..4] == SECTION_HEADER.to_be_bytes() {
                self.first_interface = interfaces.len();
                self.described = 0;
                self.section_header(source, start)?;
                continue;
            }
            let (block_type, len) = (source.order.u32(head, 0), source.order.u32(head, 4));
            let (at, block) = take_block(source, start, len)?;
            let section = &mut interfaces[self.first_interface..];
            let packet = match block_type {
                ENHANCED_PACKET => block.enhanced_packet()?,
                PACKET => block.old_packet()?,
                SIMPLE_PACKET => block.simple_packet(section.first())?,
                INTERFACE_DESCRIPTION => {
                    self.described += 1;
                    if interfaces.len() == INTERFACES {
                        limited.interfaces += 1;
                        continue;
                    }
                    let (interface, cut) = block.interface(NAMES_BYTES - self.names)?;
                    self.names += interface.name.as_ref().map_or(0, String::len);
                    limited.names += u64::from(cut);
                    interfaces.push(interface);
                    continue;
                }
                INTERFACE_STATISTICS => {
                    block.statistics(section);
                    continue;
                }
                // Names and what else there may be.
                _ => continue,
            };
            let Some(interface) = section.get_mut(packet.interface as usize) else {
                if u64::from(packet.interface) < self.described {
                    limited.packets += 1;
                    continue;
                }
                return Err(block.corrupt("a packet of an interface that is not described"));
            };
            let mut found = block.found(&packet, interface);
            found.interface = self.first_interface as u32 + packet.interface;
            found.data_at += at;
            found.options_at += at;
            return Ok(Some(found));
        }
    }

    /// Takes a section header; its length can be read only with the byte order that comes after it.
    pub(super) fn section_header<R: Read>(
        &mut self,
        source: &mut Source<R>,
        start: u64,
    ) -> Result<(), ReadError> {
        if !source.require(HEAD + TAIL, start)? {
            return Err(ReadError::Truncated { offset: start });
        }
        let head = source.peek();
        source.order = if Order::Little.u32(head, HEAD) == BYTE_ORDER_MAGIC {
            Order::Little
        } else if Order::Big.u32(head, HEAD) == BYTE_ORDER_MAGIC {
            Order::Big
        } else {
            return Err(ReadError::Corrupt { offset: start, what: "a section header without byte order" });
        };
        let len = source.order.u32(source.peek(), 4);
        let (_, block) = take_block(source, start, len)?;
        // Byte order, version, section length.
        if block.body.len() < 16 {
            return Err(block.corrupt("a section header that is too short"));
        }
        if block.order.u16(block.body, 4) != 1 {
            return Err(block.corrupt("a version of pcapng that is not 1"));
        }
        Ok(())
    }
}

/// Takes a whole block of `len` bytes; also says where in the buffer its body begins.
#[inline]
fn take_block<R: Read>(
    source: &mut Source<R>,
    start: u64,
    len: u32,
) -> Result<(usize, Block<'_>), ReadError> {
    if (len as usize) < HEAD + TAIL || !len.is_multiple_of(4) || len > BLOCK_BYTES {
        return Err(ReadError::Corrupt { offset: start, what: "an impossible block length" });
    }
    let len = len as usize;
    source.require(len, start)?;
    let at = source.take(len);
    let order = source.order;
    let whole = source.taken(at, len);
    if order.u32(whole, len - TAIL) as usize != len {
        return Err(ReadError::Corrupt { offset: start, what: "two lengths that differ" });
    }
    Ok((at + HEAD, Block { order, body: &whole[HEAD..len - TAIL], start }))
}

/// A block without its type and its lengths.
struct Block<'a> {
    order: Order,
    body: &'a [u8],
    start: u64,
}

impl<'a> Block<'a> {
    /// What it describes, with at most this many bytes of its name; true if that is not all of it.
    fn interface(&self, most: usize) -> Result<(Interface, bool), ReadError> {
        self.need(8)?;
        let mut cut = false;
        let link = LinkType(self.order.u16(self.body, 0));
        let mut interface = Interface::new(link, self.order.u32(self.body, 4));
        // What holds where the options say nothing.
        let (mut resolution, mut offset) = (6, 0);
        for (code, value) in self.options(8).iter() {
            match (code, value) {
                (IF_NAME, name) => {
                    let kept = &name[..name.len().min(NAME_BYTES)];
                    cut = kept.len() < name.len() || kept.len() > most;
                    let text = (kept.len() <= most).then(|| String::from_utf8_lossy(kept).into_owned());
                    interface.name = text.filter(|text| text.len() <= most);
                }
                (IF_TSRESOL, [n]) => resolution = *n,
                (IF_TSOFFSET, seconds) if seconds.len() == 8 => offset = self.order.u64(seconds, 0) as i64,
                _ => {}
            }
        }
        interface.clock = Clock::new(resolution, offset);
        Ok((interface, cut))
    }

    /// Counts since the capture began, so that later ones replace earlier ones. Statistics of no interface say
    /// nothing; no packet is given up for them.
    fn statistics(&self, section: &mut [Interface]) {
        if self.body.len() < 12 {
            return;
        }
        let Some(interface) = section.get_mut(self.order.u32(self.body, 0) as usize) else { return };
        let options = self.options(12);
        let counts = &mut interface.counts;
        counts.received = options.u64(ISB_IFRECV).or(counts.received);
        counts.dropped_by_interface = options.u64(ISB_IFDROP).or(counts.dropped_by_interface);
        counts.dropped_by_system = options.u64(ISB_OSDROP).or(counts.dropped_by_system);
    }

    fn enhanced_packet(&self) -> Result<Packet, ReadError> {
        self.need(20)?;
        self.timed_packet(self.order.u32(self.body, 0))
    }

    /// As an enhanced packet, with a shorter number of the interface and a count of drops.
    fn old_packet(&self) -> Result<Packet, ReadError> {
        self.need(20)?;
        let drops = match self.order.u16(self.body, 2) {
            // Not known.
            u16::MAX => 0,
            n => n.into(),
        };
        Ok(Packet { drops, ..self.timed_packet(self.order.u16(self.body, 0).into())? })
    }

    fn timed_packet(&self, interface: u32) -> Result<Packet, ReadError> {
        let field = |at| self.order.u32(self.body, at);
        let kept = field(12) as usize;
        if kept > self.body.len() - 20 {
            return Err(self.corrupt("a packet longer than its block"));
        }
        let stamp = Some(u64::from(field(4)) << 32 | u64::from(field(8)));
        Ok(Packet { interface, stamp, kept, original_len: field(16), data_at: 20, drops: 0 })
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
        Ok(Packet { interface: 0, stamp: None, kept, original_len, data_at: 4, drops: 0 })
    }

    /// Places are told from the body on.
    #[inline]
    fn found(&self, packet: &Packet, interface: &mut Interface) -> Found {
        let end = packet.data_at + packet.kept;
        // A simple packet has no options.
        let options_at = if packet.stamp.is_some() { end.next_multiple_of(4) } else { self.body.len() };
        let options_at = options_at.min(self.body.len());
        let mut drops = packet.drops;
        if options_at < self.body.len() {
            drops += self.options(options_at).drops();
        }
        interface.counts.dropped_between = interface.counts.dropped_between.saturating_add(drops);
        Found {
            interface: packet.interface,
            link: interface.link,
            time: packet.stamp.map_or_else(Default::default, |stamp| interface.clock.instant(stamp)),
            original_len: packet.original_len,
            data_at: packet.data_at,
            data_len: packet.kept,
            options_at,
            options_len: self.body.len() - options_at,
        }
    }

    fn options(&self, at: usize) -> OptionBytes<'a> {
        OptionBytes { bytes: &self.body[at..], order: self.order }
    }

    fn need(&self, n: usize) -> Result<(), ReadError> {
        if self.body.len() < n { Err(self.corrupt("a block that is too short")) } else { Ok(()) }
    }

    fn corrupt(&self, what: &'static str) -> ReadError {
        ReadError::Corrupt { offset: self.start, what }
    }
}
