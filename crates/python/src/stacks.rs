//! The stacks that hosts can run.

use std::collections::BTreeMap;
use std::ffi::OsString;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rexmit_sim::{Kernel, LeadProgram, Registry, Resolved, SOURCES, Source, ask_about_program, registry};
use serde_json::{Value, json};

use crate::scenarios::{parse, value_error};

/// The prefix of a backend's name by which hosts that choose no stack get the one that follows.
const STACK: &str = "stack:";

/// Every stack of the registry, as JSON: a list of tables with `name`, `summary`, `version` (null of rexmit's own),
/// `protocols`, `determinism`, `one_run_at_a_time`, `transmissions`, `missing` (what is missing here and what to do, or
/// null), and `settings` (the JSON Schema of its table, or null).
#[pyfunction]
pub fn stacks() -> PyResult<String> {
    let entry = |entry: &&'static dyn rexmit_sim::StackFactory| -> Result<Value, serde_json::Error> {
        let mut table = serde_json::to_value(entry.about())?;
        table["missing"] = json!(entry.missing());
        table["settings"] = json!(entry.about().settings.map(|schema| schema()));
        Ok(table)
    };
    let table: Result<Vec<Value>, _> = registry().entries().iter().map(entry).collect();
    table
        .and_then(|table| serde_json::to_string(&table))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What the programs that are stacks of rexmit's own are built from, as JSON: a list of tables with `name`, `tool`
/// (`go` or `cargo`), `folder` (below which it is built), `files` (texts by their places), and `program` (where it is
/// once built, or null where nobody has a home).
#[pyfunction]
pub fn stack_sources() -> PyResult<String> {
    let entry = |source: &&Source| {
        let files: BTreeMap<&str, &str> = source.files.iter().copied().flatten().copied().collect();
        json!({
            "name": source.name,
            "tool": source.tool,
            "folder": source.folder,
            "files": files,
            "program": source.program(),
        })
    };
    let table: Vec<Value> = SOURCES.iter().map(entry).collect();
    serde_json::to_string(&table).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Says how a kernel is booted for hosts that run the code `linux` and name it so; a `name` of `""` is for those that name
/// none. `command` boots a kernel of this `version`, with an engine that asks its standard input what to do; `environment` are
/// the names and values that its environment has besides this process's.
#[pyfunction]
pub fn provide_kernel(name: &str, version: &str, command: Vec<String>, environment: Vec<(String, String)>) {
    rexmit_sim::provide_kernel(name, Kernel { version: version.into(), command, environment });
}

/// The programs that hosts of a scenario have for their stacks, as JSON: a list of tables with `host`, and `name` and
/// `version` as the program says them, or `failure`, why it does not, and whether its clock
/// is `led`. Each is started for it.
#[pyfunction]
pub fn stack_programs(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
    let resolved = Resolved::from_value(parse(scenario_json)?).map_err(value_error)?;
    let mut told = Vec::new();
    for (host, name, _) in resolved.scenario.hosts.written() {
        if resolved.codes[host].about().name != "program" {
            continue;
        }
        let asked = py.detach(|| ask_about_program(&resolved.host_settings(host)));
        let led = resolved.host_settings(host).stack.get("lead") == Some(&json!(true));
        told.push(match asked.map_err(|error| value_error(error.into()))? {
            Ok(about) => json!({ "host": name, "name": about.name, "version": about.version, "led": led }),
            Err(failure) => json!({ "host": name, "failure": failure, "led": led }),
        });
    }
    serde_json::to_string(&told).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What leads the clock of a program that Python starts. `key` is 16 bytes, from which the random numbers that it draws
/// come.
#[pyclass(frozen)]
pub struct Lead(LeadProgram);

#[pymethods]
impl Lead {
    #[new]
    fn new(key: [u8; 16]) -> PyResult<Self> {
        Ok(Self(LeadProgram::new(&key)?))
    }

    /// What the program's environment has besides this process's.
    fn environment(&self) -> BTreeMap<&'static str, OsString> {
        self.0.environment().into()
    }

    /// Leads it to this time of the run, in ns.
    fn set_now(&self, now: u64) -> PyResult<()> {
        Ok(self.0.set_now(now)?)
    }
}

/// The stacks from which hosts choose on this backend.
pub fn stacks_of(backend: &str) -> PyResult<Registry> {
    match backend.strip_prefix(STACK) {
        Some(name) => registry().with_default(name).map_err(|error| value_error(error.into())),
        None => Ok(registry()),
    }
}
