//! What runs on a real kernel tell besides what a model's do. It is described everywhere: their results are read where
//! no kernel runs.

use rexmit_tables::{Block, Table, TableRow, row, table};
use serde::{Deserialize, Serialize};

row! {
    /// How late the emulator of a run on a real kernel was: columns after those of its row.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct LateRow {
        late_max_ns: u64 =
            ns("how late a real kernel's emulator was at most when it handed a packet over"),
        late_p99_ns: u64 = ns("how late it was at the 99th percentile"),
        late: bool =
            plain("true where that is more than 1 % of the round trip: do not trust the run's times"),
    }
}

/// The columns of [`LateRow`] as a table.
pub fn late_table(rows: &[LateRow]) -> Table {
    table("late", rows, |t: &mut Block<'_, LateRow>| LateRow::columns(t, |row| row))
}
