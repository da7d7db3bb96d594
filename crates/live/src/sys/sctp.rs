//! SCTP as Linux has it: messages with their stream and number, options, and what the kernel tells of an association.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// The number of the protocol.
pub const PROTOCOL: i32 = libc::IPPROTO_SCTP;

/// The states of an association by their number (`enum sctp_sstat_state`), as RFC 9260 section 4 writes them.
pub const STATES: [&str; 9] = [
    "CLOSED",
    "CLOSED",
    "COOKIE-WAIT",
    "COOKIE-ECHOED",
    "ESTABLISHED",
    "SHUTDOWN-PENDING",
    "SHUTDOWN-SENT",
    "SHUTDOWN-RECEIVED",
    "SHUTDOWN-ACK-SENT",
];

/// `struct sctp_paddrinfo`: the path to an address. The window is in bytes, times are in milliseconds.
#[repr(C, packed(4))]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names are the kernel's: include/uapi/linux/sctp.h")]
pub struct PathInfo {
    pub assoc_id: i32,
    pub address: libc::sockaddr_storage,
    pub state: i32,
    pub cwnd: u32,
    pub srtt: u32,
    pub rto: u32,
    pub mtu: u32,
}

/// `struct sctp_status`, of SCTP_STATUS: an association and its primary path.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names are the kernel's: include/uapi/linux/sctp.h")]
pub struct Status {
    pub assoc_id: i32,
    pub state: i32,
    pub rwnd: u32,
    pub unackdata: u16,
    pub penddata: u16,
    pub instrms: u16,
    pub outstrms: u16,
    pub fragmentation_point: u32,
    pub primary: PathInfo,
}

/// `struct sctp_assoc_stats`, of SCTP_GET_ASSOC_STATS: what an association has done. Chunks, not packets, where not said
/// otherwise; `maxrto` is in milliseconds and starts over with each question.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names are the kernel's: include/uapi/linux/sctp.h")]
pub struct Statistics {
    pub assoc_id: i32,
    pub obs_rto_ipaddr: libc::sockaddr_storage,
    pub maxrto: u64,
    pub isacks: u64,
    pub osacks: u64,
    pub opackets: u64,
    pub ipackets: u64,
    pub rtxchunks: u64,
    pub outofseqtsns: u64,
    pub idupchunks: u64,
    pub gapcnt: u64,
    pub ouodchunks: u64,
    pub iuodchunks: u64,
    pub oodchunks: u64,
    pub iodchunks: u64,
    pub octrlchunks: u64,
    pub ictrlchunks: u64,
}

/// An option whose value is plain numbers.
///
/// # Safety
/// Every pattern of bits is a value of the type.
unsafe trait Plain: Copy {}

// SAFETY: numbers and arrays of them.
unsafe impl Plain for Status {}
// SAFETY: likewise.
unsafe impl Plain for Statistics {}
// SAFETY: likewise.
unsafe impl Plain for i32 {}
// SAFETY: likewise.
unsafe impl Plain for [u32; 3] {}
// SAFETY: likewise.
unsafe impl Plain for [u8; PATH_PARAMETERS] {}
// SAFETY: likewise.
unsafe impl Plain for libc::sctp_initmsg {}

fn get<T: Plain>(socket: impl AsFd, option: i32) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `len` bytes of a value that is valid whatever they are.
    unsafe {
        check(libc::getsockopt(fd, PROTOCOL, option, value.as_mut_ptr().cast(), &raw mut len).into())?;
        Ok(value.assume_init())
    }
}

fn set<T: Plain>(socket: impl AsFd, option: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the value is plain numbers of `len` bytes, which outlive the call.
    check(unsafe { libc::setsockopt(fd, PROTOCOL, option, std::ptr::from_ref(value).cast(), len) }.into())
        .map(drop)
}

/// The association of a socket.
///
/// # Errors
/// InvalidInput where there is none: not yet, or no longer.
pub fn status(socket: impl AsFd) -> io::Result<Status> {
    get(socket, libc::SCTP_STATUS)
}

/// What the association of a socket has done.
///
/// # Errors
/// As [`status`].
pub fn statistics(socket: impl AsFd) -> io::Result<Statistics> {
    get(socket, SCTP_GET_ASSOC_STATS)
}

/// Not in every library's headers [include/uapi/linux/sctp.h].
const SCTP_GET_ASSOC_STATS: i32 = 112;

/// Memory that the unacknowledged messages of a send buffer take, bookkeeping included (SO_MEMINFO); lksctp
/// does not tell their bytes.
///
/// # Errors
/// As for any socket operation.
pub fn queued(socket: impl AsFd) -> io::Result<u64> {
    let mut memory = [0_u32; 9];
    let mut len = size_of_val(&memory) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: SO_MEMINFO writes at most `len` bytes of whole numbers.
    let answer = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, memory.as_mut_ptr().cast(), &raw mut len)
    };
    check(answer.into())?;
    Ok(memory[5].into()) // SK_MEMINFO_WMEM_QUEUED
}

/// Messages are not held back while something is outstanding (SCTP_NODELAY).
///
/// # Errors
/// Where it is not an SCTP socket.
pub fn set_no_delay(socket: impl AsFd, on: bool) -> io::Result<()> {
    set(socket, libc::SCTP_NODELAY, &i32::from(on))
}

/// Each read says which message it is of (SCTP_RECVRCVINFO).
///
/// # Errors
/// Where it is not an SCTP socket.
pub fn tell_messages(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::SCTP_RECVRCVINFO, &1)
}

/// Outgoing streams that the next association asks for (SCTP_INITMSG); a listening socket's hold for those accepted.
///
/// # Errors
/// Where it is not an SCTP socket.
pub fn set_streams(socket: impl AsFd, outgoing: u16) -> io::Result<()> {
    let wanted = libc::sctp_initmsg {
        sinit_num_ostreams: outgoing,
        sinit_max_instreams: 0,
        sinit_max_attempts: 0,
        sinit_max_init_timeo: 0,
    };
    set(socket, libc::SCTP_INITMSG, &wanted)
}

/// When SACKs are sent (SCTP_DELAYED_SACK): after this many milliseconds or this many packets with data; 0 leaves one
/// as it is, and 1 packet means at once.
///
/// # Errors
/// A delay above 500 ms.
pub fn set_delayed_sack(socket: impl AsFd, delay_ms: u32, packets: u32) -> io::Result<()> {
    set(socket, libc::SCTP_DELAYED_SACK, &[0, delay_ms, packets])
}

/// Idle paths are probed, or not (SCTP_PEER_ADDR_PARAMS).
///
/// # Errors
/// Where it is not an SCTP socket.
pub fn set_heartbeats(socket: impl AsFd, on: bool) -> io::Result<()> {
    let mut wanted = [0_u8; PATH_PARAMETERS];
    let flag: u32 = if on { 1 } else { 2 };
    wanted[FLAGS..FLAGS + 4].copy_from_slice(&flag.to_ne_bytes());
    set(socket, libc::SCTP_PEER_ADDR_PARAMS, &wanted)
}

/// Length of `struct sctp_paddrparams`, which is packed: an identifier, an address of 128 bytes, interval, retransmissions,
/// MTU, delay, flags, label and a byte, rounded up to 4 bytes.
const PATH_PARAMETERS: usize = (4_usize + 128 + 4 + 2 + 4 + 4 + 4 + 4 + 1).next_multiple_of(4);
/// Where its flags stand.
const FLAGS: usize = 4 + 128 + 4 + 2 + 4 + 4;

/// How a message is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Its stream.
    pub stream: u16,
    /// Without order.
    pub unordered: bool,
    /// Its payload protocol identifier.
    pub ppid: u32,
    /// It is given up after a time (milliseconds) or after this many retransmissions.
    pub until: Option<Until>,
}

/// When a message is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this many milliseconds (RFC 7496 section 4.1: SCTP_PR_SCTP_TTL).
    Age(u32),
    /// Rather than retransmitted more often than this (SCTP_PR_SCTP_RTX).
    Retransmissions(u32),
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes.
    pub len: usize,
    /// Payload protocol identifier of their message, where the kernel said.
    pub ppid: Option<u32>,
    /// They are the last of their message.
    pub whole: bool,
}

/// Room for two control messages, aligned as their headers are.
type Control = [u64; 16];

/// Sends one message, whole or not at all.
///
/// # Errors
/// WouldBlock where the send buffer has no room; a message that is longer than it.
pub fn send(socket: impl AsFd, message: &[u8], how: &Sending) -> io::Result<()> {
    let mut control: Control = [0; 16];
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
    let info = libc::sctp_sndinfo {
        snd_sid: how.stream,
        snd_flags: if how.unordered { libc::SCTP_UNORDERED as u16 } else { 0 },
        snd_ppid: how.ppid.to_be(),
        snd_context: 0,
        snd_assoc_id: 0,
    };
    let limit = how.until.map(|until| match until {
        Until::Age(ms) => libc::sctp_prinfo { pr_policy: libc::SCTP_PR_SCTP_TTL as u16, pr_value: ms },
        Until::Retransmissions(n) => {
            libc::sctp_prinfo { pr_policy: libc::SCTP_PR_SCTP_RTX as u16, pr_value: n }
        }
    });
    // SAFETY: every pointer leads to memory that outlives the call, of the length stated beside it; `sendmsg` does not
    // write to the message; both control messages fit into the room for them.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        let mut used = put(first, libc::SCTP_SNDINFO, info);
        if let Some(limit) = limit {
            used += put(libc::CMSG_NXTHDR(&raw const header, first), libc::SCTP_PRINFO, limit);
        }
        header.msg_controllen = used as _;
        let sent = libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL);
        check(sent as i64).map(drop)
    }
}

/// Writes a control message of SCTP to `at`; the answer is the room that it takes.
///
/// # Safety
/// `at` leads to that much room, or is null where nothing fits.
unsafe fn put<T>(at: *mut libc::cmsghdr, kind: i32, value: T) -> usize {
    let len = size_of::<T>() as u32;
    // SAFETY: as the caller says.
    unsafe {
        if at.is_null() {
            return 0;
        }
        (*at).cmsg_level = PROTOCOL;
        (*at).cmsg_type = kind;
        (*at).cmsg_len = libc::CMSG_LEN(len) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(at).cast(), value);
        libc::CMSG_SPACE(len) as usize
    }
}

/// Reads (the rest of) one message, or as much of it as `buffer` holds; no bytes at the end of the stream.
///
/// # Errors
/// WouldBlock where nothing waits.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control: Control = [0; 16];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: every pointer leads to memory that outlives the call, of the length stated beside it; the walk over
    // control messages stays within what the kernel wrote, by its own macros.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        let len = check(libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, 0) as i64)?;
        let mut ppid = None;
        let mut at = libc::CMSG_FIRSTHDR(&raw const header);
        while !at.is_null() {
            if (*at).cmsg_level == PROTOCOL && (*at).cmsg_type == libc::SCTP_RCVINFO {
                let info: libc::sctp_rcvinfo = std::ptr::read_unaligned(libc::CMSG_DATA(at).cast());
                ppid = Some(u32::from_be(info.rcv_ppid));
            }
            at = libc::CMSG_NXTHDR(&raw const header, at);
        }
        let whole = header.msg_flags & libc::MSG_EOR != 0;
        Ok(Received { len: len as usize, ppid, whole })
    }
}
