//! Work in proportion to the size: steps are counted, not seconds, so that the tests are the same on every machine.

use rexmit_analysis::limits::{STEPS, STEPS_PER_CHUNK, STEPS_PER_PACKET};

use crate::build::{Judged, judge};

/// Checks that a capture of twice the size takes not much more than twice the steps, and none more than are granted.
#[track_caller]
pub fn is_linear(size: u32, make: impl Fn(u32) -> Vec<u8>) -> Judged {
    let once = judge(make(size));
    let twice = judge(make(2 * size));
    assert!(twice.steps <= 5 * once.steps / 2 + 10_000, "{} and {} steps", once.steps, twice.steps);
    let granted = twice.summary.packets * (STEPS_PER_PACKET + 4_096 * STEPS_PER_CHUNK) + STEPS;
    assert!(twice.steps <= granted);
    twice
}
