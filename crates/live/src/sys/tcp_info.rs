//! TCP_INFO: what the kernel tells about a connection.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::{check, options};

/// `struct tcp_info` of Linux up to 6.1; what an older kernel does not know stays 0. Times are in microseconds,
/// windows in segments, where not said otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the names are the kernel's: include/uapi/linux/tcp.h")]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub delivery_flags: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
}

/// The number of TCP_CLOSE among the states of a connection.
pub const CLOSE: u8 = 7;
/// The number of TCP_SYN_SENT.
pub const SYN_SENT: u8 = 2;

/// The states of a connection by their number (include/net/tcp_states.h), as RFC 9293 writes them.
pub const STATES: [&str; 13] = [
    "UNKNOWN",
    "ESTABLISHED",
    "SYN-SENT",
    "SYN-RECEIVED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSED",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "SYN-RECEIVED",
];

/// What the sender is doing, by `ca_state`.
pub const PHASES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// What the kernel tells about a socket.
///
/// # Errors
/// Where it is not a TCP socket.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut len = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: `info` is plain numbers of `len` bytes, of which the kernel writes at most `len`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    check(answer.into())?;
    Ok(info)
}

/// The largest window that a receiver offers, bytes (TCP_WINDOW_CLAMP); a listening socket's holds for those that it
/// accepts.
///
/// # Errors
/// Where it is not a TCP socket.
pub fn clamp_window(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &[bytes])
}

/// Bytes that wait in the receive buffer (`FIONREAD`) or the send buffer (`TIOCOUTQ`).
///
/// # Errors
/// Where the socket has none.
fn waiting(socket: impl AsFd, request: libc::c_ulong) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: both requests write one `int`.
    let answer = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), request as _, &raw mut bytes) };
    check(answer.into())?;
    Ok(bytes.max(0) as u64)
}

/// Bytes in order that wait for a read.
///
/// # Errors
/// As for any socket operation.
pub fn readable(socket: impl AsFd) -> io::Result<u64> {
    waiting(socket, libc::FIONREAD as _)
}

/// Bytes in the send buffer that are not acknowledged, sent or not.
///
/// # Errors
/// As for any socket operation.
pub fn unacknowledged(socket: impl AsFd) -> io::Result<u64> {
    waiting(socket, libc::TIOCOUTQ as _)
}
