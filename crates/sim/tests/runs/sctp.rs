//! SCTP hosts in a scenario: what is sent arrives, how late, over one path and over two.

use crate::common::{run_once, run_with};
use rexmit_sim::{Resolved, RunOptions};
use serde_json::{Value, json};

const PROFILES: [&str; 2] = ["rfc9260", "lksctp-2.6.15"];

fn scenario(stack: &str, path: Value, transfer: Value) -> Value {
    json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": path,
        "transfers": [transfer],
        "messages": true,
    })
}

/// 100 bytes each 250 ms.
fn thin(messages: u64) -> Value {
    json!({ "from": "server", "to": "client", "writes": format!("{messages} x 100 bytes"), "pause": "250 ms" })
}

#[test]
fn messages_arrive_half_a_round_trip_later() {
    for stack in PROFILES {
        let row = run_once(scenario(stack, json!({ "delay": "50 ms" }), thin(40))).row;
        assert!(row.completed, "{stack}: {:?}", row.error);
        assert_eq!((row.bytes, row.retransmits, row.messages.len()), (4_000, 0, 1), "{stack}");
        let latency = &row.messages[0];
        assert_eq!((latency.host.name(), latency.written, latency.delivered), ("server", 40, 40), "{stack}");
        assert_eq!((latency.latency_min_ms, latency.latency_max_ms), (Some(50.0), Some(50.0)), "{stack}");
    }
}

#[test]
fn everything_arrives_through_loss_both_ways() {
    let path = json!({ "delay": "20 ms", "down": { "loss": "5 %" }, "up": { "loss": "5 %" } });
    for stack in PROFILES {
        for transfer in [
            thin(200),
            json!({ "from": "client", "to": "server", "bulk": "2 MB", "write_size": "1400 bytes" }),
            json!({ "from": "server", "to": "client", "writes": "50 x 6000 bytes", "streams": 3 }),
            json!({ "from": "server", "to": "client", "bulk": "300 kB", "write_size": "500 bytes", "unordered": true }),
        ] {
            let row = run_once(scenario(stack, path.clone(), transfer.clone())).row;
            assert!(row.completed, "{stack} {transfer}: {:?}", row.error);
            assert!(row.retransmits > 0, "{stack} {transfer}");
            let latency = &row.messages[0];
            assert_eq!(latency.written, latency.delivered, "{stack} {transfer}");
        }
    }
}

/// The association is over long before a slow reader is.
#[test]
fn what_has_arrived_is_read_after_the_end() {
    for stack in PROFILES {
        let transfer = json!({ "from": "server", "to": "client", "writes": "50 x 100 bytes",
            "read": { "size": "50 bytes", "rate": "2 kbit/s" } });
        let row = run_once(scenario(stack, json!({ "delay": "20 ms" }), transfer)).row;
        assert!(row.completed, "{stack}: {:?}", row.error);
        assert_eq!((row.bytes, row.messages[0].delivered), (5_000, 50), "{stack}");
        assert!(row.time_ns > 19_000_000_000, "{stack}: {}", row.time_ns);
    }
}

#[test]
fn an_application_gets_the_streams_that_it_asks_for() {
    for stack in PROFILES {
        let transfer =
            json!({ "from": "server", "to": "client", "writes": "300 x 100 bytes", "streams": 150 });
        let row = run_once(scenario(stack, json!({ "delay": "20 ms" }), transfer)).row;
        assert!(row.completed, "{stack}: {:?}", row.error);
        assert_eq!(row.messages[0].delivered, 300, "{stack}");
    }
}

#[test]
fn a_run_is_the_same_again_and_differs_with_its_seed() {
    let path = json!({ "delay": "20 ms", "down": { "loss": "5 %" }, "up": { "loss": "5 %" } });
    let options = RunOptions { captures: true, ..RunOptions::default() };
    for stack in PROFILES {
        let one = || run_with(scenario(stack, path.clone(), thin(100)), &options).captures;
        assert_eq!(one(), one(), "{stack}");
    }
}

#[test]
fn a_second_path_takes_over_when_the_first_fails() {
    let mut both = scenario(
        "rfc9260",
        json!({ "delay": "20 ms", "down": { "drop": { "time": "5 s-1 h" } } }),
        thin(400),
    );
    both["alternate"] = json!({ "delay": "30 ms" });
    let row = run_once(both.clone()).row;
    assert!(row.completed, "{:?}", row.error);
    assert_eq!(row.messages[0].delivered, 400);
    // New data go to the first path until its sixth expiry in a row: 1 + 2 + 4 + 8 + 16 + 32 s (RFC 9260 section 8.2).
    assert!(row.messages[0].latency_max_ms < Some(64_000.0), "{:?}", row.messages[0]);
    // Without it, the association is given up, or the run ends before.
    both.as_object_mut().unwrap().remove("alternate");
    assert!(!run_once(both).row.completed);
}

#[test]
fn what_is_of_one_protocol_is_refused_by_the_other() {
    let refused = |value: Value| Resolved::from_value(value).unwrap_err().to_string();
    let mut mixed = scenario("rfc9260", json!({}), thin(1));
    mixed["hosts"]["client"]["stack"] = json!("rfc-2014");
    assert_eq!(refused(mixed), "hosts: server has sctp, client tcp: give both hosts stacks of one protocol");
    let mut transfer = thin(1);
    transfer["streams"] = json!(2);
    assert!(
        refused(scenario("rfc-2014", json!({}), transfer))
            .starts_with("transfers.0.streams: TCP is a stream")
    );
    let mut two = scenario("rfc-2014", json!({}), thin(1));
    two["alternate"] = json!({ "delay": "1 ms" });
    assert!(refused(two).starts_with("alternate: TCP and QUIC have one path"));
    let mut stray = scenario("rfc9260", json!({}), thin(1));
    stray["hosts"]["server"]["alternate_address"] = json!("10.1.1.1");
    assert!(refused(stray).starts_with("hosts.server.alternate_address: there is no path to it"));
    let mut wrong = scenario("rfc9260", json!({}), thin(1));
    wrong["alternate"] = json!({ "queue": "0 packets" });
    assert!(refused(wrong).starts_with("alternate.down.queue: no packet fits in"));
    let mut same = scenario("rfc9260", json!({}), thin(1));
    same["alternate"] = json!({});
    same["hosts"]["server"]["alternate_address"] = json!("10.0.2.1");
    assert!(refused(same).starts_with("hosts: the addresses of both paths must differ"));
}

/// TCP's messages are its writes: Nagle's rule shows in their latency.
#[test]
fn messages_of_tcp_are_its_writes() {
    for (nagle, longest) in [("off", 20.0), ("on", 260.0)] {
        let stack = json!({ "inherits": "rfc-2014", "output": { "nagle": nagle } });
        let transfer = json!({ "from": "server", "to": "client", "writes": "4 x 100 bytes", "pause": "10 ms",
            "bursts": { "count": 3, "every": "1 s" } });
        let mut value = scenario("rfc-2014", json!({ "delay": "20 ms" }), transfer);
        value["hosts"] = json!({ "server": { "stack": stack }, "client": { "stack": stack } });
        let options = RunOptions { messages: true, ..RunOptions::default() };
        let outcome = run_with(value, &options);
        let row = &outcome.row.messages[0];
        assert_eq!((row.written, row.delivered, row.latency_min_ms), (12, 12, Some(20.0)));
        assert!(row.latency_max_ms.is_some_and(|max| max <= longest), "{nagle}: {row:?}");
        assert_eq!(row.latency_max_ms == Some(20.0), nagle == "off", "{row:?}");
        assert_eq!(outcome.messages.len(), 12);
    }
}
