//! Where there is no Linux, and where a build leaves them out (the feature `kernels`): real kernels, guests and live
//! emulation say what they need.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;

use crate::numbers::Whole;
use crate::scenarios::{parse, value_error};

/// One line for whoever asks for a kernel.
const WHY: &str = if cfg!(target_os = "linux") {
    "real kernels, guests and live emulation are left out of this build; in a checkout `make setup` builds them"
} else {
    "real kernels, guests and live emulation need Linux; here run the backend model or stack:NAME"
};

fn wrong<T>() -> PyResult<T> {
    Err(PyOSError::new_err(WHY))
}

/// Raises OSError.
#[pyfunction]
pub fn serve_job(_job: &str) -> PyResult<()> {
    wrong()
}

/// Raises OSError.
#[pyfunction]
pub fn rows_of_agents<'py>(
    _lines: Vec<Bound<'py, PyBytes>>,
    _first: Whole,
    _replications: Whole,
) -> PyResult<Bound<'py, PyDict>> {
    wrong()
}

/// Raises OSError.
#[pyfunction]
pub fn measure_emulator(_seconds: f64) -> PyResult<String> {
    wrong()
}

/// Raises OSError.
#[pyfunction]
pub fn serve_emulation(_job: &str, _answer: i32) -> PyResult<()> {
    wrong()
}

/// A path with its defaults written out, as JSON, and what is odd about it.
#[pyfunction]
pub fn check_path(path_json: &str) -> PyResult<(String, Vec<String>)> {
    let path = rexmit_sim::read_path(parse(path_json)?).map_err(value_error)?;
    let whole =
        serde_json::to_string(&path.with_defaults()).map_err(|e| PyOSError::new_err(e.to_string()))?;
    Ok((whole, path.warnings("path")))
}

/// Raises OSError.
#[pyfunction]
pub fn check_network(_scenario_json: &str) -> PyResult<String> {
    wrong()
}

/// That this machine cannot emulate, and why, as JSON.
#[pyfunction]
pub fn probe_emulation() -> String {
    json!({ "wrong": WHY }).to_string()
}

/// Nothing was left by emulations that never were.
#[pyfunction]
pub fn sweep_emulations(_folder: &str) -> Vec<String> {
    Vec::new()
}
