//! Data that arrive, and when they are acknowledged (RFC 9260 section 6.2; SC-R-1 to SC-R-4).

use rexmit_stack::{Event, Reason};
use rexmit_units::Instant;
use rexmit_wire::sctp::{Chunk, DataChunk, SackChunk};

use super::input::Arrival;
use super::{Association, OFF, State};
use crate::inbound::Seen;

/// Error causes (RFC 9260 section 3.3.10).
const INVALID_STREAM: u16 = 1;
const NO_USER_DATA: u16 = 9;
const PROTOCOL_VIOLATION: u16 = 13;

impl Association {
    /// A DATA or I-DATA chunk. False: the association is over.
    pub(super) fn on_data(&mut self, data: &DataChunk, seen: &mut Arrival) -> bool {
        if !self.state.takes_data() {
            self.faults.unexpected_chunks += 1;
            return true;
        }
        if data.payload.is_empty() {
            self.faults.empty_data += 1;
            self.abort_for(&[NO_USER_DATA], Event::Closed);
            return false;
        }
        if data.fragment.is_some() != self.peer.interleaving {
            // RFC 8260 section 2.2.2: one kind of chunks in an association.
            self.faults.unexpected_chunks += 1;
            self.abort_for(&[PROTOCOL_VIOLATION], Event::Closed);
            return false;
        }
        seen.data += 1;
        let tsn = self.inb.tsns.unwrap(data.tsn);
        match self.inb.tsns.look(tsn) {
            Seen::New => seen.last_again = false,
            Seen::Again => {
                seen.last_again = true;
                self.faults.duplicate_data += 1;
                self.inb.tsns.note_duplicate(data.tsn);
                return true;
            }
            Seen::TooFar => {
                self.faults.data_beyond_window += 1;
                seen.at_once = true;
                return true;
            }
        }
        if self.free_window() == 0 && tsn > self.inb.tsns.highest() {
            // RFC 9260 section 6.2: a closed window takes nothing beyond what has come.
            self.faults.data_beyond_window += 1;
            seen.at_once = true;
            return true;
        }
        self.inb.tsns.take(tsn);
        seen.new += 1;
        seen.at_once |= data.immediate && self.profile.sack.immediate_bit;
        if data.stream >= self.streams_in {
            self.faults.bad_streams += 1;
            self.report_bad_stream();
            return true;
        }
        let before = self.inb.readable;
        if !self.inb.take(tsn, data) {
            self.faults.misordered_data += 1;
        }
        if self.inb.readable > before {
            self.raise(Event::Readable);
        }
        self.relieve();
        true
    }

    /// An ERROR for a stream that does not exist (RFC 9260 section 6.5).
    fn report_bad_stream(&mut self) {
        let causes = vec![INVALID_STREAM];
        let path = self.send_path();
        self.emit_control(Reason::Control { backoff: 0 }, path, vec![Chunk::Error { causes }]);
    }

    /// Where the buffer is full of a message that is not whole, the reader gets its beginning.
    pub(super) fn relieve(&mut self) {
        if self.free_window() < u64::from(self.fragment)
            && self.inb.readable == 0
            && self.inb.held > 0
            && self.inb.begin_partially()
            && self.inb.readable > 0
        {
            self.raise(Event::Readable);
        }
    }

    fn free_window(&self) -> u64 {
        self.profile.buffers.receive.0.saturating_sub(self.inb.held)
    }

    /// A packet with data has been taken in: is it acknowledged now, or later?
    pub(super) fn after_data(&mut self, now: Instant, seen: &Arrival) {
        let config = &self.profile.sack;
        let first = config.first_at_once && !self.owed.begun;
        self.owed.begun = true;
        self.owed.packets += 1;
        self.owed.path = self.path_of(seen.ends.from).unwrap_or(self.primary);
        let due = first
            || seen.at_once
            || seen.new == 0
            || (config.last_duplicate_at_once && seen.last_again)
            || self.inb.tsns.has_gap()
            || self.owed.packets >= config.packets
            || config.delay.is_zero();
        if self.state == State::ShutdownSent {
            self.answer_in_shutdown(now, seen.ends.from);
        } else if due {
            self.owed.now = true;
        } else if self.timers.sack == OFF {
            self.timers.sack = self.clock.deadline(now, config.delay);
        }
    }

    /// A SACK waits: it goes along with data.
    pub(super) fn owes_sack(&self) -> bool {
        self.owed.now || self.timers.sack != OFF
    }

    /// The SACK as of now; nothing more is owed.
    pub(super) fn take_sack(&mut self) -> Chunk {
        let room = self.paths.get(self.primary).map_or(1_480, |path| path.room) as usize;
        let most = (room - 12).saturating_sub(16) / 4;
        let gaps = self.inb.tsns.gaps(most);
        let mut duplicates = std::mem::take(&mut self.inb.tsns.duplicates);
        duplicates.truncate(most - gaps.len());
        let window = self.free_window();
        self.owed.window = window;
        self.owed.packets = 0;
        self.owed.now = false;
        self.timers.sack = OFF;
        Chunk::Sack(SackChunk {
            cumulative: self.inb.tsns.cumulative as u32,
            window: window.min(u32::MAX.into()) as u32,
            gaps,
            duplicates,
        })
    }

    /// Sends a SACK that is due and went along with nothing.
    pub(super) fn send_due_sack(&mut self) {
        if self.owed.now {
            let sack = self.take_sack();
            self.emit_control(Reason::Ack, self.owed.path, vec![sack]);
        }
    }

    /// The reader has made room: the peer learns of it once it is a packet's worth, or half the buffer
    /// (RFC 9260 section 6.2; RFC 9293 section 3.8.6.2.2).
    pub(super) fn update_window(&mut self, now: Instant) {
        if !self.state.takes_data() {
            return;
        }
        let step = (self.profile.buffers.receive.0 / 2).min(self.mtu.into());
        // What waits for its delayed SACK is told with it.
        if self.free_window() >= self.owed.window + step && self.owed.window < 2 * u64::from(self.mtu) {
            self.owed.now = true;
            self.flush(now, super::output::Trigger::Usual);
        }
    }
}
