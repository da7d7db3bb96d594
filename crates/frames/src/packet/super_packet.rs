//! Super-packets: what a host left to its network card to split (TSO) is split here into the packets of the wire, and
//! packets that leave together become one again.
//!
//! As `tcp_gso_segment` and `inet_gso_segment` of Linux do it. What a device says of a super-packet is read in
//! [`crate::offload`].

use std::ops::Range;
use std::sync::Arc;

use super::{Frame, HEADER_ROOM, RealPacket};
use crate::header::{add, put, sum, word};
use crate::offload::Offload;

/// Where the checksum stands in a TCP header (RFC 9293 section 3.1).
const TCP_CHECKSUM: u16 = 16;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

impl Frame {
    /// How many packets on the wire it is.
    pub fn packets(&self) -> u32 {
        self.cuts.map_or(1, |cuts| (self.bytes.len() - cuts.data).div_ceil(cuts.size).max(1) as u32)
    }

    /// The packets on the wire, in their order. Each is a slice of this frame.
    pub fn split(self) -> impl ExactSizeIterator<Item = RealPacket> {
        let packets = self.packets();
        let frame = Arc::new(self);
        // The iterator's own reference goes to the last packet.
        (0..packets).map(move |number| RealPacket { frame: frame.clone(), number })
    }
}

/// Where a super-packet is split: offsets from the first byte of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cuts {
    /// Bytes of data in each packet but the last.
    size: usize,
    /// Where the data begin: bytes of headers before them.
    pub data: usize,
    /// Where the TCP header begins.
    pub tcp: usize,
}

impl Cuts {
    /// Those of a frame whose packets have `size` bytes of data; `None` for headers that cannot be.
    pub fn find(bytes: &[u8], size: usize, offload: &Offload) -> Option<Self> {
        let checksum = offload.checksum.filter(|partial| partial.offset == TCP_CHECKSUM)?;
        let tcp = usize::from(checksum.start);
        let data = tcp + usize::from(*bytes.get(tcp + 12)? >> 4) * 4;
        let fits = data >= tcp + 20 && data <= bytes.len() && data <= HEADER_ROOM;
        (fits && size > 0).then_some(Self { size, data, tcp })
    }

    /// Bytes of packet `number` with all headers, of a frame of `len` bytes.
    #[inline]
    pub fn len_of(self, number: u32, len: usize) -> usize {
        let before = self.data + number as usize * self.size;
        self.data + (len - before.min(len)).min(self.size)
    }

    /// Headers, made in `room`, and data of the packets with these numbers as one.
    pub fn write<'a>(
        self,
        frame: &'a Frame,
        numbers: Range<u32>,
        room: &'a mut [u8; HEADER_ROOM],
    ) -> (&'a [u8], &'a [u8]) {
        let at = |number: u32| (self.data + number as usize * self.size).min(frame.bytes.len());
        let body = &frame.bytes[at(numbers.start)..at(numbers.end)];
        let head = &mut room[..self.data];
        head.copy_from_slice(&frame.bytes[..self.data]);
        let part = Part {
            number: numbers.start,
            offset: numbers.start * self.size as u32,
            len: body.len(),
            whole: frame.bytes.len() - self.data,
            is_last: numbers.end == frame.packets(),
        };
        part.change_headers(head, frame.link, self.tcp);
        (head, body)
    }
}

/// A part of a super-packet's data.
struct Part {
    /// Number of its first packet, from 0.
    number: u32,
    /// Bytes of data before it.
    offset: u32,
    /// Bytes of its data.
    len: usize,
    /// Bytes of data of the whole.
    whole: usize,
    /// The whole ends with it.
    is_last: bool,
}

impl Part {
    /// Makes the headers of the whole those of this part. `head` is all before the data; `ip` and `tcp` say where these
    /// headers begin in it.
    fn change_headers(&self, head: &mut [u8], ip: usize, tcp: usize) {
        let total = head.len() - ip + self.len;
        if head[ip] >> 4 == 4 {
            put(head, ip + 2, total as u16);
            let ident = word(head, ip + 4).wrapping_add(self.number as u16);
            put(head, ip + 4, ident);
            put(head, ip + 10, 0);
            let sum = !sum(&head[ip..tcp]);
            put(head, ip + 10, sum);
        } else {
            put(head, ip + 4, (total - 40) as u16);
        }
        let seq = u32::from_be_bytes([head[tcp + 4], head[tcp + 5], head[tcp + 6], head[tcp + 7]]);
        head[tcp + 4..tcp + 8].copy_from_slice(&seq.wrapping_add(self.offset).to_be_bytes());
        if !self.is_last {
            head[tcp + 13] &= !(FIN | PSH);
        }
        if self.number > 0 {
            head[tcp + 13] &= !CWR;
        }
        // The pseudo-header's sum stands there, with the whole's length.
        let len = |data: usize| (head.len() - tcp + data) as u16;
        let sum = add(add(word(head, tcp + 16), !len(self.whole)), len(self.len));
        put(head, tcp + 16, sum);
    }
}
