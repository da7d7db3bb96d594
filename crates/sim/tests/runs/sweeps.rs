//! Runs on threads of their own: who takes what when, whoever takes it from them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rexmit_sim::{
    BatchOptions, Observer, Plan, Resolved, Row, Sequence, Stop, Streams, Sweep, Unwatched, Watch,
};
use serde_json::{Value, json};

use crate::common::hurtig;

/// Longer than any of these runs, for what a mistake would make wait for ever.
const PATIENCE: Duration = Duration::from_secs(20);

fn plan(delays: u64) -> Plan {
    let mut base = hurtig("1 Mbit/s", "10 ms", 0);
    base["path"]["down"] = json!({ "loss": "3 %" });
    let delays: Vec<Value> = (1..=delays).map(|ms| json!(format!("{ms} ms"))).collect();
    Plan::new(base, vec!["path.delay".into()], vec![delays]).unwrap()
}

fn options(replications: u64, jobs: usize) -> BatchOptions {
    BatchOptions { replications, seed: 7, jobs }
}

/// All that a sweep gives, and each number of a first run.
fn all_of(mut sweep: Sweep) -> (Vec<u64>, Vec<Row>) {
    let (mut firsts, mut rows) = (Vec::new(), Vec::new());
    loop {
        let over = sweep.wait(Duration::from_micros(100));
        let (first, batch) = sweep.take().unwrap();
        if batch.rows.is_empty() {
            if over {
                return (firsts, rows);
            }
            continue;
        }
        assert_eq!(first, firsts.first().unwrap_or(&first) + rows.len() as u64);
        firsts.push(first);
        rows.extend(batch.rows);
    }
}

#[test]
fn what_is_taken_bit_by_bit_is_the_whole() {
    let plan = Arc::new(plan(40));
    let whole = plan.run(5..117, options(3, 1)).unwrap().rows;
    for jobs in [1, 2, 5] {
        let sweep = Sweep::start(plan.clone(), 5..117, options(3, jobs), Arc::new(Unwatched)).unwrap();
        let (firsts, rows) = all_of(sweep);
        assert_eq!(firsts[0], 5);
        assert!(rows == whole, "{jobs} threads");
    }
}

/// Holds the first run until another one has begun: whether one did.
#[derive(Default)]
struct Meeting {
    begun: Mutex<u64>,
    changed: Condvar,
    met: AtomicBool,
}

impl Watch for Meeting {
    fn begin(&self, _: &Resolved, _: &Streams) -> Option<Box<dyn Observer>> {
        let mut begun = self.begun.lock().unwrap();
        *begun += 1;
        self.changed.notify_all();
        if *begun == 1 {
            begun = self.changed.wait_timeout_while(begun, PATIENCE, |begun| *begun < 2).unwrap().0;
            self.met.store(*begun >= 2, Ordering::Relaxed);
        }
        None
    }
}

#[test]
fn two_runs_are_enough_for_two_threads() {
    let meeting = Meeting::default();
    let two_points = plan(2);
    assert_eq!(
        two_points.run_watched(0..2, options(1, 2), &meeting, &Stop::default()).unwrap().rows.len(),
        2
    );
    assert!(meeting.met.into_inner(), "one thread ran both points");
    let meeting = Meeting::default();
    plan(1).run_watched(0..2, options(2, 2), &meeting, &Stop::default()).unwrap();
    assert!(meeting.met.into_inner(), "one thread ran both replications");
}

#[test]
fn sequences_run_side_by_side_whatever_varies_in_them() {
    for along in ["path.delay", "replication"] {
        let meeting = Meeting::default();
        let gap = rexmit_units::Duration::from_secs(1);
        let plan = plan(4).in_sequence(Sequence { along: vec![along.into()], gap }).unwrap();
        plan.run_watched(0..8, options(2, 2), &meeting, &Stop::default()).unwrap();
        assert!(meeting.met.into_inner(), "{along}: the second sequence waited for the first");
    }
}

/// Keeps the run of the first delay from beginning until so many others have begun.
struct Holding {
    others: AtomicU64,
}

impl Watch for Holding {
    fn begin(&self, resolved: &Resolved, _: &Streams) -> Option<Box<dyn Observer>> {
        let first = resolved.scenario.path.delay == Some(rexmit_units::Duration::from_millis(1));
        let began = std::time::Instant::now();
        while first && self.others.load(Ordering::Relaxed) > 0 && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !first {
            self.others.fetch_sub(1, Ordering::Relaxed);
        }
        None
    }
}

#[test]
fn a_long_run_holds_up_no_other() {
    let plan = Arc::new(plan(30));
    let watch = Arc::new(Holding { others: AtomicU64::new(29) });
    let mut sweep = Sweep::start(plan.clone(), 0..30, options(1, 2), watch.clone()).unwrap();
    assert!(sweep.wait(PATIENCE));
    assert_eq!(watch.others.load(Ordering::Relaxed), 0, "the others waited for the first run");
    assert_eq!(sweep.take().unwrap().1.rows, plan.run(0..30, options(1, 1)).unwrap().rows);
}

#[test]
fn nothing_is_given_behind_a_run_that_has_not_ended() {
    let watch = Arc::new(Holding { others: AtomicU64::new(u64::MAX) });
    let mut sweep = Sweep::start(Arc::new(plan(30)), 0..30, options(1, 2), watch.clone()).unwrap();
    while watch.others.load(Ordering::Relaxed) > u64::MAX - 29 {
        std::thread::yield_now();
    }
    let (first, batch) = sweep.take().unwrap();
    assert_eq!((first, batch.rows.len()), (0, 0));
    sweep.stop().ask();
    watch.others.store(0, Ordering::Relaxed);
    assert!(sweep.wait(PATIENCE));
    assert_eq!(sweep.take().unwrap().1.rows.len(), 0, "the first run was stopped before it had begun");
}

#[test]
fn what_is_dropped_ends() {
    let mut scenario = hurtig("1 Gbit/s", "1 us", 0);
    scenario["limit"] = json!("1000 h");
    scenario["transfers"] = json!([{ "from": "server", "to": "client", "bulk": "1000 h" }]);
    let plan = Arc::new(Plan::new(scenario, Vec::new(), Vec::new()).unwrap());
    let sweep = Sweep::start(plan.clone(), 0..4, options(4, 2), Arc::new(Unwatched)).unwrap();
    assert!(!sweep.wait(Duration::from_millis(50)), "the run is too short for this test");
    drop(sweep);
    assert_eq!(Arc::strong_count(&plan), 1, "a thread is left");
}

#[test]
fn a_run_that_cannot_be_run_is_told_after_those_before_it() {
    let mut base = hurtig("1 Mbit/s", "10 ms", 0);
    base["transfers"][0]["writes"] = json!("10 kB");
    let levels = ["10 ms", "20 ms", "none"].map(Value::from).to_vec();
    let plan = Arc::new(Plan::new(base, vec!["path.delay".into()], vec![levels]).unwrap());
    let mut sweep = Sweep::start(plan.clone(), 0..3, options(1, 1), Arc::new(Unwatched)).unwrap();
    assert!(sweep.wait(PATIENCE));
    assert_eq!(sweep.take().unwrap().1.rows.len(), 2);
    let error = sweep.take().unwrap_err().to_string();
    assert!(error.contains("path.delay"), "{error}");
    assert_eq!(sweep.take().unwrap().1.rows.len(), 0, "it is told once");
    assert!(plan.run(0..3, options(1, 2)).is_err());
}
