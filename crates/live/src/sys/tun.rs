//! TUN devices: what a host sends is read here, what is written here the host receives.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::{about, check};

/// A TUN device of this thread's namespace; it goes when it is closed.
#[derive(Debug)]
pub struct Tun(File);

/// `struct ifreq` as far as TUN needs it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

impl Tun {
    /// A new device called `name`, not blocking, for single IP packets without headers of their own.
    ///
    /// # Errors
    /// Without /dev/net/tun or CAP_NET_ADMIN.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::with_flags(name, libc::IFF_TUN | libc::IFF_NO_PI)
    }

    /// A new device with these flags of TUNSETIFF.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn with_flags(name: &str, flags: libc::c_int) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(about("/dev/net/tun"))?;
        let mut request = Request { name: [0; libc::IFNAMSIZ], flags: flags as i16, rest: [0; 22] };
        for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *to = from;
        }
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is and which outlives the call.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        check(answer.into()).map_err(about(format!("a TUN device {name}")))?;
        Ok(Self(file))
    }

    /// The next packet that the host has sent, into `buffer`; `None` if there is none now.
    ///
    /// # Errors
    /// Those of the device.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.read(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Hands a packet to the host, whose stack runs within this call.
    ///
    /// # Errors
    /// Those of the device.
    pub fn transmit(&mut self, packet: &[u8]) -> io::Result<()> {
        self.0.write(packet).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
