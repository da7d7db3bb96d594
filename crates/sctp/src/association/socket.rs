//! The application's calls.

use rexmit_stack::{Delivery, Event, Reason};
use rexmit_units::Instant;
use rexmit_wire::sctp::Chunk;

use super::output::Trigger;
use super::{Association, State};

/// User-initiated abort (RFC 9260 section 3.3.10.12).
const USER_ABORT: u16 = 12;

impl Association {
    /// Takes a message whole, or nothing of it. One that is longer than the send buffer is taken when that is empty.
    pub(super) fn take_message(&mut self, now: Instant, len: u64, how: &Delivery) -> u64 {
        let open = self.state == State::Established && !self.closing;
        if !open || len == 0 || how.stream >= self.streams_out {
            return 0;
        }
        let limit = self.profile.buffers.send.0;
        if self.out.buffered > 0 && self.out.buffered + len > limit {
            self.writer_needs = len.min(limit);
            return 0;
        }
        self.out.push(now, len, how);
        self.flush(now, Trigger::Usual);
        len
    }

    /// Wakes a writer once its message fits.
    pub(super) fn wake_writer(&mut self) {
        let space = self.profile.buffers.send.0.saturating_sub(self.out.buffered);
        if self.writer_needs > 0 && (space >= self.writer_needs || self.out.buffered == 0) {
            self.writer_needs = 0;
            self.raise(Event::Writable);
        }
    }

    /// Takes up to `max` bytes of the message in front; a window update may follow.
    pub(super) fn give_read(&mut self, now: Instant, max: u64) -> u64 {
        let len = self.inb.read(max);
        if len > 0 {
            self.relieve();
            self.update_window(now);
        }
        len
    }

    /// No more data from this side (RFC 9260 section 9.2).
    pub(super) fn shut(&mut self, now: Instant) {
        match self.state {
            State::Listen | State::CookieWait => self.enter_closed(Event::Closed),
            // It waits for the handshake.
            State::CookieEchoed => self.closing = true,
            State::Established => {
                self.closing = true;
                self.state = State::ShutdownPending;
                self.flush(now, Trigger::Usual);
                self.go_on_shutting_down(now);
            }
            _ => {}
        }
    }

    /// ABORT, and the association is gone (RFC 9260 section 9.1).
    pub(super) fn cut_off(&mut self) {
        self.abort_for(&[USER_ABORT], Event::Closed);
        if self.state != State::Closed {
            self.enter_closed(Event::Closed);
        }
    }

    /// Ends the association with an ABORT, if the peer is known.
    pub(super) fn abort_for(&mut self, causes: &[u16], event: Event) {
        if self.state > State::CookieWait {
            let path = self.send_path();
            let chunk = Chunk::Abort { reflected: false, causes: causes.to_vec() };
            self.emit_control(Reason::Reset, path, vec![chunk]);
            self.enter_closed(event);
        }
    }
}
