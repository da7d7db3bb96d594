//! What this side receives: which TSNs have come, fragments put together, streams put in order, messages that wait for a
//! read.

use std::collections::{BTreeMap, VecDeque};

use rexmit_wire::Payload;
use rexmit_wire::sctp::DataChunk;

mod reassembly;
mod tsns;

use reassembly::{Fragment, Fragments};
pub(crate) use tsns::{Seen, Tsns};

/// A message, or a part of one, that waits for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it begins in what the peer's application has written, if packets tell.
    pub offset: Option<u64>,
    pub len: u64,
    /// It ends its message.
    pub end: bool,
}

/// A message put together.
#[derive(Clone, Copy, Debug)]
struct Whole {
    piece: Piece,
    stream: u16,
    number: u32,
    unordered: bool,
}

/// One incoming stream: what is next in order, and what is ahead of that.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// The next message number, counted without end.
    next: u64,
    ahead: BTreeMap<u64, Whole>,
}

/// A message that is read before it is whole (RFC 9260 section 6.9).
#[derive(Clone, Copy, Debug)]
struct Partial {
    key: Key,
    /// The index of its next fragment.
    next: u64,
}

/// Fragments of DATA are told apart by their TSNs, those of I-DATA by their message.
type Key = Option<(u16, bool, u32)>;

/// The receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    pub tsns: Tsns,
    /// Fragments: of DATA by TSN; of I-DATA by message.
    data: Fragments,
    messages: BTreeMap<(u16, bool, u32), Fragments>,
    streams: Vec<Stream>,
    /// What waits for a read, in order.
    pieces: VecDeque<Piece>,
    partial: Option<Partial>,
    /// Messages that wait until a partial one is whole.
    behind: VecDeque<Piece>,
    /// Bytes in `pieces`.
    pub readable: u64,
    /// Bytes that are here and not read.
    pub held: u64,
    /// Where the last read ended: a read of what carries no offset begins there.
    counted: u64,
    /// Bytes say by their payload protocol identifier where their message begins.
    pub reads_marks: bool,
    /// The end of the furthest beginning of a message that was placed by its mark.
    furthest: u64,
    /// Where the last read began.
    pub read_offset: Option<u64>,
    /// Bytes of a message whose place differs from what those before it say: must stay 0.
    pub misplaced: u64,
}

impl Inbound {
    pub fn new(initial_tsn: u32) -> Self {
        Self {
            tsns: Tsns::new(initial_tsn),
            data: Fragments::default(),
            messages: BTreeMap::new(),
            streams: Vec::new(),
            pieces: VecDeque::new(),
            partial: None,
            behind: VecDeque::new(),
            readable: 0,
            held: 0,
            counted: 0,
            reads_marks: false,
            furthest: 0,
            read_offset: None,
            misplaced: 0,
        }
    }

    /// Takes the data of a chunk that has come for the first time, with its TSN counted without end. False: its place
    /// in its stream or message is impossible.
    pub fn take(&mut self, tsn: u64, chunk: &DataChunk) -> bool {
        let len = u64::from(chunk.payload.len());
        let offset = match &chunk.payload {
            Payload::Stream { offset, .. } => Some(*offset),
            Payload::Bytes(bytes) => {
                (self.reads_marks && chunk.begin).then(|| self.place(chunk.protocol, bytes))
            }
        };
        if chunk.begin && chunk.end {
            let piece = Piece { offset, len, end: true };
            let whole =
                Whole { piece, stream: chunk.stream, number: chunk.message, unordered: chunk.unordered };
            self.held += len;
            return self.arrange(whole, chunk.fragment.is_some());
        }
        let (key, index) = place(tsn, chunk);
        let fragment = Fragment {
            offset,
            len,
            begin: chunk.begin,
            end: chunk.end,
            stream: chunk.stream,
            number: chunk.message,
            unordered: chunk.unordered,
        };
        let fragments = match key {
            None => &mut self.data,
            Some(key) => self.messages.entry(key).or_default(),
        };
        if !fragments.insert(index, fragment) {
            return false;
        }
        self.held += len;
        if self.partial.is_some_and(|partial| partial.key == key) {
            self.go_on_partially();
        }
        self.complete(key, index)
    }

    /// Where bytes that begin a message with this mark belong: the place nearest to the furthest so far with these
    /// lowest 32 bits. Bytes that do not belong there are counted.
    fn place(&mut self, mark: u32, bytes: &[u8]) -> u64 {
        let away = i64::from(mark.wrapping_sub(self.furthest as u32) as i32);
        let place = self.furthest.saturating_add_signed(away);
        self.misplaced += Payload::wrong_bytes(place, bytes);
        self.furthest = self.furthest.max(place + bytes.len() as u64);
        place
    }

    /// A message may be whole now that the fragment at `index` has come.
    fn complete(&mut self, key: Key, index: u64) -> bool {
        let fragments = match key {
            None => Some(&mut self.data),
            Some(key) => self.messages.get_mut(&key),
        };
        let Some(done) = fragments.and_then(|fragments| fragments.complete(index)) else { return true };
        self.misplaced += done.misplaced;
        if let Some(key) = key {
            self.messages.remove(&key);
        }
        let first = done.first;
        let whole = Whole {
            piece: Piece { offset: first.offset, len: done.len, end: true },
            stream: first.stream,
            number: first.number,
            unordered: first.unordered,
        };
        self.arrange(whole, key.is_some())
    }

    /// Gives a whole message to its stream.
    fn arrange(&mut self, whole: Whole, interleaving: bool) -> bool {
        if whole.unordered {
            self.deliver(whole.piece);
            return true;
        }
        let stream = self.stream(whole.stream);
        let Some(number) = unwrapped(stream.next, whole.number, interleaving) else {
            self.held -= whole.piece.len;
            return false;
        };
        if number > stream.next {
            // One that is there already keeps its place.
            if let Some(old) = stream.ahead.insert(number, whole) {
                self.held -= old.piece.len;
            }
            return true;
        }
        stream.next += 1;
        self.deliver(whole.piece);
        self.follow(whole.stream);
        true
    }

    /// Delivers what is now in order on a stream.
    fn follow(&mut self, id: u16) {
        loop {
            let stream = self.stream(id);
            let Some(whole) = stream.ahead.remove(&stream.next) else { return };
            stream.next += 1;
            self.deliver(whole.piece);
        }
    }

    fn stream(&mut self, id: u16) -> &mut Stream {
        let id = usize::from(id);
        if self.streams.len() <= id {
            self.streams.resize_with(id + 1, Stream::default);
        }
        &mut self.streams[id]
    }

    fn deliver(&mut self, piece: Piece) {
        if self.partial.is_some() {
            self.behind.push_back(piece);
        } else {
            self.readable += piece.len;
            self.pieces.push_back(piece);
        }
    }

    /// Reads up to `max` bytes of the message in front.
    pub fn read(&mut self, max: u64) -> u64 {
        let Some(front) = self.pieces.front_mut() else { return 0 };
        let len = front.len.min(max);
        let at = front.offset.unwrap_or(self.counted);
        self.read_offset = Some(at);
        self.counted = at + len;
        front.offset = front.offset.map(|offset| offset + len);
        front.len -= len;
        if front.len == 0 {
            self.pieces.pop_front();
        }
        self.readable -= len;
        self.held -= len;
        len
    }

    /// The buffer is full of a message that is not whole, and nothing can be read: its beginning can from now on
    /// (RFC 9260 section 6.9). True if something has become readable.
    pub fn begin_partially(&mut self) -> bool {
        if self.partial.is_some() || !self.pieces.is_empty() {
            return false;
        }
        let next = |stream: u16| self.streams.get(usize::from(stream)).map_or(0, |stream| stream.next);
        let may = |first: &Fragment, interleaving: bool| {
            first.begin
                && (first.unordered
                    || unwrapped(next(first.stream), first.number, interleaving) == Some(next(first.stream)))
        };
        let data = self.data.first().filter(|(_, first)| may(first, false)).map(|(at, _)| (None, at));
        let message = || {
            self.messages.iter().find_map(|(key, fragments)| {
                let (at, first) = fragments.first()?;
                may(first, true).then_some((Some(*key), at))
            })
        };
        let Some((key, next)) = data.or_else(message) else { return false };
        self.partial = Some(Partial { key, next });
        self.go_on_partially();
        true
    }

    /// What has come in order of the message that is being read goes to the reader.
    fn go_on_partially(&mut self) {
        while let Some(partial) = &mut self.partial {
            let fragments = match partial.key {
                None => Some(&mut self.data),
                Some(key) => self.messages.get_mut(&key),
            };
            let Some(fragment) = fragments.and_then(|fragments| fragments.remove(partial.next)) else {
                return;
            };
            partial.next += 1;
            let key = partial.key;
            self.readable += fragment.len;
            self.pieces.push_back(Piece { offset: fragment.offset, len: fragment.len, end: fragment.end });
            if fragment.end {
                if let Some(key) = key {
                    self.messages.remove(&key);
                }
                self.end_partially();
                if !fragment.unordered {
                    self.stream(fragment.stream).next += 1;
                    self.follow(fragment.stream);
                }
            }
        }
    }

    fn end_partially(&mut self) {
        self.partial = None;
        while let Some(piece) = self.behind.pop_front() {
            self.deliver(piece);
        }
    }

    /// The sender has given up all TSNs up to `tsn`, counted without end: fragments among them are dropped
    /// (RFC 3758 section 3.6).
    pub fn forward(&mut self, tsn: u64) {
        self.held -= self.data.drop_to(tsn);
        if self.partial.is_some_and(|partial| partial.key.is_none() && partial.next <= tsn) {
            self.end_partially();
        }
    }

    /// A stream skips all messages up to `number` (RFC 3758 section 3.6; RFC 8260 section 2.3.1).
    pub fn skip(&mut self, stream: u16, number: u32, unordered: bool, interleaving: bool) {
        if interleaving {
            self.drop_messages(stream, number, unordered);
        }
        if unordered {
            return;
        }
        let next = self.stream(stream).next;
        let Some(number) = unwrapped(next, number, interleaving) else { return };
        // What is whole and was ahead of the gap is delivered; what is not there is passed over.
        let ready: Vec<u64> = self.stream(stream).ahead.range(..=number).map(|(number, _)| *number).collect();
        for number in ready {
            if let Some(whole) = self.stream(stream).ahead.remove(&number) {
                self.deliver(whole.piece);
            }
        }
        self.stream(stream).next = next.max(number + 1);
        self.follow(stream);
    }

    /// Drops the fragments of the messages of I-DATA up to `number`.
    fn drop_messages(&mut self, stream: u16, number: u32, unordered: bool) {
        let gone = |key: &(u16, bool, u32)| {
            key.0 == stream && key.1 == unordered && key.2.wrapping_sub(number) as i32 <= 0
        };
        let keys: Vec<_> = self.messages.keys().filter(|key| gone(key)).copied().collect();
        for key in keys {
            if let Some(mut fragments) = self.messages.remove(&key) {
                self.held -= fragments.drop_to(u64::MAX);
            }
        }
        if self.partial.and_then(|partial| partial.key).is_some_and(|key| gone(&key)) {
            self.end_partially();
        }
    }
}

/// The message number `number` on a stream whose next one is `next`, counted without end; `None` if it is past.
fn unwrapped(next: u64, number: u32, interleaving: bool) -> Option<u64> {
    let ahead = if interleaving {
        u64::from(number.wrapping_sub(next as u32)) as i64
    } else {
        i64::from((number as u16).wrapping_sub(next as u16))
    };
    let half = if interleaving { 1 << 31 } else { 1 << 15 };
    (ahead < half).then(|| next + ahead as u64)
}

fn place(tsn: u64, chunk: &DataChunk) -> (Key, u64) {
    match chunk.fragment {
        None => (None, tsn),
        Some(fragment) => (Some((chunk.stream, chunk.unordered, chunk.message)), u64::from(fragment)),
    }
}
