//! Dips and outages of the rate as a transfer meets them.

use crate::common::run_with;
use rexmit_path::Fate;
use rexmit_sim::RunOptions;
use serde_json::{Value, json};

/// A transfer of 10 s over 20 Mbit/s, and what happens to the way down.
fn scenario(down: Value) -> Value {
    json!({
        "hosts": { "server": { "stack": "linux-6.1" }, "client": { "stack": "linux-6.1" } },
        "path": { "rate": "20 Mbit/s", "delay": "10 ms", "queue": "20 ms", "down": down },
        "transfers": [{ "from": "server", "to": "client", "bulk": "10 s" }],
        "intervals": "1 s",
    })
}

/// Bytes that the client has read in each second.
fn by_second(down: Value) -> Vec<u64> {
    let row = run_with(scenario(down), &RunOptions::default()).row;
    assert!(row.error.is_none(), "{:?}", row.error);
    row.intervals
        .iter()
        .filter(|interval| interval.host.name() == "server")
        .map(|interval| interval.bytes)
        .collect()
}

/// What 20 Mbit/s bring in a second, without headers.
const FULL: u64 = 2_400_000;

/// 200 ms at 1 kbit/s: the transfer is back at its rate within the second after.
#[test]
fn a_dip_of_200_ms_costs_about_200_ms() {
    let bytes = by_second(json!({ "changes": [
        { "at": "5 s", "rate": "1 kbit/s" }, { "at": "5.2 s", "rate": "20 Mbit/s" },
    ] }));
    assert!(bytes[4] > FULL && bytes[7] > FULL, "{bytes:?}");
    assert!(bytes[5] > FULL * 3 / 4 && bytes[5] < FULL * 9 / 10, "{bytes:?}");
}

/// An outage of two seconds with a queue that holds what is sent into it: nothing arrives, nothing is lost by it.
#[test]
fn an_outage_delays_and_drops_nothing_that_finds_room() {
    let outage = json!({ "queue": "1000 packets", "changes": [
        { "at": "5 s", "rate": "0 bit/s" }, { "at": "7 s", "rate": "20 Mbit/s" },
    ] });
    let bytes = by_second(outage.clone());
    assert!(bytes[4] > FULL && bytes[8] > FULL, "{bytes:?}");
    // But for what was propagating, 10 ms.
    assert!(bytes[5] < FULL / 50 && bytes[6] == 0, "{bytes:?}");
    let row = run_with(scenario(outage), &RunOptions::default()).row;
    assert_eq!((row.drops_down.unwrap(), row.completed), (0, true));
}

/// A line that is cut for good ends a transfer as a real one does: the sender gives up, and the run with it. What waits
/// for the line has no verdict.
#[test]
fn a_cut_line_lets_the_sender_give_up() {
    let cut = scenario(json!({ "changes": [{ "at": "5 s", "rate": "0 bit/s" }] }));
    let outcome = run_with(cut, &RunOptions { verdicts: true, ..RunOptions::default() });
    assert!(!outcome.row.completed);
    assert!((60.0..1200.0).contains(&(outcome.row.virtual_ns as f64 / 1e9)), "{}", outcome.row.virtual_ns);
    let waiting = outcome.verdicts.iter().filter(|v| v.row.verdict.fate == Fate::Undecided);
    assert!(waiting.count() > 10);
}
