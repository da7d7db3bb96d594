//! The same seed gives the same bytes, whatever else the machine does.

use crate::common::hurtig;
use std::sync::atomic::{AtomicU64, Ordering};

use rexmit_network::two_hosts::DOWN;
use rexmit_sim::{BatchOptions, Observer, Plan, Resolved, RunOptions, Stop, Streams, Watch};
use serde_json::{Value, json};

fn plan(factors: &[(&str, Vec<Value>)]) -> Plan {
    let (names, levels) = factors.iter().cloned().map(|(n, l)| (n.to_string(), l)).unzip();
    let mut base = hurtig("1 Mbit/s", "10 ms", 0);
    base["path"]["down"] = json!({ "loss": "3 %", "jitter": "2 ms" });
    Plan::new(base, names, levels).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_rows() {
    let plan = plan(&[
        ("path.rate", vec![json!("80 kbit/s"), json!("1 Mbit/s")]),
        ("path.delay", (1..20).map(|d| json!(format!("{d} ms"))).collect()),
    ]);
    let run = |jobs| plan.run(0..u64::MAX, BatchOptions { replications: 3, seed: 7, jobs }).unwrap().rows;
    let one = run(1);
    assert_eq!(one.len(), 2 * 19 * 3);
    assert!(one.iter().any(|r| r.drops_down.unwrap() > 0), "no loss was drawn");
    for jobs in [2, 3, 8, 1_000_000] {
        assert_eq!(run(jobs), one, "{jobs} threads");
    }
    let mut parts = plan.run(0..50, BatchOptions { replications: 3, seed: 7, jobs: 2 }).unwrap().rows;
    parts.extend(plan.run(50..114, BatchOptions { replications: 3, seed: 7, jobs: 2 }).unwrap().rows);
    assert_eq!(parts, one, "in two parts");
}

#[test]
fn the_order_of_factors_and_further_levels_change_no_run() {
    let rates = vec![json!("80 kbit/s"), json!("1 Mbit/s")];
    let delays = vec![json!("5 ms"), json!("10 ms"), json!("20 ms")];
    let options = BatchOptions { replications: 1, seed: 7, jobs: 2 };
    let a = plan(&[("path.rate", rates.clone()), ("path.delay", delays.clone())])
        .run(0..6, options)
        .unwrap()
        .rows;
    let b = plan(&[("path.delay", delays), ("path.rate", rates)]).run(0..6, options).unwrap().rows;
    assert_eq!(a[1], b[2]); // 80 kbit/s, 10 ms
    assert_eq!(a[5], b[5]);
    assert_ne!(a[0], a[1]);
}

#[test]
fn a_capture_is_the_same_to_the_byte() {
    let dir = std::env::temp_dir().join(format!("rexmit-determinism-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let capture = |name: &str| {
        let path = dir.join(name);
        let options = RunOptions {
            capture_files: [Some(path.clone()), None].into_iter().collect(),
            ..RunOptions::default()
        };
        let mut scenario = hurtig("320 kbit/s", "20 ms", 9);
        scenario["path"]["up"] = json!({ "loss": "5 %" });
        crate::common::run_with(scenario, &options);
        std::fs::read(path).unwrap()
    };
    let (a, b) = (capture("a.pcapng"), capture("b.pcapng"));
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(a.len() > 10_000);
    assert_eq!(a, b);
}

#[test]
fn one_more_impairment_changes_no_draw_of_another() {
    let positions = |extra: Value| -> Vec<u64> {
        let mut scenario = hurtig("1 Mbit/s", "10 ms", 0);
        scenario["path"]["down"] = json!({ "loss": "10 %" });
        scenario["path"]["up"] = extra;
        let outcome = crate::common::run_once(scenario);
        let drops = outcome.verdicts.iter().filter(|v| v.link == DOWN && v.row.verdict.is_drop());
        drops.map(|v| v.row.verdict.position).take(2).collect()
    };
    let plain = positions(json!({}));
    assert!(!plain.is_empty());
    assert_eq!(plain, positions(json!({ "jitter": "1 ms" })));
}

/// Asks to stop as a run begins, the one with this number in the order of beginnings.
struct Stopping<'a>(&'a Stop, AtomicU64);

impl Watch for Stopping<'_> {
    fn begin(&self, _: &Resolved, _: &Streams) -> Option<Box<dyn Observer>> {
        if self.1.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.0.ask();
        }
        None
    }
}

#[test]
fn what_is_stopped_gives_the_first_rows_of_the_whole() {
    let plan = plan(&[("path.delay", (1..40).map(|d| json!(format!("{d} ms"))).collect())]);
    let options = |jobs| BatchOptions { replications: 3, seed: 7, jobs };
    let whole = plan.run(5..117, options(2)).unwrap();
    for (jobs, at) in [(1, 0), (1, 7), (1, 60), (3, 0), (3, 50), (3, 100)] {
        let stop = Stop::default();
        let watch = Stopping(&stop, AtomicU64::new(at));
        let found = plan.run_watched(5..117, options(jobs), &watch, &stop).unwrap();
        assert!(found.rows.len() < whole.rows.len(), "{jobs} threads went on after {at}");
        assert_eq!(found.rows, whole.rows[..found.rows.len()], "{jobs} threads, stopped at {at}");
        assert!(jobs > 1 || found.rows.len() as u64 == at, "finished runs are lost");
    }
}

#[test]
fn a_run_of_hours_is_stopped_where_it_is() {
    let mut scenario = hurtig("1 Gbit/s", "1 us", 0);
    scenario["limit"] = json!("1000 h");
    scenario["transfers"] = json!([{ "from": "server", "to": "client", "bulk": "1000 h" }]);
    let resolved = Resolved::from_value(scenario).unwrap();
    let options = RunOptions::default();
    let stop = options.stop.clone();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| rexmit_sim::run(&resolved, &rexmit_sim::Streams::new(1, ""), &options));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!run.is_finished(), "the run is too short for this test");
        stop.ask();
        assert_eq!(run.join().unwrap().unwrap_err().message, "the run was stopped");
    });
}
