//! The application that asks: a request is written, its response read whole, then comes the next.

use rexmit_stack::{Event, Socket};
use rexmit_units::{Duration, Instant};

use super::Progress;
use super::message::Message;
use super::reader::Reader;
use crate::transfer::Transfer;
use crate::workload::RequestsSpec;

/// The asking application of one connection.
#[derive(Clone, Debug)]
pub struct Requester {
    connects_at: Option<Instant>,
    request: Message,
    /// Bytes of a response.
    response: u64,
    pause: Duration,
    /// Requests not yet begun.
    left: u64,
    /// Bytes read when the response that is awaited is whole.
    awaited: Option<u64>,
    /// When the next request begins, after a response.
    resumes_at: Option<Instant>,
    reader: Reader,
    close: bool,
    progress: Progress,
}

impl Requester {
    pub(crate) fn new(transfer: &Transfer, requests: &RequestsSpec, opened: Instant) -> Self {
        Self {
            connects_at: transfer.connects_at(false, opened),
            request: Message::new(&requests.request),
            response: requests.response.total(),
            pause: requests.pause,
            left: requests.count,
            awaited: None,
            resumes_at: None,
            reader: Reader::new(transfer.read),
            close: transfer.close,
            progress: Progress::default(),
        }
    }

    /// See [`super::App::on_event`].
    pub fn on_event<S: Socket + ?Sized>(&mut self, now: Instant, event: Event, socket: &mut S) {
        let first = self.progress.connected.is_none();
        self.progress.note(now, event);
        match event {
            Event::Connected if first => self.ask(now, socket),
            Event::Writable => self.write(now, socket),
            Event::Readable | Event::EndOfStream => self.read(now, socket),
            Event::Connected | Event::Closed | Event::Reset | Event::TimedOut => {}
        }
    }

    /// See [`super::App::handle_timer`].
    pub fn handle_timer<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        if self.poll_timer().is_none_or(|due| due > now) {
            return;
        }
        if self.progress.unopened(self.connects_at).is_some() {
            self.progress.open(now, socket);
        } else if self.resumes_at.is_some() {
            self.ask(now, socket);
        } else {
            self.read(now, socket);
        }
    }

    /// See [`super::App::poll_timer`].
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        let resumes = || self.resumes_at.filter(|_| self.progress.ended.is_none());
        self.progress.unopened(self.connects_at).or_else(resumes).or_else(|| self.reader.poll_timer())
    }

    /// See [`super::App::reads_at`].
    #[inline]
    pub fn reads_at(&self) -> Option<Instant> {
        self.reader.poll_timer()
    }

    /// The most that each of its reads takes, where none waits.
    pub fn reads_at_once(&self) -> Option<u64> {
        self.reader.at_once()
    }

    /// See [`super::App::progress`].
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn ask<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        self.resumes_at = None;
        self.left -= 1;
        self.awaited = Some(self.progress.bytes_read + self.response);
        self.request.begin();
        self.write(now, socket);
    }

    fn write<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        self.request.write(now, socket, &mut self.progress);
    }

    fn read<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        self.reader.read(now, socket, &mut self.progress);
        if self.awaited.take_if(|whole| self.progress.bytes_read >= *whole).is_none() {
            return;
        }
        if self.left == 0 {
            self.progress.finished = Some(now);
            if self.close {
                socket.close(now);
            }
        } else if self.pause.is_zero() {
            self.ask(now, socket);
        } else {
            self.resumes_at = Some(now + self.pause);
        }
    }
}
