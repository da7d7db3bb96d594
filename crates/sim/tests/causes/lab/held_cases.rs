//! Transfers that are slow for a known reason.

use serde_json::{Value, json};

use super::cases::{self, Case};

/// Every fourth, for a test that is run at each change.
pub fn some() -> Vec<Case> {
    all().into_iter().step_by(4).collect()
}

/// All of them, and every seventh of those whose retransmissions are judged.
pub fn all() -> Vec<Case> {
    let mut all = Vec::new();
    let stacks = cases::stacks();
    for (stack, profile) in &stacks {
        slow_for_a_reason(&mut all, stack, profile);
    }
    for name in ["linux-6.1", "linux-6.1-no-rack", "freebsd-7.2", "linux-2.6.9"] {
        slow_for_a_reason(&mut all, name, &json!(name));
    }
    all.extend(cases::all().into_iter().step_by(7));
    all
}

/// Senders that pace: nothing prompts what leaves, though all was written long before.
pub fn paced() -> Vec<Case> {
    let mut all = Vec::new();
    let writes = [json!({ "writes": "1 x 60 kB" }), json!({ "writes": "100 x 700 bytes" })];
    for rate in ["60 kbit/s", "400 kbit/s", "2 Mbit/s", "8 Mbit/s"] {
        for (transfer, algorithm) in writes.iter().zip(["reno", "cubic"]) {
            let profile = json!({
                "inherits": "linux-6.1", "congestion": { "algorithm": algorithm }, "output": { "pacing_rate": rate },
            });
            let path = json!({ "rate": "10 Mbit/s", "delay": "20 ms", "queue": "100 packets" });
            all.push(Case {
                name: format!("{algorithm} slow: paced at {rate}"),
                scenario: cases::scenario(&profile, path, transfer.clone()),
            });
        }
    }
    all
}

fn slow_for_a_reason(all: &mut Vec<Case>, stack: &str, profile: &Value) {
    let bulk = || json!({ "bulk": "400 kB" });
    let path = |rate: &str, delay: &str, queue: u32| json!({ "rate": rate, "delay": delay, "queue": format!("{queue} packets") });
    let mut add = |what: &str, profile: &Value, path: Value, transfer: Value| {
        all.push(Case {
            name: format!("{stack} slow: {what}"),
            scenario: cases::scenario(profile, path, transfer),
        });
    };
    for (delay, window) in [("10 ms", 8000), ("40 ms", 16_000), ("120 ms", 32_000)] {
        let small = cases::with_receive_buffer(profile, window);
        add(&format!("window of {window} bytes, {delay}"), &small, path("50 Mbit/s", delay, 200), bulk());
        let small = cases::with(profile, "buffers", "send", json!(format!("{window} bytes")));
        add(
            &format!("send buffer of {window} bytes, {delay}"),
            &small,
            path("50 Mbit/s", delay, 200),
            bulk(),
        );
    }
    for delay in ["5 ms", "30 ms", "150 ms"] {
        add(&format!("slow start, {delay}"), profile, path("100 Mbit/s", delay, 1000), bulk());
        add(&format!("rate, {delay}"), profile, path("1 Mbit/s", delay, 60), bulk());
        let mut lossy = path("20 Mbit/s", delay, 200);
        lossy["down"] = json!({ "loss": "1 %" });
        add(&format!("loss, {delay}"), profile, lossy, bulk());
        let mut timers = path("5 Mbit/s", delay, 200);
        timers["down"] = json!({ "drop": [20, { "retransmission": { "segment": 19, "nth": "1-3" } }] });
        add(&format!("timers, {delay}"), profile, timers, json!({ "bulk": "100 kB" }));
    }
    for (size, pause, delay) in [
        (500, "10 ms", "30 ms"),
        (1448, "40 ms", "10 ms"),
        (20_000, "300 ms", "20 ms"),
        (60_000, "2 s", "50 ms"),
        (5_000, "25 ms", "100 ms"),
    ] {
        let writes = json!({ "writes": format!("12 x {size} bytes"), "pause": pause });
        add(
            &format!("writes of {size} each {pause}, {delay}"),
            profile,
            path("20 Mbit/s", delay, 200),
            writes,
        );
    }
    let mut reader = cases::with_receive_buffer(profile, 16_000);
    reader["output"] = json!({ "nagle": "off" });
    let slow = json!({ "bulk": "80 kB", "read": { "size": "4000 bytes", "rate": "64 kbit/s" } });
    add("reader", &reader, path("10 Mbit/s", "20 ms", 200), slow);
}
