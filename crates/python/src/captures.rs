//! Captures, read by the analysis.

use std::fs::File;
use std::io::BufReader;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rexmit_capture::Reader;

/// One connection: what is not in the columns as JSON, and the columns.
type Answer<'py> = (String, Bound<'py, PyDict>);

/// The TCP connections of a capture, and remarks on what could not be read. Raises OSError where it cannot be
/// opened, ValueError where it is none.
#[pyfunction]
pub fn time_sequence<'py>(py: Python<'py>, path: &str) -> PyResult<(Vec<Answer<'py>>, Vec<String>)> {
    let file = File::open(path).map_err(|e| PyOSError::new_err(format!("{path}: {e}")))?;
    let found = py
        .detach(|| Reader::new(BufReader::new(file)).map(rexmit_analysis::time_sequence))
        .map_err(|e| PyValueError::new_err(format!("{path}: {e}")))?;
    let mut remarks = Vec::new();
    if found.unreadable > 0 {
        remarks.push(format!("{path}: {} packets cannot be read and are left out", found.unreadable));
    }
    if let Some(error) = &found.broken_off {
        remarks.push(format!("{path}: breaks off: {error}"));
    }
    let connection = |one: rexmit_analysis::Connection| {
        let columns = PyDict::new(py);
        for column in one.columns() {
            let kind = column.values.dtype();
            columns.set_item(column.name, (kind, PyBytes::new(py, &column.values.into_bytes())))?;
        }
        Ok((one.meta_json(), columns))
    };
    let connections = found.connections.into_iter().map(connection).collect::<PyResult<_>>()?;
    Ok((connections, remarks))
}
