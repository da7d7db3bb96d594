//! Scenarios, profiles and units.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rexmit_sim::{Resolved, Sampling, SpecError, builtin_profiles, resolve_profile};
use rexmit_units::{Duration, Rate};
use serde_json::Value;

use crate::stacks::stacks_of;

/// Version of the native code.
#[pyfunction]
pub fn version() -> &'static str {
    rexmit_sim::VERSION
}

/// Which of these known keys people mean by a word of the field, such as `delay` by `latency`; None for other words.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what Python gives is ours")]
pub fn meant(word: &str, known: Vec<String>) -> Option<&'static str> {
    rexmit_stack::meant(word, &known.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The JSON Schema of a scenario.
#[pyfunction]
pub fn schema() -> String {
    rexmit_sim::schema().to_string()
}

/// The JSON Schema of a profile that inherits nothing.
#[pyfunction]
pub fn profile_schema() -> String {
    rexmit_sim::profile_schema().to_string()
}

/// The JSON Schema of an SCTP profile that inherits nothing, without its key `protocol`.
#[pyfunction]
pub fn sctp_profile_schema() -> String {
    rexmit_sim::sctp_profile_schema().to_string()
}

/// The JSON Schema of a QUIC profile that inherits nothing, without its key `protocol`.
#[pyfunction]
pub fn quic_profile_schema() -> String {
    rexmit_sim::quic_profile_schema().to_string()
}

/// Name and one-line description of each profile that comes with rexmit.
#[pyfunction]
pub fn profiles() -> Vec<(&'static str, String)> {
    builtin_profiles()
}

/// A profile with everything that it inherits, as JSON.
#[pyfunction]
pub fn profile(name: &str) -> PyResult<String> {
    let profile = resolve_profile(&Value::String(name.into())).map_err(value_error)?;
    Ok(profile.to_value().to_string())
}

/// A scenario with every default filled in, as JSON, for hosts that choose from the stacks of this backend.
#[pyfunction]
#[pyo3(signature = (scenario_json, backend="model"))]
pub fn resolve(scenario_json: &str, backend: &str) -> PyResult<String> {
    let resolved = Resolved::with_stacks(parse(scenario_json)?, stacks_of(backend)?).map_err(value_error)?;
    Ok(resolved.to_value().to_string())
}

/// A rate such as `40 kbit/s` in bit/s.
#[pyfunction]
pub fn parse_rate(text: &str) -> PyResult<u64> {
    text.parse().map(Rate::bits_per_second).map_err(|e| PyValueError::new_err(format!("{e}")))
}

/// A time such as `5 ms` in nanoseconds.
#[pyfunction]
pub fn parse_duration(text: &str) -> PyResult<u64> {
    text.parse().map(Duration::as_nanos).map_err(|e| PyValueError::new_err(format!("{e}")))
}

/// Refuses what is not a time to note state at.
#[pyfunction]
pub fn check_sampling(text: &str) -> PyResult<()> {
    text.parse::<Sampling>().map(drop).map_err(PyValueError::new_err)
}

/// A wrong setting, or a file that could not be written, as Python sees it.
pub fn value_error(error: SpecError) -> PyErr {
    match error.os_error {
        Some(number) => PyOSError::new_err((number, error.to_string())),
        None => PyValueError::new_err(error.to_string()),
    }
}

/// JSON from Python; what is not JSON is a defect of the caller.
pub fn parse(json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|e| PyValueError::new_err(format!("no JSON: {e}")))
}
