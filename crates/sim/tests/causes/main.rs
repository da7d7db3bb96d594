//! Causes of retransmissions, judged from captures alone, beside what the sender really did.
//!
//! The model says of every packet why it left; nothing of that is in a capture. Scenarios are run, captured at both
//! hosts and on the way, analysed, and each judgement is laid beside the truth. On failure the first wrong ones are
//! printed; `cargo run --release -p rexmit-sim --example causes -- --wrong` prints more.

mod lab;

use lab::score::Side;
use lab::{cases, judge_all, listing};

#[test]
fn the_analysis_says_what_the_sender_did() {
    let cases = cases::all();
    let tally = judge_all(&cases, 2);
    println!("{} scenarios\n{}", cases.len(), listing::matrix(&tally));
    let shown = tally.findings.iter().take(5);
    shown.for_each(|f| println!("{}", listing::listing(&lab::Ran::new(&cases[f.case]), f)));
    for side in Side::ALL {
        assert!(tally.judged(side) > 1_000, "{side:?}: too few retransmissions");
    }
}
