//! Traces of links: what they are, pictures of them, and one kind as the other.

use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rexmit_path::trace::{Bin, Converter, IntoCsv, IntoMahimahi, Span, TraceFile, TraceFormat, bins};
use rexmit_sim::{OpenedTrace, open_trace_file};
use rexmit_units::Duration;
use serde_json::{Value, json};

use crate::stopping::forsakable;

/// Most spans of one picture.
const MOST_BINS: u64 = 10_000_000;

fn open(py: Python<'_>, path: String) -> PyResult<OpenedTrace> {
    forsakable(py, None, move || open_trace_file(Path::new(&path)))?.map_err(PyValueError::new_err)
}

/// What a trace is, as JSON, and the hash of its content. Reads it whole the first time. Raises ValueError of one line.
#[pyfunction]
pub fn trace_about(py: Python<'_>, path: String) -> PyResult<String> {
    let opened = open(py, path)?;
    let about = opened.file.about();
    let span = |span: Option<Span>| span.map_or(Value::Null, |span| json!([span.least, span.most]));
    let all = json!({
        "format": about.format.name(),
        "lines": about.lines,
        "first_ns": about.first.as_nanos(),
        "last_ns": about.last.as_nanos(),
        "rate_bit_s": span(about.rate),
        "delay_ns": span(about.delay),
        "loss_trillionths": span(about.loss),
        "sha256": opened.sha256,
    });
    Ok(all.to_string())
}

/// Bits that can pass, mean delay (ns), mean loss and length (ns) of each span of a trace.
pub type Columns = (Vec<Option<f64>>, Vec<Option<f64>>, Vec<Option<f64>>, Vec<u64>);

/// One round of a trace in spans of `span` ns, as columns. Raises ValueError of one line.
#[pyfunction]
pub fn trace_bins(py: Python<'_>, path: String, span: u64) -> PyResult<Columns> {
    let file = open(py, path)?.file;
    let count = file.about().last.as_nanos() / span.max(1);
    if count > MOST_BINS {
        let text =
            format!("{}: {count} spans are too many: give longer ones, {MOST_BINS} at most", file.name());
        return Err(PyValueError::new_err(text));
    }
    let all = forsakable(py, None, move || bins(&file, Duration::from_nanos(span)))?;
    Ok((
        all.iter().map(|one: &Bin| one.bits).collect(),
        all.iter().map(|one| one.delay).collect(),
        all.iter().map(|one| one.loss).collect(),
        all.iter().map(|one| one.length).collect(),
    ))
}

/// The lines of one kind of trace made of the other, a piece at a time.
#[pyclass(module = "rexmit._native")]
pub struct TraceConverter {
    converter: Box<dyn Converter + Sync>,
}

#[pymethods]
impl TraceConverter {
    /// From a trace of mahimahi's, a CSV in spans of `span` ns; from a CSV with a rate, mahimahi's lines. Raises
    /// ValueError of one line.
    #[new]
    fn new(py: Python<'_>, path: String, span: u64) -> PyResult<Self> {
        let file: TraceFile = open(py, path)?.file;
        let converter: Box<dyn Converter + Sync> = match file.about().format {
            TraceFormat::Mahimahi => Box::new(IntoCsv::new(&file, Duration::from_nanos(span))),
            TraceFormat::Csv if file.about().rate.is_none() => {
                let text = "has no column rate, and mahimahi's lines say nothing else";
                return Err(PyValueError::new_err(format!("{}: {text}", file.name())));
            }
            TraceFormat::Csv => Box::new(IntoMahimahi::new(&file)),
        };
        Ok(Self { converter })
    }

    /// The next lines; None at the end.
    fn piece(&mut self) -> Option<String> {
        self.converter.piece()
    }

    /// What the lines cannot say; to be asked at the end.
    fn left_out(&self) -> Vec<String> {
        self.converter.left_out()
    }
}
