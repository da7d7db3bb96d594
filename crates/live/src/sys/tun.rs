//! TUN devices: what a host sends is read here, what is written here the host receives.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::device::{DeviceCounters, Lost};
use super::{about, check};

/// A TUN device of this thread's namespace; it goes when it is closed.
#[derive(Debug)]
pub struct Tun {
    file: File,
    counters: Option<DeviceCounters>,
}

/// `struct ifreq` as far as TUN needs it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

impl Tun {
    /// Succeeds where this process may open the file by which devices are made.
    ///
    /// # Errors
    /// Why it may not.
    pub fn is_open() -> io::Result<()> {
        Self::file().map(drop)
    }

    fn file() -> io::Result<File> {
        rexmit_files::open_device("/dev/net/tun", libc::O_NONBLOCK).map_err(about("/dev/net/tun"))
    }

    /// A new device called `name`, not blocking, for single IP packets without headers of their own.
    ///
    /// # Errors
    /// Without /dev/net/tun or CAP_NET_ADMIN.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::with_flags(name, libc::IFF_TUN | libc::IFF_NO_PI)
    }

    /// A new device with a virtio-net header before each packet, by which it offers to split TCP segments and to
    /// complete checksums for the host.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn with_offloads(name: &str) -> io::Result<Self> {
        let tun = Self::with_flags(name, libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR)?;
        let offers = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        // SAFETY: TUNSETOFFLOAD takes its argument by value.
        let answer = unsafe {
            libc::ioctl(tun.file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(offers))
        };
        check(answer.into()).map_err(about(format!("offloads of {name}")))?;
        Ok(tun)
    }

    /// A new device with these flags of TUNSETIFF.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn with_flags(name: &str, flags: libc::c_int) -> io::Result<Self> {
        let file = Self::file()?;
        let mut request = Request { name: [0; libc::IFNAMSIZ], flags: flags as i16, rest: [0; 22] };
        for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *to = from;
        }
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is and which outlives the call.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        check(answer.into()).map_err(about(format!("a TUN device {name}")))?;
        Ok(Self { file, counters: DeviceCounters::open(name).ok() })
    }

    /// The next packet that the host has sent, into `buffer`; `None` if there is none now.
    ///
    /// # Errors
    /// Those of the device.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        unless_blocked(self.file.read(buffer))
    }

    /// The next packet and the header before it.
    ///
    /// # Errors
    /// Those of the device.
    pub fn receive_parts(&mut self, header: &mut [u8], buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let before = header.len();
        let parts = &mut [IoSliceMut::new(header), IoSliceMut::new(buffer)];
        Ok(unless_blocked(self.file.read_vectored(parts))?.map(|len| len.saturating_sub(before)))
    }

    /// Hands a packet to the host, whose stack runs within this call.
    ///
    /// # Errors
    /// Those of the device.
    pub fn transmit(&mut self, packet: &[u8]) -> io::Result<()> {
        self.file.write(packet).map(drop)
    }

    /// Hands over a packet that lies in parts.
    ///
    /// # Errors
    /// Those of the device.
    pub fn transmit_parts(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.file.write_vectored(parts).map(drop)
    }

    /// What the device itself lost so far.
    ///
    /// # Errors
    /// Where it is gone.
    pub fn lost(&self) -> io::Result<Lost> {
        self.counters.as_ref().map_or(Ok(Lost::default()), DeviceCounters::lost)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn unless_blocked(read: io::Result<usize>) -> io::Result<Option<usize>> {
    match read {
        Ok(len) => Ok(Some(len)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}
