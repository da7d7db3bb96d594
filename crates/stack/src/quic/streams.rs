//! The application's bytes on the streams of a QUIC connection: where they belong, and whether they are the right ones.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use rexmit_wire::Payload;

use crate::Role;
use crate::quic::{MOST_DATAGRAM, PLACE_BYTES, no_datagram};

/// Where the bytes of several streams belong in what the applications of a connection have written, known to both ends
/// apart from the packets. An end with one stream needs none: the place of a byte is its offset.
#[derive(Debug, Default)]
pub struct StreamPlaces(Mutex<[Written; 2]>);

/// What one end has written.
#[derive(Debug, Default)]
struct Written {
    /// By stream, its pieces that have not been read: where each ends in the stream, and where it begins among all writes.
    streams: BTreeMap<u16, Stream>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Stream {
    pieces: VecDeque<Piece>,
    len: u64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u64,
    end: u64,
    place: u64,
}

impl StreamPlaces {
    fn with<T>(&self, of: Role, act: impl FnOnce(&mut Written) -> T) -> T {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut both[usize::from(of == Role::Passive)])
    }
}

/// The sending side of an end's streams.
#[derive(Debug)]
pub struct StreamWriter {
    role: Role,
    places: Option<Arc<StreamPlaces>>,
    written: u64,
    bytes: Vec<u8>,
}

impl StreamWriter {
    /// That of an end with this role.
    pub fn new(role: Role, places: Option<Arc<StreamPlaces>>) -> Self {
        Self { role, places, written: 0, bytes: Vec::new() }
    }

    /// Bytes that the application has written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What the application writes next: up to `len` bytes, at most 64 KiB at once.
    pub fn next(&mut self, len: u64) -> &[u8] {
        self.bytes.clear();
        let len = len.min(MOST_AT_ONCE) as u32;
        Payload::Stream { offset: self.written, len }.append_to(&mut self.bytes);
        &self.bytes
    }

    /// What the application writes next, as a datagram: the place of the write, and `len` bytes with it. `most` is what the
    /// connection takes now, as far as that is known.
    ///
    /// # Errors
    /// A length that no datagram can have, in one line.
    pub fn next_datagram(&mut self, len: u64, most: Option<u64>) -> Result<&[u8], String> {
        let most = most.unwrap_or(MOST_DATAGRAM);
        if !(PLACE_BYTES..=most).contains(&len) {
            return Err(no_datagram(len, most));
        }
        self.bytes.clear();
        self.bytes.extend(self.written.to_be_bytes());
        let (offset, len) = (self.written + PLACE_BYTES, (len - PLACE_BYTES) as u32);
        Payload::Stream { offset, len }.append_to(&mut self.bytes);
        Ok(&self.bytes)
    }

    /// This many bytes of it were taken by a stream, or as a datagram (of stream 0).
    pub fn wrote(&mut self, stream: u16, len: u64) {
        if let Some(places) = self.places.as_ref().filter(|_| len > 0) {
            let place = self.written;
            places.with(self.role, |written| {
                let stream = written.streams.entry(stream).or_default();
                let (from, end) = (stream.len, stream.len + len);
                stream.len = end;
                match stream.pieces.back_mut().filter(|last| last.place + (last.end - last.from) == place) {
                    Some(last) => last.end = end,
                    None => stream.pieces.push_back(Piece { from, end, place }),
                }
            });
        }
        self.written += len;
    }

    /// Nothing will be written any more.
    pub fn close(&self) {
        if let Some(places) = &self.places {
            places.with(self.role, |written| written.closed = true);
        }
    }
}

/// The receiving side of an end's streams.
#[derive(Debug)]
pub struct StreamReader {
    peer: Role,
    places: Option<Arc<StreamPlaces>>,
    /// By stream: bytes read of it.
    offsets: BTreeMap<u16, u64>,
    finished: usize,
    total: u64,
    misplaced: u64,
    last: Option<u64>,
}

impl StreamReader {
    /// That of an end with this role.
    pub fn new(role: Role, places: Option<Arc<StreamPlaces>>) -> Self {
        let peer = if role == Role::Active { Role::Passive } else { Role::Active };
        Self { peer, places, offsets: BTreeMap::new(), finished: 0, total: 0, misplaced: 0, last: None }
    }

    /// Where the next byte of a stream belongs, and how many bytes follow it there.
    fn place(&self, stream: u16) -> (u64, u64) {
        let offset = self.offset(stream);
        let Some(places) = &self.places else { return (offset, u64::MAX) };
        places.with(self.peer, |written| {
            let Some(stream) = written.streams.get_mut(&stream) else { return (0, u64::MAX) };
            while stream.pieces.front().is_some_and(|piece| piece.end <= offset) {
                stream.pieces.pop_front();
            }
            let piece = stream.pieces.front().copied();
            // More than was written: the check of the bytes will find it.
            piece.map_or((0, u64::MAX), |piece| (piece.place + (offset - piece.from), piece.end - offset))
        })
    }

    /// The most that one read may take of a stream, so that all of it lies together.
    pub fn most(&self, stream: u16) -> u64 {
        self.place(stream).1
    }

    /// These bytes were read of a stream, no more than [`Self::most`].
    pub fn read(&mut self, stream: u16, bytes: &[u8]) {
        let (place, _) = self.place(stream);
        self.misplaced += Payload::wrong_bytes(place, bytes);
        *self.offsets.entry(stream).or_default() += bytes.len() as u64;
        self.total += bytes.len() as u64;
        self.last.get_or_insert(place);
    }

    /// Bytes that have been read of a stream.
    pub fn offset(&self, stream: u16) -> u64 {
        self.offsets.get(&stream).copied().unwrap_or(0)
    }

    /// Bytes that have been read of all streams.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// A read of the application begins.
    pub fn begin(&mut self) {
        self.last = None;
    }

    /// Where the bytes of the last read begin among the peer's writes.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Bytes that differ from those written there.
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }

    /// A stream is over, and all of it was read.
    pub fn finish(&mut self) {
        self.finished += 1;
    }

    /// The peer will send no more: its application has closed, and every stream that it used is over.
    pub fn is_over(&self) -> bool {
        let used =
            match &self.places {
                None => 1,
                Some(places) => places.with(self.peer, |written| {
                    if written.closed { written.streams.len().max(1) } else { usize::MAX }
                }),
            };
        self.finished >= used
    }
}

/// A write is handed on in pieces of this many bytes.
const MOST_AT_ONCE: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> (StreamWriter, StreamReader) {
        let places = Arc::new(StreamPlaces::default());
        (
            StreamWriter::new(Role::Active, Some(places.clone())),
            StreamReader::new(Role::Passive, Some(places)),
        )
    }

    #[test]
    fn bytes_of_several_streams_find_their_places_in_any_order() {
        let (mut writer, mut reader) = ends();
        let mut sent: Vec<(u16, Vec<u8>)> = Vec::new();
        for (stream, len) in [(0, 7), (1, 13), (0, 5), (2, 4), (1, 9)] {
            let bytes = writer.next(len).to_vec();
            writer.wrote(stream, len);
            sent.push((stream, bytes));
        }
        let stream = |n: u16| -> Vec<u8> {
            sent.iter().filter(|(of, _)| *of == n).flat_map(|(_, bytes)| bytes.clone()).collect()
        };
        let mut places = Vec::new();
        for n in [2, 0, 1] {
            let mut rest = &stream(n)[..];
            while !rest.is_empty() {
                let len = rest.len().min(reader.most(n) as usize).min(6);
                reader.begin();
                reader.read(n, &rest[..len]);
                places.push((reader.last().unwrap(), len));
                rest = &rest[len..];
            }
        }
        places.sort_unstable();
        let mut next = 0;
        for (place, len) in places {
            assert_eq!(place, next);
            next += len as u64;
        }
        assert_eq!((next, writer.written(), reader.misplaced()), (38, 38, 0));
    }

    #[test]
    fn it_is_over_once_every_stream_that_was_used_is() {
        let (mut writer, mut reader) = ends();
        for stream in [0, 1] {
            let len = writer.next(3).len() as u64;
            writer.wrote(stream, len);
        }
        reader.finish();
        reader.finish();
        assert!(!reader.is_over());
        writer.close();
        assert!(reader.is_over());
        let mut alone = StreamReader::new(Role::Active, None);
        assert!(!alone.is_over());
        alone.finish();
        assert!(alone.is_over());
    }

    #[test]
    fn bytes_at_another_place_are_counted() {
        let (mut writer, mut reader) = ends();
        writer.next(10);
        writer.wrote(0, 10);
        reader.read(0, b"0123456799");
        assert_eq!(reader.misplaced(), 1);
    }
}
