//! scratch
use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::{Value, json};
use std::collections::HashMap;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let kind = args[0].as_str();
    let reps: u64 = args[1].parse().unwrap();
    let extra: Value = args.get(2).map_or(json!({}), |s| serde_json::from_str(s).unwrap());
    let base = args.get(3).map_or("linux-2.6.15", |s| s);
    let combos = [
        ("Plain", false, false, true),
        ("S", true, false, false),
        ("S+D", true, true, false),
        ("S+D+F", true, true, true),
        ("S+F", true, false, true),
    ];
    for delay in ["0 ms", "52 ms", "104 ms", "204 ms"]
        .into_iter()
        .filter(|d| std::env::var("D").map_or(true, |x| x == *d))
    {
        for (name, sack, dsack, fack) in combos {
            let mut stack = json!({ "inherits": base, "options": { "sack": sack, "dsack": dsack }});
            if base.starts_with("linux-2") {
                stack["recovery"] = json!({ "fack": fack });
            }
            for (k, v) in extra.as_object().unwrap() {
                if let (Some(a), Some(b)) = (stack.get_mut(k).and_then(|x| x.as_object_mut()), v.as_object())
                {
                    for (k2, v2) in b {
                        a.insert(k2.clone(), v2.clone());
                    }
                } else {
                    stack[k] = v.clone();
                }
            }
            let transfer = if kind == "thin" {
                json!({ "from": "server", "to": "client", "writes": "7143 x 100 bytes", "pause": "252 ms" })
            } else {
                json!({ "from": "server", "to": "client", "bulk": "200 s" })
            };
            let mut all = vec![];
            let mut reasons: HashMap<&str, u32> = HashMap::new();
            let mut means = vec![];
            let mut bytes = 0;
            for seed in 0..reps {
                let value = json!({
                    "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
                    "path": { "rate": "100 Mbit/s", "delay": delay, "queue": "1000 packets", "down": { "loss": 0.05 }, "up": { "loss": 0.05 } },
                    "transfers": [transfer], "limit": "4000 s",
                });
                let mut value = value;
                value.as_object_mut().unwrap().remove("limit");
                let resolved = Resolved::from_value(value).unwrap_or_else(|e| panic!("{e:?}"));
                let options = RunOptions { transmissions: true, ..RunOptions::default() };
                let outcome = run(&resolved, &Streams::new(1, &seed.to_string()), &options).unwrap();
                bytes += outcome.row.bytes;
                let mut last: std::collections::BTreeMap<i64, (i64, u64)> = Default::default();
                let mut mine = vec![];
                for row in outcome.transmissions.iter().filter(|r| r.host == "server" && r.len > 0) {
                    let t = row.time.as_nanos();
                    if row.transmission > 1 {
                        *reasons.entry(row.reason.name()).or_default() += 1;
                        let d = last
                            .range(row.seq - 1448..row.end())
                            .filter(|(_, v)| v.0 > row.seq)
                            .map(|(_, v)| v.1)
                            .max();
                        if let Some(d) = d {
                            mine.push((t - d) as f64 / 1e6);
                        }
                    }
                    last.insert(row.seq, (row.end(), t));
                    if last.len() > 2000 {
                        let low = row.seq - 300_000;
                        last = last.split_off(&low);
                    }
                    if args.len() > 4 && seed == 0 && t < 60_000_000_000 {
                        println!(
                            "{:10.1} seq {:7} len {:4} {:?}{}",
                            t as f64 / 1e6,
                            row.seq,
                            row.len,
                            row.reason,
                            if row.arrived.is_none() { " LOST" } else { "" }
                        );
                    }
                }
                means.push(mine.iter().sum::<f64>() / mine.len().max(1) as f64);
                all.extend(mine);
            }
            all.sort_by(f64::total_cmp);
            let n = all.len().max(1);
            let mean = all.iter().sum::<f64>() / n as f64;
            let min = all.first().copied().unwrap_or(0.0);
            let max = all.last().copied().unwrap_or(0.0);
            let med = all.get(n / 2).copied().unwrap_or(0.0);
            let p10 = all.get(n / 10).copied().unwrap_or(0.0);
            let lo = means.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = means.iter().copied().fold(0.0, f64::max);
            println!(
                "{delay:7} {name:6} n {n:5} min {min:7.1} p10 {p10:6.1} med {med:6.1} avg {mean:6.1} [{lo:6.1} {hi:6.1}] max {max:8.1} bytes {bytes} {reasons:?}"
            );
        }
    }
}
