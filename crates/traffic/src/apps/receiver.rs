//! The application that reads until the end of the stream.

use rexmit_stack::{Event, Socket};
use rexmit_units::Instant;

use super::Progress;
use super::reader::Reader;
use crate::transfer::Transfer;

/// The receiving application of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    connects_at: Option<Instant>,
    pub(super) reader: Reader,
    /// Where nobody closes, this many bytes are the whole stream.
    expected: Option<u64>,
    end_of_stream: bool,
    close: bool,
    progress: Progress,
}

impl Receiver {
    /// The receiver of a connection that is opened at `opened` and carries `total` bytes, where that is known.
    pub(crate) fn new(transfer: &Transfer, total: Option<u64>, opened: Instant) -> Self {
        Self {
            connects_at: transfer.connects_at(false, opened),
            reader: Reader::new(transfer.read),
            expected: total.filter(|_| !transfer.close),
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
        if self.progress.unopened(self.connects_at).is_some() {
            self.progress.open(now, socket);
        } else {
            self.read(now, socket);
        }
    }

    /// See [`super::App::poll_timer`].
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        self.progress.unopened(self.connects_at).or_else(|| self.reader.poll_timer())
    }

    /// See [`super::App::progress`].
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn read<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        if self.reader.read(now, socket, &mut self.progress) {
            self.finish_if_whole(now, socket);
        }
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
