//! A connection of the real kernel behind the same trait as a model's.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;

use rexmit_stack::{Delivery, Event, Snapshot, Socket};
use rexmit_units::Instant;
use rexmit_wire::Payload;

use crate::sys::poll::Readiness;

mod letters;
mod sctp;
mod tcp;

pub use sctp::{Host, SctpSocket};
pub use tcp::TcpSocket;

/// Bytes that one call reads or writes at most.
const PIECE: usize = 256 << 10;
/// Bytes after which a stream says the same.
const PERIOD: usize = 10;

/// One end of a connection, not blocking. What it writes are the digits of [`Payload::Stream`], and what it
/// reads is checked against them.
#[derive(Debug)]
pub enum KernelSocket {
    /// Of TCP.
    Tcp(TcpSocket),
    /// Of SCTP.
    Sctp(SctpSocket),
}

/// The same of whichever it is.
macro_rules! each {
    ($socket:expr, $inner:ident => $what:expr) => {
        match $socket {
            KernelSocket::Tcp($inner) => $what,
            KernelSocket::Sctp($inner) => $what,
        }
    };
}

impl KernelSocket {
    /// Two ends of a TCP connection between these addresses.
    pub fn tcp_pair([one, other]: [SocketAddr; 2]) -> [Self; 2] {
        [other, one].map(|remote| Self::Tcp(TcpSocket::new(remote)))
    }

    /// One end of a TCP connection whose peer has this address and is elsewhere.
    pub fn tcp(remote: SocketAddr) -> Self {
        Self::Tcp(TcpSocket::new(remote))
    }

    /// One end of an SCTP association, likewise; each message says its place.
    pub fn sctp(local: (SocketAddr, &Host), remote: SocketAddr) -> Self {
        Self::Sctp(SctpSocket::alone(local, remote))
    }

    /// Bytes in order that wait for a read; for SCTP, those of the next message.
    pub fn waiting(&self) -> u64 {
        each!(self, end => end.common.readable())
    }

    /// Two ends of an SCTP association, likewise.
    pub fn sctp_pair(ends: [(SocketAddr, &Host); 2]) -> [Self; 2] {
        SctpSocket::pair(ends).map(Self::Sctp)
    }

    /// Gives it its descriptor: one to connect with, or, with `accepted`, the connection that it waited for.
    pub fn take(&mut self, socket: socket2::Socket, accepted: bool) {
        match self {
            Self::Tcp(end) => end.common.socket = Some(socket),
            Self::Sctp(end) => end.take(socket, accepted),
        }
    }

    /// What the kernel tells about it, in the model's words; `None` where there is no connection.
    pub fn snapshot(&self) -> Option<Snapshot> {
        each!(self, end => end.snapshot())
    }

    /// Looks at counters that the kernel forgets with the connection.
    pub fn look(&mut self) {
        if let Self::Sctp(end) = self {
            end.look();
        }
    }

    /// First transmissions of data and data sent again, of all that it ever sent.
    pub fn sent(&self) -> Sent {
        each!(self, end => end.sent())
    }

    /// Bytes read that were not those written at their place.
    pub fn misplaced(&self) -> u64 {
        each!(self, end => end.common.misplaced)
    }

    /// What went wrong in a call that could not say so.
    pub fn failure(&self) -> Option<&io::Error> {
        each!(self, end => end.common.failure.as_ref())
    }

    /// What the application should know after the kernel said that the socket is `ready`.
    pub fn events(&mut self, ready: Readiness) -> Vec<Event> {
        each!(self, end => end.events(ready))
    }
}

/// What an end sent with data: segments of TCP, chunks of SCTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// All of them; for TCP, those sent again included.
    pub data: u64,
    /// Those sent again; for TCP the host's counters tell.
    pub again: u64,
}

impl Socket for KernelSocket {
    fn connect(&mut self, _now: Instant) {
        each!(self, end => end.common.connect());
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, _now: Instant, len: u64, how: Delivery) -> u64 {
        match self {
            Self::Tcp(end) => end.write(len),
            Self::Sctp(end) => end.send(len, how),
        }
    }

    fn read_offset(&self) -> Option<u64> {
        match self {
            Self::Tcp(_) => None,
            Self::Sctp(end) => end.read_offset(),
        }
    }

    fn read(&mut self, _now: Instant, max: u64) -> u64 {
        each!(self, end => end.read(max))
    }

    fn readable(&self) -> u64 {
        each!(self, end => end.common.readable())
    }

    fn close(&mut self, _now: Instant) {
        self.look();
        each!(self, end => end.common.close());
    }

    fn abort(&mut self, _now: Instant) {
        self.look();
        each!(self, end => end.common.abort());
    }
}

/// The bytes of the stream from `offset` on, at most [`PIECE`]: it says the same again and again.
fn stream_bytes(offset: u64, len: usize) -> &'static [u8] {
    static DIGITS: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let whole = Payload::Stream { offset: 0, len: (PIECE + PERIOD) as u32 };
        whole.bytes().into_owned()
    });
    let begin = (offset % PERIOD as u64) as usize;
    &DIGITS[begin..begin + len.min(PIECE)]
}

/// Does something with room for a read of at most `max` bytes, which all sockets share.
fn with_room<T>(max: u64, work: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let size = max.min(PIECE as u64) as usize;
    ROOM.with_borrow_mut(|room| {
        if room.len() < size {
            room.resize(size, 0);
        }
        work(&mut room[..size])
    })
}

/// What both protocols have.
#[derive(Debug)]
struct Common {
    socket: Option<socket2::Socket>,
    remote: SocketAddr,
    connected: bool,
    /// A write was not taken whole, so its application waits for space.
    blocked: bool,
    end_seen: bool,
    over: bool,
    written: u64,
    misplaced: u64,
    /// The first error of a call that cannot answer one.
    failure: Option<io::Error>,
}

impl Common {
    fn new(remote: SocketAddr) -> Self {
        Self {
            socket: None,
            remote,
            connected: false,
            blocked: false,
            end_seen: false,
            over: false,
            written: 0,
            misplaced: 0,
            failure: None,
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Of TCP, bytes in order that wait; of SCTP, the rest of the next message.
    fn readable(&self) -> u64 {
        self.fd().and_then(|fd| crate::sys::tcp_info::readable(fd).ok()).unwrap_or(0)
    }

    fn connect(&mut self) {
        let remote = self.remote.into();
        let Some(socket) = &self.socket else { return };
        let done = match socket.connect(&remote) {
            Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other,
        };
        self.note(done);
    }

    fn close(&mut self) {
        let done = self.socket.as_ref().map_or(Ok(()), |s| s.shutdown(std::net::Shutdown::Write));
        if done.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotConnected) {
            return; // it was reset; the event says so
        }
        self.note(done);
    }

    fn abort(&mut self) {
        if let Some(socket) = self.socket.take() {
            // Closing with no time to linger sends a reset.
            let done = socket.set_linger(Some(std::time::Duration::ZERO));
            self.note(done);
        }
    }

    fn note<T>(&mut self, done: io::Result<T>) -> Option<T> {
        match done {
            Ok(value) => Some(value),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            // What ended the connection comes as an event of its own.
            Err(e) if matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => None,
            Err(e) => {
                self.failure.get_or_insert(e);
                None
            }
        }
    }

    /// The events of a change, except the one that it is over; `live` says that there is a connection.
    fn changes(&mut self, ready: Readiness, live: bool, error: Option<&io::Error>) -> Vec<Event> {
        let mut events = Vec::new();
        if !self.connected && error.is_none() && ready.contains(Readiness::EPOLLOUT) && live {
            self.connected = true;
            events.push(Event::Connected);
        }
        if self.connected && self.blocked && ready.contains(Readiness::EPOLLOUT) {
            self.blocked = false;
            events.push(Event::Writable);
        }
        if ready.contains(Readiness::EPOLLIN) && self.readable() > 0 {
            events.push(Event::Readable);
        }
        if ready.contains(Readiness::EPOLLRDHUP) && error.is_none() && !self.end_seen {
            self.end_seen = true;
            events.push(Event::EndOfStream);
        }
        events
    }

    /// The connection is over by `error`, or in order.
    fn end(&mut self, error: Option<&io::Error>) -> Event {
        self.over = true;
        match error.map(io::Error::kind) {
            None => Event::Closed,
            Some(ErrorKind::TimedOut | ErrorKind::HostUnreachable) => Event::TimedOut,
            Some(_) => Event::Reset,
        }
    }

    /// Counts the bytes that are not the stream's at `offset`.
    fn check(&mut self, offset: u64, bytes: &[u8]) {
        self.misplaced += Payload::wrong_bytes(offset, bytes);
    }
}
