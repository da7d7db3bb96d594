//! The application that reads until the end of the stream.

use rexmit_stack::{Event, Socket};
use rexmit_units::{Instant, Rate, TransmitClock};

use super::Progress;
use crate::spec::Transfer;

/// The receiving application of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    connects_at: Option<Instant>,
    /// Most bytes that one read takes.
    size: u64,
    pace: Option<Pace>,
    /// Where nobody closes, this many bytes are the whole stream.
    expected: Option<u64>,
    end_of_stream: bool,
    close: bool,
    progress: Progress,
}

/// A reader that takes its time.
#[derive(Clone, Debug)]
struct Pace {
    rate: Rate,
    clock: TransmitClock,
    next: Instant,
    /// There is something to read, but it is too early.
    waits: bool,
}

impl Receiver {
    /// The receiver of copy `copy`, from 0, of a transfer.
    pub fn new(transfer: &Transfer, copy: u32) -> Self {
        let pace = |rate| Pace { rate, clock: TransmitClock::default(), next: Instant::ZERO, waits: false };
        Self {
            connects_at: transfer.connects_at(transfer.from().other(), copy),
            size: transfer.read.size.map_or(u64::MAX, |size| size.as_u64()),
            pace: transfer.read.rate.map(pace),
            expected: transfer.total().filter(|_| !transfer.close),
            end_of_stream: false,
            close: transfer.close,
            progress: Progress::default(),
        }
    }

    /// See [`super::App::on_event`].
    pub fn on_event<S: Socket + ?Sized>(&mut self, now: Instant, event: Event, socket: &mut S) {
        self.progress.note(now, event);
        match event {
            Event::Readable => self.read(now, socket),
            Event::EndOfStream => {
                self.end_of_stream = true;
                self.read(now, socket);
            }
            Event::Connected | Event::Writable | Event::Closed | Event::Reset | Event::TimedOut => {}
        }
    }

    /// See [`super::App::handle_timer`].
    pub fn handle_timer<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        if self.poll_timer().is_none_or(|due| due > now) {
            return;
        }
        if self.unopened().is_some() {
            self.progress.opened = Some(now);
            socket.connect(now);
        } else {
            self.read(now, socket);
        }
    }

    /// See [`super::App::poll_timer`].
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        let paced = || self.pace.as_ref().filter(|pace| pace.waits).map(|pace| pace.next);
        self.unopened().or_else(paced)
    }

    /// See [`super::App::progress`].
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn unopened(&self) -> Option<Instant> {
        self.connects_at.filter(|_| self.progress.opened.is_none())
    }

    fn read<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        while socket.readable() > 0 {
            if let Some(pace) = &mut self.pace {
                pace.waits = now < pace.next;
                if pace.waits {
                    return;
                }
            }
            let got = socket.read(now, self.size);
            debug_assert!(got > 0, "readable bytes can be read");
            if got == 0 {
                return;
            }
            self.progress.first_byte.get_or_insert(now);
            self.progress.bytes_read += got;
            if let Some(pace) = &mut self.pace {
                pace.next = pace.clock.transmit(now, got, pace.rate);
            }
        }
        self.finish_if_whole(now, socket);
    }

    fn finish_if_whole<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        let whole = self.end_of_stream || self.expected == Some(self.progress.bytes_read);
        if !whole || self.progress.finished.is_some() {
            return;
        }
        self.progress.finished = Some(now);
        if self.close {
            socket.close(now);
        }
    }
}
