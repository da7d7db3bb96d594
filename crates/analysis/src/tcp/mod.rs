//! TCP connections: what each side sent, how it was acknowledged, and why it was sent again.

mod acks;
mod board;
mod clock;
mod connection;
mod copies;
mod distant;
mod half;
mod judge;
mod key;
mod loss;
mod measures;
mod missing;
mod opening;
mod pace;
mod pending;
mod ranges;
#[cfg(test)]
pub(crate) mod script;
mod signs;
mod space;
mod view;

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use rexmit_units::Instant;

use crate::analyzer::Options;
use crate::packet::{Batch, Packet, Tcp};
use crate::rows::Rows;
use connection::Connection;
use key::Key;

/// All connections of a capture.
#[derive(Debug)]
pub(crate) struct Connections {
    options: Options,
    rows: Rows,
    /// Those that are open, or were lately; `None` where one has ended and its place is free.
    open: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// The newest connection between two ends.
    places: HashMap<Key, u32, FixedState>,
    /// The connection of the last packet.
    last: Option<(Key, u32)>,
    /// Those that are over, with the time at which they may be forgotten.
    over: VecDeque<(Instant, Key, u32)>,
    count: u32,
}

/// How long a connection that is over is kept for what still comes, nanoseconds.
const LINGER: u64 = 120_000_000_000;

impl Connections {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: *options,
            rows: Rows::default(),
            open: Vec::new(),
            free: Vec::new(),
            places: HashMap::default(),
            last: None,
            over: VecDeque::new(),
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
        let place = match place {
            Some(place) if self.is_replaced(place, tcp) => {
                self.end(place);
                self.open_at(key, packet, tcp)
            }
            Some(place) => place,
            None => self.open_at(key, packet, tcp),
        };
        self.last = Some((key, place));
        let Some(connection) = self.open[place as usize].as_mut() else { return };
        let was_over = connection.is_over();
        let note = packet.note.map(|note| &*batch.notes[note as usize]);
        connection.push(packet, tcp, note, &mut self.rows);
        if !was_over && connection.is_over() {
            self.over.push_back((packet.time, key, connection.number));
        }
        self.forget(packet.time);
    }

    /// Ends what is open.
    pub(crate) fn finish(&mut self) {
        for place in 0..self.open.len() as u32 {
            self.end(place);
        }
        self.places.clear();
        self.last = None;
        self.rows.connections.sort_by_key(|row| row.connection);
    }

    /// The rows since the last call.
    pub(crate) fn take_rows(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }

    fn is_replaced(&self, place: u32, tcp: &Tcp) -> bool {
        self.open[place as usize].as_ref().is_some_and(|connection| connection.is_replaced_by(tcp))
    }

    fn open_at(&mut self, key: Key, packet: &Packet, tcp: &Tcp) -> u32 {
        self.count += 1;
        let connection = Some(Box::new(Connection::new(self.count, packet, tcp, &self.options)));
        let place = match self.free.pop() {
            Some(place) => {
                self.open[place as usize] = connection;
                place
            }
            None => {
                self.open.push(connection);
                self.open.len() as u32 - 1
            }
        };
        self.places.insert(key, place);
        place
    }

    fn end(&mut self, place: u32) {
        if let Some(connection) = self.open[place as usize].take() {
            connection.finish(&mut self.rows);
            self.free.push(place);
        }
    }

    /// Ends connections that have been over for long.
    fn forget(&mut self, now: Instant) {
        while let Some(&(since, key, number)) = self.over.front() {
            if now.saturating_since(since).as_nanos() < LINGER {
                return;
            }
            self.over.pop_front();
            let Some(&place) = self.places.get(&key) else { continue };
            let Some(connection) = &self.open[place as usize] else { continue };
            // Its ends may have opened another one since.
            if connection.number != number {
                continue;
            }
            if now.saturating_since(connection.last()).as_nanos() < LINGER {
                self.over.push_back((connection.last(), key, number));
                continue;
            }
            self.places.remove(&key);
            self.last = None;
            self.end(place);
        }
    }
}
