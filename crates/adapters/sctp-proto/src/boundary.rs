//! Between the library and the path: numbers that the library draws from the system are those of the run outside.
//!
//! Its API takes no source of random numbers. So what it draws once for an association is replaced in each packet that
//! leaves, and put back in each that comes: the verification tag and the cookie by values, TSNs by a constant distance. The
//! streams of a FORWARD-TSN, which leave a hash map in any order, are sorted. Nothing else of a packet is another but the
//! identifiers of messages and the checksum, and the library looks at differences of these numbers alone.

use rexmit_stack::{RandomStream, RngCore};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::{Body, HEADER_LEN, Header, checksum, kind};

use crate::places::{Leaving, Places};

/// Bytes of the library's cookie.
const COOKIE: usize = 32;
/// The parameter of a cookie (RFC 9260 section 3.3.3).
const STATE_COOKIE: u16 = 7;
/// The T bit of ABORT and SHUTDOWN-COMPLETE.
const REFLECTED: u8 = 1;
/// The bits B and U of DATA.
const BEGINS: u8 = 2;
const UNORDERED: u8 = 4;

/// What stands for what the library has drawn.
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    tag: u32,
    initial: u32,
    cookie: [u8; COOKIE],
    their_tag: u32,
    their_cookie: Option<[u8; COOKIE]>,
    /// From a TSN of the library's to that of the run.
    distance: u32,
    /// Closing is mended.
    mends: bool,
    /// The peer's verification tag, and the cumulative TSN last acknowledged to it.
    peer_tag: u32,
    acknowledged: u32,
    /// The peer has told FORWARD-TSN among its Supported Extensions (RFC 5061 section 4.2.7), where the library looks.
    pub peer_forwards: bool,
}

impl Boundary {
    /// A boundary whose numbers come from this stream.
    pub fn new(random: &mut RandomStream, mends: bool) -> Self {
        let mut cookie = [0; COOKIE];
        random.fill_bytes(&mut cookie);
        Self {
            // RFC 9260 section 5.3.1: not 0.
            tag: random.next_u32().max(1),
            initial: random.next_u32(),
            cookie,
            their_tag: 0,
            their_cookie: None,
            distance: 0,
            mends,
            peer_tag: 0,
            acknowledged: 0,
            peer_forwards: false,
        }
    }

    /// A packet of the library's as it leaves; more than one where it is longer than `most`.
    pub fn leaves(
        &mut self,
        now: Instant,
        mut packet: Vec<u8>,
        most: usize,
        places: &mut Places,
    ) -> Vec<Vec<u8>> {
        for Place { kind, flags, at, end } in chunks(&packet) {
            let value = &mut packet[at..end];
            match kind {
                kind::INIT | kind::INIT_ACK if value.len() >= 16 => self.init_leaves(value),
                kind::DATA if value.len() >= 12 => {
                    self.outward(value, 0);
                    let tsn = SeqNumber(number(value, 0));
                    let chunk =
                        Leaving { tsn, begins: flags & BEGINS != 0, unordered: flags & UNORDERED != 0 };
                    put(value, 8, places.of(now, chunk));
                }
                kind::SACK if value.len() >= 4 => self.acknowledged = number(value, 0),
                kind::FORWARD_TSN if value.len() >= 4 => {
                    self.outward(value, 0);
                    value[4..].as_chunks_mut::<4>().0.sort_unstable();
                }
                kind::SHUTDOWN if self.mends => put(value, 0, self.acknowledged),
                kind::SHUTDOWN if value.len() >= 4 => self.outward(value, 0),
                _ => {}
            }
        }
        let mut packets = cut(packet, most);
        packets.iter_mut().for_each(|packet| sum(packet));
        packets
    }

    /// A packet that has come, as the library gets it.
    pub fn arrives(&mut self, packet: &mut [u8]) {
        if packet.len() < HEADER_LEN {
            return;
        }
        let mut tag = number(packet, 4);
        for Place { kind, flags, at, end } in chunks(packet) {
            let value = &mut packet[at..end];
            match kind {
                kind::INIT | kind::INIT_ACK if value.len() >= 16 => self.init_arrives(&packet[..]),
                kind::SACK if value.len() >= 12 => self.sack_arrives(value),
                kind::SHUTDOWN if value.len() >= 4 => self.inward(value, 0),
                kind::COOKIE_ECHO if *value == self.cookie => {
                    value.copy_from_slice(&self.their_cookie.unwrap_or(self.cookie));
                }
                kind::SHUTDOWN_COMPLETE | kind::ABORT
                    if self.mends && flags & REFLECTED != 0 && tag == self.peer_tag =>
                {
                    packet[at - 3] = flags & !REFLECTED;
                    tag = self.tag;
                }
                _ => {}
            }
        }
        if tag != 0 && tag == self.tag {
            tag = self.their_tag;
        }
        put(packet, 4, tag);
        sum(packet);
    }

    fn init_leaves(&mut self, value: &mut [u8]) {
        self.their_tag = number(value, 0);
        self.distance = self.initial.wrapping_sub(number(value, 12));
        put(value, 0, self.tag);
        put(value, 12, self.initial);
        let mut at = 16;
        while at + 4 <= value.len() {
            let kind = u16::from_be_bytes([value[at], value[at + 1]]);
            let len = usize::from(u16::from_be_bytes([value[at + 2], value[at + 3]])).max(4);
            if kind == STATE_COOKIE
                && let Some(cookie) = value.get_mut(at + 4..at + len)
                && let Ok(theirs) = <[u8; COOKIE]>::try_from(&*cookie)
            {
                self.their_cookie = Some(theirs);
                cookie.copy_from_slice(&self.cookie);
            }
            at += len.next_multiple_of(4);
        }
    }

    fn init_arrives(&mut self, packet: &[u8]) {
        let Ok(header) = Header::new(packet, packet.len()) else { return };
        if let Some(Body::Init(init) | Body::InitAck(init)) = header.chunks().next().map(|chunk| chunk.body())
        {
            self.peer_tag = init.initiate_tag();
            self.acknowledged = init.initial_tsn().wrapping_sub(1);
            self.peer_forwards |= init.supports(kind::FORWARD_TSN);
        }
    }

    fn sack_arrives(&mut self, value: &mut [u8]) {
        self.inward(value, 0);
        let count = |at: usize| usize::from(u16::from_be_bytes([value[at], value[at + 1]]));
        let (gaps, duplicates) = (count(8), count(10));
        for n in 0..duplicates {
            let at = 12 + 4 * (gaps + n);
            if at + 4 <= value.len() {
                self.inward(value, at);
            }
        }
    }

    fn outward(&self, value: &mut [u8], at: usize) {
        put(value, at, number(value, at).wrapping_add(self.distance));
    }

    fn inward(&self, value: &mut [u8], at: usize) {
        put(value, at, number(value, at).wrapping_sub(self.distance));
    }
}

/// Where a chunk is in its packet: from after its own header.
#[derive(Clone, Copy)]
struct Place {
    kind: u8,
    flags: u8,
    at: usize,
    end: usize,
}

/// The chunks that are whole.
fn chunks(packet: &[u8]) -> Vec<Place> {
    let mut places = Vec::new();
    let mut begin = HEADER_LEN;
    while begin + 4 <= packet.len() {
        let len = usize::from(u16::from_be_bytes([packet[begin + 2], packet[begin + 3]]));
        if len < 4 || begin + len > packet.len() {
            break;
        }
        places.push(Place { kind: packet[begin], flags: packet[begin + 1], at: begin + 4, end: begin + len });
        begin += len.next_multiple_of(4);
    }
    places
}

/// A packet of several chunks, in as many that none is longer than `most` if a chunk is not.
fn cut(packet: Vec<u8>, most: usize) -> Vec<Vec<u8>> {
    if packet.len() <= most {
        return vec![packet];
    }
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for Place { at, end, .. } in chunks(&packet) {
        let chunk = &packet[at - 4..end.next_multiple_of(4).min(packet.len())];
        match packets.last_mut().filter(|last| last.len() + chunk.len() <= most) {
            Some(last) => last.extend_from_slice(chunk),
            None => packets.push([&packet[..HEADER_LEN], chunk].concat()),
        }
    }
    packets
}

fn sum(packet: &mut [u8]) {
    let sum = checksum(packet);
    packet[8..HEADER_LEN].copy_from_slice(&sum.to_be_bytes());
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
}
