//! A plan's runs on threads of their own, for whoever takes what has ended while others go on.

use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rexmit_scenario::SpecError;

use crate::batch::{Batch, BatchOptions, Plan};
use crate::observer::Watch;
use crate::stop::Stop;
use crate::work::{Gathered, Work, failure};

/// Runs that end before what they gave is taken, at most; then the threads wait.
const AHEAD: u64 = 1 << 16;

/// Runs under way. Dropped, they are stopped.
#[derive(Debug)]
pub struct Sweep {
    work: Arc<Work>,
    gathered: Gathered,
    threads: Vec<JoinHandle<()>>,
    stop: Stop,
}

impl Sweep {
    /// Begins the runs of `range`.
    ///
    /// # Errors
    /// Runs in an order of which the plan has no factor.
    pub fn start(
        plan: Arc<Plan>,
        range: Range<u64>,
        options: BatchOptions,
        watch: Arc<dyn Watch + Send + Sync>,
    ) -> Result<Self, SpecError> {
        let stop = Stop::default();
        let work = Arc::new(Work::new(&plan, range, options, stop.clone())?);
        work.make_room(AHEAD);
        let serve = |seat| {
            let (work, plan, watch) = (work.clone(), plan.clone(), watch.clone());
            std::thread::spawn(move || work.serve(&plan, &*watch, seat))
        };
        let threads = (0..work.seats()).map(serve).collect();
        Ok(Self { gathered: Gathered::new(&work), work, threads, stop })
    }

    /// What asks the runs to end early.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Waits until all runs have ended, or this long; returns whether they have.
    pub fn wait(&self, time: Duration) -> bool {
        self.work.wait(time)
    }

    /// What has ended since the last call: the first of the runs that were not taken before, as many as have ended without
    /// a gap, and the number of the first.
    ///
    /// # Errors
    /// A run that could not be run, once those before it are taken.
    ///
    /// # Panics
    /// If a run has panicked.
    pub fn take(&mut self) -> Result<(u64, Batch), SpecError> {
        let over = self.wait(Duration::ZERO);
        let (first, batch) = self.gathered.take(&self.work);
        self.work.make_room(AHEAD);
        if over && batch.rows.is_empty() {
            for thread in self.threads.drain(..) {
                if let Err(panic) = thread.join() {
                    std::panic::resume_unwind(panic);
                }
            }
            if let Some(error) = failure(&self.work) {
                return Err(error);
            }
        }
        Ok((first, batch))
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.stop.ask();
        for thread in self.threads.drain(..) {
            // A panic has been printed, and whoever drops this asks for nothing more.
            let _ = thread.join();
        }
    }
}
