//! Bad input gets one line that names the key and what is allowed.

use crate::common::hurtig;
use rexmit_sim::{BatchOptions, Checked, Plan, Resolved, set};
use serde_json::{Value, json};

fn error(key: &str, value: Value) -> String {
    let mut scenario = hurtig("1 Mbit/s", "10 ms", 3);
    set(&mut scenario, key, value).unwrap();
    let text = Resolved::from_value(scenario).expect_err(key).to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn a_wrong_unit_names_the_key_and_the_units() {
    let text = error("path.rate", json!("40 kb"));
    assert!(text.starts_with("path.rate: ") && text.contains("kbit/s"), "{text}");
    let text = error("path.delay", json!("10"));
    assert!(text.starts_with("path.delay: ") && text.contains("ms"), "{text}");
    let text = error("path.down.queue", json!("ten"));
    assert!(text.starts_with("path.down.queue: ") && text.contains("packets"), "{text}");
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_known() {
    let text = error("path.dely", json!("10 ms"));
    assert!(text.contains("`dely`") && text.contains("did you mean `delay`"), "{text}");
    let text = error("hosts.server.mtuu", json!(1500));
    assert!(text.contains("did you mean `mtu`"), "{text}");
    let text = error("transfer", json!([]));
    assert!(text.contains("did you mean `transfers`"), "{text}");
}

#[test]
fn an_unknown_stack_lists_those_that_are_known() {
    let text = error("hosts.server.stack", json!("freebsd-6"));
    assert!(text.starts_with("hosts.server.stack: ") && text.contains("`freebsd-6.0`"), "{text}");
    let text = error("hosts.client.stack", json!("./no-such.toml"));
    assert!(text.contains("no-such.toml"), "{text}");
    let text = error("hosts.client.stack", json!({ "inherits": "freebsd-6.0", "rtt": { "slopp": "1 ms" } }));
    assert!(text.contains("did you mean `slop`"), "{text}");
}

#[test]
fn a_setting_of_a_profile_can_be_varied() {
    let mut scenario = hurtig("1 Mbit/s", "10 ms", 17);
    set(&mut scenario, "hosts.server.stack.recovery.dupack_threshold", json!(1)).unwrap();
    assert_eq!(crate::common::run_once(scenario).row.timeouts_server.unwrap(), 0);
}

#[test]
fn factors_must_name_something_and_have_levels() {
    let base = || hurtig("1 Mbit/s", "10 ms", 0);
    let empty = Plan::new(base(), vec!["path.rate".into()], vec![vec![]]).unwrap_err().to_string();
    assert!(empty.starts_with("path.rate: "), "{empty}");
    let plan = Plan::new(base(), vec!["path.speed".into()], vec![vec![json!("1 Mbit/s")]]).unwrap();
    assert!(plan.check(0..u64::MAX, rexmit_sim::Target::Virtual).unwrap_err().to_string().contains("speed"));
    let run = plan.run(0..1, BatchOptions { replications: 1, seed: 1, jobs: 1 });
    assert!(run.unwrap_err().to_string().contains("speed"));
}

#[test]
fn a_run_that_cannot_end_says_so() {
    let mut scenario = hurtig("1 Mbit/s", "10 ms", 0);
    scenario["limit"] = json!("50 ms");
    let row = crate::common::run_once(scenario).row;
    assert!(!row.completed && row.error.is_some_and(|e| e.contains("50 ms")));
    let mut dead = hurtig("1 Mbit/s", "10 ms", 0);
    dead["path"]["down"] = json!({ "loss": "100 %" });
    let row = crate::common::run_once(dead).row;
    assert!(!row.completed && row.error.is_some_and(|e| e.contains("given up")));
}

#[test]
fn a_plan_is_checked_in_parts() {
    let base = || hurtig("1 Mbit/s", "10 ms", 0);
    let many: Vec<Value> = (0..900_000).map(|n| json!(n)).collect();
    let factors = || vec!["path.down.drop".to_string(), "path.delay".to_string()];
    let delays = |second: &str| vec![json!("1 ms"), json!(second)];
    let plan = Plan::new(base(), factors(), vec![many.clone(), delays("2 ms")]).unwrap();
    assert_eq!(plan.points(), 1_800_000);
    let warned = plan.check(0..3, rexmit_sim::Target::Virtual).unwrap().warnings;
    assert_eq!(warned.len(), 1, "position 0, once: {warned:?}");
    let found = plan.check(1_799_990..u64::MAX, rexmit_sim::Target::Virtual).unwrap();
    assert_eq!(found, Checked { protocols: ["tcp"].into(), ..Checked::default() });
    assert_eq!(plan.check(u64::MAX - 1..u64::MAX, rexmit_sim::Target::Virtual).unwrap(), Checked::default());
    // A wrong level shows in the first part, however late its first point comes.
    let factors = vec!["path.delay".to_string(), "path.down.drop".to_string()];
    let plan = Plan::new(base(), factors, vec![delays("2"), many]).unwrap();
    assert!(
        plan.check(0..1, rexmit_sim::Target::Virtual).unwrap_err().to_string().starts_with("path.delay: ")
    );
    assert!(
        plan.check(1..2, rexmit_sim::Target::Virtual).is_ok()
            && plan.check(900_000..900_001, rexmit_sim::Target::Virtual).is_err()
    );
}

#[test]
fn no_word_of_serde_or_rust_reaches_people() {
    let cases = [
        (
            "transfers.0.connections",
            json!(-1),
            "-1 does not fit here; allowed: a whole number from 0 to 4294967295",
        ),
        ("transfers.0.connections", json!("x"), "\"x\" does not fit here; allowed: a whole number from 0"),
        ("transfers.0.close", json!(1), "1 does not fit here; allowed: true or false"),
        ("transfers.0.from", json!(["server"]), "a list does not fit here; allowed: a text in quotes"),
        ("transfers.0.from", json!("sevrer"), "unknown host `sevrer`: did you mean `server`?"),
        ("transfers", json!(3), "3 does not fit here; allowed: a list in brackets"),
        ("transfers.0", json!(["server", "client"]), "a list does not fit here; allowed: a table"),
        ("transfers.0.read", json!(["1 B"]), "a list does not fit here; allowed: a table"),
        ("transfers.0.bursts", json!([2, "1 s"]), "a list does not fit here; allowed: a table"),
        (
            "transfers.0.bursts.count",
            json!("x"),
            "\"x\" does not fit here; allowed: a whole number from 0 on",
        ),
        ("transfers.0.requests", json!([1, "1 B", "1 B"]), "a list does not fit here; allowed: a table"),
        ("transfers.0.requests", json!({ "response": "1 kB" }), "`request` is missing"),
        ("path", json!(["a"]), "a list does not fit here; allowed: a table"),
        ("path", json!(3), "3 does not fit here; allowed: a table"),
        ("path.down", json!(["1 Mbit/s"]), "a list does not fit here; allowed: a table"),
        ("path.rate", json!({}), "`trace` is missing"),
        ("path.down.hold", json!({ "position": 1 }), "`by` is missing"),
        ("path.up.changes.0", json!(["1 s"]), "a list does not fit here; allowed: a table"),
        ("hosts.server", json!(["rfc"]), "a list does not fit here; allowed: a table"),
        (
            "hosts.client.address",
            json!("300.1.1.1"),
            "\"300.1.1.1\" is not an IP address; allowed: such as \"10.0.2.1\"",
        ),
        ("hosts.client.address", json!(3), "3 does not fit here; allowed: a text in quotes"),
    ];
    for (key, value, text) in cases {
        let mut scenario = hurtig("1 Mbit/s", "10 ms", 3);
        scenario["path"]["up"] = json!({ "changes": [{}] });
        set(&mut scenario, key, value).unwrap();
        let error = Resolved::from_value(scenario).expect_err(key).to_string();
        assert!(error.starts_with(&format!("{key}: {text}")), "{error}");
    }
}

#[test]
fn a_profile_that_inherits_nothing_is_told_how() {
    let empty = std::env::temp_dir().join(format!("rexmit-empty-{}.toml", std::process::id()));
    std::fs::write(&empty, "").unwrap();
    let options = json!({ "summary": "x", "options": {} });
    for stack in [json!({}), json!({ "summary": "x" }), options, json!(empty.to_str().unwrap())] {
        let text = error("hosts.server.stack", stack);
        assert!(text.starts_with("hosts.server.stack"), "{text}");
        assert!(text.contains(" is missing; ") && text.contains("add `inherits = \"rfc\"`"), "{text}");
    }
    std::fs::remove_file(empty).unwrap();
}

/// What depends on a file is read from it each time, however many profiles stand between.
#[test]
fn a_profile_whose_file_has_changed_is_another_one() {
    let path = std::env::temp_dir().join(format!("rexmit-changes-{}.toml", std::process::id()));
    let told = |summary: &str| {
        std::fs::write(&path, format!("inherits = \"freebsd-6.0\"\nsummary = \"{summary}\"\n")).unwrap();
        let stack = json!({ "inherits": { "inherits": path.to_str().unwrap() }, "recovery": { "limited_transmit": 1 } });
        rexmit_scenario::resolve_profile(&stack).unwrap().summary().to_string()
    };
    let found = ["before", "after"].map(told);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(found, ["before", "after"]);
}

#[test]
fn a_path_that_nothing_can_pass_and_a_run_without_time_are_refused() {
    assert!(error("limit", json!("0 s")).starts_with("limit: a run without time; allowed: above 0 s"));
    for queue in ["0 packets", "0 bytes", "10 bytes", "67 bytes"] {
        let text = error("path.queue", json!(queue));
        assert!(
            text.starts_with("path.down.queue: no packet fits in; allowed: at least 1 packet or 68"),
            "{text}"
        );
    }
    let mut scenario = hurtig("1 Mbit/s", "10 ms", 3);
    set(&mut scenario, "path.queue", json!("68 bytes")).unwrap();
    assert!(Resolved::from_value(scenario).is_ok());
}
