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
    rate: Option<Rate>,
    delay: Duration,
    /// Absent where nothing changes.
    changing: Option<Box<Changing>>,
}

struct Changing {
    rate: Setting<Option<Rate>>,
    delay: Setting<Duration>,
}

impl Schedule {
    pub fn new(spec: &DirectionSpec) -> Self {
        let changes = &spec.impairments.changes;
        let changing = (!changes.is_empty()).then(|| {
            Box::new(Changing {
                rate: Setting::new(spec.rate, changes, |c| c.rate.map(Some)),
                delay: Setting::new(spec.delay, changes, |c| c.delay),
            })
        });
        Self { rate: spec.rate, delay: spec.delay, changing }
    }

    /// True where nothing changes.
    pub fn is_fixed(&self) -> bool {
        self.changing.is_none()
    }

    /// Takes note that the packet that enters at `now` brings a new rate or delay.
    pub fn change(&mut self, now: Instant, rate: Option<Rate>, delay: Option<Duration>) {
        let Some(changing) = &mut self.changing else { return };
        if rate.is_some() {
            changing.rate.by_packet = Some((now, rate));
        }
        if let Some(delay) = delay {
            changing.delay.by_packet = Some((now, delay));
        }
    }

    /// The rate for the packet that entered last, where its sending starts at the instant that `at` gives.
    #[inline]
    pub fn rate(&self, at: impl FnOnce() -> Instant) -> Option<Rate> {
        self.changing.as_ref().map_or(self.rate, |changing| changing.rate.at(at()))
    }

    /// The delay for the packet that entered last, where its sending ends at `at`.
    #[inline]
    pub fn delay(&self, at: Instant) -> Duration {
        self.changing.as_ref().map_or(self.delay, |changing| changing.delay.at(at))
    }
}
