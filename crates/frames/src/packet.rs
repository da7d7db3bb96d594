//! A real packet on its way through the emulator: a slice of what a host sent.

use std::borrow::Cow;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rexmit_path::{Carried, FlowKey};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

use crate::header;
use crate::offload::Offload;
use crate::pool::{Buffer, Pool};

mod super_packet;

use super_packet::Cuts;

/// Room for all headers of a packet.
pub const HEADER_ROOM: usize = 256;

/// What an interface handed over: one packet, or a super-packet that is many.
#[derive(Debug)]
pub struct Frame {
    bytes: Buffer,
    offload: Offload,
    /// Where the IP packet begins.
    link: usize,
    /// Bytes from there on to its end; behind that is padding of the link.
    ip_len: usize,
    /// Where a super-packet is to be split.
    cuts: Option<Cuts>,
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
        let cuts = match offload.segmentation {
            None => None,
            Some(wanted) => {
                let cuts =
                    Cuts::find(&bytes, usize::from(wanted.size), &offload).filter(|c| c.tcp >= link + 20);
                Some(cuts.ok_or_else(|| wrong("a super-packet with headers that cannot be"))?)
            }
        };
        let ip_len = if cuts.is_some() { bytes.len() - link } else { header::ip_len(&bytes[link..]) };
        Ok(Self { bytes, offload, link, ip_len, cuts })
    }

    /// Source and destination of the IP packet; `None` of what is none.
    #[inline]
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        header::addresses(&self.bytes[self.link..])
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
        Self::from(Frame { bytes, offload: Offload::default(), link: 0, ip_len, cuts: None })
    }

    /// What it is a part of.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.frame
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
        *self = Self::from(Frame { bytes, offload: Offload::default(), link, ip_len, cuts: None });
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
        match frame.cuts {
            None => frame.ip_len as u64,
            Some(cuts) => (cuts.len_of(self.number, frame.bytes.len()) - frame.link) as u64,
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
        let Some(cuts) = frame.cuts else {
            let offload = Offload { segmentation: None, ..frame.offload };
            return Written { head: &[], body: &frame.bytes, offload };
        };
        let numbers = self.first.number..self.first.number + self.count;
        let (head, body) = cuts.write(frame, numbers, room);
        let mut offload = frame.offload;
        match &mut offload.segmentation {
            Some(segmentation) if self.count > 1 => segmentation.header = cuts.data as u16,
            other => *other = None,
        }
        Written { head, body, offload }
    }

    /// The frame's bytes for an interface to which nothing can be left: one packet with complete checksums.
    pub fn complete(&self) -> Cow<'_, [u8]> {
        let frame = &*self.first.frame;
        if frame.cuts.is_none() && frame.offload.checksum.is_none() {
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
pub fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// True for an IP packet whose destination is `address`.
pub fn is_for(packet: &[u8], address: &[u8]) -> bool {
    let at = if address.len() == 4 { 16 } else { 24 };
    let version = if address.len() == 4 { 4 } else { 6 };
    packet.first().is_some_and(|b| b >> 4 == version) && packet.get(at..at + address.len()) == Some(address)
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
