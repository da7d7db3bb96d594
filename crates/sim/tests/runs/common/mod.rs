//! Scenarios that several tests share.

use rexmit_sim::{Outcome, Resolved, RunOptions, Streams, builtin_profiles, resolve_profile, run};
use serde_json::{Value, json};

/// The scenario of hurtig-2006's short flows.
pub fn hurtig(rate: &str, delay: &str, position: u64) -> Value {
    json!({
        "hosts": { "server": { "stack": "freebsd-6.0" }, "client": { "stack": "freebsd-6.0" } },
        "path": {
            "rate": rate, "delay": delay, "queue": "99 packets", "shaper": "dummynet",
            "down": { "drop": position }
        },
        "transfers": [{ "from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes" }],
    })
}

/// The names of the profiles that a model behaves by; of QUIC there is none.
pub fn modelled_profiles() -> impl Iterator<Item = &'static str> {
    let names = builtin_profiles().into_iter().map(|(name, _)| name);
    names.filter(|name| resolve_profile(&json!(name)).is_ok_and(|profile| profile.protocol() != "quic"))
}

/// Runs once with everything written down.
pub fn run_once(scenario: Value) -> Outcome {
    run_with(
        scenario,
        &RunOptions {
            state: Some(rexmit_scenario::Sampling::Changes),
            verdicts: true,
            ..RunOptions::default()
        },
    )
}

pub fn run_with(scenario: Value, options: &RunOptions) -> Outcome {
    let resolved = Resolved::from_value(scenario).unwrap_or_else(|e| panic!("{e}"));
    run(&resolved, &Streams::new(1, "test"), options).unwrap_or_else(|e| panic!("{e}"))
}

/// The mean time in milliseconds of three runs.
pub fn mean_ms(rate: &str, delay: &str, position: u64) -> f64 {
    let resolved = Resolved::from_value(hurtig(rate, delay, position)).unwrap_or_else(|e| panic!("{e}"));
    let time = |n: u64| {
        let outcome = run(&resolved, &Streams::new(1, &n.to_string()), &RunOptions::default());
        let row = outcome.unwrap_or_else(|e| panic!("{e}")).row;
        assert!(row.completed, "{:?}", row.error);
        row.time_ns as f64 / 1e6
    };
    (time(0) + time(1) + time(2)) / 3.0
}
