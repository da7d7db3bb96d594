//! Patterns as text and as files.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rexmit_path::pattern::tool::{self, Mode};

use crate::numbers::Whole;
use crate::stopping::forsakable;

fn value_error(text: String) -> PyErr {
    PyValueError::new_err(text)
}

/// A pattern from a list of positions in its plain text form, and what in it names no packet. Raises ValueError of one
/// line.
#[pyfunction]
#[pyo3(signature = (positions, period=None))]
pub fn pattern_list(
    py: Python<'_>,
    positions: String,
    period: Option<Whole>,
) -> PyResult<(String, Vec<String>)> {
    forsakable(py, None, move || tool::make_list(&positions, period.map(|n| n.0)))?.map_err(value_error)
}

/// A random but fixed pattern in its plain text form. Raises ValueError of one line.
#[pyfunction]
pub fn pattern_random(
    py: Python<'_>,
    rate: String,
    length: Whole,
    seed: Whole,
    repeat: bool,
) -> PyResult<String> {
    forsakable(py, None, move || tool::make_random(&rate, length.0, seed.0, repeat))?.map_err(value_error)
}

/// The bytes of a pattern file, and what was left out. `start` None: positions of losses; else points at which
/// loss is switched, on before the first or not. Raises ValueError of one line.
#[pyfunction]
#[pyo3(signature = (factor, entries, start=None))]
pub fn pattern_file(
    py: Python<'_>,
    factor: Whole,
    entries: String,
    start: Option<bool>,
) -> PyResult<(Vec<u8>, Vec<String>)> {
    let mode = start.map_or(Mode::Data, |start| Mode::Time { start });
    let made = forsakable(py, None, move || tool::make_file(factor.size(), &entries, mode))?;
    made.map(|made| (made.bytes, made.warnings)).map_err(value_error)
}

/// The plain text form of a pattern file. Raises ValueError of one line.
#[pyfunction]
#[pyo3(signature = (content, step=None))]
pub fn pattern_from_file(py: Python<'_>, content: Vec<u8>, step: Option<String>) -> PyResult<String> {
    forsakable(py, None, move || tool::file_to_text(&content, step.as_deref()))?.map_err(value_error)
}

/// The bytes of the pattern file of a plain text form. Raises ValueError of one line.
#[pyfunction]
#[pyo3(signature = (text, factor=None))]
pub fn pattern_to_file(py: Python<'_>, text: String, factor: Option<Whole>) -> PyResult<Vec<u8>> {
    forsakable(py, None, move || tool::text_to_file(&text, factor.map(Whole::size)))?.map_err(value_error)
}

/// A pattern for people, with a picture of the first `width` packets. Raises ValueError of one line.
#[pyfunction]
pub fn pattern_show(py: Python<'_>, text: String, width: Whole) -> PyResult<String> {
    forsakable(py, None, move || tool::show(&text, width.0))?.map_err(value_error)
}
