//! What a thread allocates, counted by the allocator itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes that a piece of work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The most that was held at once beyond what was held before.
    pub peak: u64,
    /// All that was allocated, whether freed or not: a measure of work that no clock disturbs.
    pub total: u64,
}

/// Runs `work` and says what this thread allocated meanwhile.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Spent) {
    let before = COUNTS.get();
    COUNTS.set(Counts { peak: before.live, ..before });
    let result = work();
    let after = COUNTS.get();
    let peak = (after.peak - before.live).max(0) as u64;
    (result, Spent { peak, total: after.total - before.total })
}

/// The system's allocator, counting.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone, Copy, Default)]
struct Counts {
    /// Below zero where a thread frees what another has allocated.
    live: i64,
    peak: i64,
    total: u64,
}

thread_local! {
    // Made at compile time and never dropped, so that the allocator may use it at any time.
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { live: 0, peak: 0, total: 0 }) };
}

fn count(taken: usize, given: usize) {
    let Counts { live, peak, total } = COUNTS.get();
    let live = live + taken as i64 - given as i64;
    COUNTS.set(Counts { live, peak: peak.max(live), total: total + taken as u64 });
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
#[allow(unsafe_code, reason = "the trait of an allocator demands it")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}
