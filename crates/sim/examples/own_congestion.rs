//! A congestion control of one's own on a simulated path, beside Reno:
//! `cargo run --release -p rexmit-sim --example own_congestion -- [INCREASE KEEP]`, both in thousandths.
use rexmit_sim::{Outcome, Resolved, RunOptions, Sampling, Streams, run};
use rexmit_tcp::congestion::Congestion;
use serde_json::json;

#[path = "../../tcp/tests/own/aimd.rs"]
mod aimd;

use aimd::Aimd;

// --8<-- [start:run]
/// 5 MB over 10 Mbit/s and a round trip of 40 ms, through a queue of 50 packets; packet 300 is lost.
fn transfer(control: Option<Congestion>) -> Outcome {
    let value = json!({
        "hosts": { "server": { "stack": "rfc" }, "client": { "stack": "rfc" } },
        "path": { "rate": "10 Mbit/s", "delay": "20 ms", "queue": "50 packets", "down": { "drop": 300 } },
        "transfers": [{ "from": "server", "to": "client", "writes": "50 x 100000 bytes" }],
    });
    let resolved = Resolved::from_value(value).expect("a scenario");
    let options = RunOptions {
        state: Some(Sampling::Changes),
        // `None` leaves the server what its profile names: Reno.
        congestion_server: control,
        ..RunOptions::default()
    };
    run(&resolved, &Streams::new(1, ""), &options).expect("a run")
}
// --8<-- [end:run]

// --8<-- [start:main]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| args.get(i).map_or(default, |s| s.parse().expect("a whole number"));
    let (increase, keep) = (number(0, 310), number(1, 875));
    show("reno", &transfer(None));
    show(&format!("aimd({increase}, {keep})"), &transfer(Some(Congestion::own(Aimd::new(increase, keep)))));
}

fn show(name: &str, outcome: &Outcome) {
    let row = &outcome.row;
    let greatest = outcome.states.iter().filter(|s| s.host == "server").map(|s| s.state.cwnd).max();
    println!(
        "{name:16} {:8.1} ms  {} timeouts  {:3} retransmissions  {:3} dropped  greatest cwnd {:6} bytes",
        row.time_ns as f64 / 1e6,
        row.timeouts,
        row.retransmits,
        row.drops_down,
        greatest.unwrap_or(0),
    );
}
// --8<-- [end:main]

/// AIMD(1, 1/2) is the Reno of the profile `rfc`: packet by packet, to the nanosecond.
#[test]
fn one_and_a_half_is_reno() {
    let (reno, own) = (transfer(None), transfer(Some(Congestion::own(Aimd::new(1000, 500)))));
    assert_eq!(own.row, reno.row);
    assert_eq!(own.states, reno.states);
    assert_ne!(transfer(Some(Congestion::own(Aimd::new(310, 875)))).states, reno.states);
}

/// Every packet arrives, whatever the constants are.
#[test]
fn every_choice_delivers() {
    for (increase, keep) in [(10, 1), (10, 999), (5000, 1), (5000, 999)] {
        let row = transfer(Some(Congestion::own(Aimd::new(increase, keep)))).row;
        assert_eq!((row.bytes, row.error), (5_000_000, None), "AIMD({increase}, {keep})");
    }
}

/// SCTP has a congestion control of its own, and says so.
#[test]
fn an_association_refuses() {
    let value = json!({
        "hosts": { "server": { "stack": "rfc9260" }, "client": { "stack": "rfc9260" } },
        "path": { "rate": "10 Mbit/s", "delay": "20 ms", "queue": "50 packets" },
        "transfers": [{ "from": "server", "to": "client", "writes": "1 x 1000 bytes" }],
    });
    let resolved = Resolved::from_value(value).expect("a scenario");
    let own = Some(Congestion::own(Aimd::new(1000, 500)));
    let options = RunOptions { congestion_client: own, ..RunOptions::default() };
    let error = run(&resolved, &Streams::new(1, ""), &options).expect_err("SCTP").to_string();
    assert!(error.contains("hosts.client.stack"), "{error}");
}
