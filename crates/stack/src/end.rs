//! What an engine needs of an end besides packets, timers and the application's calls.

use std::fmt::Debug;

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use crate::{Counters, Endpoint, Outbox, Socket};

/// One end of a connection as a [`crate::StackRun`] makes it.
pub trait StackEnd: Endpoint + Socket + Debug {
    /// What has happened since the start.
    fn counters(&self) -> &Counters;

    /// Bytes delivered at a different place, or with different content, than the peer's application wrote.
    /// Anything but zero is a fault of the code.
    fn misplaced_bytes(&self) -> u64;

    /// What broke off the run: code in another process that has ended, say. The end then does nothing more.
    fn failure(&self) -> Option<String> {
        None
    }

    /// The secrets of its encryption that are new since the last call, as lines of an NSS key log, with which a capture
    /// can be decrypted.
    fn take_secrets(&mut self) -> Option<String> {
        None
    }

    /// What its code has logged of the connection since the last call: records of qlog as a JSON text sequence (RFC 7464), each
    /// whole. Only where [`crate::HostSettings::qlog`] asks for it, and the code writes such logs.
    fn take_qlog(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// Lends the end an outbox for what it sends, so that thousands of ends share one; called again when it has been polled,
    /// to take it back with the packets in it.
    ///
    /// By default, what waits is moved into it.
    fn swap_outbox(&mut self, now: Instant, outbox: &mut Outbox) {
        while let Some(sent) = self.poll_transmit(now) {
            outbox.push(sent);
        }
    }

    /// Each write is a message, which the peer's application reads as one.
    fn is_of_messages(&self) -> bool {
        false
    }

    /// Its first sequence number, or TSN; `None` where the code does not report it.
    fn initial_number(&self) -> Option<SeqNumber> {
        None
    }

    /// True if it has taken all of `[from, end)` of the peer's sequence space (bytes of TCP, TSNs of SCTP), in order or
    /// not.
    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        let _ = (from, end);
        false
    }
}
