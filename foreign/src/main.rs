//! Judges captures of foreign senders and compares with what they say themselves: `make judge`.
//!
//! ```text
//! judge [--from N] [--scenarios N] [--certain N] [--threads N] [--wrong certain|family|exact] [--limit N] [--matrix]
//!       [--packets sender|middle|receiver]
//! ```
//! Scenarios `--from` (default 0) and on run until `--certain` judgements (default 50,000) were certain, at most
//! `--scenarios`. `--wrong` shows the packets around the first judgements that are wrong: those that were certain, those
//! whose family is wrong, or all whose cause is. `--packets` prints a capture of the first scenario.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rexmit_analysis::rows::Confidence;
use rexmit_foreign::listing;
use rexmit_foreign::score::{Finding, Tally, judge};
use rexmit_foreign::smol::{VERSION, ran};
use rexmit_foreign::world::Place;

/// Scenarios that are judged before the certain answers are counted again.
const AT_ONCE: u64 = 200;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|i| args.get(i + 1));
    let number = |name: &str, default: u64| {
        value(name).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name} {text}: {e}")))
    };
    let from = number("--from", 0);
    if let Some(name) = value("--packets") {
        let place = Place::ALL.into_iter().find(|place| place.name() == name).expect("a place");
        print!("{}", listing::packets(&ran(from), place, 0..u64::MAX));
        return;
    }
    let (most, wanted) = (number("--scenarios", 100_000), number("--certain", 50_000));
    let mut all = Tally::default();
    let mut done = 0;
    while done < most && all.certain() < wanted {
        let count = AT_ONCE.min(most - done);
        all.add(judge_all(from + done, count, number("--threads", 2)));
        done += count;
    }
    println!("smoltcp {VERSION}, {done} scenarios, {} certain judgements\n", all.certain());
    print!("{}", all.table("smoltcp"));
    if args.iter().any(|arg| arg == "--matrix") {
        print!("\n{}", all.matrix());
    }
    if let Some(kind) = value("--wrong") {
        let limit = number("--limit", 10) as usize;
        for finding in all.findings.iter().filter(|finding| is_wrong(finding, kind)).take(limit) {
            println!("\n{}", listing::listing(&ran(finding.seed), finding));
        }
    }
    if all.certain_family_wrong() > 0 || all.certain_exact_wrong() > 0 {
        std::process::exit(1);
    }
}

fn is_wrong(finding: &Finding, kind: &str) -> bool {
    let certain = finding.judged.as_ref().is_some_and(|row| row.confidence == Confidence::Certain);
    match kind {
        "certain" => certain,
        "family" => !finding.family,
        "exact" => true,
        other => panic!("--wrong {other}: certain, family or exact"),
    }
}

/// Judges so many scenarios on so many threads.
fn judge_all(from: u64, count: u64, threads: u64) -> Tally {
    let next = AtomicU64::new(0);
    let done: Mutex<Vec<(u64, Tally)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = from + next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    let tally = judge(&ran(seed), seed);
                    done.lock().expect("no thread has failed").push((seed, tally));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread has failed");
    done.sort_by_key(|(seed, _)| *seed);
    let mut all = Tally::default();
    done.into_iter().for_each(|(_, tally)| all.add(tally));
    all
}
