//! Judges captures of simulated runs and compares with what the senders did:
//! `cargo run --release -p rexmit-sim --example causes -- [--scenario TEXT|NUMBER] [--side sender|receiver|middle]
//! [--wrong] [--limit N] [--packets server|client|middle] [--list] [--counts]
//! [--certain] [--sctp] [--held]`.
//!
//! The scenarios are those of TCP, with `--sctp` those of SCTP. `--scenario` keeps those whose name has the text,
//! or the one with the number; `--wrong` shows the packets around the first judgements that are not right, `--packets`
//! all packets of a capture, `--counts` how many judgements of each scenario are not right. With
//! `--certain` the wrong ones are those that were called certain. `--held` prints how right it is what held senders back,
//! with `--by Timer` and the like what of it is shown.

#[path = "../tests/causes/lab/mod.rs"]
mod lab;

use std::collections::BTreeMap;

use lab::ran::Place;
use lab::score::{Finding, Side, Verdict};
use lab::{Case, Ran, cases, judge_all, listing, score, sctp};
use rexmit_analysis::rows::Confidence;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let of_sctp = args.iter().any(|a| a == "--sctp");
    let all = match () {
        () if of_sctp => sctp::cases::all(),
        () if args.iter().any(|a| a == "--held") => lab::held_cases::all(),
        () => cases::all(),
    };
    let wanted: Vec<(usize, Case)> = match value("--scenario") {
        None => all.into_iter().enumerate().collect(),
        Some(text) => all
            .into_iter()
            .enumerate()
            .filter(|(i, case)| text.parse().map_or(case.name.contains(&text), |n: usize| n == *i))
            .collect(),
    };
    if args.iter().any(|a| a == "--list") {
        wanted.iter().for_each(|(i, case)| println!("{i:4} {}", case.name));
        return;
    }
    let (numbers, chosen): (Vec<usize>, Vec<Case>) = wanted.into_iter().unzip();
    if let Some(place) = value("--packets") {
        let place = match place.as_str() {
            "server" => Place::Server,
            "client" => Place::Client,
            _ => Place::Middle,
        };
        for case in &chosen {
            let ran = Ran::new(case);
            let whole = if of_sctp { sctp::listing::whole } else { listing::whole };
            println!("{}\n{}", case.name, whole(&ran, &ran.capture(place).unwrap_or_default()));
        }
        return;
    }
    let start = std::time::Instant::now();
    if args.iter().any(|a| a == "--held") {
        let tally = lab::judge_held(&chosen, 2);
        let count = chosen.len();
        eprintln!("{count} scenarios in {:?}", start.elapsed());
        println!("{}\n{}", tally.table(), tally.details());
        let wrong = |miss: &&lab::held::Miss| {
            args.iter().any(|a| a == "--wrong")
                && (miss.row.confidence == Confidence::Certain || args.iter().all(|a| a != "--certain"))
                && value("--side").is_none_or(|side| format!("{:?}", miss.side).to_lowercase() == side)
                && value("--by").is_none_or(|by| format!("{:?}", miss.row.by) == by)
        };
        let limit = value("--limit").and_then(|n| n.parse().ok()).unwrap_or(10);
        for miss in tally.misses.iter().filter(wrong).take(limit) {
            println!("{} ({})\n  {miss:?}", chosen[miss.case].name, numbers[miss.case]);
        }
        return;
    }
    let tally = judge_all(&chosen, 2, if of_sctp { sctp::score::judge } else { score::judge });
    println!("{} scenarios in {:?}\n{}", chosen.len(), start.elapsed(), listing::matrix(&tally));
    let side =
        value("--side").and_then(|s| Side::ALL.into_iter().find(|x| format!("{x:?}").to_lowercase() == s));
    if args.iter().any(|a| a == "--counts") {
        let mut counts = BTreeMap::<_, u64>::new();
        for finding in tally.findings.iter().filter(|f| side.is_none_or(|s| s == f.side)) {
            *counts.entry((&chosen[finding.case].name, finding.side, finding.verdict)).or_default() += 1;
        }
        counts.iter().for_each(|(key, count)| println!("{count:6} {:?} {:?}: {}", key.1, key.2, key.0));
    }
    if args.iter().any(|a| a == "--wrong") {
        let limit = value("--limit").and_then(|n| n.parse().ok()).unwrap_or(10);
        let sure = args.iter().any(|a| a == "--certain");
        let wanted = |f: &&Finding| {
            let certain = f.judged.as_ref().is_some_and(|judged| judged.confidence == Confidence::Certain);
            side.is_none_or(|s| s == f.side) && (!sure || certain && f.verdict != Verdict::FalseProof)
        };
        let some = tally.findings.iter().filter(wanted).take(limit);
        for finding in some {
            let mut named = finding.clone();
            named.case = numbers[finding.case];
            let show = if of_sctp { sctp::listing::listing } else { listing::listing };
            println!("{}", show(&Ran::new(&chosen[finding.case]), &named));
        }
    }
}
