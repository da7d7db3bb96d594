//! An end of any stack behind one type, which the engine's loop asks without looking up a table of functions.

use std::any::{Any, TypeId};

use rexmit_sctp::{Association, SctpRun};
use rexmit_stack::{
    Counters, Delivery, EndSettings, Endpoint, Event, Outbox, SettingError, Snapshot, Socket, StackEnd,
    StackRun, Transmission,
};
use rexmit_tcp::{Connection, TcpRun};
use rexmit_units::Instant;
use rexmit_wire::{Packet, SeqNumber};

/// One end of a connection, of any stack.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a TCP is what most runs have, and stays where the ends are")]
pub enum AnyEnd {
    /// The TCP model's.
    Tcp(Connection),
    /// The SCTP model's.
    Sctp(Box<Association>),
    /// Any other's.
    Other(Box<dyn StackEnd>),
}

/// A stack that has been started for a run, of any kind.
pub enum AnyRun {
    /// The TCP model.
    Tcp(TcpRun),
    /// The SCTP model.
    Sctp(SctpRun),
    /// Any other.
    Other(Box<dyn StackRun>),
}

impl From<Box<dyn StackRun>> for AnyRun {
    fn from(run: Box<dyn StackRun>) -> Self {
        let kind = (&*run as &dyn Any).type_id();
        if kind == TypeId::of::<TcpRun>() {
            (run as Box<dyn Any>).downcast().map(|run| Self::Tcp(*run)).expect("its type was looked at")
        } else if kind == TypeId::of::<SctpRun>() {
            (run as Box<dyn Any>).downcast().map(|run| Self::Sctp(*run)).expect("its type was looked at")
        } else {
            Self::Other(run)
        }
    }
}

impl AnyRun {
    /// [`StackRun::endpoint`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn end(&mut self, host: usize, settings: &EndSettings) -> Result<AnyEnd, SettingError> {
        Ok(match self {
            Self::Tcp(run) => AnyEnd::Tcp(run.connection(host, settings)),
            Self::Sctp(run) => AnyEnd::Sctp(run.association(host, settings)),
            Self::Other(run) => AnyEnd::Other(run.endpoint(host, settings)?),
        })
    }
}

/// The same of whichever it is.
macro_rules! each {
    ($stack:expr, $inner:ident => $what:expr) => {
        match $stack {
            AnyEnd::Tcp($inner) => $what,
            AnyEnd::Sctp($inner) => $what,
            AnyEnd::Other($inner) => $what,
        }
    };
}

impl AnyEnd {
    /// Lends it an outbox for what it sends; swap it back after polling.
    #[inline]
    pub fn swap_outbox(&mut self, now: Instant, outbox: &mut Outbox) {
        match self {
            Self::Tcp(end) => end.swap_outbox(outbox),
            Self::Sctp(end) => end.swap_outbox(outbox),
            Self::Other(end) => swap_outbox_of(&mut **end, now, outbox),
        }
    }

    /// What it has done since the start.
    #[inline]
    pub fn counters(&self) -> &Counters {
        each!(self, end => end.counters())
    }

    /// Bytes that arrived different from those written.
    pub fn misplaced_bytes(&self) -> u64 {
        each!(self, end => end.misplaced_bytes())
    }

    /// What broke off the run.
    #[inline]
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Tcp(_) | Self::Sctp(_) => None,
            Self::Other(end) => end.failure(),
        }
    }

    /// The secrets of its encryption that are new.
    #[inline]
    pub fn take_secrets(&mut self) -> Option<String> {
        match self {
            Self::Tcp(_) | Self::Sctp(_) => None,
            Self::Other(end) => end.take_secrets(),
        }
    }

    /// What its code has logged.
    #[inline]
    pub fn take_qlog(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Tcp(_) | Self::Sctp(_) => None,
            Self::Other(end) => end.take_qlog(),
        }
    }

    /// It keeps messages apart.
    #[inline]
    pub fn is_of_messages(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            Self::Sctp(_) => true,
            Self::Other(end) => end.is_of_messages(),
        }
    }

    /// Its first sequence number or TSN; `None` where the code does not report it.
    pub fn initial_number(&self) -> Option<SeqNumber> {
        each!(self, end => end.initial_number())
    }

    /// True if it has taken all of `[from, end)` of the peer's sequence space (bytes of TCP, TSNs of SCTP), in order or not.
    pub fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        match self {
            Self::Tcp(own) => own.has_received(from, end),
            Self::Sctp(own) => StackEnd::has_received(&**own, from, end),
            Self::Other(own) => own.has_received(from, end),
        }
    }
}

impl Endpoint for AnyEnd {
    #[inline]
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        each!(self, end => end.handle_packet(now, packet));
    }

    #[inline]
    fn handle_timer(&mut self, now: Instant) {
        each!(self, end => end.handle_timer(now));
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        each!(self, end => end.poll_transmit(now))
    }

    #[inline]
    fn poll_timer(&self) -> Option<Instant> {
        match self {
            Self::Tcp(end) => end.poll_timer(),
            Self::Sctp(end) => end.poll_timer(),
            Self::Other(end) => timer_of(&**end),
        }
    }

    #[inline(always)]
    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Tcp(end) => end.poll_event(),
            Self::Sctp(end) => end.poll_event(),
            Self::Other(end) => event_of(&mut **end),
        }
    }

    fn snapshot(&self) -> Snapshot {
        each!(self, end => end.snapshot())
    }
}

impl Socket for AnyEnd {
    fn connect(&mut self, now: Instant) {
        each!(self, end => end.connect(now));
    }

    #[inline]
    fn write(&mut self, now: Instant, len: u64) -> u64 {
        each!(self, end => end.write(now, len))
    }

    #[inline]
    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        each!(self, end => end.send(now, len, how))
    }

    #[inline]
    fn read_offset(&self) -> Option<u64> {
        each!(self, end => end.read_offset())
    }

    #[inline]
    fn read(&mut self, now: Instant, max: u64) -> u64 {
        each!(self, end => end.read(now, max))
    }

    #[inline]
    fn readable(&self) -> u64 {
        each!(self, end => end.readable())
    }

    fn close(&mut self, now: Instant) {
        each!(self, end => end.close(now));
    }

    fn abort(&mut self, now: Instant) {
        each!(self, end => end.abort(now));
    }
}

// What the loop asks most often: called out of line, so that the models' answers stay in registers.

#[cold]
fn timer_of(end: &dyn StackEnd) -> Option<Instant> {
    end.poll_timer()
}

#[cold]
fn event_of(end: &mut dyn StackEnd) -> Option<Event> {
    end.poll_event()
}

#[cold]
fn swap_outbox_of(end: &mut dyn StackEnd, now: Instant, outbox: &mut Outbox) {
    end.swap_outbox(now, outbox);
}
