//! Traces of one kind as lines of the other, a piece at a time.

use std::fmt::Write;

use rexmit_units::{Duration, Instant, LineRate};

use super::csv::Rows;
use super::{OPPORTUNITY, Opportunities, TraceFile};

/// Lines that make a piece.
const PIECE: usize = 4096;

/// Lines of a trace that is made of another.
pub trait Converter: Send {
    /// The next lines; `None` at the end.
    fn piece(&mut self) -> Option<String>;

    /// What the lines cannot say of the trace that they come from; to be asked at the end.
    fn left_out(&self) -> Vec<String>;
}

/// mahimahi's opportunities as rates, each the mean over a span.
pub struct IntoCsv {
    opportunities: Opportunities,
    left: u64,
    bin: u64,
    end: u64,
    /// Number of the next span.
    next: u64,
    over: bool,
    last_rate: u64,
}

impl IntoCsv {
    /// Of a trace of mahimahi's, in spans of `bin`, which is above zero.
    pub fn new(file: &TraceFile, bin: Duration) -> Self {
        Self {
            opportunities: Opportunities::new(file, false),
            left: file.about().lines,
            bin: bin.as_nanos().max(1),
            end: file.about().last.as_nanos(),
            next: 0,
            over: false,
            last_rate: 0,
        }
    }

    /// bit/s in the span that begins at `from`, rounded.
    fn rate_of(&mut self, from: u64) -> u64 {
        let until = from.saturating_add(self.bin).min(self.end);
        let mut count = 0;
        // The one at the end belongs to what lies before it.
        while self.left > 0 && self.opportunities.next().as_nanos().min(self.end - 1) < until {
            self.opportunities.pass();
            self.left -= 1;
            count += 1;
        }
        let bits = u128::from(OPPORTUNITY) * 8 * count * 1_000_000_000;
        let length = u128::from(until - from);
        ((bits + length / 2) / length) as u64
    }
}

impl Converter for IntoCsv {
    fn piece(&mut self) -> Option<String> {
        if self.over {
            return None;
        }
        let mut text = String::new();
        if self.next == 0 {
            text.push_str("time (ns),rate (bit/s)\n");
        }
        for _ in 0..PIECE {
            let from = self.next.saturating_mul(self.bin);
            if from >= self.end {
                // The end of the round, at which the first row holds again where it repeats.
                let _ = writeln!(text, "{},{}", self.end, self.last_rate);
                self.over = true;
                break;
            }
            let rate = self.rate_of(from);
            if self.next == 0 || rate != self.last_rate {
                let _ = writeln!(text, "{from},{rate}");
            }
            self.last_rate = rate;
            self.next += 1;
        }
        Some(text)
    }

    fn left_out(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Rates as mahimahi's opportunities: one in the first whole millisecond by which its bits have become possible.
pub struct IntoMahimahi {
    file: TraceFile,
    rows: Rows,
    /// What holds, since when (ns).
    held: (LineRate, u64),
    /// Until when (ns); `None` after the last row.
    until: Option<u64>,
    next_rate: Option<LineRate>,
    /// Bits x 10^9 since the last opportunity.
    saved: u128,
    last: u64,
}

/// Bits x 10^9 of an opportunity.
const WHOLE: u128 = OPPORTUNITY as u128 * 8 * 1_000_000_000;

impl IntoMahimahi {
    /// Of a CSV with a column of rates.
    pub fn new(file: &TraceFile) -> Self {
        let rows = Rows::new(file);
        let held = (LineRate::Outage, 0);
        let mut this =
            Self { file: file.clone(), rows, held, until: Some(0), next_rate: None, saved: 0, last: 0 };
        this.go_on();
        this
    }

    /// The next row holds.
    fn go_on(&mut self) {
        let Some(from) = self.until else { return };
        self.held = (self.next_rate.take().unwrap_or(self.held.0), from);
        let row = self.rows.next().unwrap_or_else(|fault| self.file.has_changed(&fault));
        self.until = row.map(|row| row.time.as_nanos());
        self.next_rate = row.and_then(|row| row.rate);
    }

    /// The time of the next opportunity, ms.
    fn next(&mut self) -> Option<u64> {
        loop {
            let until = self.until?;
            let (rate, from) = self.held;
            let rate = u128::from(rate.bits_per_second());
            let most = rate * u128::from(until - from);
            if rate > 0 && self.saved + most >= WHOLE {
                // More than one may be saved within a nanosecond.
                let at = from + WHOLE.saturating_sub(self.saved).div_ceil(rate) as u64;
                self.saved = self.saved + rate * u128::from(at - from) - WHOLE;
                self.held.1 = at;
                return Some(at.div_ceil(1_000_000));
            }
            self.saved += most;
            self.go_on();
        }
    }
}

impl Converter for IntoMahimahi {
    fn piece(&mut self) -> Option<String> {
        let mut text = String::new();
        for _ in 0..PIECE {
            let Some(time) = self.next() else { break };
            let _ = writeln!(text, "{time}");
            self.last = time;
        }
        (!text.is_empty()).then_some(text)
    }

    fn left_out(&self) -> Vec<String> {
        let about = self.file.about();
        let mut all = Vec::new();
        for (column, span) in [("delay", about.delay), ("loss", about.loss)] {
            if span.is_some() {
                all.push(format!("the column {column} is left out: mahimahi's lines say nothing of it"));
            }
        }
        let end = about.last.as_nanos();
        let last = (Instant::ZERO + Duration::from_millis(self.last)).as_nanos();
        if self.last == 0 {
            all.push(
                "nothing passes: the rate is too low for one opportunity, or the trace has one row only"
                    .into(),
            );
        } else if end.saturating_sub(last) > end / 100 {
            let missing = Duration::from_nanos(end - last);
            all.push(format!(
                "the last {missing} are left out: nothing passes in them, and a trace of mahimahi's begins again at its \
                 last opportunity"
            ));
        }
        all
    }
}
