//! The queue before the shaper: who is admitted, and how full it is.

use std::collections::VecDeque;

use rexmit_units::{Instant, QueueLimit};

use crate::headed::Headed;

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
    /// Departure and length in bytes of each packet inside at the last admission.
    inside: Headed<(Instant, u32)>,
    bytes: u64,
    /// Entry, departure and length of each packet, where admissions lie ahead of the clock: behind a link, on which a
    /// packet's entry is known before it enters.
    #[expect(clippy::box_collection, reason = "a pointer where a queue would be four words, in every link")]
    ahead: Option<Box<VecDeque<(Instant, Instant, u32)>>>,
}

impl Queue {
    pub fn new(limit: QueueLimit, rule: ByteRule, ahead: bool) -> Self {
        let ahead = ahead.then(Box::default);
        Self { limit, rule, inside: Headed::default(), bytes: 0, ahead }
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

    /// Takes a packet that enters at `now` and leaves at `departure`, no earlier than any before it.
    #[inline]
    pub fn push(&mut self, now: Instant, departure: Instant, len: u64) {
        self.inside.push((departure, len as u32));
        self.bytes += len;
        if let Some(ahead) = &mut self.ahead {
            ahead.push_back((now, departure, len as u32));
        }
    }

    /// Packets and bytes inside at `now`.
    pub fn occupancy(&mut self, now: Instant) -> (u64, u64) {
        self.forget(now);
        let Some(ahead) = &self.ahead else {
            self.leave(now);
            return (self.inside.len() as u64, self.bytes);
        };
        let inside = ahead.iter().take_while(|packet| packet.0 <= now);
        inside.fold((0, 0), |(packets, bytes), packet| (packets + 1, bytes + u64::from(packet.2)))
    }

    /// Forgets packets that have left at `now`, the time of the clock.
    #[inline]
    pub fn forget(&mut self, now: Instant) {
        let Some(ahead) = &mut self.ahead else { return };
        while ahead.front().is_some_and(|packet| packet.1 <= now) {
            ahead.pop_front();
        }
    }

    #[inline]
    fn leave(&mut self, now: Instant) {
        while let Some(&(departure, len)) = self.inside.first() {
            if departure > now {
                break;
            }
            self.bytes -= u64::from(len);
            self.inside.pop();
        }
    }
}
