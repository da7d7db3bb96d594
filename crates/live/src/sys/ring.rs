//! An interface's Ethernet frames through a ring shared with the kernel (PACKET_RX_RING, TPACKET_V2; Linux,
//! `Documentation/networking/packet_mmap.rst`), and many frames per call on the way out (sendmmsg).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::device::{DeviceCounters, Lost};
use super::options::set;
use super::{about, check, link};

/// A socket on an interface with its ring.
#[derive(Debug)]
pub struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    slots: usize,
    slot_len: usize,
    next: usize,
    counters: DeviceCounters,
    missed: u64,
}

// SAFETY: the memory is the ring's own; nothing about it belongs to a thread.
unsafe impl Send for Ring {}

/// A frame in its slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    /// From the Ethernet header on.
    pub bytes: &'a [u8],
    /// Its length; more than there are bytes where the slot was too small.
    pub len: usize,
    /// When it arrived, CLOCK_REALTIME, nanoseconds.
    pub time: u64,
    /// Its transport checksum holds the pseudo-header's sum only.
    pub partial: bool,
    /// A VLAN tag that the card took out: protocol and control information.
    pub vlan: Option<(u16, u16)>,
}

/// Memory of a ring.
const RING_BYTES: usize = 64 << 20;
const BLOCK: usize = 1 << 20;
/// What a slot needs besides its frame: TPACKET2_HDRLEN and alignment.
const OVERHEAD: usize = 128;
const SEND_BUFFER: libc::c_int = 64 << 20;

impl Ring {
    /// A ring on interface `name` of this thread's namespace, for frames of up to `largest` bytes. The interface
    /// takes every frame, whoever it is for.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, or such an interface.
    pub fn open(name: &str, largest: usize) -> io::Result<Self> {
        let slot_len = (largest + OVERHEAD).next_power_of_two().max(2048);
        let slots = RING_BYTES / slot_len;
        let socket = socket(name)?;
        let set = |option, value: &[u32]| set(&socket, libc::SOL_PACKET, option, value).map_err(about(name));
        set(libc::PACKET_VERSION, &[libc::tpacket_versions::TPACKET_V2 as u32])?;
        set(libc::PACKET_IGNORE_OUTGOING, &[1])?;
        set(libc::PACKET_QDISC_BYPASS, &[1])?;
        // struct packet_mreq: index; type and length of an address; the address.
        set(libc::PACKET_ADD_MEMBERSHIP, &[link::index(name)?, libc::PACKET_MR_PROMISC as u32, 0, 0])?;
        // struct tpacket_req: block size and count, slot size and count.
        let blocks = (RING_BYTES / BLOCK) as u32;
        set(libc::PACKET_RX_RING, &[BLOCK as u32, blocks, slot_len as u32, slots as u32])?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: the kernel chooses the place; the result is checked before it is used.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), RING_BYTES, protection, flags, socket.as_raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(about(format!("a ring on {name}"))(io::Error::last_os_error()));
        }
        let memory = NonNull::new(memory.cast()).ok_or_else(io::Error::last_os_error)?;
        bind(&socket, name)?;
        Ok(Self {
            socket,
            memory,
            slots,
            slot_len,
            next: 0,
            counters: DeviceCounters::open(name)?,
            missed: 0,
        })
    }

    /// Lets `take` look at the next frame that has arrived; `None` if there is none.
    pub fn receive<T>(&mut self, take: impl FnOnce(Slot<'_>) -> T) -> Option<T> {
        // SAFETY: `next` is below `slots`, and the map has `slots * slot_len` bytes. The kernel leaves the slot alone
        // from TP_STATUS_USER on, read with acquire order, until TP_STATUS_KERNEL is stored. The header is plain
        // numbers; what it says of the frame's place is held against the slot's end.
        unsafe {
            let slot = self.memory.as_ptr().add(self.next * self.slot_len);
            let status = &*slot.cast::<AtomicU32>();
            let state = status.load(Ordering::Acquire);
            if state & libc::TP_STATUS_USER == 0 {
                return None;
            }
            let header = slot.cast::<libc::tpacket2_hdr>().read();
            let at = usize::from(header.tp_mac).min(self.slot_len);
            let here = (header.tp_snaplen as usize).min(self.slot_len - at);
            let vlan = state & libc::TP_STATUS_VLAN_VALID != 0;
            let taken = take(Slot {
                bytes: std::slice::from_raw_parts(slot.add(at), here),
                len: header.tp_len as usize,
                time: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
                partial: state & libc::TP_STATUS_CSUMNOTREADY != 0,
                vlan: vlan.then_some((header.tp_vlan_tpid, header.tp_vlan_tci)),
            });
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
            Some(taken)
        }
    }

    /// Sends frames in one call; how many the interface took. Fewer: the one behind those was refused.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn transmit(&self, frames: &[&[u8]]) -> io::Result<usize> {
        let mut parts: Vec<libc::iovec> = frames
            .iter()
            .map(|f| libc::iovec { iov_base: f.as_ptr().cast_mut().cast(), iov_len: f.len() })
            .collect();
        let messages = parts.iter_mut().map(|part| {
            // SAFETY: a message of zeros is a valid value: no address, no data.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            message
        });
        let mut messages: Vec<libc::mmsghdr> = messages.collect();
        // SAFETY: the messages and what they point to outlive the call; sending writes to no frame.
        let sent = unsafe {
            libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), messages.len() as u32, 0)
        };
        match check(sent.into()) {
            Ok(sent) => Ok(sent as usize),
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN | libc::EMSGSIZE)) => {
                Ok(0)
            }
            Err(e) => Err(e),
        }
    }

    /// What the interface and the ring lost so far; what the ring had no slot for counts as sent by the host.
    ///
    /// # Errors
    /// Where the interface is gone.
    pub fn lost(&mut self) -> io::Result<Lost> {
        let mut statistics = [0_u32; 2];
        let mut len = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: PACKET_STATISTICS writes two `unsigned int`; they are since the last call.
        let answer = unsafe {
            let (fd, level) = (self.socket.as_raw_fd(), libc::SOL_PACKET);
            let to = statistics.as_mut_ptr().cast();
            libc::getsockopt(fd, level, libc::PACKET_STATISTICS, to, &raw mut len)
        };
        check(answer.into())?;
        self.missed += u64::from(statistics[1]);
        let of = self.counters.lost()?;
        // Here the interface is the emulator's own: what it receives, the host has sent.
        Ok(Lost { sent: of.received + self.missed, received: of.sent, too_long: 0 })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the map that `open` made, which nothing uses any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), RING_BYTES) };
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A packet socket that receives nothing yet.
fn socket(name: &str) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; the descriptor that it gives belongs to nobody else.
    let socket = unsafe {
        let fd = check(libc::socket(libc::AF_PACKET, kind, 0).into()).map_err(about("a packet socket"))?;
        OwnedFd::from_raw_fd(fd as i32)
    };
    // Root of a user namespace has what everybody may have (net.core.wmem_max): a hundred frames, each of which is gone when
    // the interface's other end has taken it.
    set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &[SEND_BUFFER as u32])
        .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &[SEND_BUFFER as u32]))
        .map_err(about(name))?;
    Ok(socket)
}

fn bind(socket: &OwnedFd, name: &str) -> io::Result<()> {
    // SAFETY: an address of zeros is a valid value of plain numbers; `bind` reads one of the length given.
    let answer = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = link::index(name)? as i32;
        let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len)
    };
    check(answer.into()).map(drop).map_err(about(format!("a packet socket on {name}")))
}
