//! A sample of what `make judge` runs at length.

use rexmit_foreign::score::{Tally, judge};
use rexmit_foreign::smol::ran;

/// Scenarios of the sample.
const SCENARIOS: u64 = 200;
/// Those in which something certain was wrong: a timer that ran out just after the third report; SACK recoveries that
/// were fast retransmits; a tap behind a queue, 0.5 ms from the sender.
const WRONG_ONCE: [u64; 4] = [7_369, 6_291, 29_850, 24_993];

#[test]
fn what_is_certain_of_smoltcp_is_never_wrong() {
    let mut all = Tally::default();
    (0..SCENARIOS).chain(WRONG_ONCE).for_each(|seed| all.add(judge(&ran(seed), seed)));
    println!("{}{}", all.table("smoltcp"), all.matrix());
    assert_eq!((all.certain_family_wrong(), all.certain_exact_wrong()), (0, 0));
    let [sender, ..] = all.scores;
    assert!(sender.in_truth > 1_000 && all.certain() > 100, "{} too few", all.certain());
    assert_eq!((sender.missed, sender.extra), (0, 0));
}

#[test]
fn a_scenario_gives_the_same_captures_again() {
    assert_eq!(ran(1).captures, ran(1).captures);
}
