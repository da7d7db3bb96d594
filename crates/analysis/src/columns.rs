//! Connections as plain columns, for tables and other languages.

use rexmit_units::Instant;
use serde_json::json;

use crate::tsg_rows::{Connection, Side};

/// A named column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Such as `server.segments.time_ns`.
    pub name: String,
    /// One value for each row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Small numbers, flags and truth values.
    U8(Vec<u8>),
    /// Counts.
    U32(Vec<u32>),
    /// Times in nanoseconds.
    U64(Vec<u64>),
    /// Relative sequence numbers.
    I64(Vec<i64>),
    /// Text where there is any.
    Text(Vec<Option<String>>),
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// True for no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type in the notation of NumPy, or `utf8-json` for a JSON list of texts and nulls.
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::U8(_) => "u1",
            Self::U32(_) => "<u4",
            Self::U64(_) => "<u8",
            Self::I64(_) => "<i8",
            Self::Text(_) => "utf8-json",
        }
    }

    /// The values as little-endian bytes of [`dtype`](Self::dtype).
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::U8(v) => v,
            Self::U32(v) => v.into_iter().flat_map(u32::to_le_bytes).collect(),
            Self::U64(v) => v.into_iter().flat_map(u64::to_le_bytes).collect(),
            Self::I64(v) => v.into_iter().flat_map(i64::to_le_bytes).collect(),
            Self::Text(v) => json!(v).to_string().into_bytes(),
        }
    }
}

impl Connection {
    /// What is not in the columns, as a JSON object: `interface`, `interface_name`, `opened`, `start_ns`,
    /// `end_ns`, `packets`, and for `client` and `server` each `address`, `mss`, `window_shift`, `sack_permitted`
    /// and `bytes`.
    pub fn meta_json(&self) -> String {
        json!({
            "interface": self.interface,
            "interface_name": self.interface_name,
            "opened": self.opened,
            "start_ns": self.start.as_nanos(),
            "end_ns": self.end.as_nanos(),
            "packets": self.packets,
            "client": meta(&self.client),
            "server": meta(&self.server),
        })
        .to_string()
    }

    /// The rows of both sides as columns named `client.` or `server.`, then `segments.`, `acks.` or `sacks.`, then
    /// the field; times end in `_ns`.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        for (name, side) in [("client", &self.client), ("server", &self.server)] {
            for (field, values) in side_columns(side) {
                columns.push(Column { name: format!("{name}.{field}"), values });
            }
        }
        columns
    }
}

fn meta(side: &Side) -> serde_json::Value {
    json!({
        "address": side.address.to_string(),
        "mss": side.mss,
        "window_shift": side.window_shift,
        "sack_permitted": side.sack_permitted,
        "bytes": side.bytes,
    })
}

fn side_columns(side: &Side) -> Vec<(&'static str, Values)> {
    let (segments, acks, sacks) = (&side.segments, &side.acks, &side.sacks);
    vec![
        ("segments.time_ns", times(segments, |row| row.time)),
        ("segments.seq", Values::I64(segments.iter().map(|row| row.seq).collect())),
        ("segments.end", Values::I64(segments.iter().map(|row| row.end).collect())),
        ("segments.len", Values::U32(segments.iter().map(|row| row.len).collect())),
        ("segments.flags", Values::U8(segments.iter().map(|row| row.flags.0).collect())),
        ("segments.transmission", Values::U32(segments.iter().map(|row| row.transmission).collect())),
        ("segments.late", Values::U8(segments.iter().map(|row| u8::from(row.late)).collect())),
        ("segments.damaged", Values::U8(segments.iter().map(|row| u8::from(row.damaged)).collect())),
        ("segments.note", texts(segments, |row| row.note.as_deref())),
        ("acks.time_ns", times(acks, |row| row.time)),
        ("acks.ack", Values::I64(acks.iter().map(|row| row.ack).collect())),
        ("acks.window_edge", Values::I64(acks.iter().map(|row| row.window_edge).collect())),
        ("acks.len", Values::U32(acks.iter().map(|row| row.len).collect())),
        ("acks.duplicate", Values::U32(acks.iter().map(|row| row.duplicate).collect())),
        ("acks.note", texts(acks, |row| row.note.as_deref())),
        ("sacks.time_ns", times(sacks, |row| row.time)),
        ("sacks.left", Values::I64(sacks.iter().map(|row| row.left).collect())),
        ("sacks.right", Values::I64(sacks.iter().map(|row| row.right).collect())),
        ("sacks.ack_row", Values::U32(sacks.iter().map(|row| row.ack_row).collect())),
        ("sacks.duplicate", Values::U8(sacks.iter().map(|row| u8::from(row.duplicate)).collect())),
    ]
}

fn times<Row>(rows: &[Row], time: impl Fn(&Row) -> Instant) -> Values {
    Values::U64(rows.iter().map(|row| time(row).as_nanos()).collect())
}

fn texts<Row>(rows: &[Row], text: impl Fn(&Row) -> Option<&str>) -> Values {
    Values::Text(rows.iter().map(|row| text(row).map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests;
