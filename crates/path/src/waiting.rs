//! Packets that wait at a bottleneck whose service is decided event by event.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};

use crate::ingress::Decision;
use crate::verdict::Fate;

/// A packet that waits.
pub(crate) struct Waiting<P> {
    pub packet: P,
    /// Bytes with those of the link layer.
    pub bytes: u32,
    /// Number in the direction.
    pub position: u64,
    /// When it came to the queue.
    pub entered: Instant,
    /// The queue's management has marked it.
    pub marked: bool,
    /// What impairments want, where they want anything.
    pub extra: Option<Box<Extra>>,
}

/// What impairments want of a packet that waits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extra {
    pub decision: Decision,
    /// It was marked as it entered.
    pub marked: bool,
    /// Whether there are two of it.
    pub twin: Twin,
}

/// Whether a packet is one of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Twin {
    /// It is not.
    #[default]
    No,
    /// The one that was sent.
    Original,
    /// The one that was made.
    Copy,
}

impl<P> Waiting<P> {
    /// Whether it is one of two.
    pub fn twin(&self) -> Twin {
        self.extra.as_ref().map_or(Twin::No, |extra| extra.twin)
    }

    /// How long it has waited at `now`.
    pub fn sojourn(&self, now: Instant) -> Duration {
        now.saturating_since(self.entered)
    }
}

/// Packets that were in the queue, or came to it, and are dropped.
pub(crate) type Dropped<P> = Vec<(Waiting<P>, Fate)>;

/// Packets in the order in which they came.
pub(crate) struct Fifo<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<P> Fifo<P> {
    #[inline]
    pub fn push(&mut self, packet: Waiting<P>) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// How many packets.
    pub fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
