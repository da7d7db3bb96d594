//! Linux's interfaces, each behind a safe function: clocks, namespaces, devices, sockets, waiting.
//!
//! All `unsafe` of this crate is here, one system call at a time.
#![allow(unsafe_code, reason = "system calls that no library wraps")]

pub mod clock;
pub mod device;
pub mod inside;
pub mod link;
pub mod namespace;
pub mod options;
pub mod packet_socket;
pub mod poll;
pub mod process;
pub mod rights;
pub mod ring;
pub mod sctp;
pub mod sock_diag;
pub mod stamped;
pub mod tcp_info;
pub mod thread;
pub mod tun;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Takes over a descriptor that this process was started with.
///
/// # Errors
/// Where there is no such descriptor.
pub fn adopt_descriptor(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_SETFD takes a number; whoever names the number hands the descriptor over with it.
    unsafe {
        check(libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC).into())
            .map_err(about("the descriptor"))?;
        Ok(OwnedFd::from_raw_fd(number))
    }
}

/// Hands what was written to a file over to whoever keeps it (for a guest: the machine), without waiting for a disk.
/// What is not a file needs none of that.
pub fn write_out(file: impl AsFd) {
    // SAFETY: takes a descriptor and numbers.
    unsafe {
        libc::sync_file_range(
            file.as_fd().as_raw_fd(),
            0,
            0,
            libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER,
        )
    };
}

/// Lets this process open as many files as the kernel gives to anybody (fs.nr_open): each connection of a run has two.
///
/// # Errors
/// Without the privilege to.
pub fn open_many_files() -> io::Result<()> {
    const MOST: u64 = 1 << 20;
    let most = libc::rlimit64 { rlim_cur: MOST, rlim_max: MOST };
    // SAFETY: reads one structure, and writes nothing where told of no place for it. By number, so that it is the guest's
    // call inside one.
    let set = unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            libc::RLIMIT_NOFILE,
            &raw const most,
            std::ptr::null_mut::<libc::rlimit64>(),
        )
    };
    check(set).map_err(about("the limit of open files")).map(drop)
}

/// The answer of a system call, -1 being an error.
fn check(answer: i64) -> io::Result<i64> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// An error with what was tried.
pub(crate) fn about(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}
