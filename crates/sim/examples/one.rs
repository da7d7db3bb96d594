//! Runs one scenario and prints the path's log: `cargo run --example one -- "40 kbit/s" "5 ms" 0`.
use rexmit_sim::two_hosts::{SERVER, link_name};
use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::json;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let writes = args.get(3).map_or("5000 bytes, 8 x 2500 bytes", |s| s);
    let position: u64 = args[2].parse().unwrap();
    let value = json!({
        "hosts": { "server": { "stack": "freebsd-6.0" }, "client": { "stack": "freebsd-6.0" } },
        "path": { "rate": args[0], "delay": args[1], "queue": "99 packets", "shaper": "dummynet", "down": { "drop": position } },
        "transfers": [{ "from": "server", "to": "client", "writes": writes }],
    });
    let resolved = Resolved::from_value(value).unwrap();
    let options = RunOptions {
        verdicts: true,
        state: Some(rexmit_scenario::Sampling::Changes),
        ..RunOptions::default()
    };
    let outcome = run(&resolved, &Streams::new(1, ""), &options).unwrap();
    let mut isn = std::collections::HashMap::new();
    for v in &outcome.verdicts {
        let p = &v.row.packet;
        let base = *isn.entry(p.src_port).or_insert(p.seq);
        let other = isn.get(&p.dst_port).copied().unwrap_or(p.ack);
        println!(
            "{:10.3} {:4} {:3} {:4} seq {:6} len {:4} ack {:6} f {:02x} {}",
            v.row.time.as_nanos() as f64 / 1e6,
            link_name(v.link),
            v.row.verdict.position,
            p.ip_len,
            p.seq.wrapping_sub(base),
            p.payload,
            p.ack.wrapping_sub(other),
            p.flags.0,
            if v.row.verdict.is_plain() { String::new() } else { v.row.verdict.to_string() }
        );
    }
    for s in outcome.states.iter().filter(|s| s.host == SERVER) {
        println!(
            "S {:10.3} {} {} cwnd {} ssthresh {:?} flight {:?} rto {:?} wnd {}",
            s.time.as_nanos() as f64 / 1e6,
            s.state.state,
            s.state.phase,
            s.state.cwnd,
            s.state.ssthresh,
            s.state.in_flight,
            s.state.rto.map(rexmit_units::Duration::as_millis_f64),
            s.state.snd_wnd
        );
    }
    println!("{:?}", outcome.row);
}
