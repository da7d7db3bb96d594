//! A real packet on its way through the emulator: a slice of what a host sent.

use std::borrow::Cow;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rexmit_path::{Carried, FlowKey};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

use crate::header::{self, Part};
use crate::offload::Offload;
use crate::pool::{Buffer, Pool};

/// Room for all headers of a packet.
pub const HEADER_ROOM: usize = 256;
/// Where the checksum stands in a TCP header (RFC 9293 section 3.1).
const TCP_CHECKSUM: u16 = 16;

/// What an interface handed over: one packet, or a super-packet that is many.
#[derive(Debug)]
pub struct Frame {
    bytes: Buffer,
    offload: Offload,
    /// Where the IP packet begins.
    link: usize,
    /// Bytes from there on to its end; behind that is padding of the link.
    ip_len: usize,
    /// Of a super-packet: bytes of data in each packet, and where the data begin.
    split: Option<Split>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Split {
    size: usize,
    data: usize,
    /// Where the TCP header begins.
    tcp: usize,
}

impl Frame {
    /// What an interface handed over, the IP packet from byte `link` on, with what the host left to do.
    ///
    /// # Errors
    /// A super-packet whose headers cannot be, or a checksum that stands outside the packet.
    pub fn new(bytes: Buffer, link: usize, offload: Offload) -> io::Result<Self> {
        if offload.checksum.is_some_and(|partial| !partial.fits(link, bytes.len())) {
            return Err(wrong("a checksum to complete that is outside its packet"));
        }
        let split = match offload.segmentation {
            None => None,
            Some(wanted) => {
                let split =
                    Split::find(&bytes, usize::from(wanted.size), &offload).filter(|s| s.tcp >= link + 20);
                Some(split.ok_or_else(|| wrong("a super-packet with headers that cannot be"))?)
            }
        };
        let ip_len = if split.is_some() { bytes.len() - link } else { header::ip_len(&bytes[link..]) };
        Ok(Self { bytes, offload, link, ip_len, split })
    }

    /// True for an IP packet whose destination is `address`, as the header has it.
    pub(crate) fn is_for(&self, address: &[u8]) -> bool {
        is_for(&self.bytes[self.link..], address)
    }

    /// How many packets on the wire it is.
    pub fn packets(&self) -> u32 {
        self.split.map_or(1, |s| (self.bytes.len() - s.data).div_ceil(s.size).max(1) as u32)
    }

    /// The packets on the wire, in their order. Each is a slice of this frame.
    pub fn split(self) -> impl ExactSizeIterator<Item = RealPacket> {
        let packets = self.packets();
        let frame = Arc::new(self);
        // The iterator's own reference goes to the last packet.
        (0..packets).map(move |number| RealPacket { frame: frame.clone(), number })
    }

    /// The data of packets `first` to `end`, these not included.
    fn data(&self, split: Split, first: u32, end: u32) -> &[u8] {
        let at = |number: u32| (split.data + number as usize * split.size).min(self.bytes.len());
        &self.bytes[at(first)..at(end)]
    }
}

impl Split {
    fn find(bytes: &[u8], size: usize, offload: &Offload) -> Option<Self> {
        let checksum = offload.checksum.filter(|partial| partial.offset == TCP_CHECKSUM)?;
        let tcp = usize::from(checksum.start);
        let data = tcp + usize::from(*bytes.get(tcp + 12)? >> 4) * 4;
        let fits = data >= tcp + 20 && data <= bytes.len() && data <= HEADER_ROOM;
        (fits && size > 0).then_some(Self { size, data, tcp })
    }
}

/// An IP packet as it is on the wire: its place in what a host sent at once. A clone shares the bytes; an effect
/// that changes them makes a packet of its own, with right checksums.
#[derive(Clone, Debug)]
pub struct RealPacket {
    frame: Arc<Frame>,
    number: u32,
}

impl RealPacket {
    /// A packet of its own: an IP packet without a link header, all its checksums complete.
    pub fn whole(bytes: &[u8]) -> Self {
        let bytes = Pool::default().copy(bytes);
        let ip_len = header::ip_len(&bytes);
        Self::from(Frame { bytes, offload: Offload::default(), link: 0, ip_len, split: None })
    }

    /// The bytes from the link header on, with complete checksums.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut room = [0; HEADER_ROOM];
        let run = Run::new(self.clone());
        let out = run.write(&mut room);
        let mut bytes = Vec::with_capacity(out.head.len() + out.body.len());
        bytes.extend_from_slice(out.head);
        bytes.extend_from_slice(out.body);
        if let Some(partial) = out.offload.checksum {
            header::complete_checksum(&mut bytes, partial.start.into(), partial.offset.into());
        }
        bytes
    }

    /// The IP packet, with complete checksums.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.to_frame();
        bytes.drain(..self.frame.link);
        bytes.truncate(self.ip_len() as usize);
        bytes
    }

    /// Makes it a packet of its own and changes its IP bytes.
    fn change<T>(&mut self, change: impl FnOnce(&mut [u8]) -> T) -> T {
        let link = self.frame.link;
        let ip_len = self.ip_len() as usize;
        let mut bytes = self.frame.bytes.pool().copy(&self.to_frame());
        let changed = change(&mut bytes[link..link + ip_len]);
        *self = Self::from(Frame { bytes, offload: Offload::default(), link, ip_len, split: None });
        changed
    }
}

impl From<Frame> for RealPacket {
    /// The first packet of a frame.
    fn from(frame: Frame) -> Self {
        Self { frame: Arc::new(frame), number: 0 }
    }
}

impl Carried for RealPacket {
    #[inline]
    fn ip_len(&self) -> u64 {
        let frame = &*self.frame;
        match frame.split {
            None => frame.ip_len as u64,
            Some(split) => {
                let before = split.data + self.number as usize * split.size;
                let data = (frame.bytes.len() - before.min(frame.bytes.len())).min(split.size);
                (split.data - frame.link + data) as u64
            }
        }
    }

    fn packet(&self) -> Cow<'_, Packet> {
        let bytes = self.to_bytes();
        Cow::Owned(Packet::parse(&bytes).unwrap_or_else(|_| unknown(&bytes)))
    }

    fn flow(&self) -> FlowKey {
        header::flow(&self.frame.bytes[self.frame.link..])
    }

    /// Inverts the last byte: part of the data, or of the header where there are none. Either way the
    /// transport's checksum covers it.
    fn damage(&mut self) {
        self.change(|ip| {
            if let Some(last) = ip.last_mut() {
                *last = !*last;
            }
        });
    }

    fn mark(&mut self) -> bool {
        self.change(header::mark)
    }
}

/// Packets of one frame, one behind the other, that leave together.
#[derive(Clone, Debug)]
pub struct Run {
    first: RealPacket,
    count: u32,
}

/// A run as an interface takes it.
#[derive(Debug)]
pub struct Written<'a> {
    /// Its headers, if they had to be made anew.
    pub head: &'a [u8],
    /// What follows.
    pub body: &'a [u8],
    /// What is left to the receiver's side.
    pub offload: Offload,
}

impl Run {
    /// One packet.
    pub fn new(packet: RealPacket) -> Self {
        Self { first: packet, count: 1 }
    }

    /// Packets of it.
    pub fn packets(&self) -> u32 {
        self.count
    }

    /// Adds the packet, if it is the next of the same frame; gives it back where it is not.
    ///
    /// # Errors
    /// The packet.
    #[inline]
    pub fn extend(&mut self, packet: RealPacket) -> Result<(), RealPacket> {
        let next =
            Arc::ptr_eq(&self.first.frame, &packet.frame) && packet.number == self.first.number + self.count;
        if !next {
            return Err(packet);
        }
        self.count += 1;
        Ok(())
    }

    /// Headers and data; `room` is for the headers.
    pub fn write<'a>(&'a self, room: &'a mut [u8; HEADER_ROOM]) -> Written<'a> {
        let frame = &*self.first.frame;
        let Some(split) = frame.split else {
            let offload = Offload { segmentation: None, ..frame.offload };
            return Written { head: &[], body: &frame.bytes, offload };
        };
        let (first, end) = (self.first.number, self.first.number + self.count);
        let head = &mut room[..split.data];
        head.copy_from_slice(&frame.bytes[..split.data]);
        let body = frame.data(split, first, end);
        let part = Part {
            number: first,
            offset: first * split.size as u32,
            len: body.len(),
            whole: frame.bytes.len() - split.data,
            is_last: end == frame.packets(),
        };
        header::make_part(head, (frame.link, split.tcp), &part);
        let mut offload = frame.offload;
        match &mut offload.segmentation {
            Some(segmentation) if self.count > 1 => segmentation.header = split.data as u16,
            other => *other = None,
        }
        Written { head, body, offload }
    }

    /// The frame's bytes for an interface to which nothing can be left: one packet with complete checksums.
    pub fn complete(&self) -> Cow<'_, [u8]> {
        let frame = &*self.first.frame;
        if frame.split.is_none() && frame.offload.checksum.is_none() {
            return Cow::Borrowed(&frame.bytes);
        }
        Cow::Owned(self.first.to_frame())
    }
}

/// What cannot be read, by its length alone.
fn unknown(bytes: &[u8]) -> Packet {
    let nowhere = IpAddr::from([0, 0, 0, 0]);
    let len = (bytes.len() as u32).saturating_sub(20);
    let transport = Transport::Other { protocol: 255, payload: Payload::Stream { offset: 0, len } };
    Packet { src: nowhere, dst: nowhere, ip: IpFields::default(), transport, damaged: false }
}

/// An address as an IP header has it.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// True for an IP packet whose destination is `address`.
pub(crate) fn is_for(packet: &[u8], address: &[u8]) -> bool {
    let at = if address.len() == 4 { 16 } else { 24 };
    let version = if address.len() == 4 { 4 } else { 6 };
    packet.first().is_some_and(|b| b >> 4 == version) && packet.get(at..at + address.len()) == Some(address)
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
