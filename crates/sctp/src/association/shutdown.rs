//! Graceful shutdown (RFC 9260 section 9.2).

use std::net::IpAddr;

use rexmit_stack::{Event, Reason};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::Chunk;

use super::output::Trigger;
use super::{Association, State};

impl Association {
    /// Once nothing is outstanding, the next step of a shutdown.
    pub(super) fn go_on_shutting_down(&mut self, now: Instant) {
        if !self.out.is_empty() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.state = State::ShutdownSent;
                self.start_control(now);
                if let Some(guard) = self.profile.association.shutdown_guard {
                    self.timers.guard = self.clock.deadline(now, guard);
                }
                self.send_shutdown(0);
            }
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent;
                self.start_control(now);
                self.send_shutdown_ack(now, 0);
            }
            _ => {}
        }
    }

    fn send_shutdown(&mut self, backoff: u32) {
        let path = self.send_path();
        let chunk = self.shutdown_chunk();
        self.emit_control(Reason::Control { backoff }, path, vec![chunk]);
    }

    fn shutdown_chunk(&self) -> Chunk {
        Chunk::Shutdown { cumulative: self.inb.tsns.cumulative as u32 }
    }

    pub(super) fn send_shutdown_ack(&mut self, _now: Instant, backoff: u32) {
        let path = self.send_path();
        self.emit_control(Reason::Control { backoff }, path, vec![Chunk::ShutdownAck]);
    }

    /// Data after our SHUTDOWN: SACK and SHUTDOWN, and T2 restarts.
    pub(super) fn answer_in_shutdown(&mut self, now: Instant, from: IpAddr) {
        let chunks = vec![self.take_sack(), self.shutdown_chunk()];
        let path = self.path_of(from).unwrap_or(self.primary);
        self.emit_control(Reason::Control { backoff: 0 }, path, chunks);
        self.start_control(now);
    }

    /// The peer has closed.
    pub(super) fn on_shutdown(&mut self, now: Instant, from: IpAddr, cumulative: u32) {
        if !self.state.is_up() {
            self.faults.unexpected_chunks += 1;
            return;
        }
        if SeqNumber(cumulative) >= self.out.next_tsn() {
            self.faults.sacks_of_unsent += 1;
            return;
        }
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.raise(Event::EndOfStream);
            }
            State::ShutdownSent => {
                // Both closed at the same time.
                self.state = State::ShutdownAckSent;
                self.raise(Event::EndOfStream);
                self.start_control(now);
                self.send_shutdown_ack(now, 0);
            }
            _ => {}
        }
        self.acknowledge_by_shutdown(now, from, SeqNumber(cumulative));
        // What was written and never left may still leave (RFC 9260 section 9.2).
        self.flush(now, Trigger::Usual);
    }

    /// The peer has nothing more either.
    pub(super) fn on_shutdown_ack(&mut self, from: IpAddr) {
        if !matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.faults.unexpected_chunks += 1;
            return;
        }
        let path = self.path_of(from).unwrap_or(self.primary);
        let chunk = Chunk::ShutdownComplete { reflected: false };
        self.emit_control(Reason::Control { backoff: 0 }, path, vec![chunk]);
        self.raise(Event::EndOfStream);
        self.enter_closed(Event::Closed);
    }

    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.enter_closed(Event::Closed);
        } else {
            self.faults.unexpected_chunks += 1;
        }
    }

    /// T2-shutdown has run out.
    pub(super) fn on_t2(&mut self, now: Instant) {
        self.counters.timeouts += 1;
        let path = self.send_path();
        if !self.note_error(path) {
            return;
        }
        self.back_off_control(now);
        let backoff = self.control.expiries;
        match self.state {
            State::ShutdownSent => self.send_shutdown(backoff),
            _ => self.send_shutdown_ack(now, backoff),
        }
    }

    /// T5-shutdown-guard has run out: ABORT (RFC 9260 section 9.2).
    pub(super) fn on_guard(&mut self) {
        self.abort_for(&[], Event::TimedOut);
    }
}
