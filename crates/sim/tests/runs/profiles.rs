//! Every built-in profile at work.

use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::{Value, json};

/// The short flow of hurtig-2006 with one loss: complete for every position, and the tail as each system's
/// timeout makes it.
#[test]
fn every_profile_repairs_every_single_loss() {
    let time = |stack: &Value, position: u32| {
        let scenario = json!({
            "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
            "path": { "rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets", "down": { "drop": position } },
            "transfers": [{ "from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes" }],
        });
        let resolved = Resolved::from_value(scenario).unwrap();
        let row = run(&resolved, &Streams::new(1, ""), &RunOptions::default()).unwrap().row;
        assert!(row.completed && row.bytes == 25_000 && row.error.is_none(), "{stack} {position}: {row:?}");
        row.time_ns / 1_000_000
    };
    let plain = json!({ "inherits": "rfc-2014", "options": { "sack": false } });
    let cubic = json!({ "inherits": "rfc-2014", "congestion": { "algorithm": "cubic" } });
    let reno = json!({ "inherits": "linux-2.6.15", "congestion": { "algorithm": "reno" } });
    let plain61 = json!({ "inherits": "linux-6.1", "options": { "sack": false } });
    let reno61 = json!({ "inherits": "linux-6.1", "congestion": { "algorithm": "reno" } });
    let known = [
        "freebsd-4.6",
        "freebsd-5.4",
        "freebsd-6.0",
        "freebsd-7.2",
        "rfc",
        "rfc-2014",
        "linux-2.6.9",
        "linux-2.6.15",
        "linux-6.1",
        "linux-6.1-no-rack",
    ]
    .map(|name| json!(name));
    for stack in known.into_iter().chain([plain, cubic, reno, plain61, reno61]) {
        for position in 0..=20 {
            time(&stack, position);
        }
    }
    // Position 19 is the last data segment: a second at least, the round trip and 200 ms, or 200 ms of slop
    // after 4 deviations (RFC 6298 section 2.4, LX-RTO-5, FB-RTO-2).
    let last = |stack: &str| time(&json!(stack), 19) - time(&json!(stack), 0);
    // In `rfc-2014` the ACK before it, of an odd segment, is delayed by 200 ms and restarts the timer.
    assert!((1_200..1_300).contains(&last("rfc-2014")), "{}", last("rfc-2014"));
    // A probe in place of the timer (RFC 8985 section 7).
    assert!((60..100).contains(&last("rfc")), "{}", last("rfc"));
    assert!((300..400).contains(&last("linux-2.6.15")), "{}", last("linux-2.6.15"));
    assert!((400..500).contains(&last("freebsd-6.0")), "{}", last("freebsd-6.0"));
    // A lost SYN-ACK: 1 s against 3 s (RFC 6298 section 2.1, LX-SYN-1, FB-SYN-1).
    let first = |stack: &str| time(&json!(stack), 1) - time(&json!(stack), 0);
    assert_eq!((first("rfc"), first("rfc-2014")), (1_000, 1_000));
    assert!((2_990..3_010).contains(&first("linux-2.6.15")), "{}", first("linux-2.6.15"));
    assert!((2_990..3_010).contains(&first("freebsd-6.0")), "{}", first("freebsd-6.0"));
}
