//! The queue before the shaper: who is admitted, and how full it is.

use std::collections::VecDeque;

use rexmit_units::{Instant, QueueLimit};

/// How a queue limited in bytes compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteRule {
    /// A packet must fit into the limit.
    MustFit,
    /// A packet is refused only where the bytes held exceed the limit already (EM-DN-2).
    MayOverrun,
}

/// A first-in, first-out queue with tail drop.
///
/// A shaper that works in order knows the departure of a packet on admission; so the queue is a ring of
/// departures, and nothing is done when a packet leaves. The packet being sent holds its place until its
/// last bit has left; a place that becomes free at an instant can be taken at that instant.
pub(crate) struct Queue {
    limit: QueueLimit,
    rule: ByteRule,
    /// Departure and length in bytes of each packet inside.
    inside: VecDeque<(Instant, u32)>,
    bytes: u64,
}

impl Queue {
    pub fn new(limit: QueueLimit, rule: ByteRule) -> Self {
        Self { limit, rule, inside: VecDeque::new(), bytes: 0 }
    }

    pub fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// True if there is room at `now` for a packet of `len` bytes.
    #[inline]
    pub fn admits(&mut self, now: Instant, len: u64) -> bool {
        self.leave(now);
        match self.limit {
            QueueLimit::Packets(n) => (self.inside.len() as u64) < n,
            QueueLimit::Bytes(n) => match self.rule {
                ByteRule::MustFit => self.bytes + len <= n,
                ByteRule::MayOverrun => self.bytes <= n,
            },
        }
    }

    /// Takes a packet that leaves at `departure`, no earlier than any before it.
    #[inline]
    pub fn push(&mut self, departure: Instant, len: u64) {
        self.inside.push_back((departure, len as u32));
        self.bytes += len;
    }

    /// Packets and bytes inside at `now`.
    pub fn occupancy(&mut self, now: Instant) -> (u64, u64) {
        self.leave(now);
        (self.inside.len() as u64, self.bytes)
    }

    #[inline]
    fn leave(&mut self, now: Instant) {
        while let Some(&(departure, len)) = self.inside.front() {
            if departure > now {
                break;
            }
            self.bytes -= u64::from(len);
            self.inside.pop_front();
        }
    }
}
