//! The application that writes, with blocking writes: a write goes on until the socket has taken all of it,
//! then the next begins.

use rexmit_stack::{Event, Socket};
use rexmit_units::{Duration, Instant};

use super::Progress;
use crate::spec::{Transfer, Workload};
use crate::workload::{Bulk, Writes};

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
    Writes { writes: Writes, run: usize, done: u64 },
    Amount { left: u64, write_size: u64 },
    Time { length: Duration, write_size: u64 },
}

impl Sender {
    /// The sender of copy `copy`, from 0, of a transfer.
    pub fn new(transfer: &Transfer, copy: u32) -> Self {
        Self {
            connects_at: transfer.connects_at(transfer.from(), copy),
            script: Script::new(&transfer.workload),
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
            self.progress.opened = Some(now);
            socket.connect(now);
        }
    }

    /// See [`super::App::poll_timer`].
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        if self.progress.connected.is_none() {
            return self.connects_at.filter(|_| self.progress.opened.is_none());
        }
        let over = self.progress.finished.is_some() || self.progress.ended.is_some();
        let waits = !self.pause.is_zero() && self.pending == 0 && !over;
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
                    Some(size) => {
                        self.pending = size;
                        self.resumes_at = now + self.pause;
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
    fn new(workload: &Workload) -> Self {
        match workload {
            Workload::Writes(writes) => Self::Writes { writes: writes.clone(), run: 0, done: 0 },
            &Workload::Bulk { bulk: Bulk::Bytes(bytes), write_size } => {
                Self::Amount { left: bytes.as_u64(), write_size }
            }
            &Workload::Bulk { bulk: Bulk::Time(length), write_size } => Self::Time { length, write_size },
        }
    }

    /// The size of the next write, in bytes.
    fn next(&mut self, now: Instant, connected: Instant) -> Option<u64> {
        match self {
            Self::Writes { writes, run, done } => {
                let current = writes.runs().get(*run)?;
                *done += 1;
                if *done == current.count {
                    (*run, *done) = (*run + 1, 0);
                }
                Some(current.size)
            }
            Self::Amount { left, write_size } => {
                let size = (*left).min(*write_size);
                *left -= size;
                (size > 0).then_some(size)
            }
            Self::Time { length, write_size } => (now < connected + *length).then_some(*write_size),
        }
    }
}
