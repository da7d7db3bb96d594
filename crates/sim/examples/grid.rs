//! Runs the short grid of hurtig-2006 and prints a few rows: `cargo run --release --example grid`.
use rexmit_sim::{BatchOptions, Plan};
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let base = json!({
        "hosts": { "server": { "stack": "freebsd-6.0" }, "client": { "stack": "freebsd-6.0" } },
        "path": { "rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets", "shaper": "dummynet" },
        "transfers": [{ "from": "server", "to": "client", "writes": args.get(2).map_or("5000 bytes, 8 x 2500 bytes", |s| s) }],
    });
    let split = |s: &str| -> Vec<Value> { s.split(',').map(|x| json!(x.trim())).collect() };
    let rates = split(args.first().map_or(
        "40 kbit/s,80 kbit/s,160 kbit/s,320 kbit/s,500 kbit/s,1 Mbit/s,2 Mbit/s,4 Mbit/s,8 Mbit/s,10 Mbit/s",
        |s| s,
    ));
    let delays = split(
        args.get(1).map_or("5 ms,10 ms,20 ms,40 ms,60 ms,80 ms,100 ms,150 ms,200 ms,250 ms,300 ms", |s| s),
    );
    let positions: Vec<Value> =
        (0..=args.get(3).map_or(20, |s| s.parse().unwrap())).map(|p| json!(p)).collect();
    let positions_n = positions.len();
    let plan = Plan::new(
        base,
        ["path.rate", "path.delay", "path.down.drop"].map(String::from).to_vec(),
        vec![rates.clone(), delays.clone(), positions],
    )
    .unwrap();
    let t = std::time::Instant::now();
    let rows = plan
        .run(0..u64::MAX, BatchOptions { replications: 3, seed: 1, jobs: 2 })
        .unwrap_or_else(|e| panic!("{e}"))
        .rows;
    eprintln!("{} runs in {:?}", rows.len(), t.elapsed());
    let deliveries: u64 = rows.iter().map(|r| r.deliveries).sum();
    eprintln!("{deliveries} deliveries");
    for (i, point) in rows.chunks(3 * positions_n).enumerate() {
        println!("{} {}", rates[i / delays.len()], delays[i % delays.len()]);
        for (p, reps) in point.chunks(3).enumerate() {
            let ms: Vec<String> = reps
                .iter()
                .map(|r| format!("{:.1}{}", r.time_ns as f64 / 1e6, if r.completed { "" } else { "!" }))
                .collect();
            let r = &reps[0];
            println!(
                "  {p:2} {} | down {} up {} rtx {} to {} fr {} {:?}",
                ms.join(" "),
                r.packets_down.unwrap(),
                r.packets_up.unwrap(),
                r.retransmits,
                r.timeouts,
                r.fast_retransmits,
                r.error
            );
        }
    }
}
