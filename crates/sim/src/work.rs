//! Runs of a plan under way on several threads: who takes which, and what they have given.
//!
//! Threads take runs by their numbers, and none waits for another, except where a run begins with what one before it left.
//! What a run gives depends on neither.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rexmit_path::Unreached;
use rexmit_scenario::{Design, Row, SpecError, Streams};

use crate::batch::{Batch, BatchOptions, Plan, Point};
use crate::observer::Watch;
use crate::options::RunOptions;
use crate::run::run_observed;
use crate::sequence::Turns;
use crate::stop::Stop;

/// The longest that a thread should be busy with what it takes at a time: what it takes is lost to a neighbour that has
/// none.
const AIM: Duration = Duration::from_millis(10);

/// Points that a thread takes at a time at most: a scenario is resolved once for its replications.
const MOST_POINTS: u64 = 8;

/// Time between two looks at whether to stop, by a thread that waits for room.
const LOOK: Duration = Duration::from_millis(50);

/// Runs that stand one after the other.
#[derive(Debug, Default)]
struct Piece {
    first: u64,
    batch: Batch,
}

/// Runs under way.
#[derive(Debug)]
pub(crate) struct Work {
    range: Range<u64>,
    options: BatchOptions,
    stop: Stop,
    source: Source,
    /// What each thread has given and nobody has taken yet.
    seats: Box<[Mutex<Vec<Piece>>]>,
    /// Runs that have ended.
    given: AtomicU64,
    /// Runs that may have ended before somebody takes what they gave.
    room: AtomicU64,
    /// What could not be run, by the run's number; then no further ones are begun.
    failures: Mutex<BTreeMap<u64, SpecError>>,
    has_failed: AtomicBool,
    /// Threads that have not returned.
    at_work: Mutex<usize>,
    returned: Condvar,
}

/// Where a thread gets what it runs next.
#[derive(Debug)]
enum Source {
    /// Runs that have nothing to do with each other: the first that nobody has taken.
    Apart(AtomicU64),
    /// Runs in sequences.
    InTurn(Turns),
}

impl Work {
    /// The runs of `range` that the plan has, for as many threads as [`Self::seats`] says.
    ///
    /// # Errors
    /// Runs in an order of which the plan has no factor.
    pub fn new(plan: &Plan, range: Range<u64>, options: BatchOptions, stop: Stop) -> Result<Self, SpecError> {
        let options = BatchOptions { replications: options.replications.max(1), ..options };
        let total = plan.points().saturating_mul(options.replications);
        let range = range.start.min(total)..range.end.min(total);
        // More threads than runs would have nothing to do.
        let seats = (options.jobs.max(1) as u64).min(range.end.saturating_sub(range.start)) as usize;
        let source = match plan.order(options.replications)? {
            None => Source::Apart(AtomicU64::new(range.start)),
            Some(order) => Source::InTurn(Turns::new(order, range.clone())),
        };
        Ok(Self {
            range,
            options,
            stop,
            source,
            seats: (0..seats).map(|_| Mutex::default()).collect(),
            given: AtomicU64::new(0),
            room: AtomicU64::new(u64::MAX),
            failures: Mutex::default(),
            has_failed: AtomicBool::new(false),
            at_work: Mutex::new(seats),
            returned: Condvar::new(),
        })
    }

    /// Threads that it wants.
    pub fn seats(&self) -> usize {
        self.seats.len()
    }

    /// What the thread on this seat does: returns when there is nothing left to run, or once it is asked to stop.
    pub fn serve(&self, plan: &Plan, watch: &dyn Watch, seat: usize) {
        // Noted where a run panics, too: whoever waits for this thread would wait for ever.
        let _leaving = Leaving(self);
        match &self.source {
            Source::Apart(next) => self.serve_apart(next, plan, watch, seat),
            Source::InTurn(turns) => self.serve_in_turn(turns, plan, watch, seat),
        }
    }

    fn serve_apart(&self, next: &AtomicU64, plan: &Plan, watch: &dyn Watch, seat: usize) {
        let most = MOST_POINTS.saturating_mul(self.options.replications);
        let mut size = 1;
        while self.may_go_on() {
            let runs = self.take(next, size);
            if runs.is_empty() {
                return;
            }
            let began = Instant::now();
            if !self.run_some(runs, plan, watch, seat) {
                return;
            }
            let took = began.elapsed();
            if took < AIM / 2 {
                size = (size * 2).min(most);
            } else if took > AIM {
                size = (size / 2).max(1);
            }
        }
    }

    /// The next runs, `size` of them; fewer towards the end, so that all threads end at about the same time.
    fn take(&self, next: &AtomicU64, size: u64) -> Range<u64> {
        let mut first = next.load(Ordering::Relaxed);
        loop {
            let left = self.range.end.saturating_sub(first);
            let size = size.min((left / (2 * self.seats.len() as u64)).max(1)).min(left);
            match next.compare_exchange_weak(first, first + size, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return first..first + size,
                Err(now) => first = now,
            }
        }
    }

    /// Whether all of them have ended well.
    fn run_some(&self, runs: Range<u64>, plan: &Plan, watch: &dyn Watch, seat: usize) -> bool {
        let BatchOptions { replications, seed, .. } = self.options;
        let mut at: Option<Point> = None;
        for number in runs {
            let (point, replication) = (number / replications, number % replications);
            let found = match at.take() {
                Some(same) if same.number == point => Ok(same),
                _ => plan.point(point),
            }
            .and_then(|point| {
                let streams = Streams::new(seed, &Design::key_of_run(&point.key, replication));
                let observer = watch.begin(&point.resolved, &streams);
                let options = RunOptions { stop: self.stop.clone(), ..RunOptions::default() };
                let outcome = run_observed(&point.resolved, &streams, &options, observer)?;
                Ok((point, outcome))
            });
            match found {
                Err(_) if self.stop.is_asked() => return false,
                Err(error) => {
                    self.fail(number, error);
                    return false;
                }
                Ok((point, outcome)) => {
                    self.give(seat, number, outcome.row, &outcome.unreached);
                    at = Some(point);
                }
            }
        }
        true
    }

    fn serve_in_turn(&self, turns: &Turns, plan: &Plan, watch: &dyn Watch, seat: usize) {
        while self.may_go_on()
            && let Some(mut turn) = turns.take(&self.stop)
        {
            match turn.run(plan, self.options, (watch, &self.stop)) {
                Ok(Some(step)) => self.give(seat, turn.number, step.row, &step.unreached),
                Ok(None) => return,
                Err(error) => self.fail(turn.number, error),
            }
        }
    }

    /// Whether another run may be begun; waits while there is no room for what it gives.
    fn may_go_on(&self) -> bool {
        loop {
            if self.stop.is_asked() || self.has_failed.load(Ordering::Relaxed) {
                return false;
            }
            if self.given.load(Ordering::Relaxed) < self.room.load(Ordering::Relaxed) {
                return true;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn fail(&self, number: u64, error: SpecError) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).insert(number, error);
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn give(&self, seat: usize, number: u64, row: Row, unreached: &[Unreached]) {
        let mut pieces = self.seats[seat].lock().unwrap_or_else(PoisonError::into_inner);
        if pieces.last().is_none_or(|last| last.first + last.batch.rows.len() as u64 != number) {
            pieces.push(Piece { first: number, batch: Batch::default() });
        }
        if let Some(piece) = pieces.last_mut() {
            piece.batch.rows.push(row);
            piece.batch.unreached.add(unreached);
        }
        drop(pieces);
        self.given.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until every thread has returned, or this long; returns whether they have.
    pub fn wait(&self, time: Duration) -> bool {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.returned.wait_timeout_while(at_work, time, |threads| *threads > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }

    /// Lets this many more runs end before somebody takes what they gave.
    pub fn make_room(&self, runs: u64) {
        self.room.store(self.given.load(Ordering::Relaxed).saturating_add(runs), Ordering::Relaxed);
    }
}

/// Says that a thread has returned.
struct Leaving<'a>(&'a Work);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        *self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.returned.notify_all();
    }
}

/// What was taken of the work of all threads, put in order.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The first run that has not been handed on.
    next: u64,
    /// Runs after it, by the first of each piece.
    later: BTreeMap<u64, Batch>,
}

impl Gathered {
    pub fn new(work: &Work) -> Self {
        Self { next: work.range.start, later: BTreeMap::new() }
    }

    /// The first of the runs that have not been handed on, as many as have ended without a gap, and their number.
    pub fn take(&mut self, work: &Work) -> (u64, Batch) {
        for seat in &work.seats {
            let pieces = std::mem::take(&mut *seat.lock().unwrap_or_else(PoisonError::into_inner));
            self.later.extend(pieces.into_iter().map(|piece| (piece.first, piece.batch)));
        }
        let (first, mut out) = (self.next, Batch::default());
        while let Some(batch) = self.later.remove(&self.next) {
            self.next += batch.rows.len() as u64;
            if out.rows.is_empty() {
                out = batch;
            } else {
                out.rows.extend(batch.rows);
                out.unreached.merge(batch.unreached);
            }
        }
        (first, out)
    }

    /// All of them, once every thread has returned: the first ones, where they were stopped.
    ///
    /// # Errors
    /// The first run that could not be run.
    pub fn whole(mut self, work: &Work) -> Result<Batch, SpecError> {
        let (_, batch) = self.take(work);
        failure(work).map_or(Ok(batch), Err)
    }
}

/// Why no further runs were begun: of what could not be run, the run with the lowest number.
pub(crate) fn failure(work: &Work) -> Option<SpecError> {
    work.failures.lock().unwrap_or_else(PoisonError::into_inner).pop_first().map(|(_, error)| error)
}
