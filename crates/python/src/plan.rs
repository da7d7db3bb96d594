//! Runs: many by their number in a plan, or one with all that it can write down.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rexmit_network::Network;
use rexmit_sim::{
    BatchOptions, Caches, Resolved, RunOptions, Sampling, Sequence, Streams, Target, UnreachedRuns, tables,
};
use rexmit_tables::Table;
use serde::Deserialize;
use serde_json::Value;

use crate::numbers::Whole;
use crate::scenarios::{parse, value_error};
use crate::stacks::stacks_of;
use crate::stopping::{interrupted, stoppable};
use crate::sweep::Sweep;
use crate::tables::{row_to_dict, to_dict};
use crate::watch::{Judged, of_captures, sending_hosts};

/// A base scenario and what varies in it.
#[pyclass(frozen)]
pub struct Plan {
    plan: Arc<rexmit_sim::Plan>,
    target: Target,
    unreached: Arc<Mutex<UnreachedRuns>>,
}

#[pymethods]
impl Plan {
    /// A plan for `backend`: `model`, `stack:NAME`, `uml` or `kernel`. `sequence` says along which factors runs follow
    /// each other, and the gap between two of them: `(["path.delay", "replication"], "10 s")`.
    #[new]
    #[pyo3(signature = (base_json, factors, levels_json, backend = "model", sequence = None))]
    fn new(
        base_json: &str,
        factors: Vec<String>,
        levels_json: &str,
        backend: &str,
        sequence: Option<(Vec<String>, String)>,
    ) -> PyResult<Self> {
        let levels: Vec<Vec<Value>> =
            serde_json::from_str(levels_json).map_err(|e| PyValueError::new_err(format!("levels: {e}")))?;
        let plan = rexmit_sim::Plan::new(parse(base_json)?, factors, levels).map_err(value_error)?;
        let plan = plan.with_stacks(stacks_of(backend)?);
        let plan = match sequence {
            None => plan,
            Some((along, gap)) => {
                let gap =
                    gap.parse().map_err(|e| PyValueError::new_err(format!("design.sequence.gap: {e}")))?;
                plan.in_sequence(Sequence { along, gap }).map_err(value_error)?
            }
        };
        let target = if matches!(backend, "uml" | "kernel") { Target::Kernel } else { Target::Virtual };
        Ok(Self { plan: Arc::new(plan), target, unreached: Arc::default() })
    }

    /// Combinations of levels, replications apart.
    fn points(&self) -> u64 {
        self.plan.points()
    }

    /// Resolves the points from `start` to before `stop` and returns warnings, the keys that the backend does not
    /// support, and the protocols, each once. Raises ValueError for the first wrong one.
    fn check(
        &self,
        py: Python<'_>,
        start: Whole,
        stop: Whole,
    ) -> PyResult<(Vec<String>, Vec<String>, Vec<&'static str>)> {
        let checked = py.detach(|| self.plan.check(start.0..stop.0, self.target)).map_err(value_error)?;
        Ok((checked.warnings, checked.unsupported, checked.protocols.into_iter().collect()))
    }

    /// The names of the stacks that hosts have in some run, in alphabetic order.
    fn stacks(&self) -> Vec<&'static str> {
        self.plan.stacks().iter().map(|stack| stack.about().name).collect()
    }

    /// What names a run for its random streams.
    fn run_key(&self, run: Whole, replications: Whole) -> String {
        let replications = replications.0.max(1);
        self.plan.run_key(run.0 / replications, run.0 % replications)
    }

    /// What the hosts keep as a run begins, as JSON for the option `caches` of `run_one`: the runs before it in its sequence
    /// are run for it. Raises KeyboardInterrupt once `stopped()`, asked now and then.
    #[pyo3(signature = (run, replications, seed, stopped = None))]
    #[allow(clippy::too_many_arguments, reason = "Python names them; `self` and `py` are no choice")]
    fn caches_before(
        &self,
        py: Python<'_>,
        run: Whole,
        replications: Whole,
        seed: Whole,
        stopped: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let options = BatchOptions { replications: replications.0, seed: seed.0, jobs: 1 };
        let caches = stoppable(py, stopped, |stop| {
            let caches = self.plan.caches_before(run.0, options, stop);
            if stop.is_asked() { Err(interrupted()) } else { caches.map_err(value_error) }
        })??;
        serde_json::to_string(&caches).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Begins `runs` (from the first to before the second) on `jobs` threads.
    fn sweep(&self, runs: (Whole, Whole), replications: Whole, seed: Whole, jobs: Whole) -> PyResult<Sweep> {
        let (start, stop) = (runs.0.0, runs.1.0);
        let options = BatchOptions { replications: replications.0, seed: seed.0, jobs: jobs.size() };
        let sweep =
            rexmit_sim::Sweep::start(self.plan.clone(), start..stop.max(start), options, Arc::new(Judged));
        let sweep = sweep.map_err(value_error)?;
        Ok(Sweep {
            sweep: Mutex::new(sweep),
            replications: replications.0,
            unreached: self.unreached.clone(),
        })
    }

    /// What patterns named and no packet matched, in the runs of this plan so far: a text, and in how many runs.
    fn unreached(&self) -> Vec<(String, u64)> {
        self.unreached.lock().unwrap_or_else(PoisonError::into_inner).texts()
    }
}

/// Runs one scenario once, on `model` or `stack:NAME`. `options_json`: `capture_server`, `capture_client` (files), `state`,
/// `verdicts`, `transmissions`, `messages`.
///
/// Returns `row`, `warnings`, and `state`, `verdicts`, `transmissions` and `messages` as columns where asked for. Raises
/// KeyboardInterrupt once `stopped()`, asked now and then.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, run_key, options_json, stopped = None, backend = "model"))]
#[allow(clippy::too_many_arguments, reason = "Python calls it by keywords")]
pub fn run_one<'py>(
    py: Python<'py>,
    scenario_json: &str,
    seed: Whole,
    run_key: &str,
    options_json: &str,
    stopped: Option<Py<PyAny>>,
    backend: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let options: SingleRun =
        serde_json::from_str(options_json).map_err(|e| PyValueError::new_err(format!("options: {e}")))?;
    let resolved = Resolved::with_stacks(parse(scenario_json)?, stacks_of(backend)?).map_err(value_error)?;
    let of = &resolved.network;
    let options = options.of(of)?;
    let streams = Streams::new(seed.0, run_key);
    let outcome = stoppable(py, stopped, |stop| {
        let options = RunOptions { stop: stop.clone(), ..options.clone() };
        match rexmit_sim::run(&resolved, &streams, &options) {
            Err(_) if stop.is_asked() => Err(interrupted()),
            outcome => outcome.map_err(value_error),
        }
    })??;
    let answer = PyDict::new(py);
    answer.set_item("row", row_to_dict(py, &outcome.row)?)?;
    let unreached: Vec<String> = outcome.unreached.iter().map(ToString::to_string).collect();
    answer.set_item("warnings", unreached)?;
    let add = |name: &str, wanted: bool, columns: &dyn Fn() -> Table| -> PyResult<()> {
        if wanted { answer.set_item(name, to_dict(py, columns())?) } else { Ok(()) }
    };
    add("state", options.state.is_some(), &|| tables::states(&outcome.states, of))?;
    add("verdicts", options.verdicts, &|| tables::verdicts(&outcome.verdicts, of))?;
    add("messages", options.messages, &|| tables::messages_of_run(&outcome.messages, of))?;
    add("transmissions", options.transmissions, &|| tables::transmissions(&outcome.transmissions, of))?;
    Ok(answer)
}

/// What a single run is asked to write down besides its row: [`RunOptions`] with its hosts by their names.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SingleRun {
    capture_snap_len: Option<u32>,
    qlog: bool,
    comment: Option<String>,
    state: Option<Sampling>,
    verdicts: bool,
    transmissions: bool,
    messages: bool,
    /// What [`Plan::caches_before`] has answered.
    caches: Caches,
    /// `capture_server` and so on: the file of a host's capture.
    #[serde(flatten)]
    captures: BTreeMap<String, Option<PathBuf>>,
}

impl SingleRun {
    fn of(self, network: &Network) -> PyResult<RunOptions> {
        let mut captures = self.captures;
        let capture_files = network
            .by_host(|host| captures.remove(&format!("capture_{}", network.host_name(host))).flatten());
        if let Some(unknown) = captures.keys().next() {
            let text = format!(
                "options: unknown option `{unknown}`; captures are named by their host, such as capture_server"
            );
            return Err(PyValueError::new_err(text));
        }
        Ok(RunOptions {
            capture_files,
            capture_snap_len: self.capture_snap_len,
            qlog: self.qlog,
            comment: self.comment,
            state: self.state,
            verdicts: self.verdicts,
            transmissions: self.transmissions,
            messages: self.messages,
            caches: self.caches,
            ..RunOptions::default()
        })
    }
}

/// The hosts that send data in a scenario: whose captures [`retransmissions_of`] looks at.
#[pyfunction]
pub fn senders(scenario_json: &str) -> PyResult<Vec<String>> {
    let resolved = Resolved::from_value(parse(scenario_json)?).map_err(value_error)?;
    let sending = sending_hosts(&resolved);
    let names = sending.iter().filter(|(_, sends)| **sends).map(|(host, _)| resolved.network.host_name(host));
    Ok(names.map(ToString::to_string).collect())
}

/// The hosts of a scenario by their names, those of groups one by one.
#[pyfunction]
pub fn hosts_of(scenario_json: &str) -> PyResult<Vec<String>> {
    let resolved = Resolved::from_value(parse(scenario_json)?).map_err(value_error)?;
    Ok(resolved.scenario.hosts.iter().map(|(_, name, _)| name.to_owned()).collect())
}

/// What was sent again in a run of which these are the captures, by the names of the hosts, as JSON: a list of rows.
/// Raises ValueError for a capture that cannot be read.
#[pyfunction]
pub fn retransmissions_of(
    py: Python<'_>,
    scenario_json: &str,
    mut captures: BTreeMap<String, String>,
) -> PyResult<String> {
    let resolved = Resolved::from_value(parse(scenario_json)?).map_err(value_error)?;
    let files = resolved.network.by_host(|host| captures.remove(&**resolved.network.host_name(host)));
    let rows = py.detach(|| of_captures(&resolved, &files));
    let rows = rows.map_err(|error| PyValueError::new_err(format!("a capture: {error}")))?;
    serde_json::to_string(&rows).map_err(|error| PyValueError::new_err(error.to_string()))
}
