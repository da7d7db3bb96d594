//! The same interface where the library was not there: nothing can be started.

use std::convert::Infallible;

use rexmit_stack::{Counters, Endpoint, Event, Outbox, Snapshot, Socket, Transmission};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, SeqNumber};

use crate::{AssociationConfig, UsrsctpError};

/// The library, which was not there when this was built.
#[derive(Clone, Debug)]
pub struct Usrsctp {
    never: Infallible,
}

impl Usrsctp {
    /// Says what is missing.
    ///
    /// # Errors
    /// Always [`UsrsctpError::Missing`].
    pub fn start(_phase: Duration) -> Result<Self, UsrsctpError> {
        Err(UsrsctpError::Missing(env!("REXMIT_USRSCTP_MISSING")))
    }

    /// One end of an association, which there is none of.
    ///
    /// # Errors
    /// None: there is no library to call it on.
    pub fn association(&self, _config: AssociationConfig) -> Result<Association, UsrsctpError> {
        match self.never {}
    }
}

/// One end of an association, which there is none of.
#[derive(Debug)]
pub struct Association {
    never: Infallible,
}

impl Association {
    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        match self.never {}
    }

    /// Bytes delivered at another place than they were written.
    pub fn misplaced_bytes(&self) -> u64 {
        match self.never {}
    }

    /// Whether it has taken a chunk of the peer's.
    pub fn has_received(&self, _tsn: SeqNumber) -> bool {
        match self.never {}
    }

    /// Lends the association an outbox.
    pub fn swap_outbox(&mut self, _outbox: &mut Outbox) {
        match self.never {}
    }
}

impl Endpoint for Association {
    fn handle_packet(&mut self, _now: Instant, _packet: Box<Packet>) {
        match self.never {}
    }

    fn handle_timer(&mut self, _now: Instant) {
        match self.never {}
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        match self.never {}
    }

    fn poll_timer(&self) -> Option<Instant> {
        match self.never {}
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self.never {}
    }

    fn snapshot(&self) -> Snapshot {
        match self.never {}
    }
}

impl Socket for Association {
    fn connect(&mut self, _now: Instant) {
        match self.never {}
    }

    fn write(&mut self, _now: Instant, _len: u64) -> u64 {
        match self.never {}
    }

    fn read(&mut self, _now: Instant, _max: u64) -> u64 {
        match self.never {}
    }

    fn readable(&self) -> u64 {
        match self.never {}
    }

    fn close(&mut self, _now: Instant) {
        match self.never {}
    }

    fn abort(&mut self, _now: Instant) {
        match self.never {}
    }
}
