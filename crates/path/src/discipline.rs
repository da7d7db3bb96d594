//! How packets wait: who is admitted, and who is next.

use rexmit_units::{Instant, QueueLimit, Rate};

use crate::carried::Carried;
use crate::verdict::Fate;
use crate::waiting::{Dropped, Fifo, Waiting};

/// A queue with its rules.
pub(crate) enum Discipline<P> {
    /// First in, first out; what finds no room is dropped.
    Fifo(Fifo<P>),
}

/// The room that there is besides what waits.
pub(crate) struct Room {
    pub limit: QueueLimit,
    /// Packets and bytes that no longer wait and still hold a place.
    pub in_service: (u64, u64),
    /// Since when there has been nothing to send, if so.
    pub idle: Option<Instant>,
}

impl Room {
    /// True if so many packets and bytes may wait.
    pub fn holds(&self, packets: u64, bytes: u64) -> bool {
        match self.limit {
            QueueLimit::Packets(n) => packets + self.in_service.0 <= n,
            QueueLimit::Bytes(n) => bytes + self.in_service.1 <= n,
        }
    }
}

impl<P: Carried> Discipline<P> {
    pub fn new() -> Self {
        Self::Fifo(Fifo::default())
    }

    /// A packet comes, where the shaper sends at a rate; what is dropped is added to `dropped`.
    pub fn enqueue(
        &mut self,
        (_now, _rate): (Instant, Option<Rate>),
        packet: Waiting<P>,
        room: &Room,
        dropped: &mut Dropped<P>,
    ) {
        match self {
            Self::Fifo(fifo) => {
                if room.holds(fifo.len() + 1, fifo.bytes() + u64::from(packet.bytes)) {
                    fifo.push(packet);
                } else {
                    dropped.push((packet, Fate::QueueFull { limit: room.limit }));
                }
            }
        }
    }

    /// The next packet to send; what is dropped is added to `dropped`.
    pub fn dequeue(&mut self, _now: Instant, _dropped: &mut Dropped<P>) -> Option<Waiting<P>> {
        match self {
            Self::Fifo(fifo) => fifo.pop(),
        }
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Self::Fifo(fifo) => fifo.len(),
        }
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(fifo) => fifo.bytes(),
        }
    }
}
