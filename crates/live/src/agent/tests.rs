use super::*;

const SCENARIO: &str = r#"{
    "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
    "path": {"rate": "1 Mbit/s", "delay": "10 ms"},
    "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes"}]
}"#;

fn job(scenarios: &[&str]) -> Job {
    let run = |(run, scenario): (usize, &&str)| {
        format!(r#"{{"run":{run},"own":{{"scenario":{scenario},"seed":1,"key":"{run}"}}}}"#)
    };
    let runs: Vec<String> = scenarios.iter().enumerate().map(run).collect();
    serde_json::from_str(&format!(r#"{{"runs":[{}]}}"#, runs.join(","))).expect("a job")
}

#[test]
fn a_scenario_that_comes_again_is_read_once() {
    let other = SCENARIO.replace("10 ms", "20 ms");
    let (mut known, mut read) = (Known::default(), Vec::new());
    for run in job(&[SCENARIO, SCENARIO, &other, SCENARIO]).runs {
        let own = run.own.expect("its own scenario");
        let resolved = known.of(Source::Own(own.scenario.into()), |source| {
            let Source::Own(text) = source else { panic!("no point of a study") };
            read.push(run.run);
            Ok(serde_json::from_str(text).expect("an object"))
        });
        let delay = resolved.expect("a scenario").scenario.path.down().delay.as_nanos();
        assert_eq!(delay, if run.run == 2 { 20_000_000 } else { 10_000_000 });
    }
    assert_eq!(read, [0, 2, 3]);
}
