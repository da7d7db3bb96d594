//! The application that writes, with blocking writes: a write goes on until the socket has taken all of it,
//! then the next begins.

use rexmit_stack::{Event, Socket};
use rexmit_units::{Duration, Instant};

use super::Progress;
use crate::spec::{Stream, Transfer};
use crate::workload::{Bulk, Cursor};

/// The sending application of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    connects_at: Option<Instant>,
    script: Script,
    /// What the socket has not yet taken of the write that is going on.
    pending: u64,
    pause: Duration,
    /// The next write does not begin before.
    resumes_at: Instant,
    close: bool,
    progress: Progress,
}

/// Which write comes next.
#[derive(Clone, Debug)]
enum Script {
    Writes { cursor: Cursor, bursts: Bursts },
    Amount { left: u64, write_size: u64 },
    Time { length: Duration, write_size: u64 },
}

/// When the list of writes begins again.
#[derive(Clone, Debug)]
struct Bursts {
    /// How often it still begins.
    left: u64,
    every: Duration,
    /// When the one that is going on began.
    began: Instant,
}

/// A write that begins.
#[derive(Clone, Copy, Debug)]
struct Write {
    size: u64,
    /// When the next one begins, where that is not a pause later.
    next: Option<Instant>,
}

impl Sender {
    /// The sender of copy `copy`, from 0, of a transfer.
    pub(crate) fn new(transfer: &Transfer, stream: &Stream, copy: u32) -> Self {
        Self {
            connects_at: transfer.connects_at(transfer.from(), copy),
            script: Script::new(stream),
            pending: 0,
            pause: transfer.pause,
            resumes_at: Instant::ZERO,
            close: transfer.close,
            progress: Progress::default(),
        }
    }

    /// See [`super::App::on_event`].
    pub fn on_event<S: Socket + ?Sized>(&mut self, now: Instant, event: Event, socket: &mut S) {
        self.progress.note(now, event);
        match event {
            Event::Connected | Event::Writable => self.write(now, socket),
            Event::Readable => {
                // Nothing is expected, but a full buffer would close the window.
                self.progress.bytes_read += socket.read(now, u64::MAX);
            }
            Event::EndOfStream | Event::Closed | Event::Reset | Event::TimedOut => {}
        }
    }

    /// See [`super::App::handle_timer`].
    pub fn handle_timer<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        if self.poll_timer().is_some_and(|due| due <= now) {
            if self.progress.connected.is_some() {
                return self.write(now, socket);
            }
            self.progress.open(now, socket);
        }
    }

    /// See [`super::App::poll_timer`].
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        if self.progress.connected.is_none() {
            return self.progress.unopened(self.connects_at);
        }
        let over = self.progress.finished.is_some() || self.progress.ended.is_some();
        let waits = self.pending == 0 && !over;
        waits.then_some(self.resumes_at)
    }

    /// See [`super::App::progress`].
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn write<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        let Some(connected) = self.progress.connected else { return };
        if self.progress.finished.is_some() {
            return;
        }
        loop {
            if self.pending == 0 {
                if now < self.resumes_at {
                    return;
                }
                match self.script.next(now, connected) {
                    Some(write) => {
                        self.pending = write.size;
                        self.resumes_at = write.next.unwrap_or(now + self.pause);
                    }
                    None => return self.finish(now, socket),
                }
            }
            let taken = socket.write(now, self.pending);
            if taken > 0 {
                self.progress.first_byte.get_or_insert(now);
            }
            self.progress.bytes_written += taken;
            self.pending -= taken;
            if self.pending > 0 {
                return;
            }
        }
    }

    fn finish<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        self.progress.finished = Some(now);
        if self.close {
            socket.close(now);
        }
    }
}

impl Script {
    fn new(stream: &Stream) -> Self {
        match *stream {
            Stream::Writes { ref writes, bursts, every } => Self::Writes {
                cursor: Cursor::new(writes),
                bursts: Bursts { left: bursts, every, began: Instant::ZERO },
            },
            Stream::Bulk { bulk: Bulk::Bytes(bytes), write_size } => {
                Self::Amount { left: bytes.as_u64(), write_size }
            }
            Stream::Bulk { bulk: Bulk::Time(length), write_size } => Self::Time { length, write_size },
        }
    }

    /// The write that begins now.
    fn next(&mut self, now: Instant, connected: Instant) -> Option<Write> {
        let size = match self {
            Self::Writes { cursor, bursts } => return bursts.next(now, cursor),
            Self::Amount { left, write_size } => {
                let size = (*left).min(*write_size);
                *left -= size;
                (size > 0).then_some(size)
            }
            Self::Time { length, write_size } => (now < connected + *length).then_some(*write_size),
        };
        size.map(|size| Write { size, next: None })
    }
}

impl Bursts {
    fn next(&mut self, now: Instant, cursor: &mut Cursor) -> Option<Write> {
        if cursor.at_start() {
            self.began = now;
        }
        let size = cursor.next()?;
        let last = cursor.at_end();
        if last {
            self.left -= 1;
            if self.left > 0 {
                cursor.rewind();
            }
        }
        let next = (last && self.left > 0).then(|| self.began + self.every);
        Some(Write { size, next })
    }
}
