//! The scenarios of `make bench` for rexmit: the same work as `ns3/scenarios.cc`, and the whole study.
//!
//! ```text
//! scenarios grid repeat=5                      6,930 short transfers on one core
//! scenarios study jobs=2 repeat=5              all 23,898 runs of hurtig-2006
//! scenarios bulk flows=10 queue=100 seconds=3 repeat=3
//! scenarios bulk flows=10 stack=linux-6.1       the same between hosts with this profile
//! scenarios drawn file=FILE jobs=2              scenarios of a file, one a line in JSON, each once
//! scenarios memory flows=10000
//! scenarios dumbbell hosts=1000 seconds=3       half of them send to the other half over one link
//! scenarios parking-lot seconds=3               three bottlenecks in a row, a flow over all, one over each
//! scenarios arrivals flows=20000                short flows that arrive at random, between 50 pairs of hosts
//! scenarios sctp seconds=3 loss=0 code=model    bulk of 1400-byte messages, on any stack of the registry
//! ```
//!
//! Prints one JSON object a line. A repetition does the same work again; the median is what counts.

use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rexmit_network::HostId;
use rexmit_sim::{
    BatchOptions, Observer, Plan, Resolved, RetransmissionRow, Row, RunOptions, Streams, run, run_observed,
};
use rexmit_wire::Packet;
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SHORT: &str = include_str!("../studies/hurtig-2006/short.toml");
const LONG: &str = include_str!("../studies/hurtig-2006/long.toml");
const SEED: u64 = 1;
/// As much as the window of one flow can ask for.
const BULK_BUFFER: &str = "16 MiB";
/// The profile of the flows that are beside those of ns-3.
const OLD: &str = "rfc-2014";

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let scenario = words.next().unwrap_or_else(|| "grid".to_string());
    let mut numbers: HashMap<String, u64> =
        [("flows", 1), ("hosts", 2), ("queue", 100), ("seconds", 3), ("jobs", 1), ("repeat", 1), ("loss", 0)]
            .map(|(name, value)| (name.to_string(), value))
            .into();
    let mut texts: HashMap<&str, String> = [("code", "model"), ("stack", OLD), ("file", "")]
        .map(|(name, value)| (name, value.to_string()))
        .into();
    for word in words {
        let (name, value) = word.split_once('=').ok_or("options are written name=number")?;
        if let Some(text) = texts.get_mut(name) {
            *text = value.to_string();
            continue;
        }
        let slot = numbers.get_mut(name).ok_or_else(|| format!("unknown option {name}"))?;
        *slot = value.parse()?;
    }
    for _ in 0..numbers["repeat"] {
        let line = match scenario.as_str() {
            "grid" => sweep(&[SHORT], &scenario, numbers["jobs"])?,
            "study" => sweep(&[SHORT, LONG], &scenario, numbers["jobs"])?,
            "bulk" => bulk(&texts["stack"], numbers["flows"], numbers["queue"], numbers["seconds"])?,
            "drawn" => drawn(&texts["file"], numbers["jobs"])?,
            "memory" => memory(numbers["flows"])?,
            "sctp" => sctp(numbers["seconds"], numbers["loss"], &texts["code"])?,
            "dumbbell" => dumbbell(numbers["hosts"], numbers["seconds"])?,
            "parking-lot" => parking_lot(numbers["seconds"])?,
            "arrivals" => arrivals(numbers["flows"])?,
            _ => {
                let known = "grid, study, bulk, drawn, memory, dumbbell, parking-lot, arrivals or sctp";
                return Err(format!("unknown scenario {scenario}: {known}").into());
            }
        };
        println!("{line}");
    }
    Ok(())
}

/// Every run of these studies, without captures.
fn sweep(studies: &[&str], name: &str, jobs: u64) -> Result<Value> {
    let plans: Vec<(Plan, u64)> = studies.iter().map(|text| plan(text)).collect::<Result<_>>()?;
    let start = Instant::now();
    let mut rows: Vec<Row> = Vec::new();
    for (plan, replications) in &plans {
        let options = BatchOptions { replications: *replications, seed: SEED, jobs: jobs as usize };
        rows.extend(plan.run(0..plan.points() * replications, options)?.rows);
    }
    let wall = start.elapsed().as_secs_f64();
    Ok(json!({
        "program": "rexmit",
        "scenario": name,
        "jobs": jobs,
        "runs": rows.len(),
        "incomplete": rows.iter().filter(|row| !row.completed).count(),
        "deliveries": rows.iter().map(|row| row.deliveries).sum::<u64>(),
        "virtual_s": rows.iter().map(|row| row.time_ns).sum::<u64>() as f64 / 1e9,
        "wall_s": wall,
    }))
}

/// A study as its file gives it. Ranges of positions are spelt out; Python does this for everybody else.
fn plan(text: &str) -> Result<(Plan, u64)> {
    let study: Value = toml::from_str(text)?;
    let mut factors = Vec::new();
    let mut levels = Vec::new();
    // The order of factors is that of the file, which a JSON object does not keep; it does not matter here.
    for (name, given) in study["vary"].as_object().ok_or("nothing varies")? {
        factors.push(name.clone());
        levels.push(match given["position"].as_str().and_then(|range| range.split_once("..")) {
            Some((first, last)) => {
                (first.parse::<u64>()?..=last.parse()?).map(|n| json!({ "position": n })).collect()
            }
            None => given.as_array().ok_or("levels are a list or a range of positions")?.clone(),
        });
    }
    let replications = study["design"]["replications"].as_u64().unwrap_or(1);
    Ok((Plan::new(study["scenario"].clone(), factors, levels)?, replications))
}

/// `flows` senders with no end of data on one link of 1 Gbit/s and 20 ms each way.
fn bulk(stack: &str, flows: u64, queue: u64, seconds: u64) -> Result<Value> {
    let transfer = json!({ "bulk": format!("{} s", seconds + 1), "connections": flows, "stagger": "100 us" });
    let profile = if stack == OLD { with_buffers(BULK_BUFFER) } else { json!(stack) };
    let resolved = Resolved::from_value(link(queue, transfer, &profile, &format!("{seconds} s")))?;
    let start = Instant::now();
    let row = run(&resolved, &Streams::new(SEED, ""), &RunOptions::default())?.row;
    let wall = start.elapsed().as_secs_f64();
    Ok(json!({
        "program": "rexmit",
        "scenario": "bulk",
        "stack": stack,
        "flows": flows,
        "queue_packets": queue,
        "virtual_s": row.virtual_ns as f64 / 1e9,
        "deliveries": row.deliveries,
        "data_packets": row.packets_down.zip(row.drops_down).map(|(packets, drops)| packets - drops),
        "retransmits": row.retransmits,
        "timeouts": row.timeouts,
        "wall_s": wall,
    }))
}

/// One SCTP sender with no end of messages of 1400 bytes on a link of 1 Gbit/s and 20 ms each way, of whose packets a
/// share (in per cent) is lost each way, where both hosts run this code.
fn sctp(seconds: u64, loss: u64, code: &str) -> Result<Value> {
    let stack = json!({ "inherits": "rfc9260", "buffers": { "send": BULK_BUFFER, "receive": BULK_BUFFER } });
    let resolved = Resolved::from_value(json!({
        "hosts": { "server": { "stack": stack, "code": code }, "client": { "stack": stack, "code": code } },
        "path": {
            "rate": "1 Gbit/s", "delay": "20 ms", "queue": "3334 packets",
            "down": { "loss": format!("{loss} %") }, "up": { "loss": format!("{loss} %") },
        },
        "transfers": [{
            "from": "server", "to": "client", "opened_by": "server",
            "bulk": format!("{} s", seconds + 1), "write_size": "1400 bytes",
        }],
        "limit": format!("{seconds} s"),
    }))?;
    let start = Instant::now();
    let row = run(&resolved, &Streams::new(SEED, ""), &RunOptions::default())?.row;
    let wall = start.elapsed().as_secs_f64();
    Ok(json!({
        "program": if code == "model" { "rexmit" } else { code },
        "scenario": "sctp",
        "loss_per_cent": loss,
        "virtual_s": row.virtual_ns as f64 / 1e9,
        "deliveries": row.deliveries,
        "retransmits": row.retransmits,
        "timeouts": row.timeouts,
        "wall_s": wall,
    }))
}

/// Flows that have sent one segment each and wait: what the connections alone take, at the highest point.
fn memory(flows: u64) -> Result<Value> {
    let transfer = json!({
        "writes": "1448 bytes", "connections": flows, "stagger": "100 us", "close": false
    });
    let resolved = Resolved::from_value(link(3334, transfer, &with_buffers("64 KiB"), "10 s"))?;
    let before = resident("VmRSS")?;
    let row = run(&resolved, &Streams::new(SEED, ""), &RunOptions::default())?.row;
    let peak = resident("VmHWM")?;
    Ok(json!({
        "program": "rexmit",
        "scenario": "memory",
        "flows": flows,
        "accepted": row.bytes / 1448,
        "bytes_a_flow": peak.saturating_sub(before) / flows,
    }))
}

/// Hosts of a network that hang on this point, each by a link of 10 Gbit/s and 1 ms.
fn hosts_at(point: &str, count: u64) -> Value {
    let stack = json!({ "inherits": "rfc-2014", "buffers": { "send": "1 MiB", "receive": "1 MiB", "max": "64 MiB" } });
    let access = json!({ "rate": "10 Gbit/s", "delay": "1 ms", "queue": "1000 packets" });
    json!({ "stack": stack, "at": point, "count": count, "access": access })
}

fn between(points: [&str; 2], rate: &str, queue: &str) -> Value {
    json!({ "between": points, "rate": rate, "delay": "5 ms", "queue": queue })
}

/// Half of the hosts send to the other half over one link of 1 Gbit/s.
fn dumbbell(hosts: u64, seconds: u64) -> Result<Value> {
    let pairs = (hosts / 2).max(1);
    let scenario = json!({
        "hosts": { "from": hosts_at("left", pairs), "to": hosts_at("right", pairs) },
        "links": { "shared": between(["left", "right"], "1 Gbit/s", "1000 packets") },
        "transfers": [{
            "from": "from", "to": "to", "opened_by": "from", "bulk": format!("{} s", seconds + 1), "stagger": "100 us",
        }],
        "limit": format!("{seconds} s"),
    });
    tree("dumbbell", hosts, &scenario, None)
}

/// A flow over three links of 100 Mbit/s in a row, and one over each.
fn parking_lot(seconds: u64) -> Result<Value> {
    let ends = [(0, 3), (0, 1), (1, 2), (2, 3)];
    let mut hosts = serde_json::Map::new();
    let mut transfers = Vec::new();
    for (n, (from, to)) in ends.into_iter().enumerate() {
        hosts.insert(format!("from{n}"), hosts_at(&format!("p{from}"), 1));
        hosts.insert(format!("to{n}"), hosts_at(&format!("p{to}"), 1));
        let (from, to) = (format!("from{n}"), format!("to{n}"));
        transfers.push(json!({
            "from": from, "to": to, "opened_by": from, "bulk": format!("{} s", seconds + 1),
        }));
    }
    let link = |points| between(points, "100 Mbit/s", "200 packets");
    let scenario = json!({
        "hosts": hosts,
        "links": { "one": link(["p0", "p1"]), "two": link(["p1", "p2"]), "three": link(["p2", "p3"]) },
        "transfers": transfers,
        "limit": format!("{seconds} s"),
    });
    tree("parking-lot", 3, &scenario, None)
}

/// Short flows between 50 pairs of hosts, one each 200 us, over one link of 1 Gbit/s; and what a packet costs in the first
/// tenth of their arrivals and in the last, by the processor's time.
fn arrivals(flows: u64) -> Result<Value> {
    let scenario = json!({
        "hosts": { "from": hosts_at("left", 50), "to": hosts_at("right", 50) },
        "links": { "shared": between(["left", "right"], "1 Gbit/s", "1000 packets") },
        "transfers": [{
            "from": "from", "to": "to", "opened_by": "from",
            "flows": { "count": flows, "every": "exponential 200 us", "size": "exponential 10 kB" },
        }],
    });
    let marks = Rc::<RefCell<Vec<Mark>>>::default();
    let every_ns = flows * 200_000 / 10;
    let tenths = Tenths { every_ns, packets: 0, marks: Rc::clone(&marks) };
    let mut line = tree("arrivals", flows, &scenario, Some(Box::new(tenths)))?;
    let marks = marks.take();
    let cost = |tenth: usize| {
        let (from, to) = (marks.get(tenth)?, marks.get(tenth + 1)?);
        Some((to.processor_ns - from.processor_ns) as f64 / (to.packets - from.packets) as f64)
    };
    line["first_tenth_ns"] = json!(cost(0));
    line["last_tenth_ns"] = json!(cost(9));
    Ok(line)
}

/// When packets had come to each tenth of the arrivals.
struct Tenths {
    /// Virtual time of a tenth.
    every_ns: u64,
    /// Those that passed a host so far.
    packets: u64,
    marks: Rc<RefCell<Vec<Mark>>>,
}

struct Mark {
    processor_ns: u64,
    packets: u64,
}

impl Observer for Tenths {
    fn packet(&mut self, _: HostId, now: rexmit_units::Instant, _: &Packet) {
        let mut marks = self.marks.borrow_mut();
        if now.as_nanos() >= self.every_ns * marks.len() as u64 {
            marks.push(Mark { processor_ns: on_processor(), packets: self.packets });
        }
        self.packets += 1;
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        Vec::new()
    }
}

/// One run of a network: what it delivered, and how often its packets passed a link.
fn tree(name: &str, number: u64, scenario: &Value, observer: Option<Box<dyn Observer>>) -> Result<Value> {
    let resolved = Resolved::from_value(scenario.clone())?;
    let (before, processor) = (resident("VmRSS")?, on_processor());
    let start = Instant::now();
    let row = run_observed(&resolved, &Streams::new(SEED, ""), &RunOptions::default(), observer)?.row;
    let wall = start.elapsed().as_secs_f64();
    let processor_s = (on_processor() - processor) as f64 / 1e9;
    Ok(json!({
        "program": "rexmit",
        "scenario": name,
        "number": number,
        "virtual_s": row.virtual_ns as f64 / 1e9,
        "deliveries": row.deliveries,
        "hops": row.links.iter().map(|link| link.packets - link.drops).sum::<u64>(),
        "bytes_a_piece": resident("VmHWM")?.saturating_sub(before) / number,
        "processor_s": processor_s,
        "retransmits": row.retransmits,
        "wall_s": wall,
    }))
}

/// Two hosts on a link of 1 Gbit/s and 20 ms each way.
fn link(queue: u64, transfer: Value, stack: &Value, limit: &str) -> Value {
    let mut transfer = transfer;
    transfer["from"] = json!("server");
    transfer["to"] = json!("client");
    transfer["opened_by"] = json!("server");
    json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": { "rate": "1 Gbit/s", "delay": "20 ms", "queue": format!("{queue} packets") },
        "transfers": [transfer],
        "limit": limit,
    })
}

/// Nanoseconds that this thread has been on a processor; Linux only, elsewhere 0.
fn on_processor() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or_default()
}

/// The profile of the flows beside those of ns-3, with buffers of this size.
fn with_buffers(buffer: &str) -> Value {
    json!({ "inherits": OLD, "buffers": { "send": buffer, "receive": buffer, "max": "64 MiB" } })
}

/// Every scenario of a file, one a line, read and run once each on so many threads.
fn drawn(file: &str, jobs: u64) -> Result<Value> {
    let text = std::fs::read_to_string(file)?;
    let lines: Vec<&str> = text.lines().collect();
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let one = || -> std::result::Result<(u64, u64), String> {
        let (mut deliveries, mut incomplete) = (0, 0);
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let scenario = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let resolved = Resolved::from_value(scenario).map_err(|error| error.to_string())?;
            let outcome = run(&resolved, &Streams::new(SEED, ""), &RunOptions::default());
            let row = outcome.map_err(|error| error.to_string())?.row;
            deliveries += row.deliveries;
            incomplete += u64::from(!row.completed);
        }
        Ok((deliveries, incomplete))
    };
    let sums = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
    });
    let wall = start.elapsed().as_secs_f64();
    let sums = sums.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(json!({
        "program": "rexmit",
        "scenario": "drawn",
        "jobs": jobs,
        "runs": lines.len(),
        "incomplete": sums.iter().map(|sum| sum.1).sum::<u64>(),
        "deliveries": sums.iter().map(|sum| sum.0).sum::<u64>(),
        "wall_s": wall,
    }))
}

/// A line of this process's status in bytes; Linux only.
fn resident(field: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(field)).ok_or("no such line")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib * 1024)
}
