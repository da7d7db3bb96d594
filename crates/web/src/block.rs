//! Writes a block: named tables of columns, as `rexmit.plot.pack` describes it, of plain numbers only.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A column.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Texts, of which there are few different ones.
    Texts(Vec<Option<String>>),
}

impl Column {
    /// A column of numbers.
    pub fn numbers(values: impl IntoIterator<Item = f64>) -> Self {
        Self::Numbers(values.into_iter().collect())
    }

    /// A column of texts.
    pub fn texts<T: Into<String>>(values: impl IntoIterator<Item = Option<T>>) -> Self {
        Self::Texts(values.into_iter().map(|text| text.map(Into::into)).collect())
    }
}

/// The columns of a table by their names.
pub(crate) type Table = Vec<(&'static str, Column)>;

/// The bytes of a block of these tables.
pub(crate) fn pack(head: &Value, tables: &[(String, Table)]) -> Vec<u8> {
    let mut data = Vec::new();
    let layouts: Map<String, Value> = tables
        .iter()
        .map(|(name, table)| {
            let columns = table.iter().map(|(name, column)| ((*name).to_owned(), add(&mut data, column)));
            (name.clone(), Value::Object(columns.collect()))
        })
        .collect();
    let mut front = json!({ "head": head, "tables": layouts }).to_string().into_bytes();
    front.resize(front.len().next_multiple_of(8), b' ');
    let mut out = b"RXB1".to_vec();
    out.extend((front.len() as u32).to_le_bytes());
    out.extend(front);
    out.extend(data);
    out
}

/// Appends a column, and says where it is.
fn add(data: &mut Vec<u8>, column: &Column) -> Value {
    let at = data.len();
    match column {
        Column::Numbers(values) => {
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            json!({ "type": "f8", "at": at, "count": values.len() })
        }
        Column::Texts(texts) => {
            let mut known = BTreeMap::new();
            let mut words = Vec::new();
            for text in texts {
                let code = *known.entry(text).or_insert_with(|| {
                    words.push(text);
                    words.len() - 1
                });
                data.extend((code as u32).to_le_bytes());
            }
            let layout = json!({ "type": "u4", "at": at, "count": texts.len(), "words": words });
            data.resize(data.len().next_multiple_of(8), 0);
            layout
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_at_multiples_of_eight_behind_the_head() {
        let table = vec![
            ("why", Column::texts([Some("lost"), None, Some("lost")])),
            ("t", Column::numbers([0.5, 1.5, -1.0])),
        ];
        let bytes = pack(&json!({ "title": "a run" }), &[("1-server.packets".to_owned(), table)]);
        assert_eq!(&bytes[..4], b"RXB1");
        let length = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
        assert_eq!(length % 8, 0);
        let front: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        assert_eq!(front["head"]["title"], "a run");
        let layouts = &front["tables"]["1-server.packets"];
        assert_eq!(layouts["why"], json!({ "type": "u4", "at": 0, "count": 3, "words": ["lost", null] }));
        assert_eq!(layouts["t"], json!({ "type": "f8", "at": 16, "count": 3 }));
        let data = &bytes[8 + length..];
        assert_eq!(&data[..12], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(&data[16..24], 0.5_f64.to_le_bytes());
    }
}
