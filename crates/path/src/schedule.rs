//! Rate and delay, and their changes in the course of a run.

use rexmit_units::{Duration, Instant, Rate};

use crate::spec::{Change, DirectionSpec};

/// One setting over time: a change at an instant is known beforehand, one at a packet when it enters.
pub(crate) struct Setting<T> {
    /// The value from each instant on, in order.
    by_time: Vec<(Instant, T)>,
    /// The value from each packet on, in order.
    by_packet: Vec<(u64, T)>,
    /// The value at the start or by the last packet reached, and since when.
    present: (Instant, T),
    /// How many of `by_packet` have been reached.
    reached: usize,
}

impl<T: Copy> Setting<T> {
    fn new(start: T, changes: &[Change], value: impl Fn(&Change) -> Option<T>) -> Self {
        let mut by_time: Vec<_> =
            changes.iter().filter_map(|c| Some((Instant::ZERO + c.at?, value(c)?))).collect();
        by_time.sort_by_key(|c| c.0);
        let mut by_packet: Vec<_> = changes.iter().filter_map(|c| Some((c.packet?, value(c)?))).collect();
        by_packet.sort_by_key(|c| c.0);
        Self { by_time, by_packet, present: (Instant::ZERO, start), reached: 0 }
    }

    /// Takes note that packet `position` enters at `now`.
    fn enter(&mut self, now: Instant, position: u64) {
        while let Some(&(packet, value)) = self.by_packet.get(self.reached) {
            if packet > position {
                break;
            }
            self.present = (now, value);
            self.reached += 1;
        }
    }

    /// The value for the packet that entered last, where it matters at `at`.
    fn at(&self, at: Instant) -> T {
        let after = self.by_time.partition_point(|c| c.0 <= at);
        match after.checked_sub(1).map(|i| self.by_time[i]) {
            // Of two changes the later holds; at the same instant, the packet's.
            Some((since, value)) if since > self.present.0 || self.reached == 0 => value,
            _ => self.present.1,
        }
    }
}

/// Rate and delay of a direction with their changes.
pub(crate) struct Schedule {
    rate: Setting<Option<Rate>>,
    delay: Setting<Duration>,
}

impl Schedule {
    /// `None` where nothing changes.
    pub fn new(spec: &DirectionSpec) -> Option<Self> {
        let changes = &spec.impairments.changes;
        (!changes.is_empty()).then(|| Self {
            rate: Setting::new(spec.rate, changes, |c| c.rate.map(Some)),
            delay: Setting::new(spec.delay, changes, |c| c.delay),
        })
    }

    /// Takes note that packet `position` enters at `now`.
    pub fn enter(&mut self, now: Instant, position: u64) {
        self.rate.enter(now, position);
        self.delay.enter(now, position);
    }

    /// The rate for the packet that entered last, where its sending starts at `at`.
    pub fn rate(&self, at: Instant) -> Option<Rate> {
        self.rate.at(at)
    }

    /// The delay for the packet that entered last, where its sending ends at `at`.
    pub fn delay(&self, at: Instant) -> Duration {
        self.delay.at(at)
    }
}
