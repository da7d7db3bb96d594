//! Options of sockets that the libraries have no names for.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rexmit_stack::SocketSpec;

use super::check;

/// The byte of differentiated services in the headers of what the socket sends (ip(7), ipv6(7)).
///
/// # Errors
/// Those of setsockopt(2).
pub fn set_tos(socket: impl AsFd, ipv6: bool, tos: u8) -> io::Result<()> {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
    set(socket, level, name, &[tos.into()])
}

/// What a transfer asks of a TCP socket, except buffers and Nagle's algorithm (tcp(7), socket(7)).
///
/// # Errors
/// Those of setsockopt(2).
pub fn set_tcp(socket: impl AsFd, wish: &SocketSpec) -> io::Result<()> {
    let number = |n: u64| n.min(i32::MAX as u64) as u32;
    let options = [
        (libc::TCP_MAXSEG, wish.max_segment.map(u32::from)),
        (libc::TCP_WINDOW_CLAMP, wish.window_clamp.map(|bytes| number(bytes.as_u64()))),
        (libc::TCP_NOTSENT_LOWAT, wish.not_sent_low.map(|bytes| number(bytes.as_u64()))),
        (libc::TCP_USER_TIMEOUT, wish.user_timeout.map(|time| number(time.as_nanos() / 1_000_000))),
        (libc::TCP_SYNCNT, wish.syn_retries.map(u32::from)),
        (libc::TCP_THIN_LINEAR_TIMEOUTS, wish.thin_linear_timeouts.map(u32::from)),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            set(&socket, libc::IPPROTO_TCP, name, &[value])?;
        }
    }
    if let Some(rate) = wish.pacing_rate {
        // Bytes a second, as 64 bits.
        let rate = rate.bits_per_second() / 8;
        let halves = rate.to_ne_bytes();
        let half =
            |at: usize| u32::from_ne_bytes([halves[at], halves[at + 1], halves[at + 2], halves[at + 3]]);
        set(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &[half(0), half(4)])?;
    }
    Ok(())
}

/// Sets an option whose value is numbers.
///
/// # Errors
/// Those of setsockopt(2).
pub fn set(socket: impl AsFd, level: i32, name: i32, value: &[u32]) -> io::Result<()> {
    let len = size_of_val(value) as libc::socklen_t;
    // SAFETY: the option is plain numbers of `len` bytes, which outlive the call.
    let answer =
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_ptr().cast(), len) };
    check(answer.into()).map(drop)
}
