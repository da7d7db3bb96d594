//! Bulk flows over one bottleneck: `cargo run --release --example bulk -- FLOWS QUEUE SECONDS [STACK]`.
use rexmit_scenario::{StackProfile, resolve_profile};
use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::json;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let stack = args.get(3).map_or("freebsd-6.0", |s| s);
    let StackProfile::Tcp(profile) = resolve_profile(&json!(stack)).unwrap() else {
        panic!("{stack} is not TCP")
    };
    let mut buffers = json!({ "send": "8 MiB", "max": "16 MiB" });
    if profile.window.tuning.is_none() {
        buffers["receive"] = json!("8 MiB");
    }
    let big = json!({ "inherits": stack, "buffers": buffers });
    let value = json!({
        "hosts": { "server": { "stack": big }, "client": { "stack": big } },
        "path": { "rate": "1 Gbit/s", "delay": "10 ms", "queue": args[1] },
        "transfers": [{ "from": "server", "to": "client", "bulk": format!("{} s", args[2]), "connections": args[0].parse::<u32>().unwrap() }],
        "limit": format!("{} s", args[2]),
    });
    let resolved = Resolved::from_value(value).unwrap();
    let t = std::time::Instant::now();
    let outcome = run(&resolved, &Streams::new(1, ""), &RunOptions::default()).unwrap();
    let wall = t.elapsed().as_secs_f64();
    let r = outcome.row;
    println!(
        "{} flows: {} deliveries in {wall:.3} s = {:.2} M/s, {:.0} ns each; {:.1} Mbit/s, rtx {}, timeouts {}, fr {}, drops {}",
        args[0],
        r.deliveries,
        r.deliveries as f64 / wall / 1e6,
        wall * 1e9 / r.deliveries as f64,
        r.bytes as f64 * 8.0 / r.virtual_ns as f64 * 1e3,
        r.retransmits,
        r.timeouts,
        r.fast_retransmits,
        r.drops_down.unwrap()
    );
}
