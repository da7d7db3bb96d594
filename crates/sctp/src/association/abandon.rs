//! Messages given up: partial reliability (RFC 3758, RFC 7496) and the chunks that tell of it.

use std::collections::BTreeMap;

use rexmit_stack::{Event, Reason};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::{Chunk, kind};

use super::Association;
use super::input::Arrival;
use crate::outbound::Place;

impl Association {
    /// Is the chunk, which would be sent again, part of a message that is given up (RFC 3758 section 4.1; RFC 7496
    /// section 3.1)?
    pub(super) fn is_given_up(&self, now: Instant, at: usize) -> bool {
        let chunk = &self.out.sent[at];
        self.peer.partial_reliability && (chunk.expires <= now || chunk.again >= chunk.most_again)
    }

    /// Gives up the message of the chunk at `at`, all of it.
    pub(super) fn abandon(&mut self, now: Instant, at: usize) {
        let mut from = at;
        while from > 0 && !self.out.sent[from].begin {
            from -= 1;
        }
        let mut whole = false;
        for at in from..self.out.sent.len() {
            let chunk = &self.out.sent[at];
            let (end, place) = (chunk.end, chunk.place);
            match place {
                Place::Outstanding => {
                    let to = usize::from(chunk.path);
                    self.mark(at, to);
                    self.out.queued -= 1;
                }
                Place::Queued => self.out.queued -= 1,
                Place::Acked | Place::Abandoned => {}
            }
            if place != Place::Acked && place != Place::Abandoned {
                self.out.sent[at].place = Place::Abandoned;
                self.out.abandoned += 1;
            }
            if end {
                whole = true;
                break;
            }
        }
        if !whole {
            self.out.cap();
        }
        self.pass_over(now);
        self.wake_writer();
    }

    /// The message in front is given up.
    pub(super) fn drop_unsent(&mut self, now: Instant) {
        let begun = self.out.pending.front().is_some_and(|message| message.taken > 0);
        match self.out.sent.len().checked_sub(1) {
            Some(last) if begun => {
                self.abandon(now, last);
                return;
            }
            None if begun => self.out.cap(),
            _ => {
                self.out.drop_rest();
            }
        }
        self.pass_over(now);
        self.wake_writer();
    }

    /// Moves the peer's cumulative TSN over what is given up (RFC 3758 section 3.5).
    pub(super) fn pass_over(&mut self, now: Instant) {
        if self.out.abandoned == 0 {
            return;
        }
        let to = self.advanced();
        if to > self.out.ack_point() && to > self.forwarded {
            self.send_forward(now, to, 0);
        }
    }

    /// The advanced peer ack point.
    fn advanced(&self) -> SeqNumber {
        let given_up = self.out.sent.iter().take_while(|chunk| chunk.place == Place::Abandoned).count();
        self.out.ack_point() + given_up as u32
    }

    fn send_forward(&mut self, now: Instant, to: SeqNumber, backoff: u32) {
        self.forwarded = to;
        let interleaving = self.peer.interleaving;
        // The last message that each stream skips.
        let mut skipped = BTreeMap::new();
        for chunk in self.out.sent.range(..=self.out.index(to)) {
            if interleaving || !chunk.unordered {
                skipped.insert((chunk.stream, chunk.unordered), chunk.number);
            }
        }
        let chunk = if interleaving {
            let mut value = to.0.to_be_bytes().to_vec();
            for ((stream, unordered), number) in skipped {
                value.extend(stream.to_be_bytes());
                value.extend(u16::from(unordered).to_be_bytes());
                value.extend(number.to_be_bytes());
            }
            Chunk::Other { kind: kind::I_FORWARD_TSN, flags: 0, value: value.into() }
        } else {
            let skipped = skipped.into_iter().map(|((stream, _), number)| (stream, number as u16)).collect();
            Chunk::ForwardTsn { cumulative: to.0, skipped }
        };
        let path = self.send_path();
        self.emit_control(Reason::Control { backoff }, path, vec![chunk]);
        self.keep_t3_for_forward(now);
    }

    /// T3 covers FORWARD-TSN too (RFC 3758 section 3.5 C5).
    pub(super) fn keep_t3_for_forward(&mut self, now: Instant) {
        let path = self.send_path();
        if self.out.abandoned > 0 && !self.paths[path].t3_runs() {
            self.restart_t3(now, path);
        }
    }

    /// T3 has run out: FORWARD-TSN again, if the peer is still behind.
    pub(super) fn forward_again(&mut self, now: Instant, path: usize) {
        if self.out.abandoned == 0 || self.state == super::State::Closed {
            return;
        }
        let to = self.advanced();
        if to > self.out.ack_point() {
            let backoff = self.paths[path].backoff;
            self.send_forward(now, to, backoff);
        }
    }

    /// FORWARD-TSN or I-FORWARD-TSN: streams, whether unordered, and the last message skipped.
    pub(super) fn on_forward_tsn(
        &mut self,
        cumulative: u32,
        skipped: Vec<(u16, bool, u32)>,
        interleaving: bool,
        seen: &mut Arrival,
    ) {
        let ok = self.state.takes_data() && self.peer.partial_reliability;
        if !ok || interleaving != self.peer.interleaving {
            self.faults.unexpected_chunks += 1;
            return;
        }
        // A SACK follows at once (RFC 3758 section 3.6).
        seen.data += 1;
        seen.at_once = true;
        let tsn = self.inb.tsns.unwrap(cumulative);
        if tsn <= self.inb.tsns.cumulative {
            return;
        }
        let reach = u64::from(u16::MAX);
        if tsn > self.inb.tsns.cumulative + reach {
            self.faults.data_beyond_window += 1;
            return;
        }
        let before = self.inb.readable;
        self.inb.tsns.forward(tsn);
        self.inb.forward(tsn);
        for (stream, unordered, number) in skipped {
            if stream < self.streams_in {
                self.inb.skip(stream, number, unordered, interleaving);
            } else {
                self.faults.bad_streams += 1;
            }
        }
        if self.inb.readable > before {
            self.raise(Event::Readable);
        }
    }

    /// I-FORWARD-TSN as bytes (RFC 8260 section 2.3.1).
    pub(super) fn on_i_forward_tsn(&mut self, value: &[u8], seen: &mut Arrival) -> bool {
        let Some((cumulative, mut rest)) = value.split_first_chunk() else {
            self.faults.malformed_chunks += 1;
            return true;
        };
        let mut skipped = Vec::new();
        while let [a, b, _, flags, c, d, e, f, ..] = rest {
            let number = u32::from_be_bytes([*c, *d, *e, *f]);
            skipped.push((u16::from_be_bytes([*a, *b]), flags & 1 == 1, number));
            rest = &rest[8..];
        }
        self.on_forward_tsn(u32::from_be_bytes(*cumulative), skipped, true, seen);
        true
    }
}
