//! Rate and delay, and their changes in the course of a run.

use rexmit_units::{Duration, Instant, LineRate, Rate, Stretch};

use crate::spec::{Change, DirectionSpec};
use crate::trace::{Column, Row, TraceFile, TraceFormat};

/// One setting over time: a change at an instant is known beforehand, one by a packet when it enters.
pub(crate) struct Setting<T> {
    by_time: Timed<T>,
    /// The value at the start.
    start: T,
    /// The value by the last packet that brought a change, and since when.
    by_packet: Option<(Instant, T)>,
}

/// The value from each instant on.
enum Timed<T> {
    /// In order.
    Known(Vec<(Instant, T)>),
    /// As a trace says, which is read meanwhile.
    Read(Box<Column<T>>),
}

impl<T: Copy + PartialEq> Timed<T> {
    /// The value at `at` and since when, `None` before the first; and when it may change.
    fn from(&self, at: Instant) -> (Option<(Instant, T)>, Instant) {
        match self {
            Self::Known(values) => {
                let after = values.partition_point(|c| c.0 <= at);
                let until = values.get(after).map_or(Instant::FAR_FUTURE, |c| c.0);
                (after.checked_sub(1).map(|i| values[i]), until)
            }
            Self::Read(column) => column.from(at),
        }
    }

    /// True if there is a change later than `after` and no later than `upto`. A row of a trace that repeats the value
    /// does not count.
    fn changes_within(&self, after: Instant, upto: Instant) -> bool {
        match self {
            Self::Known(values) => {
                let next = values.get(values.partition_point(|c| c.0 <= after));
                next.is_some_and(|next| next.0 <= upto)
            }
            Self::Read(column) => column.changes_within(after, upto),
        }
    }
}

impl<T: Copy + PartialEq> Setting<T> {
    fn new(start: T, changes: &[Change], value: impl Fn(&Change) -> Option<T>) -> Self {
        let timed = changes.iter().filter_map(|c| Some((Instant::ZERO + c.at?, value(c)?)));
        let mut by_time: Vec<_> = timed.collect();
        by_time.sort_by_key(|c| c.0);
        Self { by_time: Timed::Known(by_time), start, by_packet: None }
    }

    /// As a trace says.
    fn read(start: T, column: Column<T>) -> Self {
        Self { by_time: Timed::Read(Box::new(column)), start, by_packet: None }
    }

    /// The value for the packet that entered last, where it matters at `at`, and when it may change.
    fn from(&self, at: Instant) -> (T, Instant) {
        let (timed, until) = self.by_time.from(at);
        let value = match (timed, self.by_packet) {
            // Of two changes the later holds; at the same instant, the packet's.
            (Some((since, value)), Some((packet, _))) if since > packet => value,
            (_, Some((_, value))) | (Some((_, value)), None) => value,
            (None, None) => self.start,
        };
        (value, until)
    }

    /// True if there is a change later than `after` and no later than `upto`.
    fn changes_within(&self, after: Instant, upto: Instant) -> bool {
        let by_packet = self.by_packet.is_some_and(|(since, _)| after < since && since <= upto);
        by_packet || self.by_time.changes_within(after, upto)
    }
}

/// The rate at which the packet that entered last is sent, over time.
#[derive(Clone, Copy)]
pub(crate) enum Rates<'a> {
    /// Always the same; `None` for no limit.
    Constant(Option<Rate>),
    /// With changes.
    Changing(&'a Setting<Option<LineRate>>),
}

impl Rates<'_> {
    /// The rate at `at`; `None` for no limit.
    pub fn at(&self, at: Instant) -> Option<LineRate> {
        self.from(at).rate
    }

    /// The rate from `at` on, and until when.
    #[inline]
    pub fn from(&self, at: Instant) -> Stretch {
        match self {
            Self::Constant(rate) => Stretch { rate: rate.map(LineRate::Rate), until: Instant::FAR_FUTURE },
            Self::Changing(setting) => {
                let (rate, until) = setting.from(at);
                Stretch { rate, until }
            }
        }
    }

    /// True if the rate is set again later than `after` and no later than `upto`.
    pub fn change_within(&self, after: Instant, upto: Instant) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Changing(setting) => setting.changes_within(after, upto),
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
    rate: Setting<Option<LineRate>>,
    delay: Setting<Duration>,
}

impl Schedule {
    /// Of a direction as `spec` says, which follows `trace`.
    pub fn new(spec: &DirectionSpec, trace: Option<&TraceFile>) -> Self {
        let changes = &spec.impairments.changes;
        let mut changing = Changing {
            rate: Setting::new(spec.rate.map(LineRate::Rate), changes, |c| c.rate.map(Some)),
            delay: Setting::new(spec.delay, changes, |c| c.delay),
        };
        let mut changes = !changes.is_empty();
        let csv = trace.filter(|trace| trace.about().format == TraceFormat::Csv);
        if let (Some(trace), Some(followed)) = (csv, &spec.trace) {
            let repeats = followed.trace.repeats(trace.about().format);
            if trace.about().rate.is_some() {
                let rate = |row: &Row| row.rate.map(Some);
                changing.rate =
                    Setting::read(spec.rate.map(LineRate::Rate), Column::new(trace, repeats, rate));
            }
            if trace.about().delay.is_some() {
                changing.delay = Setting::read(spec.delay, Column::new(trace, repeats, |row| row.delay));
            }
            changes = true;
        }
        let rate = spec.rate.or_else(|| trace.and_then(TraceFile::mean_of_opportunities));
        Self { rate, delay: spec.delay, changing: changes.then(|| Box::new(changing)) }
    }

    /// True where nothing changes.
    pub fn is_fixed(&self) -> bool {
        self.changing.is_none()
    }

    /// Takes note that the packet that enters at `now` brings a new rate or delay.
    pub fn change(&mut self, now: Instant, rate: Option<LineRate>, delay: Option<Duration>) {
        let Some(changing) = &mut self.changing else { return };
        if rate.is_some() {
            changing.rate.by_packet = Some((now, rate));
        }
        if let Some(delay) = delay {
            changing.delay.by_packet = Some((now, delay));
        }
    }

    /// The rate for the packet that entered last, over time.
    #[inline]
    pub fn rates(&self) -> Rates<'_> {
        match &self.changing {
            None => Rates::Constant(self.rate),
            Some(changing) => Rates::Changing(&changing.rate),
        }
    }

    /// The delay for the packet that entered last, where its sending ends at `at`.
    #[inline]
    pub fn delay(&self, at: Instant) -> Duration {
        self.changing.as_ref().map_or(self.delay, |changing| changing.delay.from(at).0)
    }
}
