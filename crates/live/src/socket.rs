//! A connection of the real kernel behind the same trait as a model's.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use rexmit_stack::{Event, Socket};
use rexmit_units::Instant;
use rexmit_wire::Payload;

use crate::sys::poll::Readiness;
use crate::sys::tcp_info::{self, TcpInfo};

/// Bytes that one call reads or writes at most.
const PIECE: usize = 256 << 10;

/// One end of a connection, not blocking. What it writes are the digits of [`Payload::Stream`], and what it
/// reads is checked against them.
#[derive(Debug)]
pub struct KernelSocket {
    socket: Option<socket2::Socket>,
    remote: SocketAddr,
    connected: bool,
    /// A write was taken in part only, so its application waits for space.
    blocked: bool,
    end_seen: bool,
    over: bool,
    written: u64,
    read: u64,
    misplaced: u64,
    scratch: Vec<u8>,
    /// The first error of a call that cannot answer one.
    failure: Option<io::Error>,
}

impl KernelSocket {
    /// One that will connect to `remote`.
    pub fn connecting(socket: socket2::Socket, remote: SocketAddr) -> Self {
        Self { socket: Some(socket), ..Self::waiting(remote) }
    }

    /// One that waits for `remote` to connect; see [`Self::accepted`].
    pub fn waiting(remote: SocketAddr) -> Self {
        Self {
            socket: None,
            remote,
            connected: false,
            blocked: false,
            end_seen: false,
            over: false,
            written: 0,
            read: 0,
            misplaced: 0,
            scratch: Vec::new(),
            failure: None,
        }
    }

    /// The connection that it waited for.
    pub fn accepted(&mut self, socket: socket2::Socket) {
        self.socket = Some(socket);
    }

    /// The descriptor, once there is one.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// What the kernel tells about it.
    pub fn info(&self) -> Option<TcpInfo> {
        tcp_info::tcp_info(self.fd()?).ok()
    }

    /// Bytes in its two buffers: not acknowledged, and not read.
    pub fn queues(&self) -> (u64, u64) {
        let fd = || self.fd();
        let of = |get: fn(BorrowedFd<'_>) -> io::Result<u64>| fd().and_then(|f| get(f).ok()).unwrap_or(0);
        (of(|f| tcp_info::unacknowledged(f)), of(|f| tcp_info::readable(f)))
    }

    /// Bytes read that were not those written at their place.
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }

    /// What went wrong in a call that could not say so.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// What the application should know after the kernel said that the socket is `ready`.
    pub fn events(&mut self, ready: Readiness) -> Vec<Event> {
        let mut events = Vec::new();
        let Some(info) = self.info() else { return events };
        let error = self.socket.as_ref().and_then(|s| s.take_error().ok().flatten());
        if !self.connected && error.is_none() && ready.contains(Readiness::EPOLLOUT) && synchronised(&info) {
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
        if !self.over && (error.is_some() || (info.state == tcp_info::CLOSE && self.opened())) {
            self.over = true;
            events.push(match error.map(|e| e.kind()) {
                None => Event::Closed,
                Some(ErrorKind::TimedOut | ErrorKind::HostUnreachable) => Event::TimedOut,
                Some(_) => Event::Reset,
            });
        }
        events
    }

    /// It has been connected at some time.
    fn opened(&self) -> bool {
        self.connected
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

    /// Counts the bytes of the scratch buffer that are not the stream's at `offset`.
    fn check(&mut self, len: usize) {
        let from = (self.read % 10) as usize;
        let wanted = Payload::Stream { offset: from as u64, len: len as u32 };
        if *wanted.bytes() != self.scratch[..len] {
            let wrong = self.scratch[..len]
                .iter()
                .zip(self.read..)
                .filter(|&(&byte, offset)| byte != Payload::stream_byte(offset));
            self.misplaced += wrong.count() as u64;
        }
    }
}

/// The handshake is complete.
fn synchronised(info: &TcpInfo) -> bool {
    // All states but SYN-SENT, SYN-RECEIVED, CLOSED and LISTEN.
    !matches!(info.state, 2 | 3 | 7 | 10 | 12)
}

impl Socket for KernelSocket {
    fn connect(&mut self, _now: Instant) {
        let remote = self.remote.into();
        let Some(socket) = &self.socket else { return };
        let done = match socket.connect(&remote) {
            Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other,
        };
        self.note(done);
    }

    fn write(&mut self, _now: Instant, len: u64) -> u64 {
        let mut taken = 0;
        while taken < len {
            let size = (len - taken).min(PIECE as u64) as u32;
            let bytes = Payload::Stream { offset: self.written % 10, len: size };
            let Some(socket) = &self.socket else { return taken };
            let done = (&*socket).write(&bytes.bytes());
            let Some(n) = self.note(done).filter(|n| *n > 0) else { break };
            taken += n as u64;
            self.written += n as u64;
        }
        self.blocked = taken < len;
        taken
    }

    fn read(&mut self, _now: Instant, max: u64) -> u64 {
        let size = max.min(PIECE as u64) as usize;
        if self.scratch.len() < size {
            self.scratch.resize(size, 0);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let done = match &self.socket {
            Some(socket) => (&*socket).read(&mut scratch[..size]),
            None => Ok(0),
        };
        self.scratch = scratch;
        let got = self.note(done).unwrap_or(0);
        self.check(got);
        self.read += got as u64;
        got as u64
    }

    fn readable(&self) -> u64 {
        self.fd().and_then(|fd| tcp_info::readable(fd).ok()).unwrap_or(0)
    }

    fn close(&mut self, _now: Instant) {
        let done = self.socket.as_ref().map_or(Ok(()), |s| s.shutdown(std::net::Shutdown::Write));
        if done.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotConnected) {
            return; // it was reset; the event says so
        }
        self.note(done);
    }

    fn abort(&mut self, _now: Instant) {
        if let Some(socket) = self.socket.take() {
            // Closing with no time to linger sends a reset.
            let done = socket.set_linger(Some(std::time::Duration::ZERO));
            self.note(done);
        }
    }
}
