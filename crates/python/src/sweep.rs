//! Runs under way on threads of their own, taken by Python as they end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rexmit_sim::{UnreachedRuns, tables};

use crate::scenarios::value_error;
use crate::stopping::{LOOK, look};
use crate::tables::to_dict;

/// Runs under way. They end with this object.
#[pyclass(frozen)]
pub struct Sweep {
    pub(crate) sweep: Mutex<rexmit_sim::Sweep>,
    pub(crate) replications: u64,
    pub(crate) unreached: Arc<Mutex<UnreachedRuns>>,
}

#[pymethods]
impl Sweep {
    /// The next runs that have ended, the first of those that were not given before: `start`, the number of the first, and
    /// columns of tables: `runs`, one row per run, `intervals`, what was measured by intervals, `retransmissions`, what was
    /// sent again, and `messages`. None after the last one.
    ///
    /// Waits `seconds`, longer until a run has ended, and less where all have. Once `stopped()`, asked now and then, the
    /// runs are ended, and those that ended before are the last. Raises ValueError for the first run that cannot be run.
    #[pyo3(signature = (seconds, stopped = None))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
        stopped: Option<Py<PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let least = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        let (start, batch) = py.detach(|| self.take(least, stopped.as_ref()))?;
        if batch.rows.is_empty() {
            return Ok(None);
        }
        self.unreached.lock().unwrap_or_else(PoisonError::into_inner).merge(batch.unreached);
        let answer = PyDict::new(py);
        answer.set_item("start", start)?;
        answer.set_item("runs", to_dict(py, tables::runs(start, self.replications, &batch.rows))?)?;
        for table in tables::details(start, &batch.rows) {
            answer.set_item(table.name, to_dict(py, table)?)?;
        }
        Ok(Some(answer))
    }
}

impl Sweep {
    fn take(&self, least: Duration, stopped: Option<&Py<PyAny>>) -> PyResult<(u64, rexmit_sim::Batch)> {
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        loop {
            let over = sweep.wait(LOOK);
            look(sweep.stop(), stopped)?;
            if over || began.elapsed() >= least && !sweep.stop().is_asked() {
                let (start, batch) = sweep.take().map_err(value_error)?;
                if over || !batch.rows.is_empty() {
                    return Ok((start, batch));
                }
            }
        }
    }
}
