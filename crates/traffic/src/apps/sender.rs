//! The application that writes, with blocking writes: a write goes on until the socket has taken all of it,
//! then the next begins.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_stack::{Delivery, Event, Socket};
use rexmit_units::{Duration, Instant};

use super::Progress;
use crate::journal::{Journal, Written};
use crate::random::Drawn;
use crate::sleep::{SleepSpec, Sleeper};
use crate::transfer::{Stream, Transfer};
use crate::workload::{Bulk, Cursor};

/// The sending application of one connection.
#[derive(Clone, Debug)]
pub struct Sender {
    connects_at: Option<Instant>,
    script: Script,
    /// What the socket has not yet taken of the write that is going on.
    pending: u64,
    pause: Duration,
    /// The next write does not begin before this.
    resumes_at: Instant,
    sleep: Option<Box<Sleep>>,
    streams: u16,
    delivery: Delivery,
    close: bool,
    progress: Progress,
    pub(super) journal: Journal<Written>,
    /// When the datagram that the socket has not taken yet began: one that it refuses was not written.
    offered: Option<Instant>,
}

/// How it sleeps, on a host with ticks.
#[derive(Clone, Debug)]
struct Sleep {
    spec: SleepSpec,
    sleeper: Sleeper,
    /// The sleep that begins when the write that is going on has been taken.
    begins: Option<Duration>,
}

impl Sleep {
    fn new(spec: SleepSpec) -> Self {
        Self { spec, sleeper: Sleeper::new(spec, Duration::ZERO), begins: None }
    }
}

/// Which write comes next.
#[derive(Clone, Debug)]
enum Script {
    Writes { cursor: Cursor, bursts: Bursts },
    Amount { left: u64, write_size: u64 },
    Time { length: Duration, write_size: u64 },
    Drawn(Box<Drawn>),
}

/// When the list of writes begins again.
#[derive(Clone, Debug)]
struct Bursts {
    /// How often it still begins.
    left: u64,
    every: Duration,
    /// What of that is left after the pauses within.
    rest: Duration,
    /// When the one that is going on began.
    began: Instant,
}

/// A write that begins.
#[derive(Clone, Copy, Debug)]
struct Write {
    size: u64,
    /// When the next one begins, where that is not a pause later.
    next: Option<Instant>,
    /// The pause until then, as the program would ask for it.
    pause: Duration,
}

impl Sender {
    /// The sender of a connection that is opened at `opened`.
    pub(crate) fn new(transfer: &Transfer, stream: &Stream, opened: Instant) -> Self {
        Self {
            connects_at: transfer.connects_at(true, opened),
            script: Script::new(stream, transfer.pause),
            pending: 0,
            pause: transfer.pause,
            resumes_at: Instant::ZERO,
            sleep: transfer.sleep.map(|spec| Box::new(Sleep::new(spec))),
            streams: transfer.streams,
            delivery: transfer.delivery,
            close: transfer.close,
            progress: Progress::default(),
            journal: Journal::default(),
            offered: None,
        }
    }

    /// See [`super::App::prepare`].
    pub(super) fn prepare(&mut self, phase: Duration, stream: impl FnOnce() -> Xoshiro256PlusPlus) {
        if let Some(sleep) = &mut self.sleep {
            sleep.sleeper = Sleeper::new(sleep.spec, phase);
        }
        if let Script::Drawn(drawn) = &mut self.script {
            drawn.restart(stream());
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
                match self.script.next(now, connected, self.pause) {
                    Some(write) => self.begin(now, write),
                    None => return self.finish(now, socket),
                }
            }
            let taken = socket.send(now, self.pending, self.delivery);
            if taken > 0 {
                self.progress.first_byte.get_or_insert(now);
                if let Some(at) = self.offered.take() {
                    let offset = self.progress.bytes_written;
                    self.journal.note(|| Written { at, offset, len: taken });
                }
            }
            self.progress.bytes_written += taken;
            self.pending -= taken;
            if self.pending > 0 {
                return;
            }
            self.delivery.stream = (self.delivery.stream + 1) % self.streams;
            if let Some(sleep) = &mut self.sleep
                && let Some(wait) = sleep.begins.take()
            {
                self.resumes_at = sleep.sleeper.until(now, wait);
            }
        }
    }

    fn begin(&mut self, now: Instant, write: Write) {
        self.pending = write.size;
        let (offset, len) = (self.progress.bytes_written, write.size);
        if self.delivery.datagram {
            self.offered = Some(now);
        } else {
            self.journal.note(|| Written { at: now, offset, len });
        }
        match &mut self.sleep {
            None => self.resumes_at = write.next.unwrap_or(now + write.pause),
            Some(sleep) if sleep.sleeper.follows_write() => sleep.begins = Some(write.pause),
            Some(sleep) => self.resumes_at = sleep.sleeper.until(now, write.pause),
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
    fn new(stream: &Stream, pause: Duration) -> Self {
        match *stream {
            Stream::Writes { ref writes, bursts, every } => {
                let rest = every.saturating_sub(pause * (writes.count() - 1));
                let bursts = Bursts { left: bursts, every, rest, began: Instant::ZERO };
                Self::Writes { cursor: Cursor::new(writes), bursts }
            }
            Stream::Drawn(ref spec) => {
                Self::Drawn(Box::new(Drawn::new(spec, Xoshiro256PlusPlus::seed_from_u64(0))))
            }
            Stream::Bulk { bulk: Bulk::Bytes(bytes), write_size } => {
                Self::Amount { left: bytes.as_u64(), write_size }
            }
            Stream::Bulk { bulk: Bulk::Time(length), write_size } => Self::Time { length, write_size },
        }
    }

    /// The write that begins now.
    fn next(&mut self, now: Instant, connected: Instant, pause: Duration) -> Option<Write> {
        let size = match self {
            Self::Writes { cursor, bursts } => return bursts.next(now, cursor, pause),
            Self::Drawn(drawn) => {
                let (size, pause) = (now < connected + drawn.time()).then(|| drawn.next())?;
                return Some(Write { size, next: None, pause });
            }
            Self::Amount { left, write_size } => {
                let size = (*left).min(*write_size);
                *left -= size;
                (size > 0).then_some(size)
            }
            Self::Time { length, write_size } => (now < connected + *length).then_some(*write_size),
        };
        size.map(|size| Write { size, next: None, pause })
    }
}

impl Bursts {
    fn next(&mut self, now: Instant, cursor: &mut Cursor, pause: Duration) -> Option<Write> {
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
        let again = last && self.left > 0;
        let next = again.then(|| self.began + self.every);
        Some(Write { size, next, pause: if again { self.rest } else { pause } })
    }
}
