//! Where a connection is kept: as the SYNs that nobody has answered, or in full.
//!
//! A scan of a network or a flood makes a million connections of one SYN. Until something else is seen of it, such a
//! connection is no more than its packets, a fifth of what a whole one takes.

use super::connection::{Arrived, Connection};
use super::key::Key;
use crate::limits::Steps;
use crate::options::Options;
use crate::packet::{Packet, Tcp, Transport};
use crate::rows::Rows;
use rexmit_units::Instant;
use rexmit_wire::Flags;

/// A place for a connection.
#[derive(Debug)]
pub(super) enum Place {
    /// None is here.
    Free,
    /// One of which SYNs alone have been seen.
    Unanswered(Box<Unanswered>),
    /// One that has begun.
    Open(Box<Connection>),
}

/// The SYNs of a connection, each with the capture's comment.
#[derive(Debug)]
pub(super) struct Unanswered {
    number: u32,
    first: Syn,
    more: Vec<Syn>,
}

/// A SYN and its comment.
type Syn = (Packet, Option<Box<str>>);

/// SYNs that are kept before the connection is taken for more than a scan.
const KEPT: usize = 8;

impl Place {
    /// A connection that begins with `packet`, which is still to be pushed.
    pub(super) fn new(number: u32, packet: &Packet, tcp: &Tcp, options: &Options) -> Self {
        Self::Open(Box::new(Connection::new(number, packet, tcp, options)))
    }

    /// A connection of which `packet` is all that has been seen, if it is a SYN.
    pub(super) fn unanswered(number: u32, packet: &Packet, tcp: &Tcp, note: Option<&str>) -> Option<Self> {
        let first = (packet.clone(), note.map(Into::into));
        is_plain_syn(tcp).then(|| Self::Unanswered(Box::new(Unanswered { number, first, more: Vec::new() })))
    }

    /// Keeps another SYN of a connection that has not been answered; false if it is to be pushed.
    pub(super) fn keep(&mut self, packet: &Packet, tcp: &Tcp, note: Option<&str>) -> bool {
        let Self::Unanswered(waiting) = self else { return false };
        let kept = is_plain_syn(tcp) && packet.src == waiting.first.0.src && waiting.more.len() + 1 < KEPT;
        if kept {
            waiting.more.push((packet.clone(), note.map(Into::into)));
        }
        kept
    }

    /// The connection, in full.
    pub(super) fn open(
        &mut self,
        options: &Options,
        rows: &mut Rows,
        steps: &mut Steps,
    ) -> Option<&mut Connection> {
        if let Self::Unanswered(waiting) = self {
            *self = Self::Open(waiting.open(options, rows, steps));
        }
        match self {
            Self::Open(connection) => Some(connection),
            _ => None,
        }
    }

    /// Number of the connection, from 1.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Free => None,
            Self::Unanswered(waiting) => Some(waiting.number),
            Self::Open(connection) => Some(connection.number),
        }
    }
}

impl Place {
    /// When the last packet of the connection was seen, if it is still that of this number.
    pub(super) fn last(&self, number: u32) -> Option<Instant> {
        match self {
            Self::Unanswered(waiting) if waiting.number == number => {
                Some(waiting.all().map(|(packet, _)| packet.time).max().unwrap_or_default())
            }
            Self::Open(connection) if connection.number == number => Some(connection.last()),
            _ => None,
        }
    }

    /// Which connection it is.
    pub(super) fn key(&self) -> Option<Key> {
        match self {
            Self::Free => None,
            Self::Unanswered(waiting) => {
                let first = &waiting.first.0;
                Some(Key::new(first.interface, first.src, first.dst).0)
            }
            Self::Open(connection) => Some(connection.key()),
        }
    }

    /// Bytes that it takes, with what it keeps.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Free => 0,
            Self::Unanswered(waiting) => {
                let notes = waiting.all().filter_map(|(_, note)| note.as_ref()).map(|note| note.len());
                size_of::<Unanswered>() + waiting.more.capacity() * size_of::<Syn>() + notes.sum::<usize>()
            }
            Self::Open(connection) => connection.size(),
        }
    }
}

impl Unanswered {
    /// Its SYNs.
    fn all(&self) -> impl Iterator<Item = &Syn> {
        std::iter::once(&self.first).chain(&self.more)
    }

    fn open(&self, options: &Options, rows: &mut Rows, steps: &mut Steps) -> Box<Connection> {
        let mut connection: Option<Box<Connection>> = None;
        for (packet, note) in self.all() {
            let Transport::Tcp(tcp) = &packet.transport else { continue };
            connection
                .get_or_insert_with(|| Box::new(Connection::new(self.number, packet, tcp, options)))
                .push(&Arrived { packet, tcp, note: note.as_deref(), other_ident: None }, rows, steps);
        }
        connection.expect("the first packet is a SYN")
    }
}

/// A SYN and nothing else that could end or answer a connection.
fn is_plain_syn(tcp: &Tcp) -> bool {
    tcp.flags.has(Flags::SYN) && !tcp.flags.any(Flags::ACK.with(Flags::FIN).with(Flags::RST)) && tcp.len == 0
}

#[cfg(test)]
mod tests;
