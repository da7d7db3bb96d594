//! What other threads see of a drive, and how they end it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rexmit_network::two_hosts::{self, DOWN};
use rexmit_network::{ByHost, ByLink, Network};
use rexmit_units::Instant;

use crate::emulator::Emulator;
use crate::port::Port;
use crate::sys::device::Lost;

/// Counters that a drive keeps up to date, and its end. To be shared by reference.
#[derive(Debug)]
pub struct Watch {
    stop: AtomicBool,
    begun: AtomicBool,
    links: ByLink<Shared>,
    max_late_ns: AtomicU64,
    refused: AtomicU64,
    no_room: AtomicU64,
    lost: AtomicU64,
}

/// The counters of a link; see [`Live`].
#[derive(Debug, Default)]
struct Shared {
    packets: AtomicU64,
    bytes: AtomicU64,
    drops: AtomicU64,
    dropped_by_pattern: AtomicU64,
    dropped_by_loss: AtomicU64,
    queue_full: AtomicU64,
    dropped_by_aqm: AtomicU64,
    too_long: AtomicU64,
    dropped_bytes: AtomicU64,
    queue_packets: AtomicU64,
    queue_bytes: AtomicU64,
    received: AtomicU64,
}

impl Default for Watch {
    /// Of a path.
    fn default() -> Self {
        Self::of(&two_hosts::network())
    }
}
/// The counters at one moment, most of them by link.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Live {
    /// Packets offered.
    pub packets: ByLink<u64>,
    /// Bytes of IP packets offered.
    pub bytes: ByLink<u64>,
    /// Packets that the path dropped.
    pub drops: ByLink<u64>,
    /// Packets that a pattern dropped.
    pub dropped_by_pattern: ByLink<u64>,
    /// Packets that random loss dropped.
    pub dropped_by_loss: ByLink<u64>,
    /// Packets that found the queue full.
    pub queue_full: ByLink<u64>,
    /// Packets that the queue's management dropped.
    pub dropped_by_aqm: ByLink<u64>,
    /// Packets that did not fit into the token bucket.
    pub too_long: ByLink<u64>,
    /// Bytes of IP packets that the path dropped.
    pub dropped_bytes: ByLink<u64>,
    /// Packets in the queue, as of the last tenth of a second.
    pub queue_packets: ByLink<u64>,
    /// Bytes in the queue, as of the last tenth of a second.
    pub queue_bytes: ByLink<u64>,
    /// Packets that have come out.
    pub received: ByLink<u64>,
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
    /// Of the links of a network.
    pub fn of(network: &Network) -> Self {
        Self {
            stop: AtomicBool::default(),
            begun: AtomicBool::default(),
            links: network.links().map(|_| Shared::default()).collect(),
            max_late_ns: AtomicU64::default(),
            refused: AtomicU64::default(),
            no_room: AtomicU64::default(),
            lost: AtomicU64::default(),
        }
    }

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
        let get = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let links = |of: fn(&Shared) -> &AtomicU64| self.links.values().map(|link| get(of(link))).collect();
        Live {
            packets: links(|link| &link.packets),
            bytes: links(|link| &link.bytes),
            drops: links(|link| &link.drops),
            dropped_by_pattern: links(|link| &link.dropped_by_pattern),
            dropped_by_loss: links(|link| &link.dropped_by_loss),
            queue_full: links(|link| &link.queue_full),
            dropped_by_aqm: links(|link| &link.dropped_by_aqm),
            too_long: links(|link| &link.too_long),
            dropped_bytes: links(|link| &link.dropped_bytes),
            queue_packets: links(|link| &link.queue_packets),
            queue_bytes: links(|link| &link.queue_bytes),
            received: links(|link| &link.received),
            max_late_ns: get(&self.max_late_ns),
            refused: get(&self.refused),
            no_room: get(&self.no_room),
            lost: get(&self.lost),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    pub(crate) fn publish<P: Port>(&self, emulator: &Emulator<P>) {
        for (shared, direction) in self.links.values().zip(emulator.links().values()) {
            let counters = direction.counters();
            set(&shared.packets, counters.packets);
            set(&shared.bytes, counters.bytes);
            set(&shared.drops, counters.drops());
            set(&shared.received, counters.received);
            set(&shared.dropped_by_pattern, counters.dropped_by_pattern);
            set(&shared.dropped_by_loss, counters.dropped_by_loss);
            set(&shared.queue_full, counters.queue_full);
            set(&shared.dropped_bytes, counters.dropped_bytes);
            set(&shared.too_long, counters.too_long);
            set(&shared.dropped_by_aqm, counters.dropped_by_aqm);
        }
        set(&self.max_late_ns, emulator.lateness().max_ns);
        set(&self.refused, emulator.lateness().refused);
        set(&self.no_room, emulator.incidents().no_room);
    }

    pub(crate) fn publish_queues<P: Port>(&self, emulator: &mut Emulator<P>, now: Instant) {
        for (shared, direction) in self.links.values().zip(emulator.links_mut().values_mut()) {
            let (packets, bytes) = direction.queued(now);
            set(&shared.queue_packets, packets);
            set(&shared.queue_bytes, bytes);
        }
    }

    pub(crate) fn publish_lost(&self, lost: &ByHost<Lost>) {
        set(&self.lost, lost.values().map(|l| l.sent + l.received).sum());
    }

    /// One packet more came out on the way down.
    pub(crate) fn count_received(&self) {
        self.links[DOWN].received.fetch_add(1, Ordering::Relaxed);
    }
}

fn set(place: &AtomicU64, value: u64) {
    place.store(value, Ordering::Relaxed);
}
