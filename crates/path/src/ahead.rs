//! A bottleneck where a packet's departure is known as it enters: nothing that comes later matters to it. Changes of
//! the rate at times are known from the start; one by a packet is for that packet and those behind it.

use rexmit_units::{Instant, QueueLimit};

use crate::queue::Queue;
use crate::schedule::Schedule;
use crate::shaper::Shaper;

/// A queue and a shaper that works in order.
pub(crate) struct Ahead {
    queue: Queue,
    shaper: Shaper,
    /// When the last packet leaves.
    departed: Instant,
}

impl Ahead {
    /// With a link before it, entries are known before they happen.
    pub fn new(limit: QueueLimit, shaper: Shaper, behind_link: bool) -> Self {
        let queue = Queue::new(limit, shaper.byte_rule(), behind_link);
        Self { queue, shaper, departed: Instant::ZERO }
    }

    /// The departure of a packet that enters the queue at `now`; `None` if it is full.
    #[inline]
    pub fn admit(&mut self, now: Instant, bytes: u64, schedule: &Schedule) -> Option<Instant> {
        if !self.queue.admits(now, bytes) {
            return None;
        }
        let departure = self.shaper.depart(now, bytes, schedule.rates()).max(self.departed);
        self.departed = departure;
        self.queue.push(now, departure, bytes);
        Some(departure)
    }

    /// Forgets what has left at `now`.
    #[inline]
    pub fn forget(&mut self, now: Instant) {
        self.queue.forget(now);
    }

    /// Packets and bytes inside at `now`.
    pub fn occupancy(&mut self, now: Instant) -> (u64, u64) {
        self.queue.occupancy(now)
    }

    /// What the queue holds.
    pub fn limit(&self) -> QueueLimit {
        self.queue.limit()
    }
}
