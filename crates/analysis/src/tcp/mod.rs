//! TCP connections: what each side sent, how it was acknowledged, and why it was sent again.

mod acks;
mod board;
mod clock;
mod connection;
mod copies;
mod distant;
mod half;
mod held;
mod idents;
mod judge;
mod key;
mod loss;
mod measures;
mod missing;
mod opening;
mod pace;
mod passed;
mod pending;
mod place;
mod ranges;
#[cfg(test)]
pub(crate) mod script;
mod signs;
mod space;
mod stamps;
mod trial;
mod view;

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use rexmit_units::Instant;

use crate::idle::Idle;
use crate::limits::{FLOWS, Limit, OPEN, Steps};
use crate::options::Options;
use crate::packet::{Batch, Packet, Tcp};
use crate::rows::Rows;
use connection::Arrived;
use idents::Idents;
use key::Key;
use place::Place;

/// All connections of a capture.
#[derive(Debug)]
pub(crate) struct Connections {
    options: Options,
    rows: Rows,
    /// Those that are open, or were lately.
    open: Vec<Place>,
    free: Vec<u32>,
    /// By place: bytes that the connection takes.
    sizes: Vec<u32>,
    /// The sum of these.
    used: u64,
    idle: Idle,
    steps: Steps,
    idents: Idents,
    /// The newest connection between two ends.
    places: HashMap<Key, u32, RandomState>,
    /// The connection of the last packet.
    last: Option<(Key, u32)>,
    /// Those that are over, with the time at which they may be forgotten.
    over: VecDeque<(Instant, Key, u32)>,
    /// Once the capture has ended: the places of those that have not, in the order of their numbers.
    ending: Option<VecDeque<u32>>,
    count: u32,
}

/// About what a connection takes besides itself, bytes: entries of tables and queues.
const ENTRY: usize = 320;
/// A connection is weighed when its packets have doubled, and each time this many more have come.
const WEIGHED: u64 = 64;

impl Connections {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: *options,
            rows: Rows::default(),
            open: Vec::new(),
            free: Vec::new(),
            sizes: Vec::new(),
            used: 0,
            idle: Idle::default(),
            steps: Steps::default(),
            idents: Idents::default(),
            places: HashMap::default(),
            last: None,
            over: VecDeque::new(),
            ending: None,
            count: 0,
        }
    }

    /// Takes the next packet.
    pub(crate) fn push(&mut self, packet: &Packet, tcp: &Tcp, batch: &Batch) {
        let (key, _) = Key::new(packet.interface, packet.src, packet.dst);
        let place = match self.last {
            Some((last, place)) if last == key => Some(place),
            _ => self.places.get(&key).copied(),
        };
        if self.count == FLOWS && place.is_none_or(|place| self.is_replaced(place, packet, tcp)) {
            self.rows.limits.add(Limit::Flows, 1);
            return;
        }
        let note = packet.note.map(|note| &*batch.notes[note as usize]);
        let place = match place {
            Some(place) if self.is_replaced(place, packet, tcp) => {
                self.end(place);
                self.open_at(key, packet, tcp)
            }
            Some(place) => place,
            None if self.is_unanswered(key, packet, tcp, note) => return,
            None => self.open_at(key, packet, tcp),
        };
        self.last = Some((key, place));
        let other_ident = self.idents.pass(packet.src.ip(), place, packet.ident);
        if self.open[place as usize].keep(packet, tcp, note) {
            self.weigh(place);
            return;
        }
        let (rows, steps) = (&mut self.rows, &mut self.steps);
        let Some(connection) = self.open[place as usize].open(&self.options, rows, steps) else { return };
        let was_over = connection.is_over();
        connection.push(&Arrived { packet, tcp, note, other_ident }, rows, steps);
        // Not with every packet: what a few add is little.
        let packets = connection.packets();
        let weighed = packets.is_power_of_two() || packets.is_multiple_of(WEIGHED);
        if !was_over && connection.is_over() {
            self.over.push_back((packet.time, key, connection.number));
        }
        if weighed {
            self.weigh(place);
        }
        self.forget(packet.time);
    }

    /// Bytes that the open ones take.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Steps of work done so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.spent
    }

    /// Ends those that have been idle the longest, until the others take this many bytes.
    pub(crate) fn shed(&mut self, most: u64) {
        let mut ended = 0;
        while self.used > most && self.end_idle() {
            ended += 1;
        }
        self.rows.limits.add(Limit::Memory, ended);
        self.tidy();
    }

    /// The capture has ended: ends up to this many connections; true if none is left.
    pub(crate) fn finish(&mut self, most: usize) -> bool {
        let open = &self.open;
        let mut ending = self.ending.take().unwrap_or_else(|| {
            let mut numbers: Vec<_> =
                open.iter().zip(0..).filter_map(|(place, at)| place.number().zip(Some(at))).collect();
            numbers.sort_unstable();
            numbers.into_iter().map(|(_, at)| at).collect()
        });
        self.places.clear();
        self.last = None;
        for place in ending.drain(..most.min(ending.len())) {
            self.end(place);
        }
        let over = ending.is_empty();
        self.ending = Some(ending);
        over
    }

    /// The rows since the last call, which stay.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The rows since the last call.
    pub(crate) fn take_rows(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }

    fn is_replaced(&self, place: u32, packet: &Packet, tcp: &Tcp) -> bool {
        matches!(&self.open[place as usize], Place::Open(connection) if connection.is_replaced_by(packet, tcp))
    }

    /// True if it is a SYN, which is kept until something else is seen of its connection.
    fn is_unanswered(&mut self, key: Key, packet: &Packet, tcp: &Tcp, note: Option<&str>) -> bool {
        let Some(place) = Place::unanswered(self.count + 1, packet, tcp, note) else { return false };
        self.count += 1;
        self.put(key, place, packet.time);
        self.forget(packet.time);
        true
    }

    fn open_at(&mut self, key: Key, packet: &Packet, tcp: &Tcp) -> u32 {
        self.count += 1;
        let place = Place::new(self.count, packet, tcp, &self.options);
        self.put(key, place, packet.time)
    }

    fn put(&mut self, key: Key, connection: Place, first: Instant) -> u32 {
        if self.open.len() - self.free.len() == OPEN {
            let ended = (0..OPEN / 8).take_while(|_| self.end_idle()).count();
            self.rows.limits.add(Limit::Open, ended as u64);
            self.tidy();
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.open[place as usize] = connection;
                place
            }
            None => {
                self.open.push(connection);
                self.sizes.push(0);
                self.open.len() as u32 - 1
            }
        };
        self.places.insert(key, place);
        self.idle.begin(place, self.count, first);
        self.tidy();
        self.weigh(place);
        place
    }

    /// What a connection takes may have changed.
    fn weigh(&mut self, place: u32) {
        let size = match &self.open[place as usize] {
            Place::Free => 0,
            taken => taken.size() + ENTRY,
        };
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let before = std::mem::replace(&mut self.sizes[place as usize], size);
        self.used = self.used + u64::from(size) - u64::from(before);
    }

    /// Ends the one that has been idle the longest; false if none is open.
    fn end_idle(&mut self) -> bool {
        let open = &self.open;
        let Some(place) = self.idle.take(|place, number| open[place as usize].last(number)) else {
            return false;
        };
        if let Some(key) = open[place as usize].key()
            && self.places.get(&key) == Some(&place)
        {
            self.places.remove(&key);
        }
        self.last = None;
        self.end(place);
        true
    }

    /// Forgets what is noted of those that have ended.
    fn tidy(&mut self) {
        let (open, places) = (&self.open, &self.places);
        let count = open.len() - self.free.len();
        self.idle.tidy(count, |place, number| open[place as usize].number() == Some(number));
        if self.over.len() > 2 * count + 64 {
            let is_open = |key: &Key, number| {
                places.get(key).is_some_and(|place| open[*place as usize].number() == Some(number))
            };
            self.over.retain(|(_, key, number)| is_open(key, *number));
        }
    }

    fn end(&mut self, place: u32) {
        // Also those that were never answered have a row.
        self.open[place as usize].open(&self.options, &mut self.rows, &mut self.steps);
        if let Place::Open(connection) = std::mem::replace(&mut self.open[place as usize], Place::Free) {
            connection.finish(&mut self.rows);
            self.weigh(place);
            self.free.push(place);
        }
    }

    /// Ends connections that have been over for long.
    fn forget(&mut self, now: Instant) {
        while let Some(&(since, key, number)) = self.over.front() {
            if now.saturating_since(since) < self.options.policy.tcp.counts.linger {
                return;
            }
            self.over.pop_front();
            let Some(&place) = self.places.get(&key) else { continue };
            let Place::Open(connection) = &self.open[place as usize] else { continue };
            // Its ends may have opened another one since.
            if connection.number != number {
                continue;
            }
            if now.saturating_since(connection.last()) < self.options.policy.tcp.counts.linger {
                self.over.push_back((connection.last(), key, number));
                continue;
            }
            self.places.remove(&key);
            self.last = None;
            self.end(place);
        }
    }
}
