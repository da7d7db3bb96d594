//! A congestion control of one's own on a simulated path, beside Reno:
//! `cargo run --release -p rexmit-sim --example own_congestion -- [INCREASE KEEP QUEUE]`, the first
//! two in thousandths, the queue in packets.
use rexmit_sim::two_hosts::SERVER;
use rexmit_sim::{Outcome, Resolved, RunOptions, Sampling, Streams, run};
use rexmit_tcp::congestion::Congestion;
use serde_json::json;

#[path = "../../tcp/tests/own/aimd.rs"]
mod aimd;

use aimd::Aimd;

// --8<-- [start:run]
/// 5 MB over 10 Mbit/s and a round trip of 40 ms; the 1000th packet is lost, and what the queue does not
/// hold.
fn transfer(control: Option<Congestion>, queue: u32) -> Outcome {
    let value = json!({
        "hosts": { "server": { "stack": "rfc-2014" }, "client": { "stack": "rfc-2014" } },
        "path": {
            "rate": "10 Mbit/s", "delay": "20 ms", "queue": format!("{queue} packets"), "down": { "drop": 1000 },
        },
        "transfers": [{ "from": "server", "to": "client", "writes": "50 x 100000 bytes" }],
    });
    let resolved = Resolved::from_value(value).expect("a scenario");
    let mut options = RunOptions { state: Some(Sampling::Changes), ..RunOptions::default() };
    // Without it the server has what its profile names: Reno.
    if let Some(control) = control {
        options = options.with_congestion(SERVER, control);
    }
    run(&resolved, &Streams::new(1, ""), &options).expect("a run")
}
fn aimd(increase: u32, keep: u32, queue: u32) -> Outcome {
    transfer(Some(Congestion::own(Aimd::new(increase, keep))), queue)
}
// --8<-- [end:run]

// --8<-- [start:main]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| args.get(i).map_or(default, |s| s.parse().expect("a whole number"));
    let (increase, keep, queue) = (number(0, 310), number(1, 875), number(2, 10));
    show("reno", &transfer(None, queue));
    show(&format!("aimd({increase}, {keep})"), &aimd(increase, keep, queue));
}

fn show(name: &str, outcome: &Outcome) {
    let row = &outcome.row;
    let greatest = outcome.states.iter().filter(|s| s.host == SERVER).map(|s| s.state.cwnd).max();
    println!(
        "{name:14} {:8.1} ms, {} timeouts, {:3} retransmissions, greatest cwnd {:6}",
        row.time_ns as f64 / 1e6,
        row.timeouts,
        row.retransmits,
        greatest.unwrap_or(0),
    );
}
// --8<-- [end:main]

/// AIMD(1, 1/2) is the Reno of the profile `rfc-2014`: packet by packet, to the nanosecond.
#[test]
fn one_and_a_half_is_reno() {
    for queue in [10, 50] {
        let (reno, own) = (transfer(None, queue), aimd(1000, 500, queue));
        assert_eq!(own.row, reno.row);
        assert_eq!(own.states, reno.states);
        assert_ne!(aimd(310, 875, queue).states, reno.states);
    }
}

/// What the guide says of the two queues.
#[test]
fn a_short_queue_is_kept_busier_by_seven_eighths() {
    let (reno, own) = (transfer(None, 10).row, aimd(310, 875, 10).row);
    assert!(own.time_ns < reno.time_ns && own.timeouts == 0, "{} {}", own.time_ns, reno.time_ns);
    // A queue of a window and more never runs empty, whatever is kept.
    assert_eq!(transfer(None, 50).row.time_ns, aimd(310, 875, 50).row.time_ns);
}

/// Every packet arrives, whatever the constants are.
#[test]
fn every_choice_delivers() {
    for (increase, keep) in [(10, 1), (10, 999), (5000, 1), (5000, 999)] {
        let row = aimd(increase, keep, 10).row;
        assert_eq!((row.bytes, row.error), (5_000_000, None), "AIMD({increase}, {keep})");
    }
}
