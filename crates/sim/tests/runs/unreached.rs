//! Patterns that name packets that never come are told of, over all runs of a plan.

use crate::common::hurtig;
use rexmit_sim::{BatchOptions, Plan, UnreachedRuns, set};
use serde_json::{Value, json};

fn options(jobs: usize) -> BatchOptions {
    BatchOptions { replications: 3, seed: 7, jobs }
}

/// What 2 x 3 runs with one setting did not reach.
fn unreached(key: &str, value: Value) -> Vec<(String, u64)> {
    let mut base = hurtig("1 Mbit/s", "10 ms", 0);
    set(&mut base, key, value).unwrap();
    let plan = Plan::new(base, vec!["path.delay".into()], vec![vec![json!("5 ms"), json!("10 ms")]]).unwrap();
    plan.run(0..u64::MAX, options(2)).unwrap().unreached.texts()
}

fn line(text: &str, runs: u64) -> Vec<(String, u64)> {
    vec![(text.to_string(), runs)]
}

#[test]
fn every_form_of_pattern_is_told_of() {
    let cases = [
        ("path.down.drop", json!(500), "path.down.drop: position 500"),
        ("path.up.drop", json!({ "position": 500, "flow": true }), "path.up.drop: position 500"),
        ("path.down.drop", json!({ "position": 500, "period": 800 }), "path.down.drop: position 500"),
        ("path.down.corrupt", json!("400-500"), "path.down.corrupt: position 400-500"),
        ("path.down.duplicate", json!([500, 600]), "path.down.duplicate: position 500, 600"),
        ("path.down.hold", json!({ "position": 500, "by": "5 ms" }), "path.down.hold: position 500"),
        ("path.down.mark", json!({ "match": "data", "nth": 99 }), "path.down.mark: data number 99"),
        ("path.down.drop", json!({ "time": "3000 s-3001 s" }), "path.down.drop: time 3000 s"),
        (
            "path.down.drop",
            json!({ "retransmission": { "offset": 1448, "nth": 9 } }),
            "path.down.drop: retransmission 9",
        ),
        (
            "path.down.changes",
            json!([{ "packet": 500, "delay": "1 ms" }]),
            "path.down.changes.0: position 500",
        ),
    ];
    for (key, value, text) in cases {
        assert_eq!(unreached(key, value), line(&format!("{text} was never reached"), 6), "{key}");
    }
    let never = unreached("path.down.drop", json!({ "match": "rst" }));
    assert_eq!(never, line("path.down.drop: no packet was a rst", 6));
}

#[test]
fn the_row_counts_patterns_that_met_no_packet() {
    let mut base = hurtig("1 Mbit/s", "10 ms", 0);
    set(&mut base, "path.up.corrupt", json!([500, 600])).unwrap();
    let levels = vec![vec![json!(0), json!(20), json!(38), json!("20-38"), json!({ "match": "rst" })]];
    let plan = Plan::new(base, vec!["path.down.drop".into()], levels).unwrap();
    let rows = plan.run(0..u64::MAX, options(2)).unwrap().rows;
    let at = |n: usize| (rows[3 * n].unreached_down.unwrap(), rows[3 * n].unreached_up.unwrap());
    assert_eq!([at(0), at(1), at(2), at(3), at(4)], [(0, 1), (0, 1), (1, 1), (0, 1), (1, 1)]);
    assert!(rows.iter().all(|row| row.packets_down.unwrap() < 38), "the flow is shorter than the position");
}

#[test]
fn what_is_reached_is_not_told_of() {
    for value in [json!(0), json!(20), json!("3-"), json!({ "match": "fin" })] {
        assert_eq!(unreached("path.down.drop", value), []);
    }
}

#[test]
fn levels_are_one_line_the_same_for_any_threads_and_parts() {
    let base = hurtig("1 Mbit/s", "10 ms", 0);
    let positions: Vec<Value> = (15..1000).step_by(3).map(|n| json!(n)).collect();
    let plan = Plan::new(base, vec!["path.down.drop".into()], vec![positions.clone()]).unwrap();
    let whole = plan.run(0..u64::MAX, options(1)).unwrap();
    let missed = whole.rows.iter().enumerate();
    let missed =
        missed.filter(|(n, row)| row.packets_down.unwrap() < 15 + 3 * (*n as u64 / 3)).count() as u64;
    assert!(missed > 900, "{missed}");
    let [(text, runs)] = &whole.unreached.texts()[..] else { panic!("{:?}", whole.unreached) };
    assert!(
        text.starts_with("path.down.drop: position ") && text.ends_with(", ... was never reached"),
        "{text}"
    );
    assert!(text.len() < 100, "{text}");
    assert_eq!(*runs, missed);
    let mut parts = UnreachedRuns::default();
    for range in [500..u64::MAX, 0..77, 77..500] {
        parts.merge(plan.run(range, options(8)).unwrap().unreached);
    }
    assert_eq!(parts, whole.unreached);
}

#[test]
fn the_published_grid_has_no_such_pattern() {
    let rates = ["40 kbit/s", "80 kbit/s", "320 kbit/s", "1 Mbit/s", "10 Mbit/s"];
    let levels = vec![
        rates.iter().map(|r| json!(r)).collect(),
        ["5 ms", "40 ms", "300 ms"].iter().map(|d| json!(d)).collect(),
        (0..=20).map(|n| json!(n)).collect(),
    ];
    let factors = ["path.rate", "path.delay", "path.down.drop"].map(String::from).to_vec();
    let plan = Plan::new(hurtig("1 Mbit/s", "10 ms", 0), factors, levels).unwrap();
    assert_eq!(plan.run(0..u64::MAX, options(2)).unwrap().unreached.texts(), []);
}

#[test]
fn a_link_of_a_network_is_told_of_by_its_own_key() {
    let base = json!({
        "hosts": {
            "a": { "stack": "rfc-2014", "at": "left" },
            "b": { "stack": "rfc-2014", "at": "right", "access": { "down": { "drop": 500 } } },
        },
        "links": { "middle": { "between": ["left", "right"], "from": { "right": { "drop": 600 } } } },
        "transfers": [{ "from": "a", "to": "b", "writes": "1000 bytes" }],
    });
    let plan = Plan::new(base, Vec::new(), Vec::new()).unwrap();
    let mut texts = plan.run(0..u64::MAX, options(1)).unwrap().unreached.texts();
    texts.sort();
    let expected = [
        "hosts.b.access.down.drop: position 500 was never reached",
        "links.middle.from.right.drop: position 600 was never reached",
    ];
    assert_eq!(texts, expected.map(|text| (text.to_string(), 3)));
}
