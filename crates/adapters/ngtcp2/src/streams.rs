//! The application's bytes on the streams of an end: those that go, which the library must find where they were until they
//! are acknowledged, and those that have come.

use std::collections::VecDeque;

use crate::ffi::Piece;

/// Bytes are kept in memory of at least this size.
const CHUNK: usize = 16 << 10;
/// So many pieces of memory are handed on together.
pub(crate) const PIECES: usize = 4;

/// The streams of its own of an end.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    streams: Vec<Outgoing>,
    /// Numbers of streams that have something to send, in turn.
    waiting: VecDeque<usize>,
    /// Bytes that are not acknowledged.
    kept: u64,
}

#[derive(Debug)]
struct Outgoing {
    id: i64,
    /// What is not acknowledged. Memory does not move, and what was written into it stays.
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are acknowledged.
    acknowledged: usize,
    /// What is sent next: a chunk, and where in it.
    next: (usize, usize),
    /// Bytes that have not been sent.
    unsent: u64,
    /// The application writes no more, and that has been sent.
    ends: bool,
    end_sent: bool,
    /// It stands in `waiting`; it is not there while the peer takes no more.
    waits: bool,
}

/// What goes next: a stream's number and ID, pieces of its bytes, and whether it ends behind them.
pub(crate) struct Next {
    pub number: usize,
    pub id: i64,
    pieces: [Piece; PIECES],
    count: usize,
    pub fin: bool,
}

impl Next {
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces[..self.count]
    }
}

impl Sending {
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// A stream of its own, the next by number.
    pub fn open(&mut self, id: i64) {
        self.streams.push(Outgoing {
            id,
            chunks: VecDeque::new(),
            acknowledged: 0,
            next: (0, 0),
            unsent: 0,
            ends: false,
            end_sent: false,
            waits: false,
        });
    }

    pub fn is_own(&self, id: i64) -> bool {
        self.position(id).is_some()
    }

    fn position(&self, id: i64) -> Option<usize> {
        // Streams of a kind are numbered by fours (RFC 9000 section 2.1).
        let number = usize::try_from(id / 4).ok()?;
        self.streams.get(number).filter(|stream| stream.id == id).map(|_| number)
    }

    /// Bytes of the application's for a stream.
    pub fn write(&mut self, number: usize, mut bytes: &[u8]) {
        let stream = &mut self.streams[number];
        self.kept += bytes.len() as u64;
        stream.unsent += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = stream.chunks.back().map_or(0, |chunk| chunk.capacity() - chunk.len());
            if room == 0 {
                stream.chunks.push_back(Vec::with_capacity(CHUNK.max(bytes.len())));
                continue;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if let Some(chunk) = stream.chunks.back_mut() {
                chunk.extend_from_slice(now);
            }
            bytes = later;
        }
        self.wait(number);
    }

    /// A stream gets no more bytes.
    pub fn finish(&mut self, number: usize) {
        self.streams[number].ends = true;
        self.wait(number);
    }

    fn wait(&mut self, number: usize) {
        let stream = &mut self.streams[number];
        let has_something = stream.unsent > 0 || stream.ends && !stream.end_sent;
        if has_something && !std::mem::replace(&mut stream.waits, true) {
            self.waiting.push_back(number);
        }
    }

    /// What goes next.
    pub fn next(&self) -> Option<Next> {
        let number = *self.waiting.front()?;
        let stream = &self.streams[number];
        let mut pieces = [Piece { base: std::ptr::null(), len: 0 }; PIECES];
        let (mut count, mut bytes) = (0, 0);
        let (first, mut from) = stream.next;
        for (piece, chunk) in pieces.iter_mut().zip(stream.chunks.iter().skip(first)) {
            // No reference to the chunk is kept: it may grow behind what is pointed at.
            *piece = Piece { base: chunk.as_ptr().wrapping_add(from), len: chunk.len() - from };
            bytes += (chunk.len() - from) as u64;
            (count, from) = (count + 1, 0);
        }
        let fin = stream.ends && bytes == stream.unsent;
        Some(Next { number, id: stream.id, pieces, count, fin })
    }

    /// So many bytes of what [`Self::next`] gave were sent. The next stream's turn comes.
    pub fn sent(&mut self, next: &Next, len: usize) {
        let stream = &mut self.streams[next.number];
        stream.unsent -= len as u64;
        stream.end_sent |= next.fin && stream.unsent == 0;
        let mut left = len;
        while let Some(chunk) = stream.chunks.get(stream.next.0).filter(|_| left > 0) {
            let part = left.min(chunk.len() - stream.next.1);
            stream.next.1 += part;
            left -= part;
            if stream.next.1 == chunk.len() && chunk.len() == chunk.capacity() {
                stream.next = (stream.next.0 + 1, 0);
            } else if part == 0 {
                break;
            }
        }
        self.block(next);
        self.wait(next.number);
    }

    /// The peer takes no more of the stream that is next.
    pub fn block(&mut self, next: &Next) {
        if self.waiting.front() == Some(&next.number) {
            self.waiting.pop_front();
        }
        self.streams[next.number].waits = false;
    }

    /// The peer takes more of a stream.
    pub fn unblock(&mut self, id: i64) {
        if let Some(number) = self.position(id) {
            self.wait(number);
        }
    }

    /// So many bytes more of a stream are acknowledged, in order.
    pub fn acknowledged(&mut self, id: i64, len: u64) {
        let Some(number) = self.position(id) else { return };
        let stream = &mut self.streams[number];
        self.kept = self.kept.saturating_sub(len);
        stream.acknowledged += len as usize;
        while let Some(first) = stream.chunks.front() {
            let is_full = first.len() == first.capacity();
            if !is_full || stream.acknowledged < first.len() || stream.next.0 == 0 {
                break;
            }
            stream.acknowledged -= first.len();
            stream.next.0 -= 1;
            stream.chunks.pop_front();
        }
    }

    /// Nothing of what was sent has been taken: all of it goes again, on new streams with these IDs.
    pub fn begin_again(&mut self, mut open: impl FnMut() -> Option<i64>) {
        for number in 0..self.streams.len() {
            let stream = &mut self.streams[number];
            stream.id = open().unwrap_or(stream.id);
            stream.unsent = stream.chunks.iter().map(|chunk| chunk.len() as u64).sum();
            (stream.next, stream.end_sent) = ((0, 0), false);
            self.wait(number);
        }
    }
}

/// The streams of the peer's.
#[derive(Debug, Default)]
pub(crate) struct Arriving {
    /// Those that are not over, in the order in which they began.
    streams: VecDeque<Incoming>,
    /// Bytes that wait for a read.
    unread: u64,
}

/// A stream of the peer's.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub id: i64,
    bytes: Vec<u8>,
    read: usize,
    ends: bool,
}

impl Incoming {
    /// What waits for a read.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    fn is_over(&self) -> bool {
        self.ends && self.read == self.bytes.len()
    }
}

impl Arriving {
    pub fn open(&mut self, id: i64) {
        self.streams.push_back(Incoming { id, bytes: Vec::new(), read: 0, ends: false });
    }

    pub fn receive(&mut self, id: i64, bytes: &[u8], fin: bool) {
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == id) {
            stream.bytes.extend_from_slice(bytes);
            stream.ends |= fin;
            self.unread += bytes.len() as u64;
        }
    }

    /// Bytes that wait for a read.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// All that the peer has begun has arrived to its end.
    pub fn is_complete(&self) -> bool {
        self.streams.iter().all(|stream| stream.ends)
    }

    /// The first stream with something to read.
    pub fn first(&self) -> Option<&Incoming> {
        self.streams.iter().find(|stream| !stream.unread().is_empty())
    }

    /// So many bytes of a stream were read.
    pub fn read(&mut self, id: i64, len: usize) {
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.id == id) {
            stream.read += len;
            self.unread -= len as u64;
            if stream.read == stream.bytes.len() {
                stream.bytes.clear();
                stream.read = 0;
            }
        }
    }

    /// A stream that is over and has been read.
    pub fn take_over(&mut self) -> Option<i64> {
        let place = self.streams.iter().position(Incoming::is_over)?;
        self.streams.remove(place).map(|stream| stream.id)
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "it looks at what the library would find")]
mod tests {
    use super::*;

    fn text(next: &Next) -> Vec<u8> {
        let bytes = |piece: &Piece| {
            // SAFETY: the pieces are of streams that live.
            unsafe { std::slice::from_raw_parts(piece.base, piece.len) }.to_vec()
        };
        next.pieces().iter().flat_map(bytes).collect()
    }

    #[test]
    fn bytes_stay_where_they_are_until_they_are_acknowledged() {
        let mut sending = Sending::default();
        sending.open(2);
        let all: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
        for piece in all.chunks(7_000) {
            sending.write(0, piece);
        }
        sending.finish(0);
        let (mut sent, mut places) = (Vec::new(), Vec::new());
        while let Some(next) = sending.next() {
            let part = &text(&next)[..text(&next).len().min(1_111)];
            places.push((next.pieces()[0].base, part.first().copied()));
            sent.extend_from_slice(part);
            sending.sent(&next, part.len());
        }
        assert!(sent == all && sending.kept() == 100_000);
        for (place, first) in places {
            // SAFETY: nothing is acknowledged.
            assert!(first.is_none_or(|first| first == unsafe { *place }));
        }
        sending.acknowledged(2, 60_000);
        assert_eq!((sending.kept(), sending.streams[0].acknowledged < CHUNK), (40_000, true));
        sending.acknowledged(2, 40_000);
        assert!(sending.next().is_none() && sending.streams[0].chunks.len() <= 1);
    }

    #[test]
    fn streams_take_turns_and_one_that_is_blocked_waits() {
        let mut sending = Sending::default();
        for id in [3, 7, 11] {
            sending.open(id);
            sending.write(id as usize / 4, b"abcdef");
        }
        let mut order = Vec::new();
        for _ in 0..4 {
            let next = sending.next().unwrap();
            order.push(next.id);
            sending.sent(&next, 2);
        }
        let next = sending.next().unwrap();
        assert_eq!((order, next.id), (vec![3, 7, 11, 3], 7));
        sending.block(&next);
        assert_eq!(sending.next().unwrap().id, 11);
        sending.unblock(7);
        assert_eq!(sending.waiting, [2, 0, 1]);
    }

    #[test]
    fn what_was_not_taken_goes_again() {
        let mut sending = Sending::default();
        sending.open(2);
        sending.write(0, b"abc");
        sending.finish(0);
        let next = sending.next().unwrap();
        assert!(next.fin);
        sending.sent(&next, 3);
        assert!(sending.next().is_none());
        sending.begin_again(|| Some(2));
        let next = sending.next().unwrap();
        assert_eq!((text(&next), next.fin), (b"abc".to_vec(), true));
    }
}
