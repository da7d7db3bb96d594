//! The application's writes as DATAGRAM frames (RFC 9221).

use quinn_proto::SendDatagramError;
use rexmit_stack::Socket;
use rexmit_units::{Duration, Instant};

use super::QuinnEnd;

impl QuinnEnd {
    /// Writes a datagram, whole or, while quinn's queue is full, not at all: older ones are not dropped for it.
    pub(super) fn send_datagram(&mut self, now: Instant, len: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut datagrams = connection.datagrams();
        self.empty_queue.get_or_insert(datagrams.send_buffer_space());
        let Some(most) = datagrams.max_size() else {
            return self.refuse_datagram(now, "the peer takes no datagrams (RFC 9221 section 3)".into());
        };
        let bytes = match self.writer.next_datagram(len, Some(most as u64)) {
            Ok(bytes) => bytes::Bytes::copy_from_slice(bytes),
            Err(why) => return self.refuse_datagram(now, why),
        };
        match datagrams.send(bytes, false) {
            Ok(()) => {
                self.writer.wrote(0, len);
                (self.called, self.now) = (true, now);
                len
            }
            Err(SendDatagramError::Blocked(_)) => 0,
            Err(error) => self.refuse_datagram(now, error.to_string()),
        }
    }

    fn refuse_datagram(&mut self, now: Instant, why: String) -> u64 {
        let at = Duration::from_nanos(now.as_nanos());
        self.failure.get_or_insert(format!("stack quinn of {}, datagram at {at}: {why}", self.host));
        self.abort(now);
        0
    }

    /// Takes what has arrived, so that quinn drops none for the room.
    pub(super) fn take_datagrams(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        while let Some(bytes) = connection.datagrams().recv() {
            self.inbox.arrived(bytes.into());
        }
        self.events.push_back(rexmit_stack::Event::Readable);
    }

    /// Some of its own have not left.
    pub(super) fn datagrams_wait(&mut self) -> bool {
        let Some((_, connection)) = &mut self.connection else { return false };
        self.empty_queue.is_some_and(|empty| connection.datagrams().send_buffer_space() < empty)
    }

    /// Ends the stream that says that all datagrams have left, once they have.
    pub(super) fn finish_datagrams(&mut self) {
        if self.settings.datagrams && self.told.closing && !self.told.closed && self.own.is_empty() {
            self.finish_streams();
            self.called |= !self.own.is_empty();
        }
    }
}
