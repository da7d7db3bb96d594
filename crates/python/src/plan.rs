//! Runs: many by their number in a plan, or one with all that it can write down.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rexmit_sim::{BatchOptions, Resolved, RunOptions, Streams};
use serde_json::Value;

use crate::scenarios::{parse, value_error};
use crate::tables::{Columns, row_to_dict, rows, states, to_dict, verdicts};

/// A base scenario and what varies in it.
#[pyclass(frozen)]
pub struct Plan(rexmit_sim::Plan);

#[pymethods]
impl Plan {
    #[new]
    fn new(base_json: &str, factors: Vec<String>, levels_json: &str) -> PyResult<Self> {
        let levels: Vec<Vec<Value>> =
            serde_json::from_str(levels_json).map_err(|e| PyValueError::new_err(format!("levels: {e}")))?;
        rexmit_sim::Plan::new(parse(base_json)?, factors, levels).map(Self).map_err(value_error)
    }

    /// Resolves every point and returns warnings. Raises ValueError for the first wrong one.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.0.check()).map_err(value_error)
    }

    /// What names a run for its random streams.
    fn run_key(&self, run: u64, replications: u64) -> String {
        let replications = replications.max(1);
        self.0.run_key(run / replications, run % replications)
    }

    /// Runs `runs` (from the first to before the second) on `jobs` threads and returns columns, a row a run.
    #[allow(clippy::too_many_arguments, reason = "Python names them; `self` and `py` are no choice")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        runs: (u64, u64),
        replications: u64,
        seed: u64,
        jobs: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = BatchOptions { replications, seed, jobs };
        let found = py.detach(|| self.0.run(runs.0..runs.1.max(runs.0), options)).map_err(value_error)?;
        to_dict(py, rows(runs.0, replications.max(1), &found))
    }
}

/// Runs one scenario once. `options_json`: `capture_server`, `capture_client` (files), `state`, `verdicts`.
///
/// Returns `row`, `warnings`, and `state` and `verdicts` as columns where asked for.
#[pyfunction]
pub fn run_one<'py>(
    py: Python<'py>,
    scenario_json: &str,
    seed: u64,
    run_key: &str,
    options_json: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let options: RunOptions =
        serde_json::from_str(options_json).map_err(|e| PyValueError::new_err(format!("options: {e}")))?;
    let resolved = Resolved::from_value(parse(scenario_json)?).map_err(value_error)?;
    let streams = Streams::new(seed, run_key);
    let outcome = py.detach(|| rexmit_sim::run(&resolved, &streams, &options)).map_err(value_error)?;
    let answer = PyDict::new(py);
    answer.set_item("row", row_to_dict(py, &outcome.row)?)?;
    answer.set_item("warnings", &outcome.warnings)?;
    let add = |name: &str, wanted: bool, columns: &dyn Fn() -> Columns| -> PyResult<()> {
        if wanted { answer.set_item(name, to_dict(py, columns())?) } else { Ok(()) }
    };
    add("state", options.state, &|| states(&outcome.states))?;
    add("verdicts", options.verdicts, &|| verdicts(&outcome.verdicts))?;
    Ok(answer)
}
