//! Runs that follow each other at the same hosts: what they begin with comes from those before them, whoever runs them.

use rexmit_network::two_hosts::SERVER;
use rexmit_sim::{
    BatchOptions, Plan, Resolved, Row, RunOptions, Sampling, Sequence, Stop, Streams, run, set,
};
use rexmit_units::Duration;
use serde_json::{Value, json};

const REPLICATIONS: u64 = 4;
const DELAYS: [&str; 2] = ["10 ms", "20 ms"];

fn base() -> Value {
    let host = json!({ "stack": { "inherits": "freebsd-6.0", "host_cache": { "on": true } } });
    json!({
        "hosts": { "server": host, "client": host },
        "path": { "rate": "10 Mbit/s", "delay": "10 ms", "down": { "loss": 0.03 } },
        "transfers": [{ "from": "server", "to": "client", "bulk": "100 kB" }],
    })
}

fn plan_of(base: Value, along: &[&str], gap: Duration) -> Plan {
    let levels = vec![DELAYS.map(Value::from).to_vec()];
    let plan = Plan::new(base, vec!["path.delay".into()], levels).unwrap();
    if along.is_empty() {
        return plan;
    }
    plan.in_sequence(Sequence { along: along.iter().map(ToString::to_string).collect(), gap }).unwrap()
}

fn plan(along: &[&str]) -> Plan {
    plan_of(base(), along, Duration::from_secs(1))
}

fn options(jobs: usize) -> BatchOptions {
    BatchOptions { replications: REPLICATIONS, seed: 7, jobs }
}

fn rows(plan: &Plan) -> Vec<Row> {
    plan.run(0..u64::MAX, options(2)).unwrap().rows
}

#[test]
fn each_run_begins_with_what_the_one_before_it_has_left() {
    let (alone, following) = (rows(&plan(&[])), rows(&plan(&["replication"])));
    assert!(alone.iter().all(|row| row.cached_rtt_ns.is_none()));
    for (n, (alone, row)) in alone.iter().zip(&following).enumerate() {
        if (n as u64).is_multiple_of(REPLICATIONS) {
            assert_eq!(row, alone, "the first of a sequence finds nothing");
        } else {
            assert!(row.cached_rtt_ns.is_some() && row != alone, "{n}");
        }
    }
    assert!(following.iter().any(|row| row.cached_ssthresh.is_some()));
}

#[test]
fn the_rows_are_the_same_in_any_order_and_on_any_number_of_threads() {
    for along in [
        &["replication"][..],
        &["path.delay"],
        &["path.delay", "replication"],
        &["replication", "path.delay"],
    ] {
        let expected = rows(&plan(along));
        let total = expected.len() as u64;
        for (jobs, size) in [(1, total), (3, 3), (1, 1)] {
            let again = plan(along);
            for start in (0..total).step_by(size as usize).collect::<Vec<_>>().into_iter().rev() {
                let end = (start + size).min(total);
                let some = again.run(start..end, options(jobs)).unwrap().rows;
                assert_eq!(some, expected[start as usize..end as usize], "{along:?} {start}..{end}");
            }
        }
    }
}

#[test]
fn what_is_named_last_varies_fastest() {
    // The second replication at 10 ms follows the first, or else that at 20 ms, whose time has entered the mean.
    let found = |along: &[&str]| rows(&plan(along))[1].cached_rtt_ns.unwrap();
    assert!(found(&["path.delay", "replication"]) < found(&["replication", "path.delay"]));
}

#[test]
fn a_run_by_itself_begins_as_it_did_among_all() {
    let plan = plan(&["path.delay", "replication"]);
    let expected = rows(&plan);
    let fresh = plan_of(base(), &["path.delay", "replication"], Duration::from_secs(1));
    for number in [0, 3, 6] {
        let caches = fresh.caches_before(number, options(1), &Stop::default()).unwrap();
        let (point, replication) = (number / REPLICATIONS, number % REPLICATIONS);
        let resolved = Resolved::from_value(fresh.scenario(point).unwrap()).unwrap();
        let streams = Streams::new(7, &fresh.run_key(point, replication));
        let alone = run(&resolved, &streams, &RunOptions { caches, ..RunOptions::default() }).unwrap();
        assert_eq!(alone.row, expected[number as usize], "{number}");
    }
}

#[test]
fn after_more_than_an_hour_a_run_finds_nothing() {
    let gap = |seconds| rows(&plan_of(base(), &["replication"], Duration::from_secs(seconds)));
    assert_eq!(gap(3_901), rows(&plan(&[])));
    assert_ne!(gap(3_500), rows(&plan(&[])));
}

#[test]
fn without_a_cache_the_order_of_runs_changes_nothing() {
    let mut base = base();
    for host in ["server", "client"] {
        set(&mut base, &format!("hosts.{host}.stack"), json!("freebsd-6.0")).unwrap();
    }
    let with = plan_of(base.clone(), &["replication"], Duration::ZERO);
    assert_eq!(rows(&with), rows(&plan_of(base, &[], Duration::ZERO)));
}

#[test]
fn connections_of_one_run_share_the_cache_of_their_host() {
    let mut scenario = base();
    let later = json!({ "from": "server", "to": "client", "bulk": "100 kB", "start": "60 s" });
    scenario["transfers"].as_array_mut().unwrap().push(later);
    let resolved = Resolved::from_value(scenario).unwrap();
    let options = RunOptions { state: Some(Sampling::Changes), ..RunOptions::default() };
    let outcome = run(&resolved, &Streams::new(1, ""), &options).unwrap();
    assert!(outcome.row.completed && outcome.row.cached_rtt_ns.is_none());
    let last = |connection| {
        let of = |row: &&rexmit_sim::StateRow| row.host == SERVER && row.connection.number() == connection;
        outcome.states.iter().rev().find(of).unwrap().state
    };
    assert_eq!(last(0).cached.rtt, None);
    assert_eq!((last(1).cached.rtt, last(1).cached.cwnd), (last(0).srtt, Some(last(0).cwnd)));
}

#[test]
fn the_cache_is_of_freebsd_s_estimator_alone() {
    let mut scenario = base();
    set(&mut scenario, "hosts.server.stack.rtt.estimator", json!("rfc6298")).unwrap();
    let error = Resolved::from_value(scenario).unwrap_err().to_string();
    assert!(error.starts_with("hosts.server.stack.host_cache.on: "), "{error}");
}
