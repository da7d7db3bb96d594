//! Interfaces between which an emulator stands, by the way in which packets are read and written.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use crate::offload::{Offload, PartialChecksum};
use crate::packet::{Frame, HEADER_ROOM, Run};
use crate::pool::Intake;
use crate::sys::clock;
use crate::sys::device::Lost;
use crate::sys::inside::{Interface, Recorder};
use crate::sys::link::set_offloads;
use crate::sys::ring::{Ring, Slot};
use crate::sys::tun::Tun;
use rexmit_frames::header;

/// An interface of an emulator: the host's side of it is elsewhere.
pub trait Port: AsFd {
    /// The next frame that the host has sent; `None` if there is none now.
    ///
    /// # Errors
    /// Those of the interface.
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>>;

    /// True where it takes many packets of one frame as one.
    fn merges(&self) -> bool {
        false
    }

    /// Hands packets to the host, at the latest with the next [`Self::flush`]. One packet only, where it does not
    /// merge.
    ///
    /// # Errors
    /// Those of the interface; ENOBUFS, EAGAIN and EINVAL for packets that it refuses.
    fn transmit(&mut self, run: &Run) -> io::Result<()>;

    /// Hands over what waits; how many packets were refused.
    ///
    /// # Errors
    /// Those of the interface.
    fn flush(&mut self) -> io::Result<u64> {
        Ok(0)
    }

    /// What the interface lost so far without the emulator.
    ///
    /// # Errors
    /// Where it is gone.
    fn lost(&mut self) -> io::Result<Lost>;

    /// Records what passes from now on; `None` where a packet socket must do that.
    fn record(&self) -> Option<Recorder> {
        None
    }
}

/// The emulator's side of an interface.
pub type Side = Box<dyn Port + Send>;

/// What a host sent.
#[derive(Debug)]
pub struct Arrival {
    /// The frame.
    pub frame: Frame,
    /// True for an IP packet; others, such as ARP, are not part of an experiment and pass at once.
    pub is_ip: bool,
    /// When it came, nanoseconds of CLOCK_MONOTONIC, where the interface tells.
    pub stamp: Option<u64>,
}

impl Port for Tun {
    #[inline]
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>> {
        let Some(len) = Tun::receive(self, intake.room())? else { return Ok(None) };
        let frame = Frame::new(intake.take(len), 0, Offload::default())?;
        Ok(Some(Arrival { frame, is_ip: true, stamp: None }))
    }

    #[inline]
    fn transmit(&mut self, run: &Run) -> io::Result<()> {
        Tun::transmit(self, &run.complete())
    }

    fn lost(&mut self) -> io::Result<Lost> {
        Tun::lost(self)
    }
}

impl Port for Interface {
    #[inline]
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>> {
        let Some(len) = self.take(intake.room()) else { return Ok(None) };
        let frame = Frame::new(intake.take(len), 0, Offload::default())?;
        Ok(Some(Arrival { frame, is_ip: true, stamp: None }))
    }

    #[inline]
    fn transmit(&mut self, run: &Run) -> io::Result<()> {
        self.give(&run.complete())
    }

    fn lost(&mut self) -> io::Result<Lost> {
        Ok(Lost { sent: Interface::lost(self), ..Lost::default() })
    }

    fn record(&self) -> Option<Recorder> {
        Some(Interface::record(self))
    }
}

/// A TUN device that hands over super-packets, made by [`Tun::with_offloads`].
#[derive(Debug)]
pub struct OffloadTun(pub Tun);

impl Port for OffloadTun {
    #[inline]
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>> {
        let mut header = [0; Offload::LEN];
        let Some(len) = self.0.receive_parts(&mut header, intake.room())? else { return Ok(None) };
        let frame = Frame::new(intake.take(len), 0, Offload::decode(header)?)?;
        Ok(Some(Arrival { frame, is_ip: true, stamp: None }))
    }

    fn merges(&self) -> bool {
        true
    }

    #[inline]
    fn transmit(&mut self, run: &Run) -> io::Result<()> {
        let mut room = [0; HEADER_ROOM];
        let out = run.write(&mut room);
        let header = out.offload.encode();
        if out.head.is_empty() {
            return self.0.transmit_parts(&[IoSlice::new(&header), IoSlice::new(out.body)]);
        }
        self.0.transmit_parts(&[IoSlice::new(&header), IoSlice::new(out.head), IoSlice::new(out.body)])
    }

    fn lost(&mut self) -> io::Result<Lost> {
        self.0.lost()
    }
}

impl AsFd for OffloadTun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An Ethernet interface: a physical port, or one end of a veth pair. The path counts the IP packet in a frame.
///
/// Not for super-packets: offloads of the interface are turned off when it is opened; the host's end of a veth pair
/// must have none either. A frame that is too long for the ring is counted as lost.
#[derive(Debug)]
pub struct Ethernet {
    ring: Ring,
    waiting: Vec<Run>,
    /// What to add to CLOCK_REALTIME to get CLOCK_MONOTONIC, and when that was measured.
    offset: (i64, u64),
    too_long: u64,
}

/// Bytes of an Ethernet header, and of a VLAN tag in it (IEEE 802.3, 802.1Q).
const ETHERNET: usize = 14;
const VLAN: usize = 4;
/// Frames for one call.
const BATCH: usize = 64;
/// The two clocks are compared this often, nanoseconds: CLOCK_REALTIME is slewed by up to 500 ppm.
const COMPARE: u64 = 100_000_000;

impl Ethernet {
    /// An interface of this thread's namespace, for frames that hold IP packets of up to `mtu` bytes.
    ///
    /// # Errors
    /// Without CAP_NET_RAW and CAP_NET_ADMIN, or such an interface.
    pub fn open(name: &str, mtu: usize) -> io::Result<Self> {
        set_offloads(name, false)?;
        let ring = Ring::open(name, mtu + ETHERNET + VLAN)?;
        Ok(Self { ring, waiting: Vec::with_capacity(BATCH), offset: (0, 0), too_long: 0 })
    }

    fn offset(&mut self) -> i64 {
        let now = clock::monotonic();
        if now - self.offset.1 > COMPARE {
            self.offset = (-clock::realtime_offset(), now);
        }
        self.offset.0
    }
}

impl Port for Ethernet {
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>> {
        let offset = self.offset();
        loop {
            let too_long = &mut self.too_long;
            let taken = self.ring.receive(|slot| {
                if slot.bytes.len() < slot.len {
                    *too_long += 1;
                    return None;
                }
                Some((copy(&slot, intake.room()), slot.partial, slot.time))
            });
            let Some(taken) = taken else { return Ok(None) };
            let Some((len, partial, time)) = taken else { continue };
            let bytes = intake.take(len);
            let (link, is_ip) = find_ip(&bytes);
            let place = (partial && is_ip).then(|| header::checksum_place(&bytes[link..])).flatten();
            let checksum = place.map(|(start, offset)| PartialChecksum {
                start: (link + start) as u16,
                offset: offset as u16,
            });
            let frame = Frame::new(bytes, link, Offload { segmentation: None, checksum })?;
            return Ok(Some(Arrival { frame, is_ip, stamp: Some(time.saturating_add_signed(offset)) }));
        }
    }

    fn transmit(&mut self, run: &Run) -> io::Result<()> {
        self.waiting.push(run.clone());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<u64> {
        let mut refused = 0;
        for batch in self.waiting.chunks(BATCH) {
            let frames: Vec<_> = batch.iter().map(Run::complete).collect();
            let frames: Vec<&[u8]> = frames.iter().map(|f| &**f).collect();
            let mut rest = &frames[..];
            while !rest.is_empty() {
                let sent = self.ring.transmit(rest)?;
                rest = &rest[sent..];
                if let Some((_, behind)) = rest.split_first() {
                    refused += 1;
                    rest = behind;
                }
            }
        }
        self.waiting.clear();
        Ok(refused)
    }

    fn lost(&mut self) -> io::Result<Lost> {
        let lost = self.ring.lost()?;
        Ok(Lost { sent: lost.sent + self.too_long, too_long: self.too_long, ..lost })
    }
}

impl AsFd for Ethernet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

/// Copies a frame, its VLAN tag back in its place; how long it is.
fn copy(slot: &Slot<'_>, to: &mut [u8]) -> usize {
    const ADDRESSES: usize = 12;
    let bytes = slot.bytes;
    let Some((protocol, control)) = slot.vlan.filter(|_| bytes.len() >= ADDRESSES) else {
        to[..bytes.len()].copy_from_slice(bytes);
        return bytes.len();
    };
    to[..ADDRESSES].copy_from_slice(&bytes[..ADDRESSES]);
    to[ADDRESSES..ADDRESSES + 2].copy_from_slice(&protocol.to_be_bytes());
    to[ADDRESSES + 2..ADDRESSES + VLAN].copy_from_slice(&control.to_be_bytes());
    to[ADDRESSES + VLAN..bytes.len() + VLAN].copy_from_slice(&bytes[ADDRESSES..]);
    bytes.len() + VLAN
}

/// Where what the frame carries begins, and whether that is IP.
fn find_ip(frame: &[u8]) -> (usize, bool) {
    let kind = |at: usize| frame.get(at..at + 2).map_or(0, |b| i32::from(b[0]) << 8 | i32::from(b[1]));
    let tagged = matches!(kind(ETHERNET - 2), libc::ETH_P_8021Q | libc::ETH_P_8021AD);
    let link = if tagged { ETHERNET + VLAN } else { ETHERNET };
    let is_ip = matches!(kind(link - 2), libc::ETH_P_IP | libc::ETH_P_IPV6) && frame.len() >= link + 20;
    (link.min(frame.len()), is_ip)
}

impl<P: Port + ?Sized> Port for Box<P> {
    #[inline]
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>> {
        (**self).receive(intake)
    }

    fn merges(&self) -> bool {
        (**self).merges()
    }

    #[inline]
    fn transmit(&mut self, run: &Run) -> io::Result<()> {
        (**self).transmit(run)
    }

    fn flush(&mut self) -> io::Result<u64> {
        (**self).flush()
    }

    fn lost(&mut self) -> io::Result<Lost> {
        (**self).lost()
    }

    fn record(&self) -> Option<Recorder> {
        (**self).record()
    }
}
