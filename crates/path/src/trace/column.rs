//! One column of a CSV over time: what it says at an instant, and until when.

use std::cell::RefCell;
use std::collections::VecDeque;

use rexmit_units::Instant;

use super::csv::{Row, Rows};
use super::{Fault, TraceFile};

/// Values that a reader keeps. Whoever asks for an instant before them makes it begin again.
const MOST_KEPT: usize = 1024;

/// A column, of which a part around the instants that were asked for last is known.
pub(crate) struct Column<T> {
    file: TraceFile,
    pick: fn(&Row) -> Option<T>,
    repeats: bool,
    window: RefCell<Window<T>>,
}

struct Window<T> {
    rows: Rows,
    /// When the present round has begun.
    base: Instant,
    /// Values in order, each from its instant on.
    kept: VecDeque<(Instant, T)>,
    /// Some before the first that is kept have been forgotten, or passed over.
    cut: bool,
    /// There is none after the last.
    ended: bool,
}

impl<T: Copy + PartialEq> Column<T> {
    /// The column that `pick` takes from a row; `repeats` says whether it begins again at the time of the last row, at
    /// which the first one holds then.
    pub fn new(file: &TraceFile, repeats: bool, pick: fn(&Row) -> Option<T>) -> Self {
        let rows = Rows::new(file);
        let window = Window { rows, base: Instant::ZERO, kept: VecDeque::new(), cut: false, ended: false };
        Self { file: file.clone(), pick, repeats, window: RefCell::new(window) }
    }

    /// The value at `at` and since when, `None` before the first; and when there may be another one.
    pub fn from(&self, at: Instant) -> (Option<(Instant, T)>, Instant) {
        let mut window = self.window.borrow_mut();
        window.seek(at, self);
        while !window.ended && window.kept.back().is_none_or(|last| last.0 <= at) {
            window.read(self);
        }
        let after = window.kept.partition_point(|value| value.0 <= at);
        let until = window.kept.get(after).map_or(Instant::FAR_FUTURE, |value| value.0);
        (after.checked_sub(1).map(|i| window.kept[i]), until)
    }

    /// True if the value changes later than `after` and no later than `upto`.
    pub fn changes_within(&self, after: Instant, upto: Instant) -> bool {
        let (value, mut until) = self.from(after);
        let value = value.map(|value| value.1);
        let upto = upto.min(self.said_by(after));
        while until <= upto && until < Instant::FAR_FUTURE {
            let (next, after_that) = self.from(until);
            if next.map(|next| next.1) != value {
                return true;
            }
            until = after_that;
        }
        false
    }

    /// When all that it ever says later than `after` has been said: from its second round on, the rounds are alike.
    fn said_by(&self, after: Instant) -> Instant {
        let round = self.file.about().last;
        if self.repeats { after.max(Instant::ZERO + round) + round } else { Instant::FAR_FUTURE }
    }
}

impl<T: Copy> Window<T> {
    /// Begins again where `at` lies before what is kept, and passes over rounds that lie before it.
    fn seek(&mut self, at: Instant, column: &Column<T>) {
        let before = self.cut && self.kept.front().is_none_or(|first| at < first.0);
        let round = column.file.about().last.as_nanos();
        let base = if column.repeats && round > 0 {
            // The round before as well: its last value may still hold.
            (at.as_nanos() / round).saturating_sub(1) * round
        } else {
            0
        };
        let base = Instant::from_nanos(base);
        if before || base > self.base {
            self.rows.rewind();
            self.kept.clear();
            (self.base, self.cut, self.ended) = (base, base > Instant::ZERO, false);
        }
    }

    fn read(&mut self, column: &Column<T>) {
        match self.rows.next() {
            Ok(Some(row)) => {
                let Some(value) = (column.pick)(&row) else { return };
                self.kept.push_back((self.base + row.time, value));
                if self.kept.len() > MOST_KEPT {
                    self.kept.pop_front();
                    self.cut = true;
                }
            }
            Ok(None) if column.repeats => {
                let base = self.base + column.file.about().last;
                self.ended = base == Instant::FAR_FUTURE || base == self.base;
                self.base = base;
                self.rows.rewind();
            }
            Ok(None) => self.ended = true,
            Err(fault) => column.changed(&fault),
        }
    }
}

impl<T> Column<T> {
    fn changed(&self, fault: &Fault) -> ! {
        self.file.has_changed(fault)
    }
}
