//! A sample of what `make judge` runs at length.

use rexmit_foreign::score::{Tally, judge};
use rexmit_foreign::senders::named;

/// Scenarios of the sample.
const SCENARIOS: u64 = 200;
/// Those in which something certain was wrong: a timer that ran out just after the third report; SACK recoveries that
/// were fast retransmits; a tap behind a queue, 0.5 ms from the sender.
const WRONG_ONCE: [u64; 4] = [7_369, 6_291, 29_850, 24_993];

/// Judges scenarios of this sender.
fn judged(sender: &str, seeds: impl Iterator<Item = u64>) -> Tally {
    let mut sender = (named(sender).expect("a sender").start)().expect("it can be run");
    let mut all = Tally::default();
    seeds.for_each(|seed| all.add(judge(&sender.ran(seed), seed)));
    println!("{}{}", all.lines(), all.matrix());
    all
}

#[test]
fn what_is_certain_of_smoltcp_is_never_wrong() {
    let all = judged("smoltcp", (0..SCENARIOS).chain(WRONG_ONCE));
    assert_eq!((all.certain_family_wrong(), all.certain_exact_wrong()), (0, 0));
    let [sender, ..] = all.scores;
    assert!(sender.in_truth > 1_000 && all.certain() > 100, "{} too few", all.certain());
    assert_eq!((sender.missed, sender.extra), (0, 0));
}

#[test]
fn a_scenario_gives_the_same_captures_again() {
    let mut smoltcp = (named("smoltcp").expect("a sender").start)().expect("it can be run");
    assert_eq!(smoltcp.ran(1).captures, smoltcp.ran(1).captures);
}

#[test]
fn a_sender_that_there_is_not_is_named_beside_those_that_there_are() {
    assert!(named("tcp").is_err_and(|line| line.contains("--sender tcp") && line.contains("smoltcp")));
}
