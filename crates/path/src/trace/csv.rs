//! Traces as a CSV: a header that names the columns, and a row for each moment at which something changes.
//!
//! Columns are `time` and any of `rate`, `delay` and `loss`, in any order. A header may say the unit of a column, as
//! `rate (Mbit/s)`; otherwise each cell has its own, as in a scenario. A cell may be empty where its column stays as it
//! is. Lines that begin with `#` are comments.

use rexmit_units::{Duration, LineRate, Probability};

use super::lines::{Lines, shown};
use super::mahimahi::is_time;
use super::{About, Fault, Span, TraceFile, TraceFormat};

/// One row. What does not change there is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub time: Duration,
    pub rate: Option<LineRate>,
    pub delay: Option<Duration>,
    pub loss: Option<Probability>,
}

/// The rows of a trace, one after another.
pub(super) struct Rows {
    lines: Lines,
    /// The columns, once the header has been read.
    header: Vec<(Quantity, Option<&'static str>)>,
    /// A cell with its column's unit, kept for its memory alone: a trace that repeats is read very often.
    cell: String,
}

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
}

impl Quantity {
    fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Delay => "delay",
            Self::Loss => "loss",
        }
    }

    fn units(self) -> &'static [&'static str] {
        match self {
            Self::Time | Self::Delay => &["ns", "us", "ms", "s", "min", "h"],
            Self::Rate => &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"],
            Self::Loss => &["%"],
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Time => "time (s)",
            Self::Rate => "rate (Mbit/s)",
            Self::Delay => "delay (ms)",
            Self::Loss => "loss (%)",
        }
    }
}

const ALL: [Quantity; 4] = [Quantity::Time, Quantity::Rate, Quantity::Delay, Quantity::Loss];

impl Rows {
    pub fn new(file: &TraceFile) -> Self {
        Self::of(file.lines())
    }

    fn of(lines: Lines) -> Self {
        Self { lines, header: Vec::new(), cell: String::new() }
    }

    /// Begins at the first row again.
    pub fn rewind(&mut self) {
        self.lines.rewind();
    }

    /// The next row; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Row>, Fault> {
        while let Some(line) = self.lines.next()? {
            if line.first() == Some(&b'#') {
                continue;
            }
            let at_header = self.header.is_empty();
            let read = std::str::from_utf8(line)
                .map_err(|_| format!("{} is not text: write a row such as 0.5,10", shown(line)))
                .and_then(|text| {
                    if at_header {
                        self.header = header_of(text)?;
                        Ok(None)
                    } else {
                        row_of(text, &self.header, &mut self.cell).map(Some)
                    }
                });
            let row = read.map_err(|what| Fault::at(self.lines.number(), what))?;
            if at_header {
                self.lines.mark();
            }
            if let Some(row) = row {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn has(&self, quantity: Quantity) -> bool {
        self.header.iter().any(|column| column.0 == quantity)
    }
}

/// Reads a trace whole.
pub(super) fn survey(lines: Lines) -> Result<About, Fault> {
    let mut rows = Rows::of(lines);
    let mut times: Option<(Duration, Duration)> = None;
    let mut count = 0;
    let (mut rate, mut delay, mut loss) = (None, None, None);
    let mut most_in_round = None;
    while let Some(row) = rows.next()? {
        let number = rows.lines.number();
        if let Some((_, last)) = times {
            let what = match row.time.cmp(&last) {
                std::cmp::Ordering::Less => Some("times must not go back: put the rows in order"),
                std::cmp::Ordering::Equal => Some("each moment has one row: leave one out"),
                std::cmp::Ordering::Greater => None,
            };
            if let Some(what) = what {
                return Err(Fault::at(
                    number,
                    format!("{}, after {last} in the row before: {what}", row.time),
                ));
            }
        }
        times = Some((times.map_or(row.time, |times| times.0), row.time));
        count += 1;
        most_in_round = rate.map(|rate: Span| rate.most);
        widen(&mut rate, row.rate.map(LineRate::bits_per_second));
        widen(&mut delay, row.delay.map(Duration::as_nanos));
        widen(&mut loss, row.loss.map(Probability::trillionths));
    }
    let Some((first, last)) = times else {
        let what = if rows.header.is_empty() {
            "has comments only: write a header such as time (s),rate (Mbit/s) and rows below it"
        } else {
            "has a header and no row: write at least one, such as 0,10"
        };
        return Err(Fault::whole(what));
    };
    for (quantity, span) in [(Quantity::Rate, rate), (Quantity::Delay, delay), (Quantity::Loss, loss)] {
        if rows.has(quantity) && span.is_none() {
            let what = format!(
                "the column {} has no value in any row: write one, or leave the column out",
                quantity.name()
            );
            return Err(Fault::whole(what));
        }
    }
    if rate.is_some_and(|rate: Span| rate.most == 0) {
        let what =
            "the rate is 0 in every row, so that no packet ever passes: write a rate above 0 in one of them";
        return Err(Fault::whole(what));
    }
    Ok(About { format: TraceFormat::Csv, lines: count, first, last, rate, most_in_round, delay, loss })
}

fn widen(span: &mut Option<Span>, value: Option<u64>) {
    let Some(value) = value else { return };
    let old = span.unwrap_or(Span { least: value, most: value });
    *span = Some(Span { least: old.least.min(value), most: old.most.max(value) });
}

/// The columns that a header names.
fn header_of(line: &str) -> Result<Vec<(Quantity, Option<&'static str>)>, String> {
    check_begins(line)?;
    let mut columns: Vec<(Quantity, Option<&'static str>)> = Vec::new();
    for cell in line.split(',') {
        let column = column_of(cell.trim())?;
        if columns.iter().any(|other| other.0 == column.0) {
            return Err(format!("the column {} appears twice: leave one out", column.0.name()));
        }
        columns.push(column);
    }
    if !columns.iter().any(|column| column.0 == Quantity::Time) {
        return Err("no column is the time: write one, such as time (s)".to_owned());
    }
    if columns.len() == 1 {
        return Err("the time is the only column: write another, such as rate (Mbit/s)".to_owned());
    }
    Ok(columns)
}

/// A first line with which no trace begins, of either kind.
fn check_begins(line: &str) -> Result<(), String> {
    let shown = shown(line.as_bytes());
    if is_time(line.as_bytes()) {
        return Err(format!(
            "{shown} is a time as mahimahi writes it, and mahimahi's lines have no comments before them: remove those, or \
             write a header such as time (s),rate (Mbit/s)"
        ));
    }
    let number = line.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    if number || !line.contains(',') && column_of(line.trim()).is_err() {
        return Err(format!(
            "{shown} begins no trace: write a time in whole ms, such as 12, as in all lines of mahimahi's traces, or the \
             header of a CSV, such as time (s),rate (Mbit/s)"
        ));
    }
    Ok(())
}

/// `rate`, `rate (Mbit/s)` or `rate [Mbit/s]`.
fn column_of(cell: &str) -> Result<(Quantity, Option<&'static str>), String> {
    let (name, unit) = match cell.split_once(['(', '[']) {
        Some((name, unit)) => (name.trim(), Some(unit.trim_end_matches([')', ']']).trim())),
        None => (cell, None),
    };
    let Some(quantity) = ALL.into_iter().find(|quantity| quantity.name().eq_ignore_ascii_case(name)) else {
        return Err(format!(
            "unknown column {}: write time, rate, delay or loss, with the unit in brackets, such as rate (Mbit/s)",
            shown(cell.as_bytes())
        ));
    };
    let Some(unit) = unit else { return Ok((quantity, None)) };
    match quantity.units().iter().find(|known| **known == unit) {
        Some(unit) => Ok((quantity, Some(unit))),
        None => Err(format!(
            "the column {} has the unknown unit {}: write one of {}, such as {}",
            quantity.name(),
            shown(unit.as_bytes()),
            quantity.units().join(", "),
            quantity.example()
        )),
    }
}

fn row_of(
    line: &str,
    header: &[(Quantity, Option<&'static str>)],
    with_unit: &mut String,
) -> Result<Row, String> {
    let mut row = Row::default();
    let mut cells = line.split(',');
    for (quantity, unit) in header {
        let Some(cell) = cells.next().map(str::trim) else {
            let (cells, columns) = (line.split(',').count(), header.len());
            return Err(format!(
                "has {cells} of {columns} cells: write a cell for each column; it may be empty"
            ));
        };
        if cell.is_empty() {
            if *quantity == Quantity::Time {
                return Err("has no time: write one, or remove the line".to_owned());
            }
            continue;
        }
        read_cell(&mut row, *quantity, cell, *unit, with_unit).map_err(|e| {
            let hint = if unit.is_none() && *quantity != Quantity::Loss && is_number(cell) {
                format!(", here or in the header: {}", quantity.example())
            } else {
                String::new()
            };
            format!("{}: {e}{hint}", quantity.name())
        })?;
    }
    if cells.next().is_some() {
        let (cells, columns) = (line.split(',').count(), header.len());
        return Err(format!("has {cells} cells for {columns} columns: leave out what has no column"));
    }
    Ok(row)
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

fn read_cell(
    row: &mut Row,
    quantity: Quantity,
    cell: &str,
    unit: Option<&str>,
    with_unit: &mut String,
) -> Result<(), rexmit_units::UnitError> {
    let text = match unit {
        None => cell,
        Some(unit) => {
            with_unit.clear();
            with_unit.extend([cell, " ", unit]);
            with_unit
        }
    };
    match quantity {
        Quantity::Time => row.time = text.parse()?,
        Quantity::Rate => row.rate = Some(text.parse()?),
        Quantity::Delay => row.delay = Some(text.parse()?),
        Quantity::Loss => row.loss = Some(text.parse()?),
    }
    Ok(())
}
