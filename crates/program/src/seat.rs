//! The processor that a run and its programs share.
//!
//! A run waits while a program answers, so that two processors are one too many: to wake the other one costs several times what the
//! change from one process to the other does on the same. For as long as a run has hosts, its thread and their programs stay on
//! one processor, that of those allowed to it which the fewest runs have.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Runs by the processor that they have.
static TAKEN: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

thread_local! {
    static HERE: RefCell<Weak<Seat>> = const { RefCell::new(Weak::new()) };
}

/// A processor that this thread keeps to until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    processor: usize,
    before: CpuSet,
    /// [`bring`], which is reached only by whoever may have a seat.
    bring: fn(usize, u32),
}

/// The one of this thread, which the hosts of its run share; `None` where it may have but one processor, or may not choose.
pub(crate) fn take() -> Option<Rc<Seat>> {
    HERE.with_borrow_mut(|here| {
        if let Some(seat) = here.upgrade() {
            return Some(seat);
        }
        let seat = Rc::new(Seat::take()?);
        *here = Rc::downgrade(&seat);
        Some(seat)
    })
}

impl Seat {
    fn take() -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let allowed = (0..CpuSet::MAX_CPU).filter(|n| before.is_set(*n));
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let processor = allowed.min_by_key(|n| taken.get(n).copied().unwrap_or(0))?;
        if before.count() < 2 || sched_setaffinity(None, &only(processor)).is_err() {
            return None;
        }
        *taken.entry(processor).or_default() += 1;
        Some(Self { processor, before, bring })
    }

    /// Its number.
    pub fn processor(&self) -> usize {
        self.processor
    }

    /// Brings all threads of a process to it.
    pub fn bring(&self, process: u32) {
        (self.bring)(self.processor, process);
    }
}

/// Brings all threads of a process to a processor. One that has ended meanwhile needs no place.
fn bring(processor: usize, process: u32) {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return };
    for thread in threads.flatten() {
        let number = thread.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        if number.is_some() {
            sched_setaffinity(number, &only(processor)).ok();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        sched_setaffinity(None, &self.before).ok();
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.processor) {
            *count -= 1;
        }
    }
}

fn only(processor: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(processor);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_to_one_processor_while_its_run_has_hosts() {
        let allowed = sched_getaffinity(None).unwrap();
        let Some(seat) = take() else { return };
        let again = take().unwrap();
        assert!(Rc::ptr_eq(&seat, &again));
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop((seat, again));
        assert_eq!(sched_getaffinity(None).unwrap(), allowed);
    }

    #[test]
    fn runs_side_by_side_have_a_processor_each() {
        if sched_getaffinity(None).unwrap().count() < 2 {
            return;
        }
        let (ready, wait) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        let seats: Vec<usize> = std::thread::scope(|scope| {
            let one = || {
                ready.wait();
                let seat = take().unwrap();
                wait.wait();
                seat.processor()
            };
            let both = [scope.spawn(one), scope.spawn(one)];
            both.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_ne!(seats[0], seats[1]);
    }
}
