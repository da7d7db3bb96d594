//! The agent of real kernels: this module is loaded by the interpreter that runs in a guest, too.

use std::path::Path;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rexmit_live::agent::Answer;
use rexmit_live::{agent, emulate, guest, measure, programs};
use rexmit_sim::tables;
use rexmit_units::Duration;
use serde_json::json;

use crate::numbers::Whole;
use crate::scenarios::{parse, value_error};
use crate::tables::{to_dict, to_json};

/// Runs the job in the file `job` on the kernel under this process and answers on standard output.
///
/// For a process of one thread that does nothing else.
#[pyfunction]
pub fn serve_job(py: Python<'_>, job: &str) -> PyResult<()> {
    let wrong = |e: std::io::Error| PyOSError::new_err(format!("agent: {e}"));
    py.detach(|| {
        guest::become_root()?;
        agent::serve(Path::new(job), &mut std::io::stdout().lock(), Some(programs::begin))
    })
    .map_err(wrong)
}

/// What agents answered for successive runs from `first` on, a line each, as columns of tables: `runs`, `late`, and those
/// that take several rows a run (`intervals`, `retransmissions`, `messages`). `unreached` is for each run what patterns
/// named and no packet matched.
#[pyfunction]
pub fn rows_of_agents<'py>(
    py: Python<'py>,
    lines: Vec<Bound<'py, PyBytes>>,
    first: Whole,
    replications: Whole,
) -> PyResult<Bound<'py, PyDict>> {
    let (mut rows, mut late, mut unreached) = (Vec::new(), Vec::new(), Vec::new());
    for line in &lines {
        let answer: Answer = serde_json::from_slice(line.as_bytes())
            .map_err(|e| PyValueError::new_err(format!("an agent's answer: {e}")))?;
        rows.push(answer.row);
        late.push(answer.lateness);
        unreached.push(answer.unreached);
    }
    let all = PyDict::new(py);
    all.set_item("runs", to_dict(py, tables::runs(first.0, replications.0, &rows))?)?;
    all.set_item("late", to_dict(py, rexmit_sim::late_table(&late))?)?;
    for table in tables::details(first.0, &rows) {
        all.set_item(table.name, to_dict(py, table)?)?;
    }
    all.set_item("unreached", unreached)?;
    Ok(all)
}

/// Measures the live emulator on this machine, each part for `seconds`; JSON. Raises OSError, PermissionError without
/// root's rights.
#[pyfunction]
pub fn measure_emulator(py: Python<'_>, seconds: f64) -> PyResult<String> {
    let time = Duration::from_nanos((seconds * 1e9) as u64);
    let found = py.detach(|| measure::accuracy(time))?;
    serde_json::to_string(&found).map_err(|e| PyOSError::new_err(e.to_string()))
}

/// Runs the emulation in the file `job` and answers to the descriptor `answer`, which it takes over.
///
/// For a process of one thread that does nothing else: signals are held back, and every child is killed at the end.
#[pyfunction]
pub fn serve_emulation(py: Python<'_>, job: &str, answer: i32) -> PyResult<()> {
    let wrong = |e: std::io::Error| PyOSError::new_err(format!("emulator: {e}"));
    py.detach(|| {
        let answer = rexmit_live::sys::adopt_descriptor(answer)?;
        let wanted = emulate::Emulation::read(Path::new(job))?;
        emulate::serve(&wanted, answer, &|rows, of| to_json(tables::verdicts(rows, of)))
    })
    .map_err(wrong)
}

/// A path with its defaults written out, as JSON, and what is odd about it.
#[pyfunction]
pub fn check_path(path_json: &str) -> PyResult<(String, Vec<String>)> {
    let path = rexmit_sim::read_path(parse(path_json)?).map_err(value_error)?;
    let whole =
        serde_json::to_string(&path.with_defaults()).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok((whole, path.warnings("path")))
}

/// What there is to know of the network of a scenario before it is emulated, as JSON: its hosts, its links, what is odd
/// about it, and what of it is left out. Raises ValueError for an impossible one.
#[pyfunction]
pub fn check_network(scenario_json: &str) -> PyResult<String> {
    Ok(emulate::about_network(parse(scenario_json)?).map_err(value_error)?.to_string())
}

/// Whether this process could emulate, and how, as JSON: of `Probe`, or `{"wrong": "..."}`. For a process of one thread that
/// does nothing else.
#[pyfunction]
pub fn probe_emulation(py: Python<'_>) -> String {
    py.detach(|| match emulate::probe() {
        Ok(found) => json!(found).to_string(),
        Err(e) => json!({ "wrong": e.to_string() }).to_string(),
    })
}

/// Undoes what killed emulations have left, by their records in `folder`; a line for each thing done.
#[pyfunction]
pub fn sweep_emulations(py: Python<'_>, folder: &str) -> Vec<String> {
    py.detach(|| emulate::record::sweep(Path::new(folder)))
}
