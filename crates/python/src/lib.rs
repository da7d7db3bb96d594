//! `rexmit._native`: what Python may call. Conversion and errors only; the work is done in `rexmit-sim`.
//!
//! Scenarios, profiles and options cross the border as JSON, tables as columns of little-endian bytes with
//! numpy's name of their type, so that neither side knows the other's data structures.

use pyo3::prelude::*;

/// Version of the package and of the native code.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)
}
