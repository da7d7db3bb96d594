//! Sockets as a scenario wants them.

use std::io;
use std::net::SocketAddr;

use rexmit_network::two_hosts::SERVER;
use rexmit_scenario::{LinuxSpec, Resolved, SpecError, StackProfile};
use rexmit_stack::SocketWish;
use rexmit_traffic::Transfer;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::socket::{self, KernelSocket};
use crate::sys::{options, sctp};

/// The protocol of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// SCTP.
    Sctp,
}

/// What a socket is asked for besides its host's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    protocol: Protocol,
    /// Outgoing streams that its messages take.
    streams: u16,
    /// What its transfer asks for.
    options: Option<&'a SocketWish>,
}

impl Protocol {
    /// That of the hosts' profiles.
    ///
    /// # Errors
    /// A protocol that no kernel has.
    pub fn of(resolved: &Resolved) -> Result<Self, SpecError> {
        resolved.refuse_kernels()?;
        Ok(match *resolved.stacks[SERVER] {
            StackProfile::Sctp(_) => Self::Sctp,
            StackProfile::Tcp(_) | StackProfile::Quic(_) => Self::Tcp,
        })
    }

    /// What a transfer wants.
    pub fn with(self, transfer: &Transfer) -> Wish<'_> {
        self.with_options(transfer.streams(), transfer.wish().map(|wish| &**wish))
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "tcp" => Some(Self::Tcp),
            "sctp" => Some(Self::Sctp),
            _ => None,
        }
    }

    /// What an end that uses this many streams, and asks for these options, wants.
    pub fn with_options(self, streams: u16, options: Option<&SocketWish>) -> Wish<'_> {
        Wish { protocol: self, streams, options }
    }

    /// Two ends of a connection between these addresses of these hosts.
    pub fn pair(self, ends: [(SocketAddr, &socket::Host); 2]) -> [KernelSocket; 2] {
        match self {
            Self::Tcp => KernelSocket::tcp_pair(ends.map(|(address, _)| address)),
            Self::Sctp => KernelSocket::sctp_pair(ends),
        }
    }

    /// One end, whose peer is elsewhere.
    pub fn alone(self, local: (SocketAddr, &socket::Host), remote: SocketAddr) -> KernelSocket {
        match self {
            Self::Tcp => KernelSocket::tcp(remote),
            Self::Sctp => KernelSocket::sctp(local, remote),
        }
    }
}

/// Outgoing streams that lksctp asks for where nothing is said (SCTP_DEFAULT_OUTSTREAMS).
const STREAMS: u16 = 10;

/// A socket of a host, bound to its address, not blocking, with its options.
///
/// # Errors
/// A protocol or an option that the kernel does not have.
pub fn open(address: SocketAddr, linux: &LinuxSpec, wish: Wish<'_>) -> io::Result<Socket> {
    let number = match wish.protocol {
        Protocol::Tcp => socket2::Protocol::TCP,
        Protocol::Sctp => socket2::Protocol::from(sctp::PROTOCOL),
    };
    let opened = Socket::new(Domain::for_address(address), Type::STREAM, Some(number));
    let socket = opened.map_err(|e| match e.raw_os_error() {
        Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT) if wish.protocol == Protocol::Sctp => {
            io::Error::new(io::ErrorKind::Unsupported, "this kernel has no SCTP: use --backend uml or model")
        }
        _ => e,
    })?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    let none = SocketWish::default();
    let own = wish.options.unwrap_or(&none);
    if let Some(bytes) = own.socket.send_buffer.or(linux.send_buffer) {
        force_buffer(&socket, bytes.as_u64(), true)?;
    }
    if let Some(bytes) = own.socket.receive_buffer.or(linux.receive_buffer) {
        force_buffer(&socket, bytes.as_u64(), false)?;
    }
    if let Some(tos) = own.socket.tos {
        options::set_tos(&socket, address.is_ipv6(), tos)?;
    }
    match wish.protocol {
        Protocol::Tcp => set_tcp(&socket, linux, own)?,
        Protocol::Sctp => set_sctp(&socket, linux, wish.streams, own)?,
    }
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}

fn set_tcp(socket: &Socket, linux: &LinuxSpec, own: &SocketWish) -> io::Result<()> {
    if let Some(name) = own.congestion.as_ref().or(linux.congestion.as_ref()) {
        // By the socket: the sysctl of a namespace takes only what everybody may use.
        socket.set_tcp_congestion(name.as_bytes()).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                io::Error::other(format!("no congestion control `{name}` in this kernel"))
            }
            _ => e,
        })?;
    }
    if own.socket.nagle.or(linux.nagle) == Some(false) {
        socket.set_tcp_nodelay(true)?;
    }
    options::set_tcp(socket, &own.socket)
}

/// A listening socket's options hold for those that it accepts.
fn set_sctp(socket: &Socket, linux: &LinuxSpec, streams: u16, own: &SocketWish) -> io::Result<()> {
    sctp::tell_messages(socket)?;
    sctp::set_no_delay(socket, !own.socket.nagle.or(linux.nagle).unwrap_or(false))?;
    let streams = linux.sctp_streams.unwrap_or(STREAMS).max(streams);
    sctp::set_streams(socket, streams)?;
    if let Some(delay) = linux.sctp_sack_delay {
        let ms = (delay.as_nanos() / 1_000_000) as u32;
        sctp::set_delayed_sack(socket, ms, u32::from(ms == 0))?;
    }
    if let Some(packets) = linux.sctp_sack_packets {
        sctp::set_delayed_sack(socket, 0, packets)?;
    }
    if let Some(on) = linux.sctp_heartbeat {
        sctp::set_heartbeats(socket, on)?;
    }
    Ok(())
}

/// Asks for a buffer, beyond the system's limit where that is allowed.
fn force_buffer(socket: &Socket, bytes: u64, send: bool) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    let size = usize::try_from(bytes).unwrap_or(usize::MAX);
    let forced = if send {
        setsockopt(socket, sockopt::SndBufForce, &size)
    } else {
        setsockopt(socket, sockopt::RcvBufForce, &size)
    };
    if forced.is_ok() {
        return Ok(());
    }
    if send { socket.set_send_buffer_size(size) } else { socket.set_recv_buffer_size(size) }
}
