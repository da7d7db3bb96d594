//! What applications do over the model: packets at the times of their writes, durations from round trips.

use crate::common::run_once;
use rexmit_network::two_hosts::DOWN;
use rexmit_sim::Outcome;
use serde_json::{Value, json};

/// An ideal path with a round trip of 40 ms, and the RFCs' TCP with one setting of Nagle's rule.
fn ideal(nagle: &str, transfer: Value) -> Value {
    let stack = json!({ "inherits": "rfc-2014", "output": { "nagle": nagle } });
    json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": { "delay": "20 ms" },
        "transfers": [transfer],
    })
}

/// Times and sizes of the packets with data from the server, in ms and bytes of payload.
fn data_down(outcome: &Outcome) -> Vec<(f64, u32)> {
    let down = outcome.verdicts.iter().filter(|v| v.link == DOWN);
    let sizes = down.map(|v| (v.row.time.as_nanos() as f64 / 1e6, v.row.packet.ip_len));
    // 20 bytes of IPv4, 32 of TCP with its timestamps; the SYN-ACK has more options.
    sizes.filter(|(_, len)| *len > 80).map(|(time, len)| (time, len - 52)).collect()
}

fn bursts() -> Value {
    json!({ "from": "server", "to": "client", "writes": "4 x 100 bytes", "pause": "10 ms",
        "bursts": { "count": 3, "every": "1 s" } })
}

/// The handshake ends for the server after three times 20 ms.
#[test]
fn without_nagle_each_write_of_a_burst_is_a_packet_at_its_time() {
    let outcome = run_once(ideal("off", bursts()));
    let times = [60.0, 70.0, 80.0, 90.0, 1060.0, 1070.0, 1080.0, 1090.0, 2060.0, 2070.0, 2080.0, 2090.0];
    assert_eq!(data_down(&outcome), times.map(|t| (t, 100)));
    assert_eq!((outcome.row.completed, outcome.row.bytes), (true, 1200));
    // The close follows a pause later, the FIN takes 20 ms.
    assert_eq!(outcome.row.time_ns, 2_120_000_000);
}

/// The first write of a burst leaves at once, the others together when its acknowledgment, delayed by 200 ms, is
/// there. The last rest leaves with the close.
#[test]
fn with_nagle_the_rest_of_a_burst_waits_for_the_acknowledgment() {
    let outcome = run_once(ideal("on", bursts()));
    let expected = [(60.0, 100), (300.0, 300), (1060.0, 100), (1300.0, 300), (2060.0, 100), (2100.0, 300)];
    assert_eq!(data_down(&outcome), expected);
    assert_eq!((outcome.row.completed, outcome.row.bytes), (true, 1200));
}

fn requests(response: &str, more: Value) -> Value {
    let mut transfer = json!({ "from": "server", "to": "client", "requests": {
        "count": 3, "request": "200 bytes", "response": response, "think": "5 ms", "pause": "100 ms",
    } });
    for (key, value) in more.as_object().into_iter().flatten() {
        transfer[key] = value.clone();
    }
    transfer
}

fn time_and_bytes(nagle: &str, transfer: Value) -> (f64, u64) {
    let row = run_once(ideal(nagle, transfer)).row;
    assert!(row.completed, "{:?}", row.error);
    (row.time_ns as f64 / 1e6, row.bytes)
}

#[test]
fn an_exchange_takes_its_round_trips_thoughts_and_pauses() {
    // One round trip of handshake; for each request one and the thought; two pauses between three.
    let whole = 40.0 + 3.0 * (40.0 + 5.0) + 2.0 * 100.0;
    assert_eq!(time_and_bytes("on", requests("1 kB", json!({}))), (whole, 3 * 1200));
    assert_eq!(time_and_bytes("off", requests("10 kB", json!({}))), (whole, 3 * 10_200));
    assert_eq!(time_and_bytes("on", requests("1 kB", json!({ "close": false }))), (whole, 3 * 1200));
    // Two whole segments, then a short write: with Nagle's rule it waits a round trip for their acknowledgment.
    let split = || requests("2896 bytes, 104 bytes", json!({}));
    assert_eq!(time_and_bytes("on", split()), (whole + 3.0 * 40.0, 3 * 3200));
    assert_eq!(time_and_bytes("off", split()), (whole, 3 * 3200));
    // Where the server connects, the client's handshake ends half a round trip later.
    let opened = json!({ "opened_by": "server" });
    assert_eq!(time_and_bytes("on", requests("1 kB", opened)), (whole + 20.0, 3 * 1200));
}

/// Write, write, read: the second part of a request waits for the acknowledgment of the first. That of the server's
/// very first data comes at once, with its window as scaled; the next is delayed by 200 ms.
#[test]
fn a_request_in_two_writes_meets_nagle_and_the_delayed_acknowledgment() {
    let transfer = |request: &str| {
        json!({ "from": "server", "to": "client",
            "requests": { "count": 2, "request": request, "response": "1 kB" } })
    };
    let whole = 40.0 + 2.0 * 40.0;
    assert_eq!(time_and_bytes("on", transfer("150 bytes")), (whole, 2300));
    assert_eq!(time_and_bytes("off", transfer("100 bytes, 50 bytes")), (whole, 2300));
    assert_eq!(time_and_bytes("on", transfer("100 bytes, 50 bytes")), (whole + 40.0 + 240.0, 2300));
}

/// Two transfers in opposite directions are two-way traffic: two connections, at once.
#[test]
fn two_transfers_in_opposite_directions_run_at_once() {
    let both = |to_server: bool, to_client: bool| {
        let mut scenario = ideal("off", json!(null));
        scenario["path"]["rate"] = json!("1 Mbit/s");
        let transfer =
            |from: &str, to: &str| json!({ "from": from, "to": to, "opened_by": "client", "bulk": "500 kB" });
        let down = to_client.then(|| transfer("server", "client"));
        let up = to_server.then(|| transfer("client", "server"));
        scenario["transfers"] = down.into_iter().chain(up).collect();
        let row = run_once(scenario).row;
        assert!(row.completed, "{:?}", row.error);
        row
    };
    let (up, down, two_way) = (both(true, false), both(false, true), both(true, true));
    assert_eq!([up.bytes, down.bytes, two_way.bytes], [500_000, 500_000, 1_000_000]);
    // Each has a direction of its own for its data, and shares it with the other's acknowledgments.
    let alone = up.time_ns.max(down.time_ns) as f64;
    let together = two_way.time_ns as f64;
    assert!(together > alone && together < 1.3 * alone, "{together} {alone}");
}
