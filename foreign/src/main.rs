//! Judges captures of foreign senders and compares with what they say themselves: `make judge`.
//!
//! ```text
//! judge [--sender NAME] [--from N] [--scenarios N] [--threads N] [--matrix] [--wrong certain|family|exact|extra] [--limit N]
//!       [--packets sender|middle|receiver]
//! ```
//! `--scenarios` of them (default 2,000), the first of which is `--from` (default 0), run on the sender (default smoltcp).
//! Prints its release and a line for each place with the numbers of `score::Score`. `--matrix` adds how many judgements
//! there are of each kind. `--wrong` shows the packets around the first judgements that are wrong: those that were certain,
//! those whose family is wrong, all whose cause is, or those of packets that repeat nothing. `--packets` prints a capture of the first scenario. Exit code 1 if
//! something certain was wrong, 3 if the sender cannot be run here.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rexmit_analysis::rows::Confidence;
use rexmit_foreign::host::Sending;
use rexmit_foreign::listing;
use rexmit_foreign::score::{Finding, Tally, judge};
use rexmit_foreign::senders::{Known, named};
use rexmit_foreign::world::Place;

/// The exit code where a sender cannot be run.
const CANNOT_RUN: u8 = 3;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    run(&args).unwrap_or_else(|line| {
        eprintln!("judge: {line}");
        ExitCode::from(CANNOT_RUN)
    })
}

fn run(args: &[String]) -> Result<ExitCode, String> {
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|i| args.get(i + 1));
    let number = |name: &str, default: u64| {
        value(name).map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name} {text}: {e}")))
    };
    let known = named(value("--sender").map_or("smoltcp", String::as_str))?;
    let from = number("--from", 0);
    let mut sender = (known.start)()?;
    if let Some(name) = value("--packets") {
        let place = Place::ALL.into_iter().find(|place| place.name() == name).expect("a place");
        print!("{}", listing::packets(&sender.ran(from), place, 0..u64::MAX, None));
        return Ok(ExitCode::SUCCESS);
    }
    let all = judge_all(known, from, number("--scenarios", 2_000), number("--threads", 2))?;
    print!("{}\n{}", sender.version(), all.lines());
    if args.iter().any(|arg| arg == "--matrix") {
        print!("{}", all.matrix());
    }
    if let Some(kind) = value("--wrong") {
        let limit = number("--limit", 10) as usize;
        for finding in all.findings.iter().filter(|finding| is_wrong(finding, kind)).take(limit) {
            println!("\n{}", listing::listing(&sender.ran(finding.seed), finding));
        }
    }
    Ok(ExitCode::from(u8::from(all.certain_family_wrong() > 0 || all.certain_exact_wrong() > 0)))
}

fn is_wrong(finding: &Finding, kind: &str) -> bool {
    let certain = finding.judged.as_ref().is_some_and(|row| row.confidence == Confidence::Certain);
    match kind {
        "certain" => certain,
        "family" => !finding.family,
        "exact" => true,
        "extra" => finding.sending == Sending::New,
        other => panic!("--wrong {other}: certain, family, exact or extra"),
    }
}

/// Judges so many scenarios on so many threads.
fn judge_all(known: Known, from: u64, count: u64, threads: u64) -> Result<Tally, String> {
    let next = AtomicU64::new(0);
    let done: Mutex<Vec<(u64, Tally)>> = Mutex::default();
    let work = || -> Result<(), String> {
        let mut sender = (known.start)()?;
        loop {
            let seed = from + next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + count {
                return Ok(());
            }
            let tally = judge(&sender.ran(seed), seed);
            done.lock().expect("no thread has failed").push((seed, tally));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread has failed"))
    })?;
    let mut done = done.into_inner().expect("no thread has failed");
    done.sort_by_key(|(seed, _)| *seed);
    let mut all = Tally::default();
    done.into_iter().for_each(|(_, tally)| all.add(tally));
    Ok(all)
}
