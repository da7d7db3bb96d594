//! Two captures of the same flows, judged together.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rexmit_analysis::Summary;
use rexmit_analysis::pair::{ClockMethod, ClockRow, Options, PairRows, PairRun};
use rexmit_analysis::tables::pair_tables;
use serde_json::{Value, json};

use crate::analysis::{lock, open, run_options, summary_json, to_dict};
use crate::stopping::forsakable;

/// An analysis of two captures.
#[pyclass(frozen)]
pub struct PairAnalysis {
    state: Arc<Mutex<State>>,
    bytes_total: u64,
}

struct State {
    run: Option<PairRun>,
    progress: (u64, u64),
    summary: Option<Value>,
}

#[pymethods]
impl PairAnalysis {
    /// Opens two captures. `same_clock` and `whole` are said of both; `crossings` asks for one row per packet. Raises
    /// ValueError and OSError as `Analysis` does.
    #[new]
    fn new(
        paths: (String, String),
        options_json: &str,
        same_clock: bool,
        whole: bool,
        crossings: bool,
    ) -> PyResult<Self> {
        let (options, _) = run_options(options_json)?;
        let (a, bytes_a) = open(&paths.0)?;
        let (b, bytes_b) = open(&paths.1)?;
        let pairing = Options { analysis: options.analysis, same_clock, whole, crossings };
        let run = PairRun::new(a, b, options.filter.as_ref(), &pairing);
        let state = State { run: Some(run), progress: (0, 0), summary: None };
        Ok(Self { state: Arc::new(Mutex::new(state)), bytes_total: bytes_a + bytes_b })
    }

    /// Reads this many more packets of each; false when both have ended.
    fn step(&self, py: Python<'_>, packets: u64) -> PyResult<bool> {
        let state = Arc::clone(&self.state);
        forsakable(py, None, move || {
            let mut state = lock(&state);
            let Some(run) = &mut state.run else { return false };
            let more = run.step(packets);
            let [a, b] = run.progress();
            state.progress = (a.bytes + b.bytes, a.packets + b.packets);
            more
        })
    }

    /// Bytes of both files read, bytes in all, and packets.
    fn progress(&self) -> (u64, u64, u64) {
        let (bytes, packets) = lock(&self.state).progress;
        (bytes, self.bytes_total, packets)
    }

    /// Matches and judges; the tables, as those of `Analysis`. Raises ValueError when it is called again.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = Arc::clone(&self.state);
        let tables = forsakable(py, None, move || {
            let mut state = lock(&state);
            let (rows, summaries) = state.run.take()?.finish();
            state.summary = Some(pair_json(&rows, &summaries));
            Some(pair_tables(&rows))
        })?;
        to_dict(py, tables.ok_or_else(|| PyValueError::new_err("the captures have been judged already"))?)
    }

    /// What there is to say of both captures, and of their clocks, as JSON, after `finish`.
    fn summary(&self) -> PyResult<String> {
        let state = lock(&self.state);
        let summary = state.summary.as_ref();
        Ok(summary.ok_or_else(|| PyValueError::new_err("the captures have not been judged"))?.to_string())
    }
}

fn pair_json(rows: &PairRows, summaries: &[Summary; 2]) -> Value {
    json!({
        "captures": summaries.iter().map(summary_json).collect::<Vec<_>>(),
        "clock": clock_json(&rows.clock),
        "unpaired": rows.unpaired,
    })
}

fn clock_json(clock: &ClockRow) -> Value {
    let method = match clock.method {
        ClockMethod::Unknown => "unknown",
        ClockMethod::Same => "same",
        ClockMethod::BothWays => "both-ways",
        ClockMethod::OneWay => "one-way",
    };
    let steps: Vec<Value> = clock
        .steps
        .iter()
        .map(|step| json!({ "time_ns": step.time.as_nanos(), "size_ns": step.size }))
        .collect();
    json!({
        "method": method,
        "at_ns": clock.at.as_nanos(),
        "offset_ns": clock.offset,
        "offset_low_ns": clock.offset_low,
        "offset_high_ns": clock.offset_high,
        "skew_ppm": clock.skew,
        "skew_low_ppm": clock.skew_low,
        "skew_high_ppm": clock.skew_high,
        "round_trip_ns": clock.round_trip,
        "steps": steps,
        "packets": clock.packets,
    })
}
