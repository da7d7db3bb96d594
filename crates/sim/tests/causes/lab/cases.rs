//! The scenarios.

use rexmit_scenario::{StackProfile, resolve_profile};
use serde_json::{Value, json};

/// A scenario with a name, which is also what its random streams hang on.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub scenario: Value,
}

impl Case {
    fn new(name: impl Into<String>, scenario: Value) -> Self {
        Self { name: name.into(), scenario }
    }
}

/// The TCPs: all profiles, and what differs in how they repair.
pub fn stacks() -> Vec<(&'static str, Value)> {
    let off = json!(false);
    vec![
        ("freebsd", json!("freebsd-6.0")),
        ("freebsd-no-sack", json!({ "inherits": "freebsd-6.0", "options": { "sack": off } })),
        (
            "freebsd-plain",
            json!({ "inherits": "freebsd-6.0", "options": { "sack": off, "timestamps": off } }),
        ),
        ("freebsd-dup-2", json!({ "inherits": "freebsd-6.0", "recovery": { "dupack_threshold": 2 } })),
        ("rfc", json!("rfc-2014")),
        ("rfc-no-sack", json!({ "inherits": "rfc-2014", "options": { "sack": off } })),
        ("rfc-plain", json!({ "inherits": "rfc-2014", "options": { "sack": off, "timestamps": off } })),
        ("rfc-no-stamps", json!({ "inherits": "rfc-2014", "options": { "timestamps": off } })),
        ("rfc-no-dsack", json!({ "inherits": "rfc-2014", "options": { "dsack": off, "timestamps": off } })),
        (
            "rfc-reno",
            json!({ "inherits": "rfc-2014", "options": { "sack": off }, "recovery": { "plain": "reno" } }),
        ),
        ("rfc-cubic", json!({ "inherits": "rfc-2014", "congestion": { "algorithm": "cubic" } })),
        ("rfc-at-once", json!({ "inherits": "rfc-2014", "delayed_ack": { "policy": "immediate" } })),
        ("linux", json!("linux-2.6.15")),
        ("linux-no-sack", json!({ "inherits": "linux-2.6.15", "options": { "sack": off } })),
        ("rfc-probe", json!({ "inherits": "rfc-2014", "recovery": { "tail_probe": true } })),
        ("linux-no-stamps", json!({ "inherits": "linux-2.6.15", "options": { "timestamps": off } })),
    ]
}

/// Senders of today: losses by time, probes for lost tails, and BBR, which paces.
pub fn modern() -> Vec<(&'static str, Value)> {
    let off = json!(false);
    vec![
        ("linux-6.1", json!("linux-6.1")),
        ("linux-6.1-no-stamps", json!({ "inherits": "linux-6.1", "options": { "timestamps": off } })),
        ("linux-6.1-bbr", json!({ "inherits": "linux-6.1", "congestion": { "algorithm": "bbr" } })),
        ("today", json!("rfc")),
        ("today-no-stamps", json!({ "inherits": "rfc", "options": { "timestamps": off } })),
    ]
}

/// All scenarios of old senders, and every third of those of today: what a test runs at each change.
pub fn some() -> Vec<Case> {
    let of_today = |case: &Case| modern().iter().any(|(stack, _)| case.name.split(' ').next() == Some(stack));
    let numbered = all().into_iter().enumerate();
    numbered.filter(|(n, case)| n % 3 == 0 || !of_today(case)).map(|(_, case)| case).collect()
}

/// All scenarios.
pub fn all() -> Vec<Case> {
    let mut cases = of(stacks());
    cases.extend(of(modern()));
    cases.extend(super::hard::all().iter().filter_map(super::hard::Hard::case));
    cases.extend(over_ipv6());
    cases
}

/// Every scenario with each of these senders.
fn of(stacks: Vec<(&'static str, Value)>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (stack, profile) in stacks {
        positions(&mut cases, stack, &profile);
        handshakes_and_ends(&mut cases, stack, &profile);
        patterns(&mut cases, stack, &profile);
        random_losses(&mut cases, stack, &profile);
        disorder(&mut cases, stack, &profile);
        queues(&mut cases, stack, &profile);
        windows(&mut cases, stack, &profile);
    }
    cases
}

/// Some again without an IP identification, by whose steps a gap can be told from an overtaking.
fn over_ipv6() -> Vec<Case> {
    let mut cases = Vec::new();
    let some = ["freebsd", "rfc", "rfc-plain", "rfc-no-stamps", "linux"];
    for (stack, profile) in stacks().into_iter().filter(|(name, _)| some.contains(name)) {
        patterns(&mut cases, stack, &profile);
        random_losses(&mut cases, stack, &profile);
        disorder(&mut cases, stack, &profile);
        thin_streams(&mut cases, stack, &profile);
    }
    for case in &mut cases {
        case.name += ", IPv6";
        case.scenario["hosts"]["server"]["address"] = json!("fd00::2:1");
        case.scenario["hosts"]["client"]["address"] = json!("fd00::1:1");
    }
    cases
}

/// A transfer from the server to the client.
pub fn scenario(profile: &Value, path: Value, transfer: Value) -> Value {
    let mut transfer = transfer;
    transfer["from"] = json!("server");
    transfer["to"] = json!("client");
    json!({
        "hosts": { "server": { "stack": profile }, "client": { "stack": profile } },
        "path": path,
        "transfers": [transfer],
        "limit": "600 s",
    })
}

/// A profile as a table, of which single values can be changed.
pub fn as_table(profile: &Value) -> Value {
    match profile {
        Value::String(name) => json!({ "inherits": name }),
        other => other.clone(),
    }
}

/// The profile with a receive buffer of so many bytes of data: for Linux, half of whose buffer's memory is window, twice
/// as much memory.
pub fn with_receive_buffer(profile: &Value, bytes: u32) -> Value {
    let StackProfile::Tcp(tcp) = resolve_profile(profile).expect("a profile") else { panic!("a TCP") };
    if tcp.window.tuning.is_none() {
        return with(profile, "buffers", "receive", json!(format!("{bytes} bytes")));
    }
    let memory = format!("{} bytes", 2 * bytes);
    with(profile, "window", "tuning", json!({ "first": memory, "most": memory }))
}

/// The profile with another value of one setting.
pub fn with(profile: &Value, section: &str, key: &str, value: Value) -> Value {
    let mut table = as_table(profile);
    if table[section].is_null() {
        table[section] = json!({});
    }
    table[section][key] = value;
    table
}

fn short() -> Value {
    json!({ "writes": "5000 bytes, 8 x 2500 bytes" })
}

/// One loss at each position of a short flow, as hurtig-2006.
fn positions(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    for position in 1..=20 {
        let delay = if position % 2 == 0 { "10 ms" } else { "100 ms" };
        let path = json!({ "rate": "1 Mbit/s", "delay": delay, "queue": "99 packets", "down": { "drop": position } });
        cases.push(Case::new(format!("{stack} position {position}"), scenario(profile, path, short())));
    }
}

/// Losses of SYN, SYN-ACK, the third segment and FINs.
fn handshakes_and_ends(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    let losses = [
        ("syn", json!({ "up": { "drop": { "match": "syn", "nth": 1 } } })),
        ("three syns", json!({ "up": { "drop": { "match": "syn", "nth": "1-3" } } })),
        ("syn-ack", json!({ "down": { "drop": { "match": "syn-ack", "nth": 1 } } })),
        ("two syn-acks", json!({ "down": { "drop": { "match": "syn-ack", "nth": "1-2" } } })),
        ("third segment", json!({ "up": { "drop": 2 } })),
        ("server's fin", json!({ "down": { "drop": { "match": "fin", "nth": "1-2" } } })),
        ("client's fin", json!({ "up": { "drop": { "match": "fin", "nth": "1-3" } } })),
        ("last acks", json!({ "up": { "drop": { "match": "pure-ack", "nth": "8-" } } })),
    ];
    for (what, mut path) in losses {
        path["rate"] = json!("2 Mbit/s");
        path["delay"] = json!("30 ms");
        cases.push(Case::new(format!("{stack} loses {what}"), scenario(profile, path, short())));
    }
}

/// Losses of several packets, of tails, of retransmissions.
fn patterns(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    let losses = [
        ("two in a row", json!("20,21")),
        ("two apart", json!("20,23")),
        ("three", json!("20,22,25")),
        ("every second", json!("20,22,24,26,28,30")),
        ("a window", json!("20-40")),
        ("tail", json!("68-")),
        ("last but one", json!({ "match": "data", "nth": "67" })),
        ("a retransmission", json!([20, { "retransmission": { "segment": 19, "nth": 1 } }])),
        ("two retransmissions", json!([20, { "retransmission": { "segment": 19, "nth": "1-2" } }])),
        ("four retransmissions", json!([20, { "retransmission": { "segment": 19, "nth": "1-4" } }])),
        ("a hole twice", json!(["20,23", { "retransmission": { "segment": 22, "nth": 1 } }])),
    ];
    for (i, (what, drop)) in losses.into_iter().enumerate() {
        let delay = ["5 ms", "50 ms", "150 ms"][i % 3];
        let drop = if what == "tail" { json!({ "match": "data", "nth": "67-69" }) } else { drop };
        let path =
            json!({ "rate": "5 Mbit/s", "delay": delay, "queue": "200 packets", "down": { "drop": drop } });
        let transfer = json!({ "bulk": "100000 bytes" });
        cases.push(Case::new(format!("{stack} loses {what}"), scenario(profile, path, transfer)));
    }
}

/// Random losses of data, of ACKs, in bursts.
fn random_losses(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    let bursts = json!({ "gilbert_elliott": { "p": "1 %", "r": "30 %" } });
    let losses = [
        ("0.5 %", json!({ "down": { "loss": "0.5 %" } })),
        ("2 %", json!({ "down": { "loss": "2 %" } })),
        ("5 %", json!({ "down": { "loss": "5 %" } })),
        ("10 %", json!({ "down": { "loss": "10 %" } })),
        ("bursts", json!({ "down": { "loss": bursts } })),
        ("acks 20 %", json!({ "down": { "loss": "1 %" }, "up": { "loss": "20 %" } })),
        ("both ways 4 %", json!({ "down": { "loss": "4 %" }, "up": { "loss": "4 %" } })),
    ];
    for (i, (what, path)) in losses.into_iter().enumerate() {
        for (j, delay) in ["1 ms", "20 ms", "300 ms"].into_iter().enumerate() {
            let rate = ["10 Mbit/s", "2 Mbit/s", "20 Mbit/s"][(i + j) % 3];
            let size = ["300 kB", "200 kB", "150 kB"][j];
            let mut path = path.clone();
            path["rate"] = json!(rate);
            path["delay"] = json!(delay);
            path["queue"] = json!("60 packets");
            let name = format!("{stack} random {what}, {delay} one way");
            cases.push(Case::new(name, scenario(profile, path, json!({ "bulk": size }))));
        }
    }
}

/// Reordering, duplication, jitter, delays that change.
fn disorder(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    let effects = [
        ("reorder by 1", json!({ "down": { "reorder": { "position": "10", "period": 20, "past": 1 } } })),
        ("reorder by 2", json!({ "down": { "reorder": { "position": "10", "period": 20, "past": 2 } } })),
        ("reorder by 5", json!({ "down": { "reorder": { "position": "10", "period": 30, "past": 5 } } })),
        (
            "reorder and loss",
            json!({ "down": { "reorder": { "position": "10", "period": 20, "past": 4 }, "loss": "2 %" } }),
        ),
        ("jitter", json!({ "down": { "jitter": { "spread": "6 ms", "reorder": true }, "loss": "1 %" } })),
        (
            "acks reordered",
            json!({ "up": { "jitter": { "spread": "6 ms", "reorder": true } }, "down": { "loss": "2 %" } }),
        ),
        ("duplicates", json!({ "down": { "duplicate": { "position": "7", "period": 10 }, "loss": "2 %" } })),
        (
            "acks duplicated",
            json!({ "up": { "duplicate": { "position": "4", "period": 5 } }, "down": { "loss": "1 %" } }),
        ),
        ("corrupt", json!({ "down": { "corrupt": { "position": "9", "period": 40 } } })),
        (
            "delay jumps up",
            json!({ "down": { "changes": [{ "packet": 40, "delay": "900 ms" }, { "packet": 90, "delay": "50 ms" }] } }),
        ),
        (
            "a stall",
            json!({ "down": { "hold": { "position": "50", "by": "4 s", "keep_order": true }, "loss": "1 %" } }),
        ),
        ("acks stall", json!({ "up": { "hold": { "position": "30", "by": "4 s", "keep_order": true } } })),
    ];
    for (i, (what, mut path)) in effects.into_iter().enumerate() {
        path["rate"] = json!(["5 Mbit/s", "10 Mbit/s"][i % 2]);
        path["delay"] = json!(["50 ms", "30 ms"][i % 2]);
        let transfer = json!({ "bulk": "200 kB" });
        cases.push(Case::new(format!("{stack} {what}"), scenario(profile, path, transfer)));
    }
}

/// Small queues, several connections, both ways.
fn queues(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    for (queue, connections, delay) in [(4, 1, "10 ms"), (10, 1, "40 ms"), (20, 4, "25 ms"), (6, 3, "2 ms")] {
        let path = json!({ "rate": "2 Mbit/s", "delay": delay, "queue": format!("{queue} packets") });
        let transfer = json!({ "bulk": "150 kB", "connections": connections, "stagger": "70 ms" });
        let name = format!("{stack} queue of {queue}, {connections} connections");
        cases.push(Case::new(name, scenario(profile, path, transfer)));
    }
    let path = json!({ "rate": "1 Mbit/s", "delay": "30 ms", "queue": "8 packets" });
    let mut both = scenario(profile, path, json!({ "bulk": "150 kB" }));
    let up = json!({ "from": "client", "to": "server", "bulk": "150 kB" });
    both["transfers"].as_array_mut().expect("a list").push(up);
    cases.push(Case::new(format!("{stack} both ways"), both));
}

/// Thin streams, small windows, slow readers.
fn windows(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    let small = with_receive_buffer(profile, 4000);
    let path = json!({ "rate": "1 Mbit/s", "delay": "40 ms", "down": { "loss": "5 %" } });
    cases
        .push(Case::new(format!("{stack} small window"), scenario(&small, path, json!({ "bulk": "80 kB" }))));

    let small = with_receive_buffer(profile, 16_000);
    let slow = json!({ "bulk": "80 kB", "read": { "size": "8000 bytes", "rate": "16 kbit/s" } });
    for (what, path) in [
        ("slow reader", json!({ "rate": "5 Mbit/s", "delay": "20 ms" })),
        (
            "slow reader, loss",
            json!({ "rate": "5 Mbit/s", "delay": "20 ms", "down": { "loss": "5 %" }, "up": { "loss": "5 %" } }),
        ),
    ] {
        cases.push(Case::new(format!("{stack} {what}"), scenario(&small, path, slow.clone())));
    }

    let path =
        json!({ "rate": "1 Mbit/s", "delay": "60 ms", "down": { "loss": "8 %" }, "up": { "loss": "3 %" } });
    let thin = json!({ "writes": "60 x 100 bytes", "connections": 2 });
    cases.push(Case::new(format!("{stack} short writes"), scenario(profile, path, thin)));
    thin_streams(cases, stack, profile);
}

/// Writes with pauses: few segments are out, so few duplicates come back.
fn thin_streams(cases: &mut Vec<Case>, stack: &str, profile: &Value) {
    for (size, pause, delay) in [
        (100, "40 ms", "30 ms"),
        (800, "150 ms", "100 ms"),
        (1448, "20 ms", "5 ms"),
        (300, "700 ms", "50 ms"),
    ] {
        for nagle in ["off", "on"] {
            let mut profile = as_table(profile);
            profile["output"] = json!({ "nagle": nagle });
            let path = json!({ "rate": "2 Mbit/s", "delay": delay, "down": { "loss": "6 %" }, "up": { "loss": "3 %" } });
            let thin = json!({ "writes": format!("80 x {size} bytes"), "pause": pause });
            let name = format!("{stack} thin, {size} bytes every {pause}, Nagle {nagle}");
            cases.push(Case::new(name, scenario(&profile, path, thin)));
        }
    }
}
