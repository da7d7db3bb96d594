//! Captures, read by the analysis.

use std::fs::File;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rexmit_analysis::{Connection, Found};
use rexmit_capture::Reader;

/// A connection: a JSON object of what it has once, and its columns.
type Answer<'py> = (String, Bound<'py, PyDict>);

/// The TCP connections of a capture, and remarks on what of it could not be read.
///
/// Each connection is a JSON object of what it has once and a dict of its columns: name to (type, bytes). Raises
/// ValueError, of one line, for a file that cannot be opened or is no capture.
#[pyfunction]
pub fn time_sequence<'py>(py: Python<'py>, path: &str) -> PyResult<(Vec<Answer<'py>>, Vec<String>)> {
    let found = py.detach(|| read(path)).map_err(PyValueError::new_err)?;
    let mut remarks = Vec::new();
    if let Some(error) = found.broken_off {
        remarks.push(format!("{path}: {error}"));
    }
    if found.unreadable > 0 {
        remarks.push(format!("{path}: {} packets are no readable IP packets", found.unreadable));
    }
    let connections = found.connections.into_iter().map(|connection| table(py, &connection));
    Ok((connections.collect::<PyResult<_>>()?, remarks))
}

fn read(path: &str) -> Result<Found, String> {
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let reader = Reader::new(file).map_err(|error| format!("{path}: {error}"))?;
    Ok(rexmit_analysis::time_sequence(reader))
}

fn table<'py>(py: Python<'py>, connection: &Connection) -> PyResult<Answer<'py>> {
    let columns = PyDict::new(py);
    for column in connection.columns() {
        let dtype = column.values.dtype();
        columns.set_item(column.name, (dtype, PyBytes::new(py, &column.values.into_bytes())))?;
    }
    Ok((connection.meta_json(), columns))
}
