//! Tables, and the one description of each column: its name, type, unit, meaning, and what null stands for.
//!
//! Whoever has rows says in one place how they become columns: [`table`] with [`Block::add`], or [`row!`], which makes
//! the row's type from the description of its columns. Python takes from it the Arrow schema, the pages of reference,
//! the metadata of files and the names that no factor may have.
//!
//! Rows are taken in blocks that stay in a near cache, so that many columns cost little more than few, and a value is
//! written without memory of its own.
//!
//! Not here: what any table holds, and files.

mod about;
mod cell;
mod row;

pub use about::{About, Unit, bit_s, bytes, ms, ns, packets, plain, share};
pub use cell::{Cell, Joined, Named, Type};
pub use row::TableRow;

use serde_json::{Value, json};

/// A table, or a part of one.
#[derive(Clone, Debug)]
pub struct Table {
    /// Such as `connections`.
    pub name: &'static str,
    /// Its columns, all of the same number of rows.
    pub columns: Vec<Column>,
}

/// A column of a table: its description and its values.
#[derive(Clone, Debug)]
pub struct Column {
    /// In snake case; a unit of time or rate is its ending, such as `_ns`.
    pub name: String,
    /// What it means, in which unit, and what null stands for.
    pub about: About,
    /// What its values are.
    pub kind: Type,
    /// Whether some may be null.
    pub nullable: bool,
    /// Number of values.
    pub len: usize,
    bytes: Vec<u8>,
}

impl Table {
    /// The description of every column, as JSON: `name`, `type`, `unit`, `meaning` and `null`, what null stands for.
    ///
    /// `unit` is null where there is none, and `null` is null where every value is known.
    pub fn description(&self) -> Value {
        self.columns.iter().map(Column::description).collect::<Vec<_>>().into()
    }
}

impl Column {
    /// The values in the form that `kind` says, little-endian; of a column of texts a JSON list, `null` where none has
    /// one.
    pub fn into_bytes(mut self) -> Vec<u8> {
        if self.kind == Type::Text {
            if !self.bytes.contains(&b'"') {
                return b"null".to_vec();
            }
            self.bytes.push(b']');
        }
        self.bytes
    }

    /// The values as JSON, null where there is none.
    pub fn values(&self) -> Vec<Value> {
        self.kind.values(&self.bytes, self.len)
    }

    fn description(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind.name(),
            "unit": self.about.unit.map(Unit::name),
            "meaning": self.about.meaning,
            "null": self.nullable.then_some(self.about.null),
        })
    }
}

/// Rows of one block: few enough to stay in a near cache while every column takes its part of them.
const BLOCK: usize = 128;

/// Makes a table of rows, whose columns `define` adds. Without rows it has its columns all the same.
pub fn table<R>(name: &'static str, rows: &[R], define: impl Fn(&mut Block<'_, R>)) -> Table {
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
pub struct Block<'a, R> {
    rows: &'a [R],
    columns: &'a mut Vec<Column>,
    at: usize,
    capacity: usize,
}

impl<'a, R> Block<'a, R> {
    /// The next column.
    pub fn add<C: Cell>(&mut self, name: &str, about: impl Into<About>, get: impl Fn(&'a R) -> C) {
        self.add_to("", name, about, get);
    }

    /// The next column, whose name begins with `prefix`.
    pub fn add_to<C: Cell>(
        &mut self,
        prefix: &str,
        name: &str,
        about: impl Into<About>,
        get: impl Fn(&'a R) -> C,
    ) {
        let column = self.next::<C>(prefix, name, about);
        for row in column.0 {
            get(row).put(&mut column.1.bytes, column.1.len);
            column.1.len += 1;
        }
    }

    /// The next column, whose values rows hold as they are.
    pub fn add_field<C: Cell + 'a>(
        &mut self,
        name: &str,
        about: impl Into<About>,
        get: impl Fn(&'a R) -> &'a C,
    ) {
        let column = self.next::<C>("", name, about);
        for row in column.0 {
            get(row).put(&mut column.1.bytes, column.1.len);
            column.1.len += 1;
        }
    }

    fn next<C: Cell>(&mut self, prefix: &str, name: &str, about: impl Into<About>) -> (&'a [R], &mut Column) {
        if self.at == self.columns.len() {
            self.columns.push(Column {
                name: format!("{prefix}{name}"),
                about: about.into(),
                kind: C::TYPE,
                nullable: C::NULLABLE,
                len: 0,
                bytes: Vec::with_capacity(self.capacity * C::SIZE),
            });
        }
        self.at += 1;
        (self.rows, &mut self.columns[self.at - 1])
    }
}

#[cfg(test)]
mod tests;
