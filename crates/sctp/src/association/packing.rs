//! Chunks put into packets (RFC 9260 section 6.10; SC-S-5, SC-E-6).

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::Chunk;

use super::Association;
use crate::outbound::Place;
use crate::profile::BundleWithNew;

/// A packet with data that is being filled.
#[derive(Debug)]
pub(super) struct Draft {
    path: usize,
    chunks: Vec<Chunk>,
    /// Bytes after the IP header.
    size: u32,
    reason: Reason,
    /// A SACK stands in front.
    sack: bool,
    /// Its first new chunk.
    first_new: Option<SeqNumber>,
    /// It carries a chunk that has left before.
    again: bool,
    highest: SeqNumber,
}

const HEADER: u32 = rexmit_wire::sctp::HEADER_LEN as u32;

impl Association {
    /// Bytes that a chunk with this much data takes in a packet.
    fn chunk_len(&self, len: u32) -> u32 {
        (if self.peer.interleaving { 20 } else { 16 }) + len.next_multiple_of(4)
    }

    pub(super) fn has_room(&self, draft: &Draft, path: usize, len: u32) -> bool {
        draft.path == path && draft.size + self.chunk_len(len) <= self.paths[path].room
    }

    /// Puts the chunk at `at` into the packet, which may begin with it; it leaves now.
    pub(super) fn put(
        &mut self,
        now: Instant,
        draft: &mut Option<Draft>,
        (at, path): (usize, usize),
        reason: Reason,
    ) {
        let tsn = self.out.base + at as u32;
        let again = self.out.sent[at].again > 0;
        let len = self.out.sent[at].len;
        if self.departures.is_some() {
            self.note_departure(now, at, path);
        }
        self.paths[path].flight += u64::from(len);
        if !again && !self.paths[path].timing {
            self.paths[path].timing = true; // SC-S-8
            self.out.sent[at].timed = true;
        }
        self.out.sent[at].sent_at = now;
        let chunk = self.out.chunk(at, self.peer.interleaving);
        let size = self.chunk_len(len);
        let draft = match draft {
            Some(draft) => draft,
            None => {
                let begun = self.begin(path, size, reason);
                draft.insert(begun)
            }
        };
        draft.size += size;
        draft.again |= again;
        draft.highest = if draft.first_new.is_none() && !draft.again || draft.highest < tsn {
            tsn
        } else {
            draft.highest
        };
        if !again && draft.first_new.is_none() {
            draft.first_new = Some(tsn);
        }
        draft.chunks.push(chunk);
    }

    /// A packet begins; a SACK that waits goes in front where the first chunk leaves room for it, else before it.
    fn begin(&mut self, path: usize, first: u32, reason: Reason) -> Draft {
        let mut draft = Draft {
            path,
            chunks: Vec::with_capacity(2),
            size: HEADER,
            reason,
            sack: false,
            first_new: None,
            again: false,
            highest: self.out.base,
        };
        if self.owes_sack() {
            let sack = self.take_sack();
            let len = sack.len() as u32;
            if HEADER + len + first <= self.paths[path].room {
                draft.size += len;
                draft.sack = true;
                draft.chunks.push(sack);
            } else {
                self.emit_control(Reason::Ack, self.owed.path, vec![sack]);
            }
        }
        draft
    }

    /// The packet leaves.
    pub(super) fn finish(&mut self, now: Instant, mut draft: Draft) {
        if let Some(first) = draft.first_new.filter(|_| !draft.again) {
            self.bundle_with_new(now, &mut draft, first);
        }
        if self.profile.thin.is_used() {
            self.in_flight.sent(draft.highest);
        }
        self.count(&draft);
        self.ask_for_answer(&mut draft);
        let path = &mut self.paths[draft.path];
        path.last_data = now;
        if !path.t3_runs() {
            path.t3 = self.clock.deadline(now, path.rto.get()); // SC-S-7
        }
        self.emit(draft.reason, draft.path, draft.chunks);
    }

    /// Counts its DATA chunks: those sent for the first time, and those sent again for whatever reason.
    fn count(&mut self, draft: &Draft) {
        for chunk in &draft.chunks {
            let Chunk::Data(data) = chunk else { continue };
            if draft.first_new.is_some_and(|first| SeqNumber(data.tsn).diff(first) >= 0) {
                self.counters.data_segments += 1;
            } else {
                self.counters.retransmits += 1;
            }
        }
    }

    /// Where the stream is thin and the packet holds new chunks only, outstanding ones go in front, oldest first, until
    /// one does not fit (SC-E-6). They are not a retransmission for window and missing reports; they cannot be timed.
    fn bundle_with_new(&mut self, now: Instant, draft: &mut Draft, first: SeqNumber) {
        let rule = self.profile.thin.bundle_with_new;
        if rule == BundleWithNew::Off || !self.is_thin() {
            return;
        }
        let mut chunks = Vec::new();
        for at in 0..self.out.index(first) {
            let chunk = &self.out.sent[at];
            let goes = match chunk.place {
                Place::Outstanding => true,
                Place::Acked => rule == BundleWithNew::Listing,
                Place::Queued | Place::Abandoned => false,
            };
            if !goes || usize::from(chunk.path) != draft.path {
                continue;
            }
            let size = self.chunk_len(chunk.len);
            if draft.size + size > self.paths[draft.path].room {
                break;
            }
            draft.size += size;
            chunks.push(self.out.chunk(at, self.peer.interleaving));
            let chunk = &mut self.out.sent[at];
            chunk.again += 1;
            chunk.sent_at = now;
            if std::mem::take(&mut chunk.timed) {
                self.paths[draft.path].timing = false;
            }
            if self.departures.is_some() {
                self.note_departure_beside(now, at, draft.path);
            }
        }
        let front = usize::from(draft.sack);
        draft.chunks.splice(front..front, chunks);
    }

    /// The I bit on the last chunk before a shutdown (RFC 9260 section 9.2).
    fn ask_for_answer(&mut self, draft: &mut Draft) {
        let last = self.state != super::State::Established && self.out.pending.is_empty();
        if !(last && self.profile.output.immediate_bit) {
            return;
        }
        if let Some(Chunk::Data(data)) = draft.chunks.last_mut() {
            data.immediate = true;
        }
    }
}
