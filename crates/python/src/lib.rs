//! `rexmit._native`: what Python may call. Conversion and errors only; the work is done in the crates below.
//!
//! Scenarios, profiles and options cross the border as JSON, tables as columns of little-endian bytes with
//! numpy's name of their type, so that neither side knows the other's data structures. Every mistake of the
//! caller becomes a `ValueError` of one line.

use pyo3::prelude::*;

mod analysis;
#[cfg_attr(not(all(target_os = "linux", feature = "kernels")), path = "live_elsewhere.rs")]
mod live;
mod numbers;
mod pair;
mod patterns;
mod plan;
mod rights;
mod scenarios;
mod stacks;
mod stopping;
mod sweep;
mod tables;
mod traces;
mod watch;

/// The module `rexmit._native`.
#[pymodule]
mod _native {
    use super::{Bound, PyModule, PyResult};

    #[pymodule_export]
    use super::analysis::{Analysis, analysis_limits};
    #[pymodule_export]
    use super::live::{
        check_network, check_path, measure_emulator, probe_emulation, rows_of_agents, serve_emulation,
        serve_job, sweep_emulations,
    };
    #[pymodule_export]
    use super::pair::PairAnalysis;
    #[pymodule_export]
    use super::patterns::{
        pattern_file, pattern_from_file, pattern_list, pattern_random, pattern_show, pattern_to_file,
    };
    #[pymodule_export]
    use super::plan::{Plan, hosts_of, retransmissions_of, run_one, senders};
    #[pymodule_export]
    use super::rights::{give_rights_back, take_rights};
    #[pymodule_export]
    use super::scenarios::{
        check_sampling, meant, parse_duration, parse_rate, profile, profile_schema, profiles,
        quic_profile_schema, resolve, schema, sctp_profile_schema, version,
    };
    #[pymodule_export]
    use super::stacks::{Lead, provide_kernel, stack_programs, stack_sources, stacks};
    #[pymodule_export]
    use super::sweep::Sweep;
    #[pymodule_export]
    use super::tables::{comment_says_dropped, table_descriptions};
    #[pymodule_export]
    use super::traces::{TraceConverter, trace_about, trace_bins};

    /// Stacks of hosts may be programs, which this process starts.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        rexmit_sim::allow_programs();
        Ok(())
    }
}
