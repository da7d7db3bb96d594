//! Fragments of IP datagrams put together, with bounds on memory and time.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::net::IpAddr;

use rexmit_units::{Duration, Instant};

use crate::limits::{FRAGMENT_BYTES, FRAGMENTS};
use crate::{IpFields, IpPacket, ParseError};

/// Puts datagrams together from their fragments, in whatever order these come, also where a capture kept their heads
/// only: then as much of the datagram is there as stands before the first byte that is not.
///
/// Nothing is guessed. A fragment that comes again changes nothing; one that overlaps others and equals none of them
/// ends the datagram so far (RFC 5722; Linux does so for IPv4 too), and begins one of its own. A datagram is given up
/// 30 seconds after its first fragment, as Linux does, and where those that wait would need more than
/// [`FRAGMENT_BYTES`].
#[derive(Debug, Default)]
pub struct Reassembler {
    waiting: HashMap<Key, Partial>,
    /// Those that wait, and some that no longer do, in the order in which they began.
    order: VecDeque<(Key, u64)>,
    began: u64,
    bytes: usize,
    given_up: u64,
    pushed_out: u64,
    /// The datagram that was given last.
    whole: Vec<u8>,
}

/// What tells datagrams apart (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    place: u32,
    src: IpAddr,
    dst: IpAddr,
    ident: u32,
    /// Zero for IPv6.
    protocol: u8,
}

/// A datagram of which some is missing.
#[derive(Debug)]
struct Partial {
    serial: u64,
    since: Instant,
    /// In the order of their places, none overlapping another.
    pieces: Vec<Piece>,
    /// What the capture kept of the pieces, in the order in which they came.
    data: Vec<u8>,
    /// Bytes of the pieces on the wire.
    covered: u32,
    /// Length of the datagram's body, once the last fragment was seen.
    total: Option<u32>,
    /// What the first fragment says: fields and protocol.
    first: Option<(IpFields, u8)>,
    header_ok: bool,
    body_at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// Its place in the datagram's body, end excluded.
    start: u32,
    end: u32,
    /// Where its bytes begin in [`Partial::data`], and how many were kept.
    at: usize,
    kept: usize,
}

impl Reassembler {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a fragment, seen at `now` at a `place` (fragments of several places are kept apart), and gives the
    /// datagram if it is whole with it. What is not a fragment is given as it is.
    ///
    /// # Errors
    /// A [`ParseError`] for a fragment that cannot be one.
    pub fn push<'a>(
        &'a mut self,
        now: Instant,
        place: u32,
        packet: &IpPacket<'a>,
    ) -> Result<Option<IpPacket<'a>>, ParseError> {
        let Some(fragment) = packet.fragment else { return Ok(Some(*packet)) };
        let last = check(packet, fragment.offset, fragment.more)?;
        self.expire(now);
        let protocol = if packet.src.is_ipv4() { packet.protocol } else { 0 };
        let key = Key { place, src: packet.src, dst: packet.dst, ident: fragment.ident, protocol };
        let start = fragment.offset;
        let mut partial = match self.take(&key) {
            Some(partial) => match partial.fits(start, last, packet) {
                Fit::Yes => partial,
                Fit::Again => {
                    self.put_back(key, partial);
                    return Ok(None);
                }
                Fit::No => {
                    self.given_up += 1;
                    self.pushed_out += u64::from(partial.pieces.len() == FRAGMENTS);
                    self.begin(&key, now)
                }
            },
            None => self.begin(&key, now),
        };
        partial.add(start, last, packet);
        if !partial.is_whole() {
            self.put_back(key, partial);
            self.make_room();
            return Ok(None);
        }
        self.whole.clear();
        partial.join(&mut self.whole);
        partial.packet(packet, &self.whole).map(Some)
    }

    /// Datagrams of which not all fragments came, those that still wait included.
    pub fn incomplete(&self) -> u64 {
        self.given_up + self.waiting.len() as u64
    }

    /// Of these, the ones that were given up since those that wait take too much memory, or for their number of
    /// fragments.
    pub fn pushed_out(&self) -> u64 {
        self.pushed_out
    }

    fn take(&mut self, key: &Key) -> Option<Partial> {
        let partial = self.waiting.remove(key)?;
        self.bytes -= partial.size();
        Some(partial)
    }

    fn put_back(&mut self, key: Key, partial: Partial) {
        self.bytes += partial.size();
        self.waiting.insert(key, partial);
    }

    fn begin(&mut self, key: &Key, now: Instant) -> Partial {
        self.began += 1;
        self.order.push_back((*key, self.began));
        if self.order.len() > 2 * self.waiting.len() + 64 {
            let waiting = &self.waiting;
            let began = self.began;
            self.order.retain(|(key, serial)| {
                *serial == began || waiting.get(key).is_some_and(|partial| partial.serial == *serial)
            });
        }
        Partial {
            serial: self.began,
            since: now,
            pieces: Vec::new(),
            data: Vec::new(),
            covered: 0,
            total: None,
            first: None,
            header_ok: true,
            body_at: 0,
        }
    }

    /// Gives up what has waited too long.
    fn expire(&mut self, now: Instant) {
        while let Some((key, serial)) = self.order.front() {
            match self.waiting.get(key) {
                Some(partial) if partial.serial == *serial && now <= partial.since + LIFETIME => {
                    return;
                }
                _ => self.give_up_oldest(),
            }
        }
    }

    fn make_room(&mut self) {
        while self.bytes > FRAGMENT_BYTES && !self.waiting.is_empty() {
            let before = self.given_up;
            self.give_up_oldest();
            self.pushed_out += self.given_up - before;
        }
    }

    fn give_up_oldest(&mut self) {
        let Some((key, serial)) = self.order.pop_front() else { return };
        if self.waiting.get(&key).is_some_and(|partial| partial.serial == serial) {
            self.take(&key);
            self.given_up += 1;
        }
    }
}

/// Whether and how a fragment fits what is there.
enum Fit {
    Yes,
    /// It is there already.
    Again,
    /// It contradicts what is there.
    No,
}

impl Partial {
    fn fits(&self, start: u32, last: Option<u32>, packet: &IpPacket<'_>) -> Fit {
        let end = start + packet.body_len as u32;
        if self.pieces.len() == FRAGMENTS
            || self.total.is_some_and(|total| end > total || last.is_some_and(|last| last != total))
            || last.is_some_and(|last| self.pieces.last().is_some_and(|piece| piece.end > last))
        {
            return Fit::No;
        }
        let at = self.pieces.partition_point(|piece| piece.end <= start);
        match self.pieces.get(at) {
            Some(piece) if piece.start < end => {
                let kept = piece.kept.min(packet.body.len());
                let same = (piece.start, piece.end) == (start, end)
                    && self.data[piece.at..piece.at + kept] == packet.body[..kept];
                if same { Fit::Again } else { Fit::No }
            }
            _ => Fit::Yes,
        }
    }

    /// Adds a fragment that fits.
    fn add(&mut self, start: u32, last: Option<u32>, packet: &IpPacket<'_>) {
        let piece = Piece {
            start,
            end: start + packet.body_len as u32,
            at: self.data.len(),
            kept: packet.body.len(),
        };
        let at = self.pieces.partition_point(|piece| piece.end <= start);
        self.pieces.insert(at, piece);
        self.data.extend_from_slice(packet.body);
        self.covered += piece.end - piece.start;
        self.total = self.total.or(last);
        self.header_ok &= packet.header_ok;
        if start == 0 {
            self.first = Some((packet.fields, packet.protocol));
            self.body_at = packet.body_at;
        }
    }

    fn is_whole(&self) -> bool {
        self.total == Some(self.covered)
    }

    /// Appends the bytes up to the first that is not there.
    fn join(&self, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            out.extend_from_slice(&self.data[piece.at..piece.at + piece.kept]);
            if piece.kept < (piece.end - piece.start) as usize {
                return;
            }
        }
    }

    /// The datagram, its last fragment having come with `packet`.
    fn packet<'a>(&self, packet: &IpPacket<'_>, body: &'a [u8]) -> Result<IpPacket<'a>, ParseError> {
        let (fields, protocol) = self.first.unwrap_or((packet.fields, packet.protocol));
        IpPacket {
            src: packet.src,
            dst: packet.dst,
            fields,
            protocol,
            body,
            body_len: self.covered as usize,
            fragment: None,
            header_ok: self.header_ok,
            body_at: self.body_at,
        }
        .without_extensions()
    }

    fn size(&self) -> usize {
        self.data.capacity() + self.pieces.capacity() * mem::size_of::<Piece>() + OVERHEAD
    }
}

/// Refuses what cannot be a fragment, and gives the length of the datagram's body if it is the last.
fn check(packet: &IpPacket<'_>, offset: u32, more: bool) -> Result<Option<u32>, ParseError> {
    let len = packet.body_len;
    let end = offset as usize + len;
    if len == 0 || (more && !len.is_multiple_of(8)) || end > usize::from(u16::MAX) {
        return Err(ParseError::BadLength { field: "IP fragment", value: len });
    }
    Ok((!more).then_some(end as u32))
}

const LIFETIME: Duration = Duration::from_secs(30);
/// About what a datagram that waits costs besides its data.
const OVERHEAD: usize = 640;

#[cfg(test)]
mod tests;
