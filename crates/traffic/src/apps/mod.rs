//! The two applications of a transfer, and what is known of their progress.

mod message;
mod reader;
mod receiver;
mod requester;
mod responder;
mod sender;
#[cfg(test)]
mod tests;

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_stack::{Event, Habits, Socket};
use rexmit_units::{Duration, Instant};

use crate::journal::{Journal, Read, Written};

pub use receiver::Receiver;
pub use requester::Requester;
pub use responder::Responder;
pub use sender::Sender;

/// An application of any kind.
#[derive(Clone, Debug)]
pub enum App {
    /// Writes.
    Sender(Sender),
    /// Reads.
    Receiver(Receiver),
    /// Answers requests.
    Responder(Responder),
    /// Sends requests and reads their responses.
    Requester(Requester),
}

impl App {
    /// Tells it the phase of its host's ticks, and gives it a stream of random numbers. Before anything else.
    pub fn prepare(&mut self, phase: Duration, stream: impl FnOnce() -> Xoshiro256PlusPlus) {
        if let Self::Sender(app) = self {
            app.prepare(phase, stream);
        }
    }

    /// From now on it notes what it writes and reads, for [`Self::written`] and [`Self::read`]; of requests, nothing.
    pub fn keep_journal(&mut self) {
        match self {
            Self::Sender(app) => app.journal.begin(),
            Self::Receiver(app) => app.reader.journal.begin(),
            Self::Responder(_) | Self::Requester(_) => {}
        }
    }

    /// The writes begun since this was last called.
    pub fn written(&mut self) -> impl Iterator<Item = Written> + '_ {
        let journal = if let Self::Sender(app) = self { Some(&mut app.journal) } else { None };
        journal.into_iter().flat_map(Journal::drain)
    }

    /// The reads since this was last called.
    pub fn read(&mut self) -> impl Iterator<Item = Read> + '_ {
        let journal = if let Self::Receiver(app) = self { Some(&mut app.reader.journal) } else { None };
        journal.into_iter().flat_map(Journal::drain)
    }

    /// Acts on an event of the endpoint.
    #[inline]
    pub fn on_event<S: Socket + ?Sized>(&mut self, now: Instant, event: Event, socket: &mut S) {
        match self {
            Self::Sender(app) => app.on_event(now, event, socket),
            Self::Receiver(app) => app.on_event(now, event, socket),
            Self::Responder(app) => app.on_event(now, event, socket),
            Self::Requester(app) => app.on_event(now, event, socket),
        }
    }

    /// Acts on what is due at `now`. Calling it early does nothing.
    pub fn handle_timer<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        match self {
            Self::Sender(app) => app.handle_timer(now, socket),
            Self::Receiver(app) => app.handle_timer(now, socket),
            Self::Responder(app) => app.handle_timer(now, socket),
            Self::Requester(app) => app.handle_timer(now, socket),
        }
    }

    /// When [`Self::handle_timer`] is due; `None` while only an event can change anything.
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        match self {
            Self::Sender(app) => app.poll_timer(),
            Self::Receiver(app) => app.poll_timer(),
            Self::Responder(app) => app.poll_timer(),
            Self::Requester(app) => app.poll_timer(),
        }
    }

    /// When it next reads what waits, where it takes its time.
    #[inline]
    pub fn reads_at(&self) -> Option<Instant> {
        match self {
            Self::Receiver(app) => app.reader.poll_timer(),
            Self::Requester(app) => app.reads_at(),
            Self::Sender(_) | Self::Responder(_) => None,
        }
    }

    /// What it always does as it is told an event.
    pub fn habits(&self) -> Habits {
        let reads = match self {
            Self::Receiver(app) => app.reader.at_once(),
            Self::Requester(app) => app.reads_at_once(),
            Self::Responder(_) => Some(u64::MAX),
            // It reads once an event, whatever is left.
            Self::Sender(_) => None,
        };
        Habits { reads, writes_again: true }
    }

    /// What has happened so far.
    pub fn progress(&self) -> &Progress {
        match self {
            Self::Sender(app) => app.progress(),
            Self::Receiver(app) => app.progress(),
            Self::Responder(app) => app.progress(),
            Self::Requester(app) => app.progress(),
        }
    }

    /// The transfer's data are for this one: when it has finished, the transfer is complete.
    pub fn receives(&self) -> bool {
        matches!(self, Self::Receiver(_) | Self::Requester(_))
    }

    /// It writes: data, responses or requests.
    pub fn sends(&self) -> bool {
        !matches!(self, Self::Receiver(_))
    }
}

impl From<Sender> for App {
    fn from(app: Sender) -> Self {
        Self::Sender(app)
    }
}

impl From<Receiver> for App {
    fn from(app: Receiver) -> Self {
        Self::Receiver(app)
    }
}

impl From<Responder> for App {
    fn from(app: Responder) -> Self {
        Self::Responder(app)
    }
}

impl From<Requester> for App {
    fn from(app: Requester) -> Self {
        Self::Requester(app)
    }
}

/// How a connection ended for an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Closed in both directions.
    Closed,
    /// The peer reset it.
    Reset,
    /// The stack gave it up.
    TimedOut,
}

/// What an application has done, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// It called connect; `None` on the passive side.
    pub opened: Option<Instant>,
    /// The handshake was complete.
    pub connected: Option<Instant>,
    /// The receiver read its first byte, the requester the first of a response; the send buffer took the first byte
    /// of the sender's, or of a response.
    pub first_byte: Option<Instant>,
    /// The receiver has read the whole stream: up to its end, or, where nobody closes, up to the last byte
    /// expected. The requester: it has read the last response. The others: the send buffer has taken the last byte.
    pub finished: Option<Instant>,
    /// The connection was over, and how.
    pub ended: Option<(Instant, Ending)>,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes that the send buffer took.
    pub bytes_written: u64,
}

impl Progress {
    /// When the application connects, while it has not.
    #[inline]
    fn unopened(&self, connects_at: Option<Instant>) -> Option<Instant> {
        connects_at.filter(|_| self.opened.is_none())
    }

    fn open<S: Socket + ?Sized>(&mut self, now: Instant, socket: &mut S) {
        self.opened = Some(now);
        socket.connect(now);
    }

    /// Notes the events that are the same for every application.
    fn note(&mut self, now: Instant, event: Event) {
        let ending = match event {
            Event::Connected => {
                self.connected.get_or_insert(now);
                return;
            }
            Event::Writable | Event::Readable | Event::EndOfStream => return,
            Event::Closed => Ending::Closed,
            Event::Reset => Ending::Reset,
            Event::TimedOut => Ending::TimedOut,
        };
        self.ended.get_or_insert((now, ending));
    }
}

/// From connect() on whichever side opened to the end of the stream at the receiver, or of the last response at the
/// requester: the time that a study calls the transmission time. `None` until that one has finished.
pub fn total_time(sender: &Progress, receiver: &Progress) -> Option<Duration> {
    Some(receiver.finished?.saturating_since(receiver.opened.or(sender.opened)?))
}
