//! Rows as columns, for other languages and for files.
//!
//! Each column is written in one place, with its name, its meaning and how it comes from a row; its type follows
//! from the value. Rows are taken in blocks that stay in a near cache, so that many columns cost little more than
//! few, and a value is written without memory of its own.

mod cell;
mod connections;
mod pair;
mod sctp;
mod tcp;

use crate::pair::PairRows;
use crate::rows::Rows;

pub use cell::{Cell, Named, Type};
pub use connections::Tally;

/// A table, or a part of one.
#[derive(Clone, Debug)]
pub struct Table {
    /// Such as `connections`.
    pub name: &'static str,
    /// Its columns, all of the same number of rows.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// In snake case; nanoseconds end in `_ns`.
    pub name: String,
    /// What it means, in one line, with its unit.
    pub meaning: &'static str,
    /// What its values are.
    pub kind: Type,
    /// The values in the form that `kind` says, little-endian.
    pub bytes: Vec<u8>,
    /// Number of values.
    pub len: usize,
}

impl Column {
    /// The values as their type says: of a column of texts a JSON list, `null` where none has one.
    pub fn into_bytes(mut self) -> Vec<u8> {
        if self.kind == Type::Text {
            if !self.bytes.contains(&b'"') {
                return b"null".to_vec();
            }
            self.bytes.push(b']');
        }
        self.bytes
    }
}

/// Turns rows into tables; remembers what a connection's row has to say of rows that came before it.
#[derive(Debug, Default)]
pub struct Tables {
    tally: Tally,
}

impl Tables {
    /// No rows so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows as tables; a table without rows has its columns all the same.
    pub fn take(&mut self, rows: &Rows) -> Vec<Table> {
        self.tally.count(&rows.retransmissions);
        let connections = self.tally.join(&rows.connections);
        vec![
            table("connections", &connections, connections::columns),
            table("segments", &rows.segments, tcp::segments),
            table("sacks", &rows.sacks, tcp::sacks),
            table("retransmissions", &rows.retransmissions, tcp::retransmissions),
            table("rtt", &rows.rtt, tcp::rtt),
            table("loss_events", &rows.loss_events, tcp::loss_events),
            table("associations", &rows.sctp.associations, sctp::associations),
            table("paths", &rows.sctp.paths, sctp::paths),
            table("streams", &rows.sctp.streams, sctp::streams),
            table("chunks", &rows.sctp.chunks, sctp::chunks),
            table("sctp_sacks", &rows.sctp.sacks, sctp::sacks),
            table("sctp_retransmissions", &rows.sctp.retransmissions, sctp::retransmissions),
            table("sctp_controls", &rows.sctp.controls, sctp::controls),
            table("sctp_rtt", &rows.sctp.rtt, sctp::rtt),
        ]
    }
}

/// What two captures of the same flows give, as tables.
pub fn pair_tables(rows: &PairRows) -> Vec<Table> {
    vec![
        table("pairs", &rows.summaries, pair::pairs),
        table("pair_retransmissions", &rows.retransmissions, pair::retransmissions),
        table("crossings", &rows.crossings, pair::crossings),
    ]
}

/// Rows of one block: few enough to stay in a near cache while every column takes its part of them.
const BLOCK: usize = 128;

/// Makes a table of rows, whose columns `define` adds.
fn table<R>(name: &'static str, rows: &[R], define: impl Fn(&mut Block<'_, R>)) -> Table {
    let mut columns = Vec::new();
    if rows.is_empty() {
        define(&mut Block { rows, columns: &mut columns, at: 0, capacity: 0 });
    }
    for block in rows.chunks(BLOCK) {
        define(&mut Block { rows: block, columns: &mut columns, at: 0, capacity: rows.len() });
    }
    Table { name, columns }
}

/// A few rows, and the columns that take them one after another.
struct Block<'a, R> {
    rows: &'a [R],
    columns: &'a mut Vec<Column>,
    at: usize,
    capacity: usize,
}

impl<'a, R> Block<'a, R> {
    /// The next column.
    fn add<C: Cell>(&mut self, name: &str, meaning: &'static str, get: impl Fn(&'a R) -> C) {
        self.add_to("", name, meaning, get);
    }

    /// The next column, whose name begins with `prefix`.
    fn add_to<C: Cell>(&mut self, prefix: &str, name: &str, meaning: &'static str, get: impl Fn(&'a R) -> C) {
        if self.at == self.columns.len() {
            let bytes = Vec::with_capacity(self.capacity * C::SIZE);
            let name = format!("{prefix}{name}");
            self.columns.push(Column { name, meaning, kind: C::TYPE, bytes, len: 0 });
        }
        let column = &mut self.columns[self.at];
        for row in self.rows {
            get(row).put(&mut column.bytes, column.len);
            column.len += 1;
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests;
