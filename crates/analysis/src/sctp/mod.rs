//! SCTP associations: chunks, SACKs, and the cause of every retransmission.
//!
//! An association is known by its verification tags, so packets from addresses that were never seen before find it. A
//! capture that begins in the middle learns the tags from the first packet of each direction.
//!
//! Each retransmission is judged twice: as sctp_trace would (see `trace`), and by what its sender can have known and
//! timed (see `judge`). Memory follows the associations that are open and the chunks that they have outstanding.
//!
//! Not judged: chunks of extensions (AUTH, ASCONF, RE-CONFIG, NR-SACK), addresses that ASCONF adds (they are found by
//! the tag), retransmission for path MTU discovery.

mod association;
mod board;
mod clock;
mod control;
mod copies;
mod data;
mod delays;
mod half;
mod judge;
mod order;
mod path;
mod pending;
pub(crate) mod rows;
mod trace;
mod view;

#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::SocketAddr;

use foldhash::fast::RandomState;
use rexmit_units::Instant;
use rexmit_wire::sctp::{Body, Header};

use crate::core::side::SideName;
use crate::idle::Idle;
use crate::limits::{FLOWS, Limit, OPEN, PATHS, Steps};
use crate::options::Options;
use crate::packet::Packet;
use association::{Association, Shared, reflected};
use data::DataChunk;

pub use delays::{Delay, DelayRow, Group, delays};
pub use rows::*;

/// All associations of a capture.
#[derive(Debug)]
pub(crate) struct Associations {
    options: Options,
    rows: SctpRows,
    open: Vec<Option<Box<Association>>>,
    free: Vec<usize>,
    /// By place: bytes that the association takes.
    sizes: Vec<usize>,
    /// The sum of these.
    used: usize,
    idle: Idle,
    /// Memory that is used again.
    pieces: Vec<DataChunk>,
    steps: Steps,
    /// How many packets there were when associations that are over were last looked for.
    swept: u64,
    /// By interface, ports of sender and receiver, and verification tag: the association and who sends.
    by_tag: HashMap<(u32, u16, u16, u32), Place, RandomState>,
    /// By interface and addresses.
    by_path: HashMap<(u32, SocketAddr, SocketAddr), Place, RandomState>,
    /// Interface and addresses of the last packet, in either direction: they are in `by_path`.
    entered: Option<(u32, SocketAddr, SocketAddr)>,
    /// Once the capture has ended: those that have not.
    ending: Option<std::vec::IntoIter<Option<Box<Association>>>>,
    associations: u32,
    packets: u64,
}

/// Interface, source and destination.
type Path = (u32, SocketAddr, SocketAddr);

/// An association, and which of its sides sends.
type Place = (usize, SideName);

impl Associations {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: *options,
            rows: SctpRows::default(),
            open: Vec::new(),
            free: Vec::new(),
            sizes: Vec::new(),
            used: 0,
            idle: Idle::default(),
            pieces: Vec::new(),
            steps: Steps::default(),
            swept: 0,
            by_tag: HashMap::default(),
            by_path: HashMap::default(),
            entered: None,
            ending: None,
            associations: 0,
            packets: 0,
        }
    }

    /// Takes the next packet, whose bytes from the common header on are `bytes` as far as the capture has them, and
    /// had `wire_len` bytes on the wire.
    pub(crate) fn push(&mut self, packet: &Packet, bytes: &[u8], wire_len: u32) {
        let Ok(header) = Header::new(bytes, wire_len as usize) else { return };
        self.packets += 1;
        // Where many are open, less often, so that a packet costs no more.
        if self.packets.is_multiple_of(SWEEP) && self.packets - self.swept >= self.open.len() as u64 / 8 {
            self.swept = self.packets;
            self.sweep(packet.time);
        }
        let first = header.chunks().next().map(|chunk| chunk.body());
        let found = self.find(packet, &header, first.as_ref());
        let Some((at, from)) = found.or_else(|| self.begin(packet, first.as_ref())) else {
            self.rows.limits.add(Limit::Flows, 1);
            return;
        };
        let Some(association) = &mut self.open[at] else { return };
        let before = SideName::BOTH.map(|side| association.tag(side));
        let (rows, pieces, steps) = (&mut self.rows, &mut self.pieces, &mut self.steps);
        association.packet(packet, &header, from, &mut Shared { rows, pieces, steps });
        let after = SideName::BOTH.map(|side| association.tag(side));
        if before != after {
            self.enter_tags(at, packet.interface);
        }
        let (there, back) =
            ((packet.interface, packet.src, packet.dst), (packet.interface, packet.dst, packet.src));
        if self.entered != Some(there) && self.entered != Some(back) {
            self.enter_path(at, from, there, back);
        }
        if let Some(association) = &self.open[at] {
            let size = association.size();
            self.used = self.used + size - std::mem::replace(&mut self.sizes[at], size);
        }
    }

    /// Bytes that the open ones take.
    pub(crate) fn used(&self) -> u64 {
        self.used as u64
    }

    /// Steps of work done so far, chunks included.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.spent
    }

    /// Ends those that have been idle the longest, until the others take this many bytes.
    pub(crate) fn shed(&mut self, most: u64) {
        let mut ended = 0;
        while self.used() > most && self.end_idle() {
            ended += 1;
        }
        self.rows.limits.add(Limit::Memory, ended);
        self.forget_ended();
    }

    /// Ends up to this many of those that are open; true if none is left.
    pub(crate) fn finish(&mut self, most: usize) -> bool {
        self.free.clear();
        self.by_tag.clear();
        self.by_path.clear();
        self.entered = None;
        let left = self.ending.get_or_insert_with(|| std::mem::take(&mut self.open).into_iter());
        for association in left.by_ref().flatten().take(most) {
            association.finish(&mut self.rows);
        }
        left.as_slice().is_empty()
    }

    /// The rows since the last call, which stay.
    pub(crate) fn rows(&self) -> &SctpRows {
        &self.rows
    }

    /// The rows since the last call.
    pub(crate) fn take_rows(&mut self) -> SctpRows {
        std::mem::take(&mut self.rows)
    }

    /// Whose packet this is.
    fn find(&self, packet: &Packet, header: &Header<'_>, first: Option<&Body<'_>>) -> Option<Place> {
        let (interface, src, dst) = (packet.interface, packet.src, packet.dst);
        let on_path = self.by_path.get(&(interface, src, dst)).copied();
        if let Some(Body::Init(init)) = first {
            // An INIT carries no tag, but names the one of its sender.
            let tag = init.initiate_tag();
            let of_tag = self.by_tag.get(&(interface, dst.port(), src.port(), tag));
            if let Some((at, to)) =
                of_tag.filter(|(at, _)| self.open[*at].as_ref().is_some_and(|it| !it.is_closed()))
            {
                return Some((*at, to.other()));
            }
            // Both sides may open at once; any other INIT with a new tag opens a new association.
            return on_path.filter(|(at, from)| {
                self.open[*at]
                    .as_ref()
                    .is_some_and(|it| !it.is_open() && !it.has_init(*from) && it.tag(*from).is_none())
            });
        }
        let tag = header.tag();
        if let Some(place) = self.by_tag.get(&(interface, src.port(), dst.port(), tag)) {
            return Some(*place);
        }
        let (at, from) = on_path?;
        let association = self.open[at].as_ref()?;
        let fits = association.tag(from.other()).is_none_or(|known| known == tag) || tag == 0;
        let last_word =
            matches!(first, Some(Body::Abort { .. } | Body::Error(_) | Body::ShutdownComplete { .. }));
        (fits || last_word || reflected(header)).then_some((at, from))
    }

    /// A new association; `None` if there are more than can be numbered.
    fn begin(&mut self, packet: &Packet, first: Option<&Body<'_>>) -> Option<Place> {
        if self.associations == FLOWS {
            return None;
        }
        if self.open.len() - self.free.len() == OPEN {
            // Some at once, so that the tables are not looked through for each.
            let ended = (0..OPEN / 8).take_while(|_| self.end_idle()).count();
            self.rows.limits.add(Limit::Open, ended as u64);
            self.forget_ended();
        }
        // INIT-ACK and COOKIE-ACK are the server's.
        let answers = matches!(first, Some(Body::InitAck(_) | Body::CookieAck));
        let from = if answers { SideName::Server } else { SideName::Client };
        self.associations += 1;
        let new = Box::new(Association::new(self.associations, packet, from, &self.options));
        let at = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.sizes.push(0);
            self.open.len() - 1
        });
        self.tidy();
        self.idle.begin(at as u32, self.associations, packet.time);
        self.open[at] = Some(new);
        self.by_path.insert((packet.interface, packet.src, packet.dst), (at, from));
        self.by_path.insert((packet.interface, packet.dst, packet.src), (at, from.other()));
        Some((at, from))
    }

    fn enter_path(&mut self, at: usize, from: SideName, there: Path, back: Path) {
        let Some(association) = &mut self.open[at] else { return };
        if association.entries as usize > 4 * PATHS {
            return;
        }
        association.entries += 2;
        self.by_path.entry(there).or_insert((at, from));
        self.by_path.entry(back).or_insert((at, from.other()));
        self.entered = Some(there);
    }

    fn enter_tags(&mut self, at: usize, interface: u32) {
        let Some(association) = &mut self.open[at] else { return };
        association.entries += 2;
        for to in SideName::BOTH {
            if let Some(tag) = association.tag(to) {
                let key = (interface, association.port(to.other()), association.port(to), tag);
                self.by_tag.insert(key, (at, to.other()));
            }
        }
    }

    /// Ends what is over.
    fn sweep(&mut self, now: Instant) {
        let mut gone = false;
        for at in 0..self.open.len() {
            if self.open[at].as_ref().is_some_and(|association| association.is_over(now)) {
                self.end(at);
                gone = true;
            }
        }
        if gone {
            self.forget_ended();
        }
    }

    fn end(&mut self, at: usize) {
        self.open[at].take().expect("it is there").finish(&mut self.rows);
        self.used -= std::mem::take(&mut self.sizes[at]);
        self.free.push(at);
    }

    /// Ends the one that has been idle the longest; false if none is open.
    fn end_idle(&mut self) -> bool {
        let open = &self.open;
        let of = |at: u32, number: u32| open[at as usize].as_ref().filter(|it| it.number() == number);
        let found = self.idle.take(|at, number| Some(of(at, number)?.last()));
        found.is_some_and(|at| {
            self.end(at as usize);
            true
        })
    }

    /// Takes those that have ended out of the tables.
    fn forget_ended(&mut self) {
        let open = &self.open;
        self.by_tag.retain(|_, (at, _)| open[*at].is_some());
        self.by_path.retain(|_, (at, _)| open[*at].is_some());
        self.entered = None;
        self.tidy();
    }

    /// Forgets what is noted of those that have ended.
    fn tidy(&mut self) {
        let open = &self.open;
        let is_open = |at: u32, number| open[at as usize].as_ref().is_some_and(|it| it.number() == number);
        self.idle.tidy(open.len() - self.free.len(), is_open);
    }
}

/// After this many packets, those that are over are looked for.
const SWEEP: u64 = 8_192;
