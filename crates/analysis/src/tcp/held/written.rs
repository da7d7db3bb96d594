//! What is written of what held a side back: its times, and rows where they are asked for.

use crate::core::held::HeldTimes;
use crate::rows::HeldRow;

/// What was written so far.
#[derive(Debug)]
pub(super) struct Written {
    /// What goes on as long as it says the same.
    row: Option<HeldRow>,
    pub times: HeldTimes,
    /// Rows that are complete, where they are asked for.
    rows: Option<Vec<HeldRow>>,
}

impl Written {
    /// Nothing. `keep` if rows are asked for.
    pub(super) fn new(keep: bool) -> Self {
        Self { row: None, times: HeldTimes::default(), rows: keep.then(Vec::new) }
    }

    /// Writes a row, as part of the one before where it says the same.
    pub(super) fn write(&mut self, row: HeldRow) {
        let nanos = row.end.saturating_since(row.start).as_nanos();
        self.times.add(row.by, row.confidence, nanos);
        match &mut self.row {
            Some(before) if (before.by, before.confidence) == (row.by, row.confidence) || nanos == 0 => {
                before.end = row.end;
                before.bytes += row.bytes;
                before.last_number = row.last_number;
            }
            _ if nanos == 0 => {}
            _ => {
                if let (Some(done), Some(rows)) = (self.row.replace(row), &mut self.rows) {
                    rows.push(done);
                }
            }
        }
    }

    /// Nothing follows.
    pub(super) fn finish(&mut self) {
        if let (Some(row), Some(rows)) = (self.row.take(), &mut self.rows) {
            rows.push(row);
        }
    }

    /// Takes the rows that are complete.
    pub(super) fn take(&mut self) -> impl Iterator<Item = HeldRow> {
        self.rows.iter_mut().flat_map(|rows| rows.drain(..))
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.capacity() * size_of::<HeldRow>())
    }
}
