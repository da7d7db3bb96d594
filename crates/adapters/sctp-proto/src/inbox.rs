//! Messages that have arrived, on their way to the application.

use std::collections::{BTreeMap, VecDeque};

use rexmit_wire::Payload;
use rexmit_wire::sctp::{Body, Header};
use sctp_proto::{Association, StreamId};

/// What has arrived, and what has been read.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// The marks of messages that are in the library, by the TSN of their first chunk.
    marks: BTreeMap<u32, u32>,
    /// Streams that may have a message.
    ready: VecDeque<StreamId>,
    /// Messages taken out of the library.
    taken: VecDeque<Taken>,
    /// The end of the furthest message.
    furthest: u64,
    /// Where the last read began.
    pub last: Option<u64>,
    pub misplaced: u64,
    buffer: Vec<u8>,
}

/// A message, or the rest of one.
#[derive(Clone, Copy, Debug)]
struct Taken {
    place: u64,
    left: u64,
}

impl Inbox {
    /// Takes note of the messages that begin in a packet, but for those of TSNs that are `known`.
    pub fn arrives(&mut self, packet: &[u8], known: impl Fn(u32) -> bool) {
        let Ok(header) = Header::new(packet, packet.len()) else { return };
        for chunk in header.chunks() {
            if let Body::Data(data) = chunk.body()
                && data.begins()
                && !known(data.tsn())
            {
                self.marks.insert(data.tsn(), data.protocol().unwrap_or(0));
            }
        }
    }

    /// A stream has something to read.
    pub fn readable(&mut self, stream: StreamId) {
        if !self.ready.contains(&stream) {
            self.ready.push_back(stream);
        }
    }

    /// Bytes of the first message that waits, or one if there may be any.
    pub fn waits(&self) -> u64 {
        self.taken.front().map_or(u64::from(!self.ready.is_empty()), |message| message.left)
    }

    /// Takes messages out of the library: all of them, or one if none is here.
    pub fn take(&mut self, association: &mut Association, all: bool) {
        while (all || self.taken.is_empty())
            && let Some(id) = self.ready.pop_front()
        {
            let Some(message) = association.stream(id).ok().and_then(|mut stream| stream.read_sctp().ok()?)
            else {
                continue;
            };
            self.ready.push_back(id);
            self.buffer.resize(message.len(), 0);
            let len = message.read(&mut self.buffer).unwrap_or(0);
            // A chunk tells its TSN in the second line of what it shows of itself.
            let first = message.chunks.first().map(ToString::to_string).unwrap_or_default();
            let tsn = first.rsplit('\n').next().and_then(|tsn| tsn.parse().ok()).unwrap_or(0);
            self.note(tsn, len);
        }
    }

    fn note(&mut self, tsn: u32, len: usize) {
        let mark = self.marks.remove(&tsn).unwrap_or(0);
        // The place is the one nearest to the furthest so far with these lowest 32 bits.
        let away = i64::from(mark.wrapping_sub(self.furthest as u32) as i32);
        let place = self.furthest.saturating_add_signed(away);
        self.misplaced += Payload::wrong_bytes(place, &self.buffer[..len]);
        let left = len as u64;
        self.furthest = self.furthest.max(place + left);
        self.taken.push_back(Taken { place, left });
    }

    /// Reads up to `max` bytes of one message that has been taken.
    pub fn read(&mut self, max: u64) -> u64 {
        let Some(message) = self.taken.front_mut() else { return 0 };
        let len = message.left.min(max);
        self.last = Some(message.place);
        (message.place, message.left) = (message.place + len, message.left - len);
        if message.left == 0 {
            self.taken.pop_front();
        }
        len
    }
}
