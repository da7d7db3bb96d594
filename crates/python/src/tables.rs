//! Tables as Python takes them: a column is the name of its type and little-endian bytes.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rexmit_analysis::pair::PairRows;
use rexmit_analysis::rows::Rows;
use rexmit_analysis::tables::{Tables, pair_tables};
use rexmit_network::two_hosts;
use rexmit_sim::{Row, late_table, tables};
use rexmit_tables::Table;
use serde_json::{Map, Value, json};

/// The columns of a table: name to (type, bytes).
pub fn to_dict(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for column in table.columns {
        let (name, kind) = (column.name.clone(), column.kind.name());
        dict.set_item(name, (kind, PyBytes::new(py, &column.into_bytes())))?;
    }
    Ok(dict)
}

/// The columns of a table as JSON: name to a list of values.
#[cfg(all(target_os = "linux", feature = "kernels"))]
pub fn to_json(table: Table) -> Value {
    let columns = table.columns.iter().map(|column| (column.name.clone(), column.values().into()));
    Value::Object(columns.collect())
}

/// One row, name to value.
pub fn row_to_dict<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for column in tables::runs(0, 1, std::slice::from_ref(row)).columns {
        match column.values().first() {
            _ if column.name == "run" || column.name == "replication" => continue,
            Some(Value::Bool(value)) => dict.set_item(column.name, value)?,
            Some(Value::Number(value)) => dict.set_item(column.name, value.as_u64())?,
            Some(Value::String(value)) => dict.set_item(column.name, value)?,
            _ => dict.set_item(column.name, py.None())?,
        }
    }
    Ok(dict)
}

/// The description of every table, as JSON: of `run`, those of a study and of its single runs; of `capture`, those of an
/// analysis. A table is a list of columns: `name`, `type`, `unit`, `meaning` and `null`, what null stands for.
#[pyfunction]
pub fn table_descriptions() -> String {
    let described = |tables: Vec<Table>| -> Map<String, Value> {
        tables.into_iter().map(|table| (table.name.to_owned(), table.description())).collect()
    };
    let mut study = vec![tables::runs(0, 1, &[]), late_table(&[])];
    study.extend(tables::details(0, &[]));
    let of = two_hosts::network();
    let single = vec![
        tables::states(&[], &of),
        tables::verdicts(&[], &of),
        tables::transmissions(&[], &of),
        tables::messages_of_run(&[], &of),
    ];
    let mut capture = Tables::new().take(&Rows::default());
    capture.extend(pair_tables(&PairRows::default()));
    json!({ "study": described(study), "single": described(single), "capture": described(capture) })
        .to_string()
}

/// Whether a comment that the emulator wrote into a capture says that it dropped the packet.
#[pyfunction]
pub fn comment_says_dropped(comment: &str) -> bool {
    rexmit_path::Fate::is_drop_in(comment)
}
