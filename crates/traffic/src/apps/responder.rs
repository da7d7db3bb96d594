//! The application that answers: a request is read whole, thought about, and its response written.

use rexmit_stack::{Event, Socket};
use rexmit_units::{Duration, Instant};

use super::Progress;
use super::message::Message;
use crate::transfer::Transfer;
use crate::workload::RequestsSpec;

/// The answering application of one connection.
#[derive(Clone, Debug)]
pub struct Responder {
    connects_at: Option<Instant>,
    /// Bytes of a request.
    request: u64,
    response: Message,
    think: Duration,
    /// Responses not yet written whole.
    left: u64,
    /// Bytes read of requests that no response has been begun for.
    unanswered: u64,
    /// When the response that is being thought about begins.
    answers_at: Option<Instant>,
    close: bool,
    progress: Progress,
}

impl Responder {
    pub(crate) fn new(transfer: &Transfer, requests: &RequestsSpec, opened: Instant) -> Self {
        Self {
            connects_at: transfer.connects_at(true, opened),
            request: requests.request.total(),
            response: Message::new(&requests.response),
            think: requests.think,
            left: requests.count,
            unanswered: 0,
            answers_at: None,
            close: transfer.close,
            progress: Progress::default(),
        }
    }

    /// See [`super::App::on_event`].
    pub fn on_event<S: Socket + ?Sized>(&mut self, now: Instant, event: Event, socket: &mut S) {
        self.progress.note(now, event);
        match event {
            Event::Readable => self.read(now, socket),
            Event::Writable => self.write(now, socket),
            Event::EndOfStream => {
                self.read(now, socket);
                if self.close {
                    socket.close(now);
                }
            }
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
        } else {
            self.answer(now, socket);
        }
    }

    /// See [`super::App::poll_timer`].
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        let answers = || self.answers_at.filter(|_| self.progress.ended.is_none());
        self.progress.unopened(self.connects_at).or_else(answers)
    }

    /// See [`super::App::progress`].
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    fn read<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        while socket.readable() > 0 {
            let got = socket.read(now, u64::MAX);
            debug_assert!(got > 0, "readable bytes can be read");
            if got == 0 {
                break;
            }
            self.progress.bytes_read += got;
            self.unanswered += got;
        }
        let free = self.answers_at.is_none() && self.response.is_written();
        if free && self.unanswered >= self.request && self.left > 0 {
            self.unanswered -= self.request;
            self.answers_at = Some(now + self.think);
            if self.think.is_zero() {
                self.answer(now, socket);
            }
        }
    }

    fn answer<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        self.answers_at = None;
        self.response.begin();
        self.write(now, socket);
    }

    fn write<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        let before = self.progress.bytes_written;
        let whole = self.response.write(now, socket, &mut self.progress);
        if self.progress.bytes_written > before {
            self.progress.first_byte.get_or_insert(now);
        }
        if whole {
            self.left -= 1;
            if self.left == 0 {
                self.progress.finished = Some(now);
            }
        }
    }
}
