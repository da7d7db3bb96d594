//! Captures, judged by the analysis.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rexmit_analysis::limits::{Counts, Limit};
use rexmit_analysis::rows::Tables as Kept;
use rexmit_analysis::tables::{Table, Tables};
use rexmit_analysis::{Filter, Options, Run, RunOptions, Skipped, Summary};
use rexmit_capture::{Interface, ReadError, Reader};
use rexmit_sim::open_capture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::stopping::forsakable;
use crate::tables;

/// What Python may ask for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    filter: Option<String>,
    loss_event_rtts: f64,
    missing_reports: u32,
    threads: Option<usize>,
    segments: bool,
    rtt: bool,
    chunks: bool,
    held: bool,
}

/// An analysis of a capture, a batch of rows at a time.
#[pyclass(frozen)]
pub struct Analysis {
    state: Arc<Mutex<State>>,
    bytes_total: u64,
}

struct State {
    run: Option<Run>,
    tables: Tables,
    progress: (u64, u64),
    summary: Option<Summary>,
}

#[pymethods]
impl Analysis {
    /// Opens a capture. Raises ValueError for a wrong option and for a file that is not a capture, OSError for one
    /// that cannot be read; each of one line.
    #[new]
    fn new(paths: Vec<String>, options_json: &str) -> PyResult<Self> {
        let (options, threads) = run_options(options_json)?;
        let [path] = paths.as_slice() else {
            return Err(PyValueError::new_err(format!("{} captures given; give one", paths.len())));
        };
        let (reader, bytes_total) = open(path)?;
        // A second thread reads and decodes ahead of the one that judges.
        let run = if threads < 2 {
            Run::new(reader, &options)
        } else {
            Run::ahead(reader, &options, |work| drop(std::thread::spawn(work)))
        };
        let state = State { run: Some(run), tables: Tables::new(), progress: (0, 0), summary: None };
        Ok(Self { state: Arc::new(Mutex::new(state)), bytes_total })
    }

    /// Judges this many more packets and returns the rows that became final, table to column to (type, bytes); None
    /// after the last ones. Raises KeyboardInterrupt once `stopped()`, asked now and then; the analysis is over then.
    #[pyo3(signature = (packets, stopped = None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        packets: u64,
        stopped: Option<Py<PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let state = Arc::clone(&self.state);
        let tables = forsakable(py, stopped, move || lock(&state).step(packets))?;
        tables.map(|all| to_dict(py, all)).transpose()
    }

    /// Bytes of the file read, bytes in all (0 if not known), and packets.
    fn progress(&self) -> (u64, u64, u64) {
        let (bytes, packets) = lock(&self.state).progress;
        (bytes, self.bytes_total, packets)
    }

    /// What there is to say of the capture as a whole, as JSON, after its end.
    fn summary(&self) -> PyResult<String> {
        let state = lock(&self.state);
        let summary = state.summary.as_ref();
        let summary =
            summary.ok_or_else(|| PyValueError::new_err("the capture has not been read to its end"))?;
        Ok(summary_json(summary).to_string())
    }
}

impl State {
    fn step(&mut self, packets: u64) -> Option<Vec<Table>> {
        let rows = self.run.as_mut()?.step(packets);
        let progress = self.run.as_ref()?.progress();
        self.progress = (progress.bytes, progress.packets);
        match rows {
            Some(rows) => Some(self.tables.take(&rows)),
            None => {
                self.summary = self.run.take().map(Run::finish);
                None
            }
        }
    }
}

/// The state behind a lock, whatever became of whoever held it before.
pub fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What to run, and threads.
pub fn run_options(options_json: &str) -> PyResult<(RunOptions, usize)> {
    let asked: Asked = serde_json::from_str(options_json)
        .map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
    if !(asked.loss_event_rtts > 0.0 && asked.loss_event_rtts.is_finite()) {
        let text = format!("loss_event_rtts {}: give a number above 0, such as 2", asked.loss_event_rtts);
        return Err(PyValueError::new_err(text));
    }
    let filter = asked.filter.map(|text| Filter::parse(&text)).transpose();
    let filter = filter.map_err(|error| PyValueError::new_err(format!("filter: {error}")))?;
    let tables = Kept { segments: asked.segments, rtt: asked.rtt, chunks: asked.chunks, held: asked.held };
    let analysis = Options {
        loss_event_rtts: asked.loss_event_rtts,
        tables,
        missing_reports: asked.missing_reports,
        ..Options::default()
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok((RunOptions { analysis, filter }, asked.threads.unwrap_or_else(cores)))
}

/// Opens a capture, and says how many bytes the file has.
pub fn open(path: &str) -> PyResult<(Reader<File>, u64)> {
    let file = open_capture(Path::new(path)).map_err(|error| os_error(path, &error))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let reader = Reader::new(file).map_err(|error| match error {
        ReadError::Io { source, .. } => os_error(path, &source),
        other => PyValueError::new_err(format!("{path}: {other}")),
    })?;
    Ok((reader, bytes))
}

fn os_error(path: &str, error: &std::io::Error) -> PyErr {
    let text = format!("{path}: {error}");
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, text)),
        None => PyOSError::new_err(text),
    }
}

/// Tables as Python takes them: table to column to (type, bytes).
pub fn to_dict(py: Python<'_>, all: Vec<Table>) -> PyResult<Bound<'_, PyDict>> {
    let answer = PyDict::new(py);
    for table in all {
        answer.set_item(table.name, tables::to_dict(py, table)?)?;
    }
    Ok(answer)
}

/// What there is to say of a capture as a whole.
pub fn summary_json(summary: &Summary) -> Value {
    let broken_off = summary.broken_off.as_ref().map(|error| {
        let (ReadError::Io { offset, .. }
        | ReadError::Truncated { offset }
        | ReadError::Corrupt { offset, .. }
        | ReadError::Limit { offset, .. }
        | ReadError::Packing { offset, .. }) = error
        else {
            return json!({ "offset": 0, "what": error.to_string() });
        };
        json!({ "offset": offset, "what": error.to_string() })
    });
    json!({
        "packets": summary.packets,
        "tcp": summary.tcp,
        "sctp": summary.sctp,
        "skipped": skipped_json(&summary.skipped),
        "broken_off": broken_off,
        "options_cut": summary.options_cut,
        "backwards": { "packets": summary.backwards.packets, "largest_ns": summary.backwards.largest },
        "limits": limits_json(&summary.limits),
        "interfaces": summary.interfaces.iter().map(interface_json).collect::<Vec<_>>(),
    })
}

/// The limits that acted, in their order.
fn limits_json(counts: &Counts) -> Value {
    let told = |(limit, times): (Limit, u64)| json!({ "limit": limit.name(), "times": times, "text": limit.told(times) });
    counts.acted().map(told).collect::<Vec<_>>().into()
}

/// Every limit as JSON, in their order: `limit`, `rule` and `effect`.
#[pyfunction]
pub fn analysis_limits() -> String {
    let told =
        |limit: Limit| json!({ "limit": limit.name(), "rule": limit.rule(), "effect": limit.effect() });
    Value::from(Limit::ALL.map(told).to_vec()).to_string()
}

fn skipped_json(skipped: &Skipped) -> Value {
    let links: Map<String, Value> =
        skipped.links.iter().map(|(link, count)| (link.to_string(), (*count).into())).collect();
    json!({
        "unknown_link": links,
        "not_ip": skipped.not_ip,
        "quic": skipped.quic,
        "other_transport": skipped.other_transport,
        "malformed": skipped.malformed,
        "cut": skipped.cut,
        "fragments": skipped.fragments,
        "incomplete_datagrams": skipped.incomplete_datagrams,
        "filtered": skipped.filtered,
    })
}

fn interface_json(interface: &Interface) -> Value {
    json!({
        "name": interface.name,
        "link_type": interface.link.0,
        "snap_len": interface.snap_len,
        "received": interface.counts.received,
        "dropped_by_interface": interface.counts.dropped_by_interface,
        "dropped_by_system": interface.counts.dropped_by_system,
        "dropped_between": interface.counts.dropped_between,
    })
}
