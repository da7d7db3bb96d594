//! Datagrams with the kernel's stamp of their arrival (SO_TIMESTAMPNS).

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

/// Has the kernel stamp what arrives, with room for `bytes` of it (memory that it takes included), beyond the system's
/// limit.
///
/// # Errors
/// Without CAP_NET_ADMIN.
pub fn stamp(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(setsockopt(socket, sockopt::RcvBufForce, &bytes)?)
}

/// The next datagram that has arrived, into `buffer`: its length and stamp, nanoseconds of CLOCK_REALTIME. `None` if
/// there is none.
///
/// # Errors
/// Those of the socket.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<(usize, u64)>> {
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    let message =
        match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT) {
            Err(Errno::EAGAIN) => return Ok(None),
            other => other?,
        };
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(t) => {
            Some(t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
        }
        _ => None,
    });
    let stamp = stamp.ok_or_else(|| io::Error::other("a datagram without a stamp"))?;
    Ok(Some((message.bytes, stamp)))
}
