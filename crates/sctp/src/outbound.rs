//! What this side sends: messages that wait, and chunks that have left and are not yet acknowledged.
//!
//! Chunks stand in one queue by TSN. "On the retransmit queue" is a mark of a chunk: the queue is the marked chunks in
//! the order of their TSNs.

use std::collections::VecDeque;

use rexmit_stack::Delivery;
use rexmit_units::Instant;
use rexmit_wire::sctp::{Chunk, DataChunk};
use rexmit_wire::{Payload, SeqNumber};

/// A message that waits, the whole of it or its rest.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Where it begins in what the application has written.
    pub offset: u64,
    pub len: u64,
    /// Bytes that have left, and in how many fragments.
    pub taken: u64,
    pub fragments: u32,
    /// Its number in its stream, once its first fragment has left.
    pub number: u32,
    pub stream: u16,
    pub unordered: bool,
    /// It is given up from this instant on.
    pub expires: Instant,
    /// It is given up rather than retransmitted more often than this.
    pub most_again: u32,
}

/// What has become of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In flight.
    Outstanding,
    /// Acknowledged by a gap block.
    Acked,
    /// Marked for retransmission, not in flight.
    Queued,
    /// Given up: no longer sent, and passed over by FORWARD-TSN.
    Abandoned,
}

/// A chunk that has left.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub offset: u64,
    /// The lowest 32 bits of where its message begins.
    pub mark: u32,
    pub sent_at: Instant,
    pub expires: Instant,
    pub len: u32,
    pub number: u32,
    pub fragment: u32,
    pub most_again: u32,
    /// Times that it was sent again.
    pub again: u32,
    pub stream: u16,
    /// Path on which it left last, or will leave.
    pub path: u8,
    /// Missing reports since it left last.
    pub missing: u8,
    pub place: Place,
    pub begin: bool,
    pub end: bool,
    pub unordered: bool,
    /// It is to leave without regard to cwnd, by a fast retransmit.
    pub fast: bool,
    /// A fast retransmit has taken it: no other will, where they come once.
    pub fast_done: bool,
    /// Its round-trip time is being measured.
    pub timed: bool,
}

/// The sending half.
#[derive(Clone, Debug)]
pub(crate) struct Outbound {
    /// TSN of the first chunk of `sent`: one past the cumulative TSN ack point.
    pub base: SeqNumber,
    pub sent: VecDeque<Sent>,
    pub pending: VecDeque<Message>,
    /// Bytes of `pending` that have not left.
    pub pending_bytes: u64,
    /// Bytes written and not yet acknowledged cumulatively.
    pub buffered: u64,
    /// Bytes in flight on all paths.
    pub outstanding: u64,
    /// Chunks marked for retransmission, and a TSN below which none is.
    pub queued: usize,
    pub queued_from: SeqNumber,
    /// TSNs above the ack point that gap blocks have acknowledged: ascending, apart, ends included.
    pub acked: Vec<(SeqNumber, SeqNumber)>,
    /// What the peer still takes (rwnd).
    pub peer_window: u64,
    /// The next message number of each stream: ordered, and unordered of I-DATA.
    pub numbers: Vec<[u32; 2]>,
    /// Bytes that the application has written in all.
    pub written: u64,
    /// Chunks given up and not yet passed over.
    pub abandoned: usize,
    /// Chunks carry the mark of their message.
    pub marks_places: bool,
}

impl Outbound {
    pub fn new(initial_tsn: u32) -> Self {
        Self {
            base: SeqNumber(initial_tsn),
            sent: VecDeque::new(),
            pending: VecDeque::new(),
            pending_bytes: 0,
            buffered: 0,
            outstanding: 0,
            queued: 0,
            queued_from: SeqNumber(initial_tsn),
            acked: Vec::new(),
            peer_window: 0,
            numbers: Vec::new(),
            written: 0,
            abandoned: 0,
            marks_places: false,
        }
    }

    /// The TSN of the next new chunk.
    #[inline]
    pub fn next_tsn(&self) -> SeqNumber {
        self.base + self.sent.len() as u32
    }

    /// The cumulative TSN ack point.
    #[inline]
    pub fn ack_point(&self) -> SeqNumber {
        self.base - 1
    }

    /// Where the chunk with this TSN stands, which must have left and not be acknowledged cumulatively.
    #[inline]
    pub fn index(&self, tsn: SeqNumber) -> usize {
        tsn.diff(self.base) as usize
    }

    /// Nothing waits and nothing is unacknowledged.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.pending.is_empty()
    }

    /// Takes a message of the application.
    pub fn push(&mut self, now: Instant, len: u64, how: &Delivery) {
        let expires = how.lifetime.map_or(Instant::FAR_FUTURE, |lifetime| now + lifetime);
        self.pending.push_back(Message {
            offset: self.written,
            len,
            taken: 0,
            fragments: 0,
            number: 0,
            stream: how.stream,
            unordered: how.unordered,
            expires,
            most_again: how.max_retransmits.unwrap_or(u32::MAX),
        });
        self.written += len;
        self.buffered += len;
        self.pending_bytes += len;
    }

    /// The index of the first chunk marked for retransmission.
    pub fn first_queued(&mut self) -> Option<usize> {
        if self.queued == 0 {
            return None;
        }
        let from = self.queued_from.diff(self.base).max(0) as usize;
        let at = (from..self.sent.len()).find(|at| self.sent[*at].place == Place::Queued);
        debug_assert!(at.is_some(), "a marked chunk below the hint");
        if let Some(at) = at {
            self.queued_from = self.base + at as u32;
        }
        at
    }

    /// Marks an outstanding chunk for retransmission on `path`; its path's flight is the caller's.
    pub fn mark(&mut self, at: usize, path: u8) {
        let chunk = &mut self.sent[at];
        chunk.place = Place::Queued;
        chunk.missing = 0;
        chunk.timed = false;
        chunk.path = path;
        let len = u64::from(chunk.len);
        self.outstanding -= len;
        self.peer_window += len; // RFC 9260 section 6.2.1 C
        self.queued_from = if self.queued == 0 {
            self.base + at as u32
        } else {
            self.queued_from.min(self.base + at as u32)
        };
        self.queued += 1;
    }

    /// A chunk leaves: it is in flight.
    pub fn note_in_flight(&mut self, len: u32) {
        self.outstanding += u64::from(len);
        self.peer_window = self.peer_window.saturating_sub(len.into());
    }

    /// Cuts the next new chunk, of at most `max` bytes, from the message in front; it is in flight from now on.
    pub fn cut(&mut self, now: Instant, max: u32, path: u8, interleaving: bool) -> Option<usize> {
        let message = self.pending.front_mut()?;
        let begin = message.taken == 0;
        if begin {
            let stream = usize::from(message.stream);
            if self.numbers.len() <= stream {
                self.numbers.resize(stream + 1, [0; 2]);
            }
            // The stream sequence number of an unordered DATA chunk means nothing (RFC 9260 section 6.6).
            let kind = usize::from(message.unordered);
            let next = &mut self.numbers[stream][kind];
            message.number = *next;
            *next = if interleaving { next.wrapping_add(1) } else { next.wrapping_add(1) & 0xffff };
        }
        let len = (message.len - message.taken).min(max.into()) as u32;
        let chunk = Sent {
            offset: message.offset + message.taken,
            mark: message.offset as u32,
            sent_at: now,
            expires: message.expires,
            len,
            number: message.number,
            fragment: message.fragments,
            most_again: message.most_again,
            again: 0,
            stream: message.stream,
            path,
            missing: 0,
            place: Place::Outstanding,
            begin,
            end: message.taken + u64::from(len) == message.len,
            unordered: message.unordered,
            fast: false,
            fast_done: false,
            timed: false,
        };
        message.taken += u64::from(len);
        message.fragments += 1;
        self.pending_bytes -= u64::from(len);
        if chunk.end {
            self.pending.pop_front();
        }
        self.sent.push_back(chunk);
        self.note_in_flight(len);
        Some(self.sent.len() - 1)
    }

    /// What waits of the message in front goes; it is returned.
    pub fn drop_rest(&mut self) -> Option<Message> {
        let message = self.pending.pop_front()?;
        let rest = message.len - message.taken;
        self.pending_bytes -= rest;
        self.buffered -= rest;
        Some(message)
    }

    /// The message in front, of which fragments have left, is given up: a last fragment that never leaves takes a TSN, so
    /// that the peer can be moved over the whole of it, whatever it holds.
    pub fn cap(&mut self) {
        let Some(message) = self.drop_rest() else { return };
        self.abandoned += 1;
        self.sent.push_back(Sent {
            offset: message.offset + message.taken,
            mark: message.offset as u32,
            sent_at: Instant::ZERO,
            expires: message.expires,
            len: 0,
            number: message.number,
            fragment: message.fragments,
            most_again: 0,
            again: 0,
            stream: message.stream,
            path: 0,
            missing: 0,
            place: Place::Abandoned,
            begin: false,
            end: true,
            unordered: message.unordered,
            fast: false,
            fast_done: false,
            timed: false,
        });
    }

    /// The chunk at `at` as it goes into a packet.
    pub fn chunk(&self, at: usize, interleaving: bool) -> Chunk {
        let sent = &self.sent[at];
        Chunk::Data(DataChunk {
            tsn: (self.base + at as u32).0,
            stream: sent.stream,
            message: sent.number,
            fragment: interleaving.then_some(sent.fragment),
            protocol: if self.marks_places { sent.mark } else { 0 },
            begin: sent.begin,
            end: sent.end,
            unordered: sent.unordered,
            immediate: false,
            payload: Payload::Stream { offset: sent.offset, len: sent.len },
        })
    }
}
