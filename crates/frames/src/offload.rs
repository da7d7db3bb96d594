//! What a host leaves to its network card, as its device says it: splitting a super-packet
//! ([`crate::packet`] does), completing a checksum.
//!
//! A TUN device with IFF_VNET_HDR says so in a virtio-net header before each packet (virtio 1.3, section 5.1.6;
//! Linux, `include/uapi/linux/virtio_net.h`). UDP segmentation is not offered to hosts, so it never comes.

use std::io;

/// The work left over with one packet. Offsets count from the first byte of the packet as the device has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// It is to be split.
    pub segmentation: Option<Segmentation>,
    /// Its transport checksum holds the pseudo-header's sum only.
    pub checksum: Option<PartialChecksum>,
}

/// A TCP segment that is to be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// Over IPv6.
    pub v6: bool,
    /// Bytes of data in each packet but the last (`gso_size`).
    pub size: u16,
    /// Bytes before the data (`hdr_len`); what a device says here is a hint.
    pub header: u16,
}

/// A checksum that is to be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialChecksum {
    /// Where the bytes begin that it covers: the transport header.
    pub start: u16,
    /// Where it stands, from there.
    pub offset: u16,
}

impl PartialChecksum {
    /// True where it stands in a packet from byte `link` on to byte `end`.
    pub fn fits(self, link: usize, end: usize) -> bool {
        let start = usize::from(self.start);
        start >= link && start + usize::from(self.offset) + 2 <= end
    }
}

const NEEDS_CHECKSUM: u8 = 1;
const NONE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;

impl Offload {
    /// Bytes of the header.
    pub const LEN: usize = 10;

    /// Reads the header, whose numbers have this machine's byte order.
    ///
    /// # Errors
    /// A kind of segmentation that was not offered.
    pub fn decode(header: [u8; Self::LEN]) -> io::Result<Self> {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let segmentation = |v6| Some(Segmentation { v6, header: word(2), size: word(4) });
        let segmentation = match header[1] {
            NONE => None,
            TCP_V4 => segmentation(false),
            TCP_V6 => segmentation(true),
            other => {
                let text =
                    format!("a host's interface left segmentation of kind {other}, which was not offered");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        };
        let partial = header[0] & NEEDS_CHECKSUM != 0;
        let checksum = partial.then(|| PartialChecksum { start: word(6), offset: word(8) });
        Ok(Self { segmentation, checksum })
    }

    /// Writes the header.
    pub fn encode(self) -> [u8; Self::LEN] {
        let mut header = [0; Self::LEN];
        let mut put = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        if let Some(segmentation) = self.segmentation {
            put(2, segmentation.header);
            put(4, segmentation.size);
        }
        if let Some(checksum) = self.checksum {
            put(6, checksum.start);
            put(8, checksum.offset);
        }
        header[0] = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        header[1] = match self.segmentation {
            None => NONE,
            Some(s) if s.v6 => TCP_V6,
            Some(_) => TCP_V4,
        };
        header
    }
}
