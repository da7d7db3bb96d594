//! A laboratory for judgements: scenarios are run, their captures are analysed, and what the analysis says of each
//! retransmission is laid beside what the model says it did.
#![allow(dead_code, reason = "a test and two examples share it, and each uses a part")]

pub mod answers;
pub mod cases;
pub mod hand;
pub mod hard;
pub mod held;
pub mod held_cases;
pub mod listing;
pub mod ran;
pub mod score;
pub mod sctp;
pub mod view;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use cases::Case;
use held::HeldTally;
pub use ran::Ran;
use rexmit_scenario::Sampling;
use score::Tally;

/// Runs and judges `cases` on `jobs` threads; what was found, in the order of cases.
///
/// `judge` takes a run and the number of its case.
pub fn judge_all(cases: &[Case], jobs: usize, judge: fn(&Ran, usize) -> Tally) -> Tally {
    let mut all = Tally::default();
    for_all(cases, jobs, |case, i| judge(&Ran::new(case), i)).into_iter().for_each(|tally| all.add(tally));
    all
}

/// Says of `cases`, on `jobs` threads, what held their senders back.
pub fn judge_held(cases: &[Case], jobs: usize) -> HeldTally {
    let mut all = HeldTally::default();
    let state = Some(Sampling::Changes);
    for_all(cases, jobs, |case, i| held::judge(&Ran::noting(case, state), i))
        .into_iter()
        .for_each(|tally| all.add(tally));
    all
}

/// What is done with each case, in their order.
fn for_all<T: Send>(cases: &[Case], jobs: usize, judge: impl Fn(&Case, usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(i) else { return };
                    let tally = judge(case, i);
                    done.lock().expect("no thread has failed").push((i, tally));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread has failed");
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, tally)| tally).collect()
}
