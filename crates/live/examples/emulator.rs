//! Measures the emulator on this machine, one JSON object a line: `cargo run --release --example emulator PART ...`
//!
//! ```text
//! emulator bulk rate=10000 delay=10 warm=3 time=5      one TCP flow; Mbit/s, ms one way, seconds
//! emulator packets bytes=64 kind=0                     UDP packets a second; kind 0: TUN, 1: offloads, 2: veth
//! emulator floor bytes=64                              the same through bare reads and writes of TUN devices
//! emulator delay mode=0 pps=1000 kind=0                errors of a delay; mode 0: busy-poll, 1: hybrid, 2: sleep
//! emulator accuracy                                    what `rexmit doctor --emulator` shows
//! emulator rate                                        error of a rate
//! ```

use std::collections::HashMap;
use std::error::Error;

use rexmit_live::Mode;
use rexmit_live::measure::{
    Kind, Load, accuracy, bulk, delays, floor, options, rate_error, share_cores, throughput,
};
use rexmit_path::PathSpec;
use rexmit_units::{Duration, QueueLimit, Rate};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let part = words.next().ok_or("name a part: bulk, packets, floor, delay or rate")?;
    let mut numbers: HashMap<String, u64> = [
        ("rate", 0),
        ("delay", 10),
        ("warm", 3),
        ("time", 3),
        ("bytes", 64),
        ("kind", 0),
        ("mode", 0),
        ("pps", 1000),
        ("horizon", 16),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into();
    for word in words {
        let (name, value) = word.split_once('=').ok_or("options are written name=number")?;
        *numbers.get_mut(name).ok_or_else(|| format!("unknown option {name}"))? = value.parse()?;
    }
    let number = |name: &str| numbers[name];
    let kind = [Kind::Tun, Kind::Offloads, Kind::Veth][number("kind") as usize];
    let mode = [Mode::BusyPoll, Mode::HYBRID, Mode::Sleep][number("mode") as usize];
    if part == "accuracy" {
        println!("{}", serde_json::to_string(&accuracy(Duration::from_millis(1500))?)?);
        return Ok(());
    }
    let (hosts, core) = share_cores()?;
    rexmit_live::sys::thread::pin_to(&hosts)?;
    let mut options = options(mode, core);
    options.pace.horizon = Duration::from_micros(number("horizon"));
    let time = Duration::from_secs(number("time"));
    let delay = Duration::from_millis(number("delay"));
    let line = match part.as_str() {
        "bulk" => {
            let rate = Rate::from_bits_per_second(number("rate") * 1_000_000);
            let queue = Some(QueueLimit::Packets(1_000_000).into());
            let path =
                PathSpec { rate: rate.map(Into::into), delay: Some(delay), queue, ..PathSpec::default() };
            options.touch = 1 << 30;
            let found = bulk(kind, &path, &options, Duration::from_secs(number("warm")), time)?;
            let late = &found.report.lateness;
            json!({
                "gbit_s": found.rate / 1e9, "retransmits": found.retransmits, "drops": found.drops,
                "late_p50_us": late.quantile(0.5).as_millis_f64() * 1e3,
                "late_p99_us": late.quantile(0.99).as_millis_f64() * 1e3,
                "late_max_us": late.max_ns as f64 / 1e3, "invalid": found.report.invalid,
            })
        }
        "floor" => json!({ "packets_s": floor(&options, number("bytes") as usize, time)? }),
        "packets" => json!({ "packets_s": throughput(kind, &options, number("bytes") as usize, time)? }),
        "delay" => {
            let load = Load { packets_per_second: number("pps"), bytes: 64, time };
            let found = delays(kind, delay, &options, load)?;
            json!({
                "error": found.error(mode, number("pps")), "early_ns": found.early_ns,
                "late_p99_us": found.report.lateness.quantile(0.99).as_millis_f64() * 1e3,
                "pause_us": found.report.longest_pause.as_millis_f64() * 1e3,
            })
        }
        "rate" => json!({ "rate_error": rate_error(&options, time)? }),
        _ => return Err(format!("unknown part {part}: bulk, packets, floor, delay or rate").into()),
    };
    println!("{line}");
    Ok(())
}
