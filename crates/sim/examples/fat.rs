//! Long fat paths, as deboer-2005 asks for them: `cargo run --release --example fat -- [NAME=VALUE ...]`.
//!
//! One bulk flow at 1 Gbit/s, by writes of 4096 bytes. 60 s of it are 5 million data segments and as many ACKs. Prints
//! how many packets were delivered, and how many in a second of this machine's time. The names and what they are unless
//! said otherwise stand in `DEFAULTS`; `keep` is how many segments a receiver keeps out of order, `first` the initial
//! window in segments, `latency` what both directions take together, `loss` what each data packet is lost by.

use std::collections::HashMap;

use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::{Value, json};

const DEFAULTS: [(&str, &str); 9] = [
    ("stack", "freebsd-5.4"),
    ("seconds", "60"),
    ("bufspace", "16776960"),
    ("latency", "100"),
    ("loss", "0"),
    ("recovery", "sack"),
    ("keep", "48"),
    ("first", "1"),
    ("queue", "20000"),
];

fn main() {
    let mut given: HashMap<String, String> = DEFAULTS.map(|(n, v)| (n.to_string(), v.to_string())).into();
    for word in std::env::args().skip(1) {
        let (name, value) = word.split_once('=').expect("options are written name=value");
        let slot = given.get_mut(name).unwrap_or_else(|| panic!("unknown option {name}"));
        *slot = value.to_string();
    }
    let of = |name: &str| given[name].as_str();
    let resolved = Resolved::from_value(scenario(&of)).unwrap_or_else(|e| panic!("{e}"));
    let start = std::time::Instant::now();
    let r = run(&resolved, &Streams::new(1, ""), &RunOptions::default()).expect("a run").row;
    let wall = start.elapsed().as_secs_f64();
    println!(
        "{} {} loss {}: {:.1} Mbit/s, {} deliveries in {wall:.3} s = {:.2} M/s; {} sent again, {} timeouts, {} fast, {} lost",
        of("stack"),
        of("recovery"),
        of("loss"),
        r.bytes as f64 * 8e3 / r.virtual_ns as f64,
        r.deliveries,
        r.deliveries as f64 / wall / 1e6,
        r.retransmits,
        r.timeouts,
        r.fast_retransmits,
        r.drops_down.unwrap(),
    );
}

fn scenario<'a>(of: &impl Fn(&str) -> &'a str) -> Value {
    let number = |name: &str| of(name).parse::<f64>().expect("a number");
    let bytes = |n: f64| format!("{n} bytes");
    let mut host = json!({
        "inherits": of("stack"),
        "initial_window": number("first") as u32,
        "buffers": {
            "send": bytes(number("bufspace")),
            "receive": bytes(number("bufspace")),
            "max": bytes(2.0 * number("bufspace")),
            "reassembly_limit": number("keep") as u32,
        },
        "options": { "sack": of("recovery") == "sack" },
    });
    if ["reno", "new-reno"].contains(&of("recovery")) {
        host["recovery"] = json!({ "plain": of("recovery") });
    }
    let mut path = json!({
        "rate": "1 Gbit/s",
        "delay": format!("{} us", number("latency") * 500.0),
        "queue": format!("{} packets", of("queue")),
    });
    if of("loss") != "0" {
        path["down"] = json!({ "loss": of("loss") });
    }
    json!({
        "hosts": { "server": { "stack": host }, "client": { "stack": host } },
        "path": path,
        "transfers": [{
            "from": "server", "to": "client", "opened_by": "server", "write_size": "4096 bytes",
            "bulk": format!("{} s", of("seconds")),
        }],
        "limit": format!("{} s", of("seconds")),
    })
}
