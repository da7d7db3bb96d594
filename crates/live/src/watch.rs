//! What other threads see of a drive, and how they end it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rexmit_units::Instant;

use crate::emulator::Emulator;
use crate::port::Port;
use crate::sys::device::Lost;

/// Counters that a drive keeps up to date, and its end. To be shared by reference.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    begun: AtomicBool,
    values: [AtomicU64; 28],
}

/// The counters at one moment. Those of a direction: down, then up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Live {
    /// Packets offered.
    pub packets: [u64; 2],
    /// Bytes of IP packets offered.
    pub bytes: [u64; 2],
    /// Packets that the path dropped.
    pub drops: [u64; 2],
    /// Packets that a pattern dropped.
    pub dropped_by_pattern: [u64; 2],
    /// Packets that random loss dropped.
    pub dropped_by_loss: [u64; 2],
    /// Packets that found the queue full.
    pub queue_full: [u64; 2],
    /// Packets that the queue's management dropped.
    pub dropped_by_aqm: [u64; 2],
    /// Packets that did not fit into the token bucket.
    pub too_long: [u64; 2],
    /// Bytes of IP packets that the path dropped.
    pub dropped_bytes: [u64; 2],
    /// Packets in the queue, as of the last tenth of a second.
    pub queue_packets: [u64; 2],
    /// Bytes in the queue, as of the last tenth of a second.
    pub queue_bytes: [u64; 2],
    /// Packets that have come out.
    pub received: [u64; 2],
    /// The longest lateness, nanoseconds.
    pub max_late_ns: u64,
    /// Packets that hosts' interfaces refused.
    pub refused: u64,
    /// Packets for which there was no memory.
    pub no_room: u64,
    /// Packets that interfaces lost, as of the last second.
    pub lost: u64,
}

impl Watch {
    /// Ends the drive; a sleeping one within 20 ms.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True once the drive looks at its interfaces.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// The counters. Each is right; they need not be of the same instant.
    pub fn live(&self) -> Live {
        let get = |i: usize| self.values[i].load(Ordering::Relaxed);
        Live {
            packets: [get(0), get(1)],
            bytes: [get(2), get(3)],
            drops: [get(4), get(5)],
            received: [get(6), get(7)],
            dropped_by_pattern: [get(12), get(13)],
            dropped_by_loss: [get(14), get(15)],
            queue_full: [get(16), get(17)],
            too_long: [get(24), get(25)],
            dropped_by_aqm: [get(26), get(27)],
            dropped_bytes: [get(18), get(19)],
            queue_packets: [get(20), get(21)],
            queue_bytes: [get(22), get(23)],
            max_late_ns: get(8),
            refused: get(9),
            no_room: get(10),
            lost: get(11),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    pub(crate) fn publish<P: Port>(&self, emulator: &Emulator<P>) {
        for (n, direction) in emulator.directions().iter().enumerate() {
            let counters = direction.counters();
            self.set(n, counters.packets);
            self.set(2 + n, counters.bytes);
            self.set(4 + n, counters.drops());
            self.set(6 + n, counters.received);
            self.set(12 + n, counters.dropped_by_pattern);
            self.set(14 + n, counters.dropped_by_loss);
            self.set(16 + n, counters.queue_full);
            self.set(18 + n, counters.dropped_bytes);
            self.set(24 + n, counters.too_long);
            self.set(26 + n, counters.dropped_by_aqm);
        }
        self.set(8, emulator.lateness().max_ns);
        self.set(9, emulator.lateness().refused);
        self.set(10, emulator.incidents().no_room);
    }

    pub(crate) fn publish_queues<P: Port>(&self, emulator: &mut Emulator<P>, now: Instant) {
        for (n, direction) in emulator.directions_mut().iter_mut().enumerate() {
            let (packets, bytes) = direction.queued(now);
            self.set(20 + n, packets);
            self.set(22 + n, bytes);
        }
    }

    pub(crate) fn publish_lost(&self, lost: [Lost; 2]) {
        self.set(11, lost.iter().map(|l| l.sent + l.received).sum());
    }

    /// One packet more came out of direction 0.
    pub(crate) fn count_received(&self) {
        self.values[6].fetch_add(1, Ordering::Relaxed);
    }

    fn set(&self, place: usize, value: u64) {
        self.values[place].store(value, Ordering::Relaxed);
    }
}
