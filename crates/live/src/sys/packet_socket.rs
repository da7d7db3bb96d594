//! Packet sockets: what an interface sends and receives, stamped by the kernel.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::options::set;
use super::{about, check, link};

/// A tap on an interface of this thread's namespace.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// One packet as the tap saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The kernel's stamp, CLOCK_REALTIME, nanoseconds.
    pub time: u64,
    /// Bytes of it in the buffer.
    pub len: usize,
    /// True for one that the host sent.
    pub outgoing: bool,
}

/// Room for what waits to be read.
const RECEIVE_BUFFER: u32 = 64 << 20;

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl PacketSocket {
    /// A tap on interface `name`: IP packets without a link header.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, or such an interface.
    pub fn open(name: &str) -> io::Result<Self> {
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; the descriptor that it gives belongs to nobody else.
        let fd = unsafe {
            let fd = check(libc::socket(libc::AF_PACKET, kind, protocol.into()).into())
                .map_err(about("a packet socket"))?;
            OwnedFd::from_raw_fd(fd as i32)
        };
        let tap = Self(fd);
        if set(&tap.0, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &[RECEIVE_BUFFER]).is_err() {
            set(&tap.0, libc::SOL_SOCKET, libc::SO_RCVBUF, &[RECEIVE_BUFFER])?;
        }
        set(&tap.0, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &[1])?;
        let mut address = zeroed_address();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = link::index(name)? as i32;
        // SAFETY: `bind` reads one address of the length given.
        let answer = unsafe {
            libc::bind(
                tap.0.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        check(answer.into()).map_err(about(format!("a packet socket on {name}")))?;
        Ok(tap)
    }

    /// The next packet, into `buffer`; `None` if none waits.
    ///
    /// # Errors
    /// Those of the interface, such as that it is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Captured>> {
        let mut address = zeroed_address();
        let mut control = [0_u64; 16];
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: every pointer leads to memory that outlives the call, of the length stated beside it; the
        // walk over control messages stays within what the kernel wrote, by its own macros.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_name = (&raw mut address).cast();
            message.msg_namelen = size_of::<libc::sockaddr_ll>() as _;
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let len = match check(libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0) as i64) {
                Ok(len) => len as usize,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) => return Err(e),
            };
            let mut time = 0;
            let mut at = libc::CMSG_FIRSTHDR(&raw const message);
            while !at.is_null() {
                if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_TIMESTAMPNS {
                    let stamp: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(at).cast());
                    time = stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64;
                }
                at = libc::CMSG_NXTHDR(&raw const message, at);
            }
            let outgoing = address.sll_pkttype == libc::PACKET_OUTGOING;
            Ok(Some(Captured { time, len, outgoing }))
        }
    }

    /// Packets that came while the buffer was full, since the last call.
    ///
    /// # Errors
    /// As for any socket operation.
    pub fn missed(&self) -> io::Result<u64> {
        let mut statistics = [0_u32; 2];
        let mut len = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: PACKET_STATISTICS writes two `unsigned int`.
        let answer = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                statistics.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        check(answer.into())?;
        Ok(statistics[1].into())
    }
}

fn zeroed_address() -> libc::sockaddr_ll {
    // SAFETY: an address of zeros is a valid value of plain numbers.
    unsafe { std::mem::zeroed() }
}
