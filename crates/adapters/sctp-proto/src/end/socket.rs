//! The application's side of an end.

use rexmit_stack::{Delivery, Event, Socket};
use rexmit_units::Instant;
use rexmit_wire::Payload;
use sctp_proto::{Association, PayloadProtocolIdentifier, ReliabilityType, StreamId};

use super::{SctpEnd, State};
use crate::places::Written;

impl Socket for SctpEnd {
    fn connect(&mut self, now: Instant) {
        if self.state == State::Idle {
            self.begin(now);
            (self.called, self.now) = (true, now);
        }
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        if self.state != State::Established || self.told.closing || len == 0 {
            return 0;
        }
        let Some((_, association)) = &mut self.association else { return 0 };
        let asked = len;
        let len = len.min(self.config.send_buffer.0).min(self.config.max_message.0);
        let fits = self.buffered + len <= self.config.send_buffer.0;
        self.told.blocked |= !fits || len < asked;
        if !fits {
            return 0;
        }
        let mut message = vec![0; len as usize];
        Payload::fill(self.written, &mut message);
        if let Err(error) = send(association, how, &message) {
            self.failure = Some(format!("sctp-proto cannot send: {error}"));
            return 0;
        }
        let until = how.lifetime.filter(|_| self.boundary.peer_forwards);
        let until = until.map(|lifetime| now + rexmit_units::Duration::from_millis(ms(lifetime).into()));
        self.places.write(Written { place: self.written as u32, until }, how.unordered);
        if !self.own.contains(&how.stream) {
            self.own.push(how.stream);
        }
        (self.written, self.buffered) = (self.written + len, self.buffered + len);
        (self.called, self.now) = (true, now);
        len
    }

    fn read_offset(&self) -> Option<u64> {
        self.inbox.last
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        let Some((_, association)) = self.association.as_mut().filter(|_| max > 0) else { return 0 };
        self.inbox.take(association, false);
        let read = self.inbox.read(max);
        self.inbox.take(association, false);
        if read > 0 {
            (self.called, self.now) = (true, now);
            if self.inbox.waits() > 0 {
                self.events.push_back(Event::Readable);
            }
        }
        read
    }

    fn readable(&self) -> u64 {
        self.inbox.waits()
    }

    fn close(&mut self, now: Instant) {
        if self.told.closing {
            return;
        }
        self.told.closing = true;
        match self.state {
            State::Idle | State::Listening => self.over(Event::Closed),
            State::Established => self.state = State::ShutdownPending,
            _ => {}
        }
        (self.called, self.now) = (true, now);
    }

    /// Nothing is sent: the library has no call that sends an ABORT.
    fn abort(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association {
            association.close().unwrap_or_default();
        }
        self.over(Event::Closed);
        (self.called, self.now) = (true, now);
    }
}

/// Hands a message to the library.
fn send(association: &mut Association, how: Delivery, message: &[u8]) -> Result<(), sctp_proto::Error> {
    let (kind, value) = match (how.lifetime, how.max_retransmits) {
        (Some(lifetime), _) => (ReliabilityType::Timed, ms(lifetime)),
        (None, Some(most)) => (ReliabilityType::Rexmit, most),
        (None, None) => (ReliabilityType::Reliable, 0),
    };
    let id: StreamId = how.stream;
    let identifier = PayloadProtocolIdentifier::Binary;
    let mut stream = match association.stream(id) {
        Ok(_) => association.stream(id)?,
        Err(_) => association.open_stream(id, identifier)?,
    };
    stream.set_reliability_params(how.unordered, kind, value)?;
    stream.write_with_ppi(message, identifier).map(|_| ())
}

/// A lifetime as the library counts it.
fn ms(lifetime: rexmit_units::Duration) -> u32 {
    lifetime.as_nanos().div_ceil(1_000_000).min(u32::MAX.into()) as u32
}
