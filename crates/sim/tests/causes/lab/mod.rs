//! A laboratory for judgements: scenarios are run, their captures are analysed, and what the analysis says of each
//! retransmission is laid beside what the model says it did.
#![allow(dead_code, reason = "a test and two examples share it, and each uses a part")]

pub mod answers;
pub mod cases;
pub mod hand;
pub mod hard;
pub mod listing;
pub mod ran;
pub mod score;
pub mod sctp;
pub mod view;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use cases::Case;
pub use ran::Ran;
use score::Tally;

/// Runs and judges `cases` on `jobs` threads; what was found, in the order of cases.
///
/// `judge` takes a run and the number of its case.
pub fn judge_all(cases: &[Case], jobs: usize, judge: fn(&Ran, usize) -> Tally) -> Tally {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Tally)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(i) else { return };
                    let tally = judge(&Ran::new(case), i);
                    done.lock().expect("no thread has failed").push((i, tally));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread has failed");
    done.sort_by_key(|(i, _)| *i);
    let mut all = Tally::default();
    done.into_iter().for_each(|(_, tally)| all.add(tally));
    all
}
