//! Rate and delay, and their changes in the course of a run.

use rexmit_units::{Duration, Instant, Rate};

use crate::spec::{Change, DirectionSpec};

/// One setting over time: a change at an instant is known beforehand, one by a packet when it enters.
struct Setting<T> {
    /// The value from each instant on, in order.
    by_time: Vec<(Instant, T)>,
    /// The value at the start.
    start: T,
    /// The value by the last packet that brought a change, and since when.
    by_packet: Option<(Instant, T)>,
}

impl<T: Copy> Setting<T> {
    fn new(start: T, changes: &[Change], value: impl Fn(&Change) -> Option<T>) -> Self {
        let timed = changes.iter().filter_map(|c| Some((Instant::ZERO + c.at?, value(c)?)));
        let mut by_time: Vec<_> = timed.collect();
        by_time.sort_by_key(|c| c.0);
        Self { by_time, start, by_packet: None }
    }

    /// The value for the packet that entered last, where it matters at `at`.
    fn at(&self, at: Instant) -> T {
        let after = self.by_time.partition_point(|c| c.0 <= at);
        let timed = after.checked_sub(1).map(|i| self.by_time[i]);
        match (timed, self.by_packet) {
            // Of two changes the later holds; at the same instant, the packet's.
            (Some((since, value)), Some((packet, _))) if since > packet => value,
            (_, Some((_, value))) | (Some((_, value)), None) => value,
            (None, None) => self.start,
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

    /// Takes note that the packet that enters at `now` brings a new rate or delay.
    pub fn change(&mut self, now: Instant, rate: Option<Rate>, delay: Option<Duration>) {
        if rate.is_some() {
            self.rate.by_packet = Some((now, rate));
        }
        if let Some(delay) = delay {
            self.delay.by_packet = Some((now, delay));
        }
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
