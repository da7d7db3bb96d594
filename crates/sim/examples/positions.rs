//! Time of a short transfer for each position of one loss, a column a stack:
//! `cargo run --release --example positions -- "1 Mbit/s" "10 ms" freebsd-6.0 rfc linux-2.6.15`.
use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::json;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let stacks = &args[2..];
    println!("position {}", stacks.join(" "));
    for position in 0..=20 {
        let mut line = format!("{position:8}");
        for stack in stacks {
            let value = json!({
                "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
                "path": { "rate": args[0], "delay": args[1], "queue": "99 packets", "down": { "drop": position } },
                "transfers": [{ "from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes" }],
            });
            let resolved = Resolved::from_value(value).expect("a scenario");
            let r = run(&resolved, &Streams::new(1, ""), &RunOptions::default()).expect("a run").row;
            let error = r.error.unwrap_or_default();
            line += &format!(
                "  {:8.1} ms (to {} fr {} rtx {}, {} down){error}",
                r.time_ns as f64 / 1e6,
                r.timeouts,
                r.fast_retransmits,
                r.retransmits,
                r.packets_down.unwrap()
            );
        }
        println!("{line}");
    }
}
