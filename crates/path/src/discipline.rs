//! How packets wait: who is admitted, and who is next.

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Instant, LineRate, QueueLimit};

use crate::aqm::{CodelQueue, FlowQueues, PieQueue, RedQueue};
use crate::carried::Carried;
use crate::spec::{Algorithm, Aqm};
use crate::verdict::Fate;
use crate::waiting::{Dropped, Fifo, Waiting};

/// A queue with its rules.
pub(crate) enum Discipline<P> {
    /// First in, first out; what finds no room is dropped.
    Fifo(Fifo<P>),
    Codel(CodelQueue<P>),
    FqCodel(FlowQueues<P>),
    Pie(PieQueue<P>),
    Red(RedQueue<P>),
}

/// The room that there is besides what waits, and how fast it empties.
pub(crate) struct Room {
    pub limit: QueueLimit,
    /// Packets and bytes that no longer wait and still hold a place.
    pub in_service: (u64, u64),
    /// Since when there has been nothing to send, if so.
    pub idle: Option<Instant>,
    /// What the shaper sends at.
    pub rate: Option<LineRate>,
}

impl Room {
    /// True if this many packets and bytes may wait.
    pub fn holds(&self, packets: u64, bytes: u64) -> bool {
        match self.limit {
            QueueLimit::Packets(n) => packets + self.in_service.0 <= n,
            QueueLimit::Bytes(n) => bytes + self.in_service.1 <= n,
        }
    }
}

impl<P: Carried> Discipline<P> {
    /// `stream` is for random decisions.
    pub fn new(aqm: &Aqm, stream: impl FnOnce() -> Xoshiro256PlusPlus) -> Self {
        match aqm {
            Aqm::None => Self::Fifo(Fifo::default()),
            Aqm::Codel(codel) => Self::Codel(CodelQueue::new(*codel)),
            Aqm::FqCodel(fq) => Self::FqCodel(FlowQueues::new(*fq)),
            Aqm::Pie(pie) => Self::Pie(PieQueue::new(*pie, stream())),
            Aqm::Red(red) => Self::Red(RedQueue::new(*red, stream())),
        }
    }

    /// A packet comes; what is dropped is added to `dropped`.
    pub fn enqueue(&mut self, now: Instant, packet: Waiting<P>, room: &Room, dropped: &mut Dropped<P>) {
        let fits = |queue: &Fifo<P>| room.holds(queue.len() + 1, queue.bytes() + u64::from(packet.bytes));
        match self {
            Self::Fifo(fifo) if fits(fifo) => fifo.push(packet),
            Self::Codel(codel) if fits(&codel.queue) => codel.enqueue(packet),
            Self::Fifo(_) | Self::Codel(_) => dropped.push((packet, Fate::QueueFull { limit: room.limit })),
            Self::FqCodel(flows) => flows.enqueue(now, packet, room, dropped),
            Self::Pie(pie) => pie.enqueue(now, packet, room, dropped),
            Self::Red(red) => red.enqueue(now, packet, room, dropped),
        }
    }

    /// The next packet to send; what is dropped is added to `dropped`.
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Waiting<P>> {
        match self {
            Self::Fifo(fifo) => fifo.pop(),
            Self::Codel(codel) => codel.dequeue(now, dropped),
            Self::FqCodel(flows) => flows.dequeue(now, dropped),
            Self::Pie(pie) => pie.dequeue(now),
            Self::Red(red) => red.queue.pop(),
        }
    }

    /// Who manages it.
    pub fn algorithm(&self) -> Option<Algorithm> {
        Some(match self {
            Self::Fifo(_) => return None,
            Self::Codel(_) => Algorithm::Codel,
            Self::FqCodel(_) => Algorithm::FqCodel,
            Self::Pie(_) => Algorithm::Pie,
            Self::Red(_) => Algorithm::Red,
        })
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Self::FqCodel(flows) => flows.len(),
            Self::Fifo(queue)
            | Self::Codel(CodelQueue { queue, .. })
            | Self::Pie(PieQueue { queue, .. })
            | Self::Red(RedQueue { queue, .. }) => queue.len(),
        }
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::FqCodel(flows) => flows.bytes(),
            Self::Fifo(queue)
            | Self::Codel(CodelQueue { queue, .. })
            | Self::Pie(PieQueue { queue, .. })
            | Self::Red(RedQueue { queue, .. }) => queue.bytes(),
        }
    }
}
