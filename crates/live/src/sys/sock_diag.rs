//! NETLINK_SOCK_DIAG: what the kernel tells of an SCTP association beyond its socket's options.
//!
//! The message is `struct inet_diag_req_v2`, the answer `struct inet_diag_msg` with `struct sctp_info` as an attribute
//! [Linux 6.1 include/uapi/linux/inet_diag.h, sctp.h]. Both are read and written by their offsets.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_sys::{Socket, SocketAddr as Kernel, protocols::NETLINK_SOCK_DIAG};

/// Questions about the associations of the namespace in which it was opened.
#[derive(Debug)]
pub struct SockDiag(Socket);

/// The primary path of an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathState {
    /// Slow-start threshold, bytes.
    pub ssthresh: u32,
    /// Bytes of data outstanding.
    pub flight: u32,
    /// Expiries of its timer in a row.
    pub errors: u16,
}

impl SockDiag {
    /// In this thread's namespace.
    ///
    /// # Errors
    /// Where the kernel has no such interface.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&Kernel::new(0, 0))?;
        Ok(Self(socket))
    }

    /// The association between two addresses; `None` where there is none, or this kernel does not report it.
    pub fn path(&self, local: SocketAddr, remote: SocketAddr) -> Option<PathState> {
        self.0.send(&request(local, remote), 0).ok()?;
        let mut room = Vec::with_capacity(4096);
        self.0.recv(&mut room, libc::MSG_DONTWAIT).ok()?;
        answer(&room)
    }
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const HEADER: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;

fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let mut all = Vec::with_capacity(HEADER + REQUEST);
    all.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
    all.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    all.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    all.extend([0; 8]);
    let family = if local.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    all.extend([family as u8, libc::IPPROTO_SCTP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    all.extend(u32::MAX.to_ne_bytes());
    all.extend(local.port().to_be_bytes());
    all.extend(remote.port().to_be_bytes());
    for address in [local.ip(), remote.ip()] {
        let mut octets = [0; 16];
        match address {
            IpAddr::V4(a) => octets[..4].copy_from_slice(&a.octets()),
            IpAddr::V6(a) => octets.copy_from_slice(&a.octets()),
        }
        all.extend(octets);
    }
    all.extend([0; 4]);
    all.extend([0xff; 8]); // any cookie
    all
}

fn answer(bytes: &[u8]) -> Option<PathState> {
    let number = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if number(4)? != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let mut at = HEADER + ANSWER;
    loop {
        let (len, kind) = (usize::from(number(at)?), number(at + 2)?);
        if len < 4 {
            return None;
        }
        if kind == INET_DIAG_INFO {
            return info(bytes.get(at + 4..at + len)?);
        }
        at += len.next_multiple_of(4);
    }
}

/// Where `sctpi_p_ssthresh`, `sctpi_p_flight_size` and `sctpi_p_error` stand in `struct sctp_info`.
const PLACES: [usize; 3] = [328, 336, 340];

fn info(bytes: &[u8]) -> Option<PathState> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let errors = u16::from_ne_bytes(bytes.get(PLACES[2]..PLACES[2] + 2)?.try_into().ok()?);
    Some(PathState { ssthresh: word(PLACES[0])?, flight: word(PLACES[1])?, errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(kinds: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut all = vec![0; HEADER + ANSWER];
        all[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        for (kind, value) in kinds {
            all.extend((4 + value.len() as u16).to_ne_bytes());
            all.extend(kind.to_ne_bytes());
            all.extend(value);
            all.resize(all.len().next_multiple_of(4), 0);
        }
        all
    }

    #[test]
    fn the_path_stands_in_an_attribute_behind_others() {
        let mut info = vec![0; 376];
        info[328..332].copy_from_slice(&106_496_u32.to_ne_bytes());
        info[336..340].copy_from_slice(&300_u32.to_ne_bytes());
        info[340..342].copy_from_slice(&2_u16.to_ne_bytes());
        let whole = answered(&[(7, vec![1, 2, 3]), (INET_DIAG_INFO, info.clone())]);
        assert_eq!(answer(&whole), Some(PathState { ssthresh: 106_496, flight: 300, errors: 2 }));
        assert_eq!(answer(&whole[..whole.len() - 60]), None, "cut off");
        assert_eq!(answer(&answered(&[(7, vec![1])])), None);
        assert_eq!(answer(&[]), None);
    }

    #[test]
    fn a_question_names_protocol_and_both_ends() {
        let bytes = request("10.0.2.1:5001".parse().unwrap(), "10.0.1.1:10000".parse().unwrap());
        assert_eq!((bytes.len(), bytes[17]), (72, 132));
        assert_eq!(bytes[24..28], [0x13, 0x89, 0x27, 0x10]);
        assert_eq!((&bytes[28..32], &bytes[44..48]), (&[10, 0, 2, 1][..], &[10, 0, 1, 1][..]));
    }
}
